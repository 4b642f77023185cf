//! Which cells would a run measure, and how long and large would it be?

use super::planning::{self, Planned};
use super::records::{Form, Records};
use super::table::{Table, duration, engineering, memory};
use crate::args::PlanArgs;
use crate::exit::{Exit, failure};
use rigel_ledger::rows::{CacheState, Identity, name_of};
use rigel_numerics::synonyms;
use rigel_study::estimate::{Estimate, estimate, estimate_piece};
use rigel_study::pieces::{Expansion, Piece};
use std::collections::BTreeMap;

/// Blocks that a warning names before the rest is counted.
const MOST_WARNINGS: usize = 4;

/// Lists pieces and cells.
pub fn list(args: &PlanArgs) -> anyhow::Result<Exit> {
    let planned = planning::resolve(args)?;
    let pieces = planning::pieces(args, &planned);
    if pieces.is_empty() || !unknown_blocks(args, &pieces).is_empty() {
        return Err(failure(Exit::NothingSelected, nothing(args, &planned)));
    }
    tell_rivals(&planned);
    if args.estimate {
        estimates(args, &planned, &pieces)?
    } else {
        cells(args, &planned, &pieces)?
    }
    Ok(Exit::Fine)
}

fn cells(args: &PlanArgs, planned: &Planned, pieces: &[Piece]) -> anyhow::Result<()> {
    let cells = pieces.iter().flat_map(|piece| piece.cells().iter().map(move |cell| (piece, cell)));
    let processes = |piece: &Piece| match piece {
        Piece::Block { .. } => planned.plan.sampling.processes,
        Piece::Climb { .. } | Piece::Meters { .. } | Piece::Instruction { .. } => 1,
        Piece::Absent { .. } => 0,
    };
    let absent = |piece: &Piece| match piece {
        Piece::Absent { reason, .. } => reason.clone(),
        _ => String::new(),
    };
    let Some(form) = Form::of(args.format) else {
        let mut table = Table::new(&["block", "work", "path", "types", "shape", "recipe", "processes", "note"]);
        for (piece, cell) in cells {
            let reason = absent(piece);
            table.row([
                piece.name(),
                name_of(&cell.work),
                cell.path.clone(),
                cell.triple.to_string(),
                cell.shape.map(|s| s.to_string()).unwrap_or_else(|| cell.tile.clone()),
                cell.recipe.map(|r| r.to_string()).unwrap_or_default(),
                processes(piece).to_string(),
                if reason.is_empty() { reason } else { format!("absent: {reason}") },
            ]);
        }
        return table.print();
    };
    let columns =
        ["block", "work", "path", "triple", "shape", "tile", "recipe", "seed", "cache", "processes", "absent_reason"];
    let mut records = Records::new(columns);
    for (piece, cell) in cells {
        let Identity { work, path, triple, shape, tile, recipe, seed, cache, .. } = cell;
        records.row([
            piece.name().into(),
            name_of(work).into(),
            path.as_str().into(),
            triple.to_string().into(),
            shape.map(|s| s.to_string()).into(),
            tile.as_str().into(),
            recipe.map(|r| r.to_string()).into(),
            (*seed).into(),
            (*cache != CacheState::None).then(|| name_of(cache)).into(),
            processes(piece).into(),
            absent(piece).into(),
        ]);
    }
    records.print(form)
}

