//! Which small source do tests of this crate read?

use crate::{Files, Source};
use rigel_ledger::facts::SampleSource;
use rigel_ledger::rows::{CacheState, Identity, Work};
use rigel_ledger::{CellId, CellRow, Plan, Probe, Provenance};
use rigel_numerics::{Megahertz, Time};

struct Nothing;

impl SampleSource for Nothing {
    fn times(&self, _: CellId, _: u32) -> Option<&[Time]> {
        None
    }
    fn clocks(&self, _: CellId, _: u32) -> Option<&[Megahertz]> {
        None
    }
}

/// A source of an M4 Max with one cell a path and nothing else, and the ids of the cells.
pub(crate) fn with<T>(paths: &[&str], look: impl FnOnce(Source<'_>, &[String]) -> T) -> T {
    let plan = Plan::planted("planted");
    let mut record = Provenance::planted(&plan, "planted");
    record.device.name = "Apple M4 Max".to_owned();
    let (provenance, files) = ([record], Files::default());
    let cell = |path: &&str| {
        let identity = Identity {
            probe: Probe::Throughput,
            work: Work::Gemm,
            path: (*path).to_owned(),
            triple: plan.matches.triple,
            shape: None,
            tile: String::new(),
            recipe: None,
            seed: plan.seed,
            cache: CacheState::Warm,
        };
        CellRow::blank(&identity, 0)
    };
    let cells: Vec<CellRow> = paths.iter().map(cell).collect();
    let ids: Vec<String> = cells.iter().map(|row| row.cell.to_string()).collect();
    let source = Source {
        plan: &plan,
        provenance: &provenance,
        cells: &cells,
        facts: &[],
        samples: &Nothing,
        power: &[],
        units: &[],
        published: &[],
        files: &files,
    };
    look(source, &ids)
}
