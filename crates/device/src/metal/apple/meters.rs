//! Which of the system's counters are meters here?

use super::io_report::Subscription;
use crate::contract::{Absent, Meter, MissingMeter, Reading};
use crate::metal::power::{Channel, Counter, ENERGY_GROUP, GPU_STATES, Value, residency};
use rigel_numerics::Time;
use std::rc::Rc;
use std::time::Instant;

/// Channels that a user would expect, and what each covers.
const EXPECTED: [(&str, &str); 4] = [
    ("GPU Energy", "the GPU with all programs on it, as its driver counts; it does not move while the GPU idles"),
    ("CPU Energy", "the processor cores with all programs on them; published in batches of up to some seconds"),
    ("ANE", "the neural engine; published in batches of up to some seconds"),
    ("DRAM", "memory; published in batches of up to some seconds"),
];

/// One energy channel.
struct EnergyMeter {
    subscription: Rc<Subscription>,
    channel: String,
    coverage: &'static str,
    counter: Counter,
    opened: Instant,
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
        let time = Time::from_seconds(self.opened.elapsed().as_secs_f64());
        let channels = self.subscription.sample().map_err(Absent)?;
        let here = channels.iter().find(|c| c.group == ENERGY_GROUP && c.name == self.channel);
        let Some(Channel { value: Value::Count(count), .. }) = here else {
            return Err(Absent(format!("channel `{}` is gone", self.channel)));
        };
        let value = self.counter.read(*count, time).map_err(|e| Absent(e.to_string()))?;
        Ok(Reading { time, value })
    }
}

/// The share of time in which the GPU is on, since the last reading.
struct ActiveMeter {
    subscription: Rc<Subscription>,
    before: Value,
    opened: Instant,
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
        let time = Time::from_seconds(self.opened.elapsed().as_secs_f64());
        let channels = self.subscription.sample().map_err(Absent)?;
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

/// Meters that exist, and those that do not with the reason.
pub fn meters() -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let mut found: Vec<Box<dyn Meter>> = Vec::new();
    let mut missing = Vec::new();
    let lacks = |name: &str, reason: String| MissingMeter { name: name.into(), reason };
    let opened = Instant::now();
    let first = Subscription::open().and_then(|s| Ok((s.sample()?, Rc::new(s))));
    let (channels, subscription) = match first {
        Ok(first) => first,
        Err(reason) => return (found, EXPECTED.map(|(name, _)| lacks(name, reason.clone())).into()),
    };
    for (name, coverage) in EXPECTED {
        let here = channels.iter().find(|c| c.group == ENERGY_GROUP && (c.name == name || c.name.ends_with(name)));
        let counter = here.ok_or_else(|| format!("no channel `{name}` is published to this program"));
        match counter.and_then(|c| Ok((c, Counter::begin(c, Time(0)).map_err(|e| e.to_string())?))) {
            Ok((channel, counter)) => found.push(Box::new(EnergyMeter {
                subscription: Rc::clone(&subscription),
                channel: channel.name.clone(),
                coverage,
                counter,
                opened,
            })),
            Err(reason) => missing.push(lacks(name, reason)),
        }
    }
    match states(&channels) {
        Some(before) => found.push(Box::new(ActiveMeter { subscription, before, opened })),
        None => {
            missing.push(lacks("GPU active", "the GPU's performance states are not published to this program".into()))
        }
    }
    (found, missing)
}
