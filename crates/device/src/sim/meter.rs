//! What do the planted meters read?

use super::world::Shared;
use crate::contract::{Absent, Meter, MissingMeter, Reading};
use rigel_numerics::{Megahertz, Time};
use serde::{Deserialize, Serialize};

/// One planted meter, or the place of one that is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedMeter {
    /// Name, unique on the device (required).
    pub name: String,
    /// What it covers, in words.
    #[serde(default)]
    pub coverage: String,
    /// Update period: a reading waits for the next update, so virtual time passes; TOML key `period_ns`.
    #[serde(default = "ten_ms", rename = "period_ns")]
    pub period: Time,
    /// Readings after which every further one fails, as when a sensor falls off its bus; never by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fails_after: Option<u32>,
    /// What it reads (required).
    pub reads: Reads,
}

/// What a meter reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Reads {
    /// A counter of joules: `idle_w` always, and what is above it in `load_w` while the device computes.
    Energy {
        /// Watts at idle.
        idle_w: f64,
        /// Watts under load.
        load_w: f64,
    },
    /// The core clock in megahertz, always that of the first planted state of the device.
    Clock,
    /// The same value for ever.
    Frozen {
        /// Unit it claims.
        unit: String,
        /// Value.
        value: f64,
    },
    /// There, but every reading fails.
    Unreadable {
        /// Unit it claims.
        unit: String,
        /// Why.
        reason: String,
    },
    /// Not there.
    Missing {
        /// Why.
        reason: String,
    },
}

fn ten_ms() -> Time {
    Time::from_ns(10_000_000)
}

/// Opens the planted meters on a device: those that can be asked, and those that are missing.
pub fn open(world: &Shared) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let (truth, opened) = {
        let world = world.borrow();
        (world.truth.clone(), world.now)
    };
    let (mut there, mut missing): (Vec<Box<dyn Meter>>, Vec<MissingMeter>) = (Vec::new(), Vec::new());
    for planted in &truth.meters {
        match &planted.reads {
            Reads::Missing { reason } => {
                missing.push(MissingMeter { name: planted.name.clone(), reason: reason.clone() });
            }
            _ => there.push(Box::new(SimMeter { planted: planted.clone(), world: world.clone(), opened, readings: 0 })),
        }
    }
    (there, missing)
}

struct SimMeter {
    planted: PlantedMeter,
    world: Shared,
    opened: Time,
    readings: u32,
}

impl Meter for SimMeter {
    fn name(&self) -> &str {
        &self.planted.name
    }

    fn unit(&self) -> &str {
        match &self.planted.reads {
            Reads::Energy { .. } => "J",
            Reads::Clock => "MHz",
            Reads::Frozen { unit, .. } | Reads::Unreadable { unit, .. } => unit,
            Reads::Missing { .. } => "",
        }
    }

    fn coverage(&self) -> &str {
        &self.planted.coverage
    }

    fn read(&mut self) -> Result<Reading, Absent> {
        let mut world = self.world.borrow_mut();
        world.idle(self.planted.period);
        if self.planted.fails_after.is_some_and(|most| self.readings >= most) {
            return Err(Absent(format!("no answer after {} readings, as planted", self.readings)));
        }
        self.readings += 1;
        let value = match &self.planted.reads {
            Reads::Energy { idle_w, load_w } => idle_w * world.now.seconds() + (load_w - idle_w) * world.busy.seconds(),
            Reads::Clock => {
                let Megahertz(mhz) = world.truth.states.mixture[0].megahertz(world.truth.clock.reference);
                f64::from(mhz)
            }
            Reads::Frozen { value, .. } => *value,
            Reads::Unreadable { reason, .. } | Reads::Missing { reason } => return Err(Absent(reason.clone())),
        };
        Ok(Reading { time: Time(world.now.0 - self.opened.0), value })
    }
}
