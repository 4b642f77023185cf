//! Which of the system's channels are meters, and how is one read that is published in batches or stands still?
//!
//! The same code reads a Mac's channels and those that are planted in the device in software; what differs stands behind
//! [`Channels`]. A channel that is published in batches is followed at its first reading until it moves: one that stands is frozen and
//! gives that reason, so that no window of it is taken for 0 W.

use super::power::{Channel, Counter, ENERGY_GROUP, GPU_STATES, Value, residency};
use super::powermetrics;
use crate::contract::{Absent, Meter, MissingMeter, Reading};
use rigel_numerics::Time;
use std::rc::Rc;

/// A source of samples, with its clock.
pub trait Channels {
    /// Every channel now.
    ///
    /// # Errors
    /// Why there is no sample.
    fn sample(&self) -> Result<Vec<Channel>, String>;
    /// Time since the source was opened.
    fn now(&self) -> Time;
    /// Lets time pass.
    fn wait(&self, time: Time);
}

/// Channels that a user would expect, and what each covers.
const EXPECTED: [(&str, &str); 4] = [
    ("GPU Energy", "the GPU with all programs on it, as its driver counts; it does not move while the GPU idles"),
    ("CPU Energy", "the processor cores with all programs on them; published in batches of up to some seconds"),
    ("ANE", "the neural engine; published in batches of up to some seconds"),
    ("DRAM", "memory; published in batches of up to some seconds"),
];

/// How often a channel is looked at that has not moved yet.
const LOOK: Time = Time::from_ns(100_000_000);

/// One energy channel.
struct EnergyMeter {
    source: Rc<dyn Channels>,
    channel: String,
    coverage: &'static str,
    counter: Counter,
}

impl Meter for EnergyMeter {
    fn name(&self) -> &str {
        &self.channel
    }

    fn unit(&self) -> &str {
        "J"
    }

    fn coverage(&self) -> &str {
        self.coverage
    }

    fn read(&mut self) -> Result<Reading, Absent> {
        loop {
            let time = self.source.now();
            let channels = self.source.sample().map_err(Absent)?;
            let here = channels.iter().find(|c| c.group == ENERGY_GROUP && c.name == self.channel);
            let Some(Channel { value: Value::Count(count), .. }) = here else {
                return Err(Absent(format!("channel `{}` is gone", self.channel)));
            };
            let value = self.counter.read(*count, time).map_err(|e| Absent(e.to_string()))?;
            if self.counter.has_told() {
                return Ok(Reading { time, value });
            }
            self.source.wait(LOOK);
        }
    }
}

/// The share of time in which the GPU is on, since the last reading.
struct ActiveMeter {
    source: Rc<dyn Channels>,
    before: Value,
}

impl Meter for ActiveMeter {
    fn name(&self) -> &str {
        "GPU active"
    }

    fn unit(&self) -> &str {
        "1"
    }

    fn coverage(&self) -> &str {
        "share of the time since the last reading in which the GPU was in a performance state other than off, for all programs"
    }

    fn read(&mut self) -> Result<Reading, Absent> {
        let time = self.source.now();
        let channels = self.source.sample().map_err(Absent)?;
        let now = states(&channels).ok_or_else(|| Absent("the GPU's performance states are gone".into()))?;
        let seen = residency(&self.before, &now, &[]).map_err(|e| Absent(e.to_string()))?;
        self.before = now;
        Ok(Reading { time, value: seen.active })
    }
}

fn states(channels: &[Channel]) -> Option<Value> {
    let (group, subgroup, name) = GPU_STATES;
    let here =
        channels.iter().find(|c| (c.group.as_str(), c.subgroup.as_str(), c.name.as_str()) == (group, subgroup, name));
    here.map(|c| c.value.clone())
}

/// Meters that exist, and those that do not with the reason; powermetrics' rails besides, where its output is given.
pub fn of(source: Result<Rc<dyn Channels>, String>) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let (mut found, mut missing) = powermetrics::meters();
    let lacks = |name: &str, reason: String| MissingMeter { name: name.into(), reason };
    let first = source.and_then(|source| Ok((source.now(), source.sample()?, source)));
    let (opened, channels, source) = match first {
        Ok(first) => first,
        Err(reason) => {
            missing.extend(EXPECTED.map(|(name, _)| lacks(name, reason.clone())));
            return (found, missing);
        }
    };
    for (name, coverage) in EXPECTED {
        let here = channels.iter().find(|c| c.group == ENERGY_GROUP && (c.name == name || c.name.ends_with(name)));
        let counter = here.ok_or_else(|| format!("no channel `{name}` is published to this program"));
        match counter.and_then(|c| Ok((c, Counter::begin(c, opened).map_err(|e| e.to_string())?))) {
            Ok((channel, counter)) => found.push(Box::new(EnergyMeter {
                source: Rc::clone(&source),
                channel: channel.name.clone(),
                coverage,
                counter,
            })),
            Err(reason) => missing.push(lacks(name, reason)),
        }
    }
    match states(&channels) {
        Some(before) => found.push(Box::new(ActiveMeter { source, before })),
        None => {
            missing.push(lacks("GPU active", "the GPU's performance states are not published to this program".into()))
        }
    }
    (found, missing)
}
