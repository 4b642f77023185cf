//! What do the plan options of `list` and `run` mean together?

use crate::args::PlanArgs;
use crate::exit::{Exit, failure};
use rigel_device::Device;
use rigel_ledger::plan::PlanFault;
use rigel_ledger::rows::name_of;
use rigel_ledger::{Plan, Probe};
use rigel_study::pieces::{Expansion, Piece, offered_probes};
use rigel_study::{presets, select};
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
    let device = open(&args.device)?;
    let mut plan = match &args.plan {
        Some(path) => {
            let text = read_plan(path).map_err(|why| failure(Exit::Usage, why))?;
            Plan::parse(&text, &path.display().to_string()).map_err(|e| failure(Exit::Usage, e))?
        }
        None => named(&args.preset, &*device)?,
    };
    if !args.probes.is_empty() {
        plan.probes = args.probes.iter().map(|name| probe(name)).collect::<anyhow::Result<_>>()?;
    }
    if plan.asks_units() {
        // Probes named on the command line may ask units of which the preset says nothing.
        plan.units.get_or_insert_default();
    }
    if plan.probes.contains(&Probe::Order) {
        plan.order.get_or_insert_default();
    }
    if plan.probes.contains(&Probe::Fusion) && plan.fusion.is_none() {
        plan.fusion = named("fusion", &*device)?.fusion;
    }
    if plan.probes.contains(&Probe::Attention) && plan.attention.is_none() {
        plan.attention = named("attention", &*device)?.attention;
    }
    if plan.probes.contains(&Probe::Alignment) && plan.alignment.is_none() {
        plan.alignment = named("alignment", &*device)?.alignment;
    }
    if plan.probes.contains(&Probe::Versions) && plan.versions.is_none() {
        plan.versions = named("versions", &*device)?.versions;
    }
    if plan.probes.contains(&Probe::Power) && plan.power.is_none() {
        plan.power = named("power", &*device)?.power;
    }
    // Axes come behind the sections that probes brought, so that they reach those too.
    for axis in args.axes.iter().flat_map(|text| axes(text)) {
        select::apply_axis(&mut plan, &axis).map_err(|e| failure(Exit::Usage, format!("--axis {axis}: {e}")))?;
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
    plan.check().map_err(|error| failure(Exit::Usage, blamed(error.fault)))?;
    Ok(Planned { device, plan })
}

/// The plan of a preset on a device.
fn named(preset: &str, device: &dyn Device) -> anyhow::Result<Plan> {
    presets::preset(preset, &device.describe().backend).map_err(|e| failure(Exit::Usage, e))
}

/// The axes of one `--axis` or of RIGEL_AXIS: `;` parts them, and inside `triple` its values, which hold commas; no value has an `=`.
fn axes(text: &str) -> Vec<String> {
    let mut axes: Vec<String> = Vec::new();
    for piece in text.split(';').map(str::trim).filter(|piece| !piece.is_empty()) {
        match axes.last_mut() {
            Some(axis) if !piece.contains('=') => axis.push_str(&format!(";{piece}")),
            _ => axes.push(piece.to_owned()),
        }
    }
    if axes.is_empty() { vec![text.to_owned()] } else { axes }
}

/// A plan that options made impossible, told by the option: the plan with its options is in no file that a user could look into.
fn blamed(fault: PlanFault) -> String {
    let PlanFault::Value { key, found, allowed } = fault else { return format!("the options make no plan: {fault}") };
    let option = match key.as_str() {
        "seed" => "--seed",
        "probes" => "PROBES",
        "limits.timeout_s" => "--timeout",
        "select.filter" => "--filter",
        "select.paths" => "--axis path",
        "select.triples" => "--axis triple",
        "types.shapes" => "--axis types-shape",
        "types.recipes" => "--axis types-recipe",
        "units.validation" => "--axis validation",
        "order.shapes" => "--axis order-shape",
        "alignment.offsets" => "--axis offset",
        "alignment.strides" => "--axis stride",
        "versions.shapes" => "--axis version-shape",
        "throughput.shapes" => "--axis shape",
        "throughput.recipes" => "--axis recipe",
        "throughput.caches" => "--axis cache",
        other => other,
    };
    format!("{option} is {found}; allowed: {allowed}")
}

/// Opens a device. A file that is named and does not read is unreadable input; anything else that does not open, no such device.
pub fn open(selector: &str) -> anyhow::Result<Box<dyn Device>> {
    let exit = if rigel_device::sim::names_file(selector) { Exit::Usage } else { Exit::NoDevice };
    rigel_device::backends::open(selector).map_err(|why| failure(exit, why))
}

/// The text of a plan file; a plan takes a few kilobytes, so more than [`LONGEST_PLAN`] is something else.
fn read_plan(path: &Path) -> Result<String, String> {
    let text = super::reading::text(path, LONGEST_PLAN);
    text.map_err(|why| format!("cannot read plan {}: {why}; a run's plan.toml is one", path.display()))
}

fn probe(name: &str) -> anyhow::Result<rigel_ledger::Probe> {
    let known = offered_probes();
    let found = known.iter().copied().find(|p| name_of(p) == name);
    found.ok_or_else(|| {
        let names: Vec<String> = known.iter().map(name_of).collect();
        failure(
            Exit::Usage,
            format!(
                "no probe `{name}` on this build; known: {}; to read a run there is `rigel report`",
                names.join(", ")
            ),
        )
    })
}

/// What of a plan this run takes, for its provenance: `slice:m/n`, `block:NAME;NAME`, or empty for all.
pub fn part(args: &PlanArgs) -> String {
    let blocks = (!args.blocks.is_empty()).then(|| format!("block:{}", args.blocks.join(";")));
    blocks.or_else(|| args.partition.map(|p| p.to_string())).unwrap_or_default()
}

/// The pieces of a plan on a device, in this shard or of these blocks.
pub fn pieces(args: &PlanArgs, planned: &Planned) -> Vec<Piece> {
    let expansion = Expansion::new(&planned.plan, planned.device.as_ref());
    let pieces = expansion.pieces();
    let takes = |i: usize, piece: &Piece| {
        args.partition.is_none_or(|shard| shard.takes(i))
            && (args.blocks.is_empty() || args.blocks.contains(&piece.name()))
    };
    pieces.into_iter().enumerate().filter(|(i, piece)| takes(*i, piece)).map(|(_, piece)| piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_part_axes_and_the_values_of_triple() {
        assert_eq!(axes("shape=32,48"), ["shape=32,48"]);
        assert_eq!(axes(" shape=32 ; types-shape=8;"), ["shape=32", "types-shape=8"]);
        assert_eq!(
            axes("triple=f32,f32->f32;f64,f64->f64;cache=cold"),
            ["triple=f32,f32->f32;f64,f64->f64", "cache=cold"]
        );
        assert_eq!(axes(""), [""]);
    }
}
