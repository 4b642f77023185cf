//! Which rows does a plan ask for, and which of a run's rows did nobody ask for?
//!
//! Two files tell: the plan has shapes, recipes, cache states and processes, and provenance the device's offers (which paths and
//! triples, and why one cannot be tried). What only the device can name is taken from the rows: which variants of ceiling
//! loops, which units and which toolchains there are, the launch tile that a pilot chose, those whose operands can be placed, and the
//! shapes beside a ladder's launch tile.
//! So a row that is gone is missed where another one of its kind, or plan and offers, show that it was asked.

use crate::asked_key::Key;
use crate::block_name::{self, LEFT_OUT};
use crate::plan::{AlignmentAxes, FusionAxes, Plan, PowerAxes, VersionsAxes};
use crate::provenance::{OfferRecord, Provenance};
use crate::rivals::{Offered, rivals};
use crate::rows::{CacheState, CellRow, Probe, Work};
use crate::short::Short;
use rigel_numerics::placement;
use rigel_numerics::{Calculation, Recipe, Shape, Triple};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What plan and offers ask for.
pub(crate) struct Asked<'a> {
    plan: &'a Plan,
    /// What is selected.
    offers: BTreeMap<(&'a str, Triple), &'a OfferRecord>,
    /// What is timed: what is selected and here, and its rivals.
    timed: BTreeSet<(&'a str, Triple)>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(plan: &'a Plan, provenance: &'a [Provenance]) -> Self {
        let all: BTreeMap<(&str, Triple), &OfferRecord> = provenance
            .iter()
            .flat_map(|record| &record.device.offers)
            .map(|offer| ((offer.path.as_str(), offer.triple), offer))
            .collect();
        let offered: Vec<Offered<'_>> =
            all.values().map(|offer| (offer.path.as_str(), offer.triple, offer.absent.is_empty())).collect();
        let rivals = rivals(plan, &offered).into_iter().map(|place| (offered[place].0, offered[place].1));
        let taken = offered.iter().filter(|offer| offer.2 && plan.select.takes(offer.0, offer.1, ""));
        let timed = taken.map(|offer| (offer.0, offer.1)).chain(rivals).collect();
        let offers = all.into_iter().filter(|((path, triple), _)| plan.select.takes(path, *triple, "")).collect();
        Asked { plan, offers, timed }
    }

    fn probes(&self, any: &[Probe]) -> bool {
        any.iter().any(|probe| self.plan.probes.contains(probe))
    }

    fn asks_products(&self) -> bool {
        self.probes(&[Probe::Throughput, Probe::Clocks, Probe::Dispatch])
    }

    fn asks_ceilings(&self) -> bool {
        self.plan.throughput.ceilings && self.probes(&[Probe::Throughput, Probe::Dispatch])
    }

    /// What is missing of the rows that are asked for.
    pub(crate) fn short(&self, cells: &[CellRow]) -> Short {
        let mut short = Short::default();
        let mut processes: HashMap<(Key<'_>, &str), BTreeSet<u32>> = HashMap::new();
        for row in cells {
            let chosen = row.work.is_product() && !row.work.names_its_tile();
            let named = chosen || matches!(row.work, Work::Rung | Work::Product);
            let tile = if named { "" } else { row.tile.as_str() };
            processes.entry((Key::of(row), tile)).or_default().insert(row.process);
        }
        let last = self.plan.sampling.processes;
        let there = |key: Key<'_>, tile: &str, last: u32| {
            processes.get(&(key, tile)).map_or(0, |found| found.range(..last).count())
        };
        for (&(path, triple), offer) in &self.offers {
            for &shape in self.orders(offer) {
                let key = Key {
                    probe: Probe::Order,
                    work: Work::Product,
                    path,
                    triple,
                    shape: Some(shape),
                    recipe: None,
                    cache: None,
                };
                short.count(block_name::order(path, triple, shape), 1, there(key, "", 1));
            }
            if self.plan.probes.contains(&Probe::Types) {
                for (shape, recipe) in self.rungs(offer, cells) {
                    let key = Key {
                        probe: Probe::Types,
                        work: Work::Rung,
                        path,
                        triple,
                        shape: Some(shape),
                        recipe: Some(recipe),
                        cache: None,
                    };
                    short.count(block_name::ladder(path, triple), 1, there(key, "", 1));
                }
            }
        }
        for &(path, triple) in self.timed.iter().filter(|_| self.asks_products()) {
            let axes = &self.plan.throughput;
            for (&shape, &cache, &recipe) in axes.shapes.iter().flat_map(|shape| {
                axes.caches.iter().flat_map(move |cache| axes.recipes.iter().map(move |recipe| (shape, cache, recipe)))
            }) {
                let key = Key {
                    probe: Probe::Throughput,
                    work: Work::Gemm,
                    path,
                    triple,
                    shape: Some(shape),
                    recipe: Some(recipe),
                    cache: Some(cache),
                };
                let block = block_name::products(shape, block_name::first_recipe(self.plan, recipe), cache);
                short.count(block, last as usize, there(key, "", last));
            }
        }
        let loops: BTreeSet<(Probe, &str, Triple, &str)> = cells
            .iter()
            .filter(|row| row.work == Work::Ceiling)
            .map(|row| (row.probe, row.path.as_str(), row.triple, row.tile.as_str()))
            .collect();
        for (probe, path, triple, tile) in loops {
            let key = Key { probe, work: Work::Ceiling, path, triple, shape: None, recipe: None, cache: None };
            short.count(block_name::ceilings(probe).to_owned(), last as usize, there(key, tile, last));
        }
        for (key, tile, block) in self.placed(cells) {
            short.count(block, last as usize, there(key, &tile, last));
        }
        for (key, version) in self.versions(cells) {
            short.count(block_name::versions(key.path, key.triple), 1, there(key, version, 1));
        }
        for (key, block) in self.fused(cells).into_iter().chain(self.loads()) {
            short.count(block, last as usize, there(key, "", last));
        }
        self.instructions(cells, &mut short);
        short
    }

    /// Shapes and recipes of a probe that compares fused with decomposed work; none where the plan does not name it.
    fn compared(&self, probe: Probe) -> Option<(&'a [Shape], &'a [Recipe])> {
        let Plan { fusion, attention, .. } = self.plan;
        let axes = match probe {
            Probe::Fusion => fusion.as_ref().map(|axes| (&axes.shapes[..], &axes.recipes[..])),
            Probe::Attention => attention.as_ref().map(|axes| (&axes.shapes[..], &axes.recipes[..])),
            _ => None,
        };
        axes.filter(|_| self.probes(&[probe]))
    }

    /// The fused and decomposed products that are asked for, by their blocks: every shape and recipe of the plan, of the paths, triples
    /// and kinds of work that any row shows.
    fn fused<'b>(&self, cells: &'b [CellRow]) -> Vec<(Key<'b>, String)>
    where
        'a: 'b,
    {
        let mut asked = Vec::new();
        for probe in [Probe::Fusion, Probe::Attention] {
            let Some((shapes, recipes)) = self.compared(probe) else { continue };
            let of = |row: &'b CellRow| (row.work, row.path.as_str(), row.triple);
            let known: BTreeSet<(Work, &str, Triple)> = cells.iter().filter(|row| row.probe == probe).map(of).collect();
            for (work, path, triple) in known {
                for (&shape, &recipe) in shapes.iter().flat_map(|s| recipes.iter().map(move |r| (s, r))) {
                    let (of_shape, recipe, cache) = (Some(shape), Some(recipe), Some(CacheState::Warm));
                    let key = Key { probe, work, path, triple, shape: of_shape, recipe, cache };
                    asked.push((key, block_name::of_shape(probe, shape)));
                }
            }
        }
        asked
    }

    /// The placed products that are asked for, by launch tile and block: every placement, shape and recipe of the plan, of the paths,
    /// triples and launch tiles that any row shows.
    fn placed<'b>(&self, cells: &'b [CellRow]) -> Vec<(Key<'b>, String, String)>
    where
        'a: 'b,
    {
        let Some(axes) = self.plan.alignment.as_ref().filter(|_| self.probes(&[Probe::Alignment])) else {
            return Vec::new();
        };
        let of = |row: &'b CellRow| Some((row.path.as_str(), row.triple, placement::split(&row.tile)?.0));
        let known: BTreeSet<(&str, Triple, &str)> =
            cells.iter().filter(|row| row.work == Work::Placed).filter_map(of).collect();
        let mut asked = Vec::new();
        for (path, triple, tile) in known {
            for (&shape, &recipe) in axes.shapes.iter().flat_map(|s| axes.recipes.iter().map(move |r| (s, r))) {
                let block = block_name::alignment(path, triple, shape, tile);
                for placement in axes.placements() {
                    let (probe, work, cache) = (Probe::Alignment, Work::Placed, Some(CacheState::Warm));
                    let key = Key { probe, work, path, triple, shape: Some(shape), recipe: Some(recipe), cache };
                    asked.push((key, placement::placed(tile, placement), block.clone()));
                }
            }
        }
        asked
    }

    /// The products by toolchains that are asked for: every shape and recipe of the plan, of the paths, triples and toolchains that
    /// any row shows.
    fn versions<'b>(&self, cells: &'b [CellRow]) -> Vec<(Key<'b>, &'b str)>
    where
        'a: 'b,
    {
        let Some(axes) = self.plan.versions.as_ref().filter(|_| self.probes(&[Probe::Versions])) else {
            return Vec::new();
        };
        let of = |row: &'b CellRow| (row.path.as_str(), row.triple, row.tile.as_str());
        let known: BTreeSet<(&str, Triple, &str)> =
            cells.iter().filter(|row| row.work == Work::Version).map(of).collect();
        let mut asked = Vec::new();
        for (path, triple, version) in known {
            for (&shape, &recipe) in axes.shapes.iter().flat_map(|s| axes.recipes.iter().map(move |r| (s, r))) {
                let (probe, work) = (Probe::Versions, Work::Version);
                let (shape, recipe) = (Some(shape), Some(recipe));
                asked.push((Key { probe, work, path, triple, shape, recipe, cache: None }, version));
            }
        }
        asked
    }

    /// The products that are loads of the probe `power`, by their blocks.
    fn loads(&self) -> Vec<(Key<'a>, String)> {
        let Some(axes) = self.plan.power.as_ref().filter(|_| self.probes(&[Probe::Power])) else { return Vec::new() };
        let mut asked = Vec::new();
        for (&(path, triple), _) in self.offers.iter().filter(|(_, offer)| offer.absent.is_empty()) {
            for (&shape, &recipe) in axes.shapes.iter().flat_map(|s| axes.recipes.iter().map(move |r| (s, r))) {
                let (shape_of, cache) = (Some(shape), Some(CacheState::Warm));
                let (probe, recipe) = (Probe::Power, Some(recipe));
                let key = Key { probe, work: Work::Gemm, path, triple, shape: shape_of, recipe, cache };
                asked.push((key, block_name::of_shape(Probe::Power, shape)));
            }
        }
        asked
    }

    /// The shapes by which the order of an offer's sums is asked.
    fn orders(&self, offer: &OfferRecord) -> &[Shape] {
        let asked = offer.absent.is_empty() && self.plan.probes.contains(&Probe::Order);
        self.plan.order.as_ref().filter(|_| asked).map_or(&[], |axes| &axes.shapes)
    }

    /// The rungs of an offer: the plan's shapes and those that its rows show beside the launch tile, in every recipe.
    fn rungs(&self, offer: &OfferRecord, cells: &[CellRow]) -> BTreeSet<(Shape, Recipe)> {
        let axes = &self.plan.types;
        if !offer.absent.is_empty() {
            return axes.shapes.first().copied().zip(axes.recipes.first().copied()).into_iter().collect();
        }
        let of =
            |row: &&CellRow| row.work == Work::Rung && (row.path.as_str(), row.triple) == (&offer.path, offer.triple);
        let beside = cells.iter().filter(of).filter_map(|row| row.shape);
        let shapes = axes.shapes.iter().copied().chain(beside);
        shapes.flat_map(|shape| axes.recipes.iter().map(move |&recipe| (shape, recipe))).collect()
    }

    /// A unit that one probe asked was asked by all that ask every unit; a layout is of units with registers only.
    fn instructions(&self, cells: &[CellRow], short: &mut Short) {
        type Unit<'a> = (&'a str, Triple, Option<Shape>, &'a str);
        let mut there: BTreeSet<(Probe, Unit<'_>, &str)> = BTreeSet::new();
        let mut units: BTreeSet<Unit<'_>> = BTreeSet::new();
        for row in cells.iter().filter(|row| matches!(row.work, Work::Unit | Work::Conversion)) {
            let operand = row.tile.strip_suffix(".a").or(row.tile.strip_suffix(".b"));
            let (name, ending) = match (row.work, operand) {
                (Work::Conversion, Some(name)) if row.path != CONVERSIONS => (name, &row.tile[name.len()..]),
                _ => (row.tile.as_str(), ""),
            };
            let unit = (row.path.as_str(), row.triple, row.shape, name);
            there.insert((row.probe, unit, ending));
            if row.path != CONVERSIONS {
                units.insert(unit);
            }
        }
        let every = [(Probe::Arithmetic, ""), (Probe::Specials, ".a"), (Probe::Specials, ".b")];
        let asked: BTreeSet<(Probe, Unit<'_>, &str)> = units
            .into_iter()
            .flat_map(|unit| every.iter().map(move |&(probe, ending)| (probe, unit, ending)))
            .filter(|(probe, ..)| self.plan.probes.contains(probe))
            .chain(there.iter().copied())
            .collect();
        for question @ (probe, (path, _, _, name), ending) in asked {
            let block = block_name::instruction(probe, path, &format!("{name}{ending}"));
            short.count(block, 1, usize::from(there.contains(&question)));
        }
    }

    /// Why a row is none that the plan asks for, or not of the block that it names; none for the others.
    pub(crate) fn stranger(&self, row: &CellRow) -> Option<String> {
        let plan = self.plan;
        let alone = matches!(row.work, Work::Rung | Work::Version | Work::Unit | Work::Conversion)
            || matches!(row.work, Work::Product | Work::Meter);
        let last = if alone { 1 } else { plan.sampling.processes };
        if row.seed != plan.seed {
            return Some(format!("seed is {}; the plan states {}", row.seed, plan.seed));
        }
        if row.process >= last {
            return Some(format!("process is {}; the plan asks for {last}, from 0", row.process));
        }
        if !self.asks(row) {
            return Some("it is no row that the plan asks for of what the device offers".to_owned());
        }
        let block = block_name::of_row(plan, row)?;
        let named = row.block.strip_suffix(LEFT_OUT).unwrap_or(block_name::base(&row.block));
        // Only blocks are measured again, or without cells that were left out.
        let compared = row.work == Work::Ceiling || row.work.is_product();
        (row.block != block && !(compared && named == block))
            .then(|| format!("block is `{}`; its axes are those of `{block}`", row.block))
    }

    fn asks(&self, row: &CellRow) -> bool {
        let (types, axes) = (&self.plan.types, &self.plan.throughput);
        let offer = self.offers.get(&(row.path.as_str(), row.triple));
        let timed = self.timed.contains(&(row.path.as_str(), row.triple));
        match row.work {
            Work::Rung => {
                let recipe = row.recipe.is_some_and(|recipe| types.recipes.contains(&recipe));
                row.probe == Probe::Types && self.probes(&[Probe::Types]) && recipe && offer.is_some()
            }
            _ if row.probe == Probe::Power => self.asks_load(row, offer.is_some_and(|offer| offer.absent.is_empty())),
            work if matches!(row.probe, Probe::Fusion | Probe::Attention) => {
                let axes = self.compared(row.probe).is_some_and(|(shapes, recipes)| {
                    row.shape.is_some_and(|shape| shapes.contains(&shape))
                        && row.recipe.is_some_and(|recipe| recipes.contains(&recipe))
                });
                let known = |axes: &FusionAxes| work.activation().is_some_and(|a| axes.activations.contains(&a));
                let kind = match row.probe {
                    Probe::Fusion => self.plan.fusion.as_ref().is_some_and(known),
                    _ => work.calculation() == Calculation::Attention,
                };
                axes && kind && row.cache == CacheState::Warm && offer.is_some_and(|offer| offer.absent.is_empty())
            }
            Work::Placed => {
                let placed = |axes: &AlignmentAxes| {
                    let place = placement::split(&row.tile);
                    row.shape.is_some_and(|shape| axes.shapes.contains(&shape))
                        && row.recipe.is_some_and(|recipe| axes.recipes.contains(&recipe))
                        && place.is_some_and(|(_, place)| axes.placements().any(|asked| asked == place))
                };
                let asked = self.probes(&[Probe::Alignment]) && row.probe == Probe::Alignment;
                let here = offer.is_some_and(|offer| offer.absent.is_empty()) && row.cache == CacheState::Warm;
                asked && here && self.plan.alignment.as_ref().is_some_and(placed)
            }
            Work::Version => {
                let listed = |axes: &VersionsAxes| {
                    row.shape.is_some_and(|shape| axes.shapes.contains(&shape))
                        && row.recipe.is_some_and(|recipe| axes.recipes.contains(&recipe))
                };
                let asked = self.probes(&[Probe::Versions]) && row.probe == Probe::Versions;
                asked && offer.is_some() && self.plan.versions.as_ref().is_some_and(listed)
            }
            Work::FusedTanh | Work::FusedErf | Work::DecomposedTanh | Work::DecomposedErf => false,
            Work::FusedAttention | Work::DecomposedAttention => false,
            Work::Gemm => {
                let shape = row.shape.is_some_and(|shape| axes.shapes.contains(&shape));
                let recipe = row.recipe.is_some_and(|recipe| axes.recipes.contains(&recipe));
                let asked = shape && recipe && axes.caches.contains(&row.cache) && timed;
                row.probe == Probe::Throughput && self.asks_products() && asked
            }
            Work::Ceiling => row.probe == Probe::Throughput && self.asks_ceilings() && timed,
            Work::Product => {
                let shapes = offer.map_or(&[][..], |offer| self.orders(offer));
                row.probe == Probe::Order && row.shape.is_some_and(|shape| shapes.contains(&shape))
            }
            Work::Meter => row.probe == Probe::Dispatch && self.probes(&[Probe::Dispatch]) && timed,
            Work::Unit | Work::Conversion => {
                self.probes(&[row.probe]) && self.plan.select.takes(&row.path, row.triple, &row.tile)
            }
        }
    }

    /// Whether the probe `power` asks for a row of what is offered: a load, or a meter that failed beside one.
    fn asks_load(&self, row: &CellRow, offered: bool) -> bool {
        let asked = |axes: &PowerAxes| match row.work {
            Work::Gemm => {
                row.shape.is_some_and(|shape| axes.shapes.contains(&shape))
                    && row.recipe.is_some_and(|recipe| axes.recipes.contains(&recipe))
                    && row.cache == CacheState::Warm
            }
            Work::Ceiling => axes.ceilings,
            Work::Meter => true,
            _ => false,
        };
        self.probes(&[Probe::Power]) && offered && self.plan.power.as_ref().is_some_and(asked)
    }
}

/// The path of conversions, which serve no product by themselves.
pub(crate) const CONVERSIONS: &str = "conversions";
