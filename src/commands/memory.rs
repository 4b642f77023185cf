//! Which blocks need more memory than a worker may have here?

use super::planning::Planned;
use super::table::memory;
use rigel_study::estimate::memory_bytes;
use rigel_study::pieces::Piece;

/// One warning line for each piece that will probably not fit. It is still run: what goes over the plan's limit becomes a row
/// `out-of-memory`, and what the system ends for want of memory one that says `crashed`.
pub fn warnings(planned: &Planned, pieces: &[Piece]) -> Vec<String> {
    let plan = &planned.plan;
    let limit = plan.limits.memory_mib.saturating_mul(1 << 20);
    let bounds = [(machine(), "this machine has"), (limit, "limits.memory_mib of the plan allows")];
    let Some((bound, whose)) = bounds.into_iter().filter(|(bytes, _)| *bytes > 0).min_by_key(|(bytes, _)| *bytes)
    else {
        return Vec::new();
    };
    let needs = pieces.iter().map(|piece| (piece, memory_bytes(piece, plan.thresholds.full_check)));
    let row = if bound == limit { "out-of-memory" } else { "crashed" };
    let warning = |(piece, needed): (&Piece, u64)| {
        format!(
            "block {} needs about {} of memory, and {whose} {}; cells that do not fit become rows `{row}`. Fewer cells a \
             block need less: --filter, or smaller --axis shape",
            piece.name(),
            memory(needed),
            memory(bound)
        )
    };
    needs.filter(|(_, needed)| *needed > bound).map(warning).collect()
}

/// Bytes of memory of the machine that workers run on; 0 where it does not say.
fn machine() -> u64 {
    let total = rigel_device::cpu::detect::memory_bytes();
    let contained = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let contained = contained.and_then(|text| text.trim().parse::<u64>().ok()).filter(|bytes| *bytes > 0);
    contained.map_or(total, |bytes| if total == 0 { bytes } else { bytes.min(total) })
}