/// One line for each piece; for people, single questions of a kind together and the whole below.
fn estimates(args: &PlanArgs, planned: &Planned, pieces: &[Piece]) -> anyhow::Result<()> {
    let expansion = Expansion::new(&planned.plan, planned.device.as_ref());
    let Some(form) = Form::of(args.format) else {
        let mut table = Table::new(&["block", "rows", "samples", "files", "time", "memory"]);
        let mut line = |name: String, e: Estimate| {
            table.row([
                name,
                e.rows.to_string(),
                e.samples.to_string(),
                format!("{}B", engineering(e.bytes as f64)),
                duration(e.seconds),
                memory(e.memory_bytes),
            ]);
        };
        let (blocks, others): (Vec<Piece>, Vec<Piece>) =
            pieces.iter().cloned().partition(|piece| matches!(piece, Piece::Block { .. }));
        // Ladders, orders, units and meters are many: those of a kind on one line.
        let mut kinds: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
        for piece in others {
            let name = piece.name();
            kinds.entry(name.split('/').next().unwrap_or_default().to_owned()).or_default().push(piece);
        }
        for (kind, pieces) in kinds {
            let name = if let [one] = &*pieces { one.name() } else { format!("{kind}/… ({})", pieces.len()) };
            line(name, estimate(&expansion, &pieces));
        }
        blocks.iter().for_each(|piece| line(piece.name(), estimate_piece(&expansion, piece)));
        line("all".into(), estimate(&expansion, pieces));
        table.print()?;
        warn(planned, pieces);
        return Ok(());
    };
    let mut records = Records::new(["block", "rows", "samples", "file_bytes", "time_s", "memory_bytes"]);
    for piece in pieces {
        let e = estimate_piece(&expansion, piece);
        let fields = [e.rows.into(), e.samples.into(), e.bytes.into(), e.seconds.into(), e.memory_bytes.into()];
        let [rows, samples, bytes, seconds, memory] = fields;
        records.row([piece.name().into(), rows, samples, bytes, seconds, memory]);
    }
    records.print(form)?;
    warn(planned, pieces);
    Ok(())
}

/// Says on standard error which blocks will probably not fit into memory.
pub fn warn(planned: &Planned, pieces: &[Piece]) {
    let warnings = super::memory::warnings(planned, pieces);
    for warning in warnings.iter().take(MOST_WARNINGS) {
        crate::terminal::tell!("{} {warning}", crate::terminal::warning());
    }
    if warnings.len() > MOST_WARNINGS {
        let more = warnings.len() - MOST_WARNINGS;
        crate::terminal::tell!(
            "{} {more} more blocks need too much memory; `rigel list --estimate --format csv` tells each",
            crate::terminal::warning()
        );
    }
}

/// Blocks that were asked for and that the plan has not on this device.
pub fn unknown_blocks<'a>(args: &'a PlanArgs, pieces: &[Piece]) -> Vec<&'a str> {
    let known = |name: &str| pieces.iter().any(|piece| piece.name() == name);
    args.blocks.iter().map(String::as_str).filter(|name| !known(name)).collect()
}

/// Says on standard error what is timed that the selection does not name.
pub fn tell_rivals(planned: &Planned) {
    let rivals = Expansion::new(&planned.plan, planned.device.as_ref()).rivals;
    if !rivals.is_empty() {
        let names: Vec<String> = rivals.iter().map(|offer| format!("{} {}", offer.path, offer.triple)).collect();
        crate::terminal::tell!("timed beside the selection, since verdicts compare with it: {}", names.join("; "));
    }
}

/// Why nothing is selected, and what to do.
pub fn nothing(args: &PlanArgs, planned: &Planned) -> String {
    if planned.device.offers().is_empty() {
        return format!(
            "{} offers no path yet, so there is nothing to select; what it has and what is missing: `rigel devices --device {}`",
            args.device, args.device
        );
    }
    if !args.blocks.is_empty() {
        let unknown = unknown_blocks(args, &planning::pieces(args, planned)).join("`, `");
        return format!(
            "no block `{unknown}` on {}; `rigel list` with the same plan and device names them",
            args.device
        );
    }
    let mut asked: Vec<String> = Vec::new();
    if !args.filter.is_empty() {
        asked.push(format!("--filter `{}`", args.filter));
    }
    asked.extend(args.partition.map(|shard| format!("--partition {shard}")));
    asked.extend(args.axes.iter().map(|axis| format!("--axis `{axis}`")));
    let mut asked = if asked.is_empty() { String::new() } else { format!(" by {}", asked.join(" and ")) };
    let few = planned.plan.select.triples.len();
    if few > 0 && !args.axes.iter().any(|axis| axis.starts_with("triple=")) {
        asked = format!(
            "{asked} among the {few} type triples that this plan takes (`--preset full` takes all, `--axis triple=…` any)"
        );
    }
    let hints: String = args.filter.split_whitespace().map(synonyms::hint).collect();
    format!(
        "nothing selected on {}{asked}: no path and type triple of this device matches{hints}; `rigel devices --device {}` lists them",
        args.device, args.device
    )
}
