//! What does a software unit give back?
//!
//! A tile is computed by the planted model, element by element; then each deviation has its turn. Registers are moved
//! through the planted layout to the tile and back. Every choice is a function of the truth's seed, the unit's name and
//! the inputs, except those by chance, which also depend on how many elements the unit has computed and on the process.

use super::check::{BadTruth, refused};
use super::random::key;
use super::unit_choice::{data_word, hash_bytes, inputs_word};
use super::unit_deviating::Deviating;
use super::unit_deviation::Chosen;
use super::unit_engine::{Engine, Tile};
use super::unit_fault::UnitFault;
use super::unit_registers::{Registers, Sources};
use super::unit_truth::PlantedUnit;
use crate::contract::Fault;
use crate::unit::{Operands, ScaleSpec, Unit, UnitSpec};
use rayon::prelude::*;
use rigel_numerics::arithmetic::DotInputs;
use rigel_numerics::layout::{Fragment, FragmentOperand, LayoutError};
use rigel_numerics::random::{mix, stream};
use rigel_numerics::{Matrix, Shape, packing};
use std::sync::Arc;

/// A software unit.
#[derive(Debug, Clone)]
pub struct SimUnit {
    spec: UnitSpec,
    engine: Engine,
    groups: usize,
    registers: Option<Arc<Registers>>,
    deviating: Vec<Deviating>,
    fault: Option<UnitFault>,
    /// Batches asked so far.
    asked: u64,
    /// Elements computed so far.
    computed: u64,
}

/// Where an element lies, for the deviations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spot {
    pub row: usize,
    pub column: usize,
    /// The lane that holds it, where the unit has registers.
    pub lane: Option<usize>,
    /// Its number among all elements that the unit has computed.
    pub number: u64,
    /// What the tile before held; `None` for the first of a batch, and where no deviation asks.
    pub neighbour: Option<u64>,
    /// What goes into it; 0 where no deviation asks.
    pub data: u64,
}

impl SimUnit {
    /// The unit that a truth plants. `seed` moves all choices of its deviations, `opening` those by chance alone.
    ///
    /// # Errors
    /// [`BadTruth::Value`] with a key from `unit` on.
    pub fn new(planted: &PlantedUnit, seed: u64, opening: u64) -> Result<SimUnit, BadTruth> {
        SimUnit::at("unit", planted, seed, opening)
    }

    /// As [`SimUnit::new`], for a unit that stands under `at` in its truth.
    pub(super) fn at(at: &str, planted: &PlantedUnit, seed: u64, opening: u64) -> Result<SimUnit, BadTruth> {
        let Shape { m, n, k } = planted.shape;
        let model = planted.model.find(&format!("{at}.model"))?;
        let (t, formats) = (planted.triple, model.triple);
        if (t.a, t.b, t.c) != (formats.a, formats.b, formats.c) {
            return Err(refused(format!("{at}.triple"), t, format!("the formats of the model, {formats}")));
        }
        let scales = match model.scales {
            None => None,
            Some(s) if s.a != s.b => {
                let found = format!("a model with scales of {} and {}", s.a, s.b);
                return Err(refused(format!("{at}.model"), found, "scales of A and B in one format"));
            }
            Some(s) if k % s.group != 0 => {
                return Err(refused(format!("{at}.shape"), planted.shape, format!("a k that {} divides", s.group)));
            }
            Some(s) => Some(ScaleSpec { format: s.a, group: s.group }),
        };
        let engine = Engine::new(&model, k, planted.evaluator)
            .map_err(|e| refused(format!("{at}.model"), format!("flawed at k = {k}: {e}"), "a model for this k"))?;
        let registers = Registers::new(at, planted)?.map(Arc::new);
        let spec = UnitSpec {
            name: planted.name.clone(),
            path: planted.path.clone(),
            triple: planted.triple,
            shape: planted.shape,
            scales,
            fragments: registers.as_ref().map(|registers| registers.spec()),
            source: planted.source.clone(),
        };
        spec.check().map_err(|e| refused(at, format!("flawed: {e}"), "a unit that can be asked"))?;
        let of_unit = mix(seed ^ key(&planted.name));
        let deviating = planted.deviations.iter().enumerate().map(|(i, deviation)| {
            let keys = (format!("{at}.deviation[{i}]"), stream(of_unit, i as u64), mix(opening));
            Deviating::new(keys, deviation, planted, &model, registers.as_ref().map(|r| r.fragment.lanes()))
        });
        let deviating = deviating.collect::<Result<Vec<_>, _>>()?;
        if m * n > 1 << 24 {
            return Err(refused(format!("{at}.shape"), planted.shape, "at most 2^24 elements of D"));
        }
        let fault = planted.fault.clone();
        let groups = scales.map_or(1, |s| k / s.group);
        Ok(SimUnit { spec, engine, groups, registers, deviating, fault, asked: 0, computed: 0 })
    }

