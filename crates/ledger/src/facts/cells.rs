//! Which rows belong to one cell, and does the cell count?

use crate::rows::{CacheState, CellId, CellRow, Outcome, Probe, Work};
use rigel_numerics::{Recipe, Shape, Triple};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A path and what it multiplies.
pub(super) type Pair<'a> = (&'a str, Triple);

/// A product whatever its launch tile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Product<'a> {
    pub(super) path: &'a str,
    pub(super) triple: Triple,
    pub(super) shape: Shape,
    pub(super) recipe: Recipe,
    pub(super) cache: CacheState,
}

/// One cell over all its processes.
#[derive(Debug, Clone)]
pub(super) struct Cell<'a> {
    pub(super) id: CellId,
    /// Any of its rows, for the identity axes.
    pub(super) any: &'a CellRow,
    /// Rows that count and were timed, by (run, process). Empty when the cell is excluded.
    pub(super) timed: Vec<&'a CellRow>,
    /// Why it does not count at all.
    pub(super) excluded: Option<String>,
    /// The row that says so, where one does.
    pub(super) excluding: Option<&'a CellRow>,
    /// Processes in which it ended early, each with its outcome; the others count.
    pub(super) lost: Vec<String>,
}

/// Every cell of a run, by what it is.
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    /// Ladder rows by path and triple.
    pub(super) rungs: BTreeMap<Pair<'a>, Vec<&'a CellRow>>,
    /// Variants of each ceiling loop.
    pub(super) ceilings: BTreeMap<Pair<'a>, Vec<Cell<'a>>>,
    /// Launch tiles of each product.
    pub(super) products: BTreeMap<Product<'a>, Vec<Cell<'a>>>,
    /// The same of the probe `fusion`, by what follows the product.
    pub(super) epilogues: BTreeMap<(Product<'a>, Work), Vec<Cell<'a>>>,
    /// Attentions, by whether they are fused.
    pub(super) attentions: BTreeMap<(Product<'a>, Work), Vec<Cell<'a>>>,
    /// Products whose operands were placed, one cell a placement.
    pub(super) placed: BTreeMap<Product<'a>, Vec<Cell<'a>>>,
    /// Products by toolchains.
    pub(super) versions: BTreeMap<Product<'a>, Vec<&'a CellRow>>,
    /// Paths and triples of which any product or rung came out wrong.
    pub(super) wrong: BTreeSet<Pair<'a>>,
}

impl<'a> Index<'a> {
    pub(super) fn of(rows: &'a [CellRow]) -> Self {
        let mut index = Index::default();
        let mut timed: HashMap<CellId, Vec<&'a CellRow>> = HashMap::new();
        for row in rows {
            if row.outcome == Outcome::Wrong && matches!(row.work, Work::Rung | Work::Gemm) {
                index.wrong.insert((&row.path, row.triple));
            }
            match row.work {
                Work::Rung => index.rungs.entry((&row.path, row.triple)).or_default().push(row),
                Work::Unit | Work::Conversion | Work::Product | Work::Meter => {}
                Work::Version => {
                    if let Some(product) = Product::of(row) {
                        index.versions.entry(product).or_default().push(row);
                    }
                }
                // What a load takes in energy is not asked of its rate.
                _ if row.probe == Probe::Power => {}
                _ => timed.entry(row.cell).or_default().push(row),
            }
        }
        for rows in index.rungs.values_mut() {
            rows.sort_by(|a, b| {
                let place = |row: &CellRow| (row.shape, row.recipe, row.cell);
                place(a).cmp(&place(b)).then_with(|| by_process(a, b))
            });
        }
        let mut cells: Vec<Cell<'a>> = timed.into_iter().map(|(id, rows)| Cell::of(id, rows)).collect();
        cells.sort_by_key(|cell| cell.id);
        for cell in cells {
            let row = cell.any;
            match (row.work, Product::of(row)) {
                (work, Some(product)) if work.is_product() => {
                    if row.probe == Probe::Alignment {
                        index.placed.entry(product).or_default().push(cell);
                    } else if row.probe == Probe::Fusion {
                        index.epilogues.entry((product, work)).or_default().push(cell);
                    } else if row.probe == Probe::Attention {
                        index.attentions.entry((product, work)).or_default().push(cell);
                    } else if work == Work::Gemm {
                        index.products.entry(product).or_default().push(cell);
                    }
                }
                (Work::Ceiling, ..) => index.ceilings.entry((&row.path, row.triple)).or_default().push(cell),
                _ => {}
            }
        }
        index
    }
}

impl<'a> Product<'a> {
    /// The product of a row; none of a row without one.
    fn of(row: &'a CellRow) -> Option<Self> {
        let (shape, recipe) = (row.shape?, row.recipe?);
        Some(Product { path: &row.path, triple: row.triple, shape, recipe, cache: row.cache })
    }
}

impl<'a> Cell<'a> {
    /// A row's time counts when its outcome does and it has repetitions and operations. Rows without a time (solo climbs,
    /// pilots) speak through their outcome alone.
    fn of(id: CellId, mut rows: Vec<&'a CellRow>) -> Self {
        rows.sort_by(|a, b| by_process(a, b));
        let any = rows[0];
        let condemned = rows.iter().find(|row| matches!(row.outcome, Outcome::Wrong | Outcome::Mistrusted));
        let has_time = |row: &&&CellRow| {
            row.outcome.counts()
                && row.median_ns.is_some_and(|median| median.is_finite() && median > 0.0)
                && row.operations.is_some_and(|operations| operations > 0)
        };
        let timed: Vec<&CellRow> = rows.iter().filter(has_time).copied().collect();
        let said = |row: &CellRow| {
            let outcome = crate::rows::name_of(&row.outcome);
            let reason = if row.reason.is_empty() { String::new() } else { format!(" ({})", row.reason) };
            format!("{outcome}{reason}")
        };
        let refusing = rows.iter().find(|row| !row.outcome.counts()).filter(|_| timed.is_empty());
        let excluding = condemned.or(refusing).copied();
        let excluded = match (condemned, refusing) {
            (Some(row), _) => Some(format!("{} in process {}", said(row), row.process)),
            (None, Some(row)) => Some(said(row)),
            (None, None) => timed.is_empty().then(|| "not timed".to_owned()),
        };
        let lost = match excluded {
            Some(_) => Vec::new(),
            None => rows
                .iter()
                .filter(|row| !row.outcome.counts())
                .map(|row| format!("{} in process {}", said(row), row.process))
                .collect(),
        };
        let timed = if excluded.is_some() { Vec::new() } else { timed };
        Cell { id, any, timed, excluded, excluding, lost }
    }
}

/// Run and process; rows that share both, which a sealed run forbids, by all they say, so that no order of input shows.
fn by_process(a: &CellRow, b: &CellRow) -> Ordering {
    (&a.run, a.process).cmp(&(&b.run, b.process)).then_with(|| format!("{a:?}").cmp(&format!("{b:?}")))
}
