//! How does a planted ceiling loop run?

use super::timeline::Timeline;
use super::world::Shared;
use crate::contract::{Ceiling, CeilingSpec, Fault, Refusal, Rung, Sample};

/// A compiled ceiling loop of a software device.
pub struct SimCeiling {
    world: Shared,
    timeline: Timeline,
    operations: u64,
    wrong: String,
}

impl SimCeiling {
    /// Compiles a ceiling loop; refuses one that is not planted.
    pub fn compile(world: Shared, spec: &CeilingSpec) -> Result<Self, Refusal> {
        let (truth, process) = {
            let world = world.borrow();
            (world.truth.clone(), world.process)
        };
        let refused = |diagnostic: String| Refusal { rung: Rung::Compile, diagnostic };
        let found = truth.find(&spec.path, spec.triple);
        if let Some(found) = found.filter(|f| !f.triple.absent.is_empty()) {
            return Err(refused(found.triple.absent.clone()));
        }
        let planted = found.and_then(|f| f.triple.ceiling.as_ref());
        match (planted, truth.ceiling_timeline(spec, process)) {
            (Some(planted), Some(timeline)) => {
                let (operations, wrong) = (planted.operations, planted.wrong.clone());
                Ok(SimCeiling { world, timeline, operations, wrong })
            }
            _ => Err(refused(format!(
                "sim device `{}` has no ceiling loop `{}` on path `{}` with triple {}",
                truth.name, spec.variant, spec.path, spec.triple
            ))),
        }
    }
}

impl Ceiling for SimCeiling {
    fn operations(&self) -> u64 {
        self.operations
    }

    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault> {
        let mut world = self.world.borrow_mut();
        if let Some(message) = &world.lost {
            return Err(Fault::DeviceLost(message.clone()));
        }
        let samples = self.timeline.take(repetitions);
        samples.iter().for_each(|s| world.compute(s.time));
        Ok(samples)
    }

    fn check(&self) -> Result<(), String> {
        if self.wrong.is_empty() { Ok(()) } else { Err(self.wrong.clone()) }
    }
}