    /// The layouts of its registers, where it has some: what a recovery must not see.
    pub fn fragment(&self) -> Option<&Fragment> {
        self.registers.as_ref().map(|registers| &registers.fragment)
    }

    /// The code of an element after all deviations.
    fn deviated(&self, code: u64, spot: Spot, inputs: &dyn Fn() -> DotInputs) -> Result<u64, Fault> {
        self.deviating.iter().try_fold(code, |code, deviating| deviating.element(code, spot, inputs))
    }

    fn tile(&self, tile: &Tile, first: u64, neighbour: Option<u64>) -> Result<Matrix, Fault> {
        let mut d = self.engine.tile(tile)?;
        if self.deviating.is_empty() {
            return Ok(d);
        }
        let Shape { m, n, .. } = self.spec.shape;
        let asked = self.chooses(Chosen::Data);
        let words =
            |count, of: &dyn Fn(usize) -> u64| if asked { (0..count).map(of).collect() } else { vec![0; count] };
        let (rows, columns) = (words(m, &|i| tile.row_word(i)), words(n, &|j| tile.column_word(j)));
        for (row, column) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let at = row * n + column;
            let lane = self.registers.as_ref().map(|registers| registers.lane_of[at]);
            let data = if asked { data_word(rows[row], columns[column], tile.c.get(row, column)) } else { 0 };
            let spot = Spot { row, column, lane, number: first + at as u64, neighbour, data };
            let code = self.deviated(d.get(row, column), spot, &|| tile.inputs(row, column))?;
            d.set(row, column, code);
        }
        Ok(d)
    }

    /// The registers of D where copies of an element may differ.
    fn launches(&mut self, operands: Operands<'_>, sources: &Sources, lanes: usize) -> Result<Matrix, Fault> {
        let mut d = operands.c.clone();
        d.bytes.fill(0);
        let (format, width) = (d.format, Matrix::row_bytes(d.format, d.cols));
        let each = sources.outputs.len() as u64;
        let launches = d.rows / lanes;
        let unit = &*self;
        let (by_neighbour, by_data) = (unit.chooses(Chosen::Neighbour), unit.chooses(Chosen::Data));
        d.bytes.par_chunks_mut(lanes * width).enumerate().try_for_each_init(
            || unit.engine.scratch(),
            |scratch, (t, registers)| {
                let before =
                    |x: &Matrix| hash_bytes(&x.bytes[(t - 1) * x.bytes.len() / launches..t * x.bytes.len() / launches]);
                let neighbour = (t > 0 && by_neighbour).then(|| {
                    mix(before(operands.a) ^ before(operands.b).rotate_left(21) ^ before(operands.c).rotate_left(42))
                });
                for (i, &((lane, slot), (row, column))) in sources.outputs.iter().enumerate() {
                    let inputs = sources.inputs(operands, (t, lanes), i);
                    let code = unit.engine.dot(scratch, inputs.codes())?;
                    let number = unit.computed + t as u64 * each + i as u64;
                    let data = if by_data { inputs_word(&inputs) } else { 0 };
                    let spot = Spot { row, column, lane: Some(lane as usize), number, neighbour, data };
                    let code = unit.deviated(code, spot, &|| inputs.clone())?;
                    packing::set(format, &mut registers[lane as usize * width..][..width], slot as usize, code);
                }
                Ok::<(), Fault>(())
            },
        )?;
        self.computed += each * launches as u64;
        Ok(d)
    }

    /// Counts a batch, and breaks down where it is planted to.
    fn begin(&mut self) -> Result<(), Fault> {
        let asked = self.asked;
        self.asked += 1;
        self.fault.as_ref().map_or(Ok(()), |fault| fault.strike(asked))
    }

    /// Whether some deviation is chosen so.
    fn chooses(&self, by: Chosen) -> bool {
        self.deviating.iter().any(|deviating| deviating.chosen() == by)
    }
}

