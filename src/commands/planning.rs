//! What do the plan options of `list` and `run` mean together?

use crate::args::PlanArgs;
use crate::exit::{Exit, failure};
use rigel_device::Device;
use rigel_ledger::Plan;
use rigel_ledger::rows::name_of;
use rigel_study::units::{Expansion, Unit, offered_probes};
use rigel_study::{presets, select};
use std::io::Read;
use std::path::Path;

/// Longest plan file that is read, in bytes.
const LONGEST_PLAN: u64 = 1 << 20;

/// A device and the plan that will be run on it.
pub struct Planned {
    /// The device, open in this process for its description only.
    pub device: Box<dyn Device>,
    /// The resolved plan.
    pub plan: Plan,
}

/// Opens the device and resolves the plan.
pub fn resolve(args: &PlanArgs) -> anyhow::Result<Planned> {
    let device = rigel_device::backends::open(&args.device).map_err(|why| failure(Exit::NoDevice, why))?;
    let mut plan = match &args.plan {
        Some(path) => {
            let text = read_plan(path).map_err(|why| failure(Exit::Usage, why))?;
            Plan::parse(&text, &path.display().to_string()).map_err(|e| failure(Exit::Usage, e))?
        }
        None => {
            let backend = device.describe().backend;
            presets::preset(&args.preset, &backend).map_err(|e| failure(Exit::Usage, e))?
        }
    };
    for axis in &args.axes {
        select::apply_axis(&mut plan, axis).map_err(|e| failure(Exit::Usage, e))?;
    }
    if !args.probes.is_empty() {
        plan.probes = args.probes.iter().map(|name| probe(name)).collect::<anyhow::Result<_>>()?;
    }
    if let Some(seed) = args.seed {
        plan.seed = seed;
    }
    if let Some(timeout) = args.timeout {
        plan.limits.timeout_s = timeout;
    }
    if !args.filter.is_empty() {
        plan.select.filter.clone_from(&args.filter);
    }
    // What the options made of the plan is checked by the same rules as a plan file.
    let text = plan.to_toml();
    let plan = Plan::parse(&text, "the plan with its options").map_err(|e| failure(Exit::Usage, e))?;
    Ok(Planned { device, plan })
}

/// The text of a plan file; a plan takes a few kilobytes, so more than [`LONGEST_PLAN`] is something else.
fn read_plan(path: &Path) -> Result<String, String> {
    let name = path.display();
    let file = std::fs::File::open(path).map_err(|e| format!("cannot read plan {name}: {e}"))?;
    let mut text = String::new();
    file.take(LONGEST_PLAN + 1).read_to_string(&mut text).map_err(|e| format!("cannot read plan {name}: {e}"))?;
    if text.len() as u64 > LONGEST_PLAN {
        return Err(format!(
            "plan {name} is longer than {LONGEST_PLAN} bytes, so it is no plan; a run's plan.toml is one"
        ));
    }
    Ok(text)
}

fn probe(name: &str) -> anyhow::Result<rigel_ledger::Probe> {
    let known = offered_probes();
    let found = known.iter().copied().find(|p| name_of(p) == name);
    found.ok_or_else(|| {
        let names: Vec<String> = known.iter().map(name_of).collect();
        failure(Exit::Usage, format!("no probe `{name}` on this build; known: {}", names.join(", ")))
    })
}

/// What of a plan this run takes, for its provenance: `slice:m/n`, `block:NAME`, or empty for all.
pub fn part(args: &PlanArgs) -> String {
    let block = args.block.as_ref().map(|name| format!("block:{name}"));
    block.or_else(|| args.partition.map(|p| p.to_string())).unwrap_or_default()
}

/// The units of a plan on a device, in this shard or of this block.
pub fn units(args: &PlanArgs, planned: &Planned) -> Vec<Unit> {
    let expansion = Expansion::new(&planned.plan, planned.device.as_ref());
    let units = expansion.units();
    let takes = |i: usize, unit: &Unit| {
        args.partition.is_none_or(|shard| shard.takes(i)) && args.block.as_ref().is_none_or(|name| unit.name() == *name)
    };
    units.into_iter().enumerate().filter(|(i, unit)| takes(*i, unit)).map(|(_, unit)| unit).collect()
}