impl Unit for SimUnit {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        self.begin()?;
        let Shape { m, n, k } = self.spec.shape;
        let extents = (m, k, self.groups);
        let mut d = operands.c.clone();
        let bytes = m * Matrix::row_bytes(d.format, n);
        let (unit, each) = (&*self, (m * n) as u64);
        let by_neighbour = unit.chooses(Chosen::Neighbour);
        d.bytes.par_chunks_mut(bytes).enumerate().with_min_len(1 + 4096 / (m * n * k)).try_for_each(|(t, out)| {
            let tile = Tile::of(operands, t, extents);
            let neighbour = (t > 0 && by_neighbour).then(|| Tile::of(operands, t - 1, extents).word());
            out.copy_from_slice(&unit.tile(&tile, unit.computed + t as u64 * each, neighbour)?.bytes);
            Ok::<(), Fault>(())
        })?;
        self.computed += (d.rows * n) as u64;
        Ok(d)
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        self.begin()?;
        let Some(registers) = self.registers.clone() else {
            return Err(Fault::Failed(format!("unit {} cannot be reached by registers", self.spec.name)));
        };
        self.check_scales(operands, registers.fragment.lanes())?;
        if let Some(sources) = &registers.sources {
            return self.launches(operands, sources, registers.fragment.lanes());
        }
        let failed = |e: LayoutError| Fault::Failed(e.to_string());
        let tiles = |of: FragmentOperand, x| registers.fragment.scatter(of, x).map_err(failed);
        let a = tiles(FragmentOperand::A, operands.a)?;
        let b = tiles(FragmentOperand::B, operands.b)?;
        let c = tiles(FragmentOperand::C, operands.c)?;
        let d = self.tiles(Operands { a: &a, b: &b, c: &c, scales: operands.scales })?;
        registers.fragment.gather(FragmentOperand::C, &d).map_err(failed)
    }
}

impl SimUnit {
    /// Whether the scales of a launch lie as for tiles; the contract leaves that to the unit.
    fn check_scales(&self, operands: Operands<'_>, lanes: usize) -> Result<(), Fault> {
        let (Some((a, b)), Some(declared)) = (operands.scales, self.spec.scales) else { return Ok(()) };
        let (launches, Shape { m, n, .. }) = (operands.a.rows / lanes, self.spec.shape);
        let wanted = [(a, launches * m, self.groups), (b, launches * self.groups, n)];
        for (scales, rows, columns) in wanted {
            if (scales.format, scales.rows, scales.cols) != (declared.format, rows, columns) {
                return Err(Fault::Failed(format!(
                    "unit {}: scales are {} × {} of {}; beside registers they lie as for tiles, {rows} × {columns} of {}",
                    self.spec.name, scales.rows, scales.cols, scales.format, declared.format
                )));
            }
        }
        Ok(())
    }
}
