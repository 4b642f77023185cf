//! How many rows, bytes, minutes and how much memory will a plan take, roughly, before anything runs?

use crate::pieces::{Expansion, Piece};
use rigel_ledger::rows::{CacheState, Identity, Probe, Work};
use rigel_ledger::share::Share;
use rigel_numerics::{Format, Matrix, Operand, Time, Triple};
use std::collections::HashSet;

/// Device time of one ceiling repetition that estimates assume.
const CEILING_REPETITION_S: f64 = 1e-3;
/// Starting a worker and opening a device.
const PROCESS_S: f64 = 0.03;
/// Compiling a small product by one toolchain.
const TOOLCHAIN_S: f64 = 0.3;
/// Bytes of one line of each file.
const CELL_BYTES: u64 = 420;
const SAMPLE_BYTES: u64 = 32;
const WITNESS_BYTES: u64 = 32;
const READING_BYTES: u64 = 64;
/// Readings of a meter in a window, and meters of a device with operations counted beside them.
const READINGS: u64 = 11;
const METERS: u64 = 4;
/// Memory of a worker that recovers one unit: questions, answers, candidates.
const INSTRUCTION_BYTES: u64 = 256 << 20;
/// Witness elements of a product.
const WITNESS: u64 = 24;
/// Terms that the float64 reference takes a second, both sums together, on one core.
const REFERENCE_TERMS_PER_CORE_S: f64 = 1e10;

/// A rough forecast. Device rates are the backend's own guesses; the figures are for planning, never reported.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Cell rows.
    pub rows: usize,
    /// Repetitions at most.
    pub samples: u64,
    /// Bytes of the run directory.
    pub bytes: u64,
    /// Seconds on an otherwise idle machine.
    pub seconds: f64,
    /// Bytes of memory that the largest worker process holds at its peak: see [`memory_bytes`].
    pub memory_bytes: u64,
}

/// Forecasts pieces of an expansion together.
pub fn estimate(expansion: &Expansion, pieces: &[Piece]) -> Estimate {
    pieces.iter().fold(Estimate::default(), |total, piece| {
        let one = estimate_piece(expansion, piece);
        Estimate {
            rows: total.rows + one.rows,
            samples: total.samples + one.samples,
            bytes: total.bytes + one.bytes,
            seconds: total.seconds + one.seconds,
            memory_bytes: total.memory_bytes.max(one.memory_bytes),
        }
    })
}

/// Forecasts one piece of an expansion.
pub fn estimate_piece(expansion: &Expansion, piece: &Piece) -> Estimate {
    let sampling = &expansion.plan.sampling;
    let share = Share::of(sampling);
    let cores = std::thread::available_parallelism().map_or(1.0, |n| n.get() as f64);
    let rows = piece.rows(sampling.processes);
    let mut total = Estimate {
        rows,
        memory_bytes: memory_bytes(piece, expansion.plan.thresholds.full_check),
        ..Default::default()
    };
    match piece {
        Piece::Absent { .. } => {}
        Piece::Meters { cells, window_s, .. } => {
            let windows = cells.len() as u64 + 1;
            total.seconds += PROCESS_S + window_s * windows as f64 * 1.2;
            total.bytes += windows * READINGS * METERS * READING_BYTES;
        }
        Piece::Instruction { cell } => {
            let (seconds, bytes) = instruction(expansion, cell);
            total.seconds += PROCESS_S + seconds;
            total.bytes += bytes;
        }
        Piece::Climb { cells } => {
            total.seconds += PROCESS_S;
            total.bytes += cells.len() as u64 * WITNESS * WITNESS_BYTES;
            total.seconds += cells.iter().map(|c| repetition(expansion, c) + reference(c, cores)).sum::<f64>();
            for cell in cells.iter().filter(|cell| cell.work == Work::Version) {
                total.seconds += TOOLCHAIN_S;
                total.bytes += cell.shape.map_or(0, |shape| (shape.m * shape.n) as u64) * WITNESS_BYTES;
            }
        }
        Piece::Block { cells, .. } => {
            let mut references = HashSet::new();
            for cell in cells {
                let each = repetition(expansion, cell);
                let n = repetitions(&share, each);
                total.samples += n * u64::from(sampling.processes);
                total.seconds += f64::from(sampling.processes) * each * (n as f64 + n as f64 / share.burst as f64);
                if cell.work.is_product() {
                    let tiles = match cell.work.names_its_tile() {
                        true => 1.0,
                        false => crate::worker::launch_tiles(expansion.device, cell).len() as f64,
                    };
                    let settling = crate::sampling::settling(Time::from_ns((each * 1e9) as u64)) as f64;
                    let piloted = each * (settling + f64::from(sampling.pilot + 1)) * tiles;
                    total.seconds += PROCESS_S + piloted + reference(cell, cores);
                    total.bytes += u64::from(sampling.processes) * WITNESS * WITNESS_BYTES;
                    if references.insert((cell.triple, cell.recipe)) {
                        total.seconds += f64::from(sampling.processes) * reference(cell, cores);
                    }
                }
            }
            total.seconds += f64::from(sampling.processes) * PROCESS_S;
        }
    }
    total.bytes += total.rows as u64 * CELL_BYTES + total.samples * SAMPLE_BYTES;
    total
}

/// Bytes that a worker process of a piece holds at its peak, for products; the program itself and what is packed come on top.
///
/// A block holds all its cells at once. Each operand is there once for all cells that share its bytes, and so is each
/// reference (none above `full_check` terms). Each cell has its own copy of both operands, two where they start
/// cold (more where the last-level cache is larger), and its own output. One output more is being looked at. A climb
/// holds one cell at a time. On a device with memory of its own, the cells' part lies there.
pub fn memory_bytes(piece: &Piece, full_check: u64) -> u64 {
    let of = |cells: &[Identity]| {
        let (mut operands, mut references) = (HashSet::new(), HashSet::new());
        let (mut total, mut looked_at) = (0_u64, 0);
        for cell in cells {
            let Some(shape) = cell.shape else { continue };
            let Triple { a, b, c, .. } = cell.triple;
            let calculation = cell.work.calculation();
            let [a_bytes, b_bytes, c_bytes] =
                [(a, calculation.a(shape)), (b, calculation.b(shape)), (c, (shape.m, shape.n))]
                    .map(|(format, (rows, columns))| matrix_bytes(format, rows, columns));
            let copies = if cell.cache == CacheState::Cold { 2 } else { 1 };
            let own = a_bytes.saturating_add(b_bytes).saturating_mul(copies).saturating_add(c_bytes);
            total = total.saturating_add(own);
            looked_at = looked_at.max(c_bytes);
            let shared = (shape, cell.recipe, cell.seed);
            for (operand, format, bytes) in [(Operand::A, a, a_bytes), (Operand::B, b, b_bytes)] {
                if operands.insert((operand, format, shared)) {
                    total = total.saturating_add(bytes);
                }
            }
            if references.insert((cell.triple, shared)) && shape.operations() / 2 <= full_check {
                let double = cell.triple.a == Format::F64 || cell.triple.b == Format::F64;
                let arrays = if double { 3 } else { 2 };
                total = total.saturating_add(matrix_bytes(Format::F64, shape.m, shape.n).saturating_mul(arrays));
            }
        }
        total.saturating_add(looked_at)
    };
    match piece {
        Piece::Absent { .. } => 0,
        Piece::Instruction { .. } => INSTRUCTION_BYTES,
        Piece::Climb { cells } | Piece::Meters { cells, .. } => {
            cells.iter().map(|cell| of(std::slice::from_ref(cell))).max().unwrap_or(0)
        }
        Piece::Block { cells, .. } => of(cells),
    }
}

/// Seconds and file bytes of a question about a unit: recovery, validation in proportion to K, the record.
fn instruction(expansion: &Expansion, cell: &Identity) -> (f64, u64) {
    let k = cell.shape.map_or(1, |shape| shape.k);
    let validation = expansion.plan.units.as_ref().map_or(0, |units| units.validation) as f64;
    match cell.probe {
        Probe::Arithmetic => (3.0 + validation * k as f64 * 1e-7, 12_000 + 1_200 * k as u64),
        Probe::Layout => (1.0, 20_000),
        _ => (2.0, 8_000),
    }
}

fn matrix_bytes(format: Format, rows: usize, columns: usize) -> u64 {
    (rows as u64).saturating_mul(Matrix::row_bytes(format, columns) as u64)
}

fn repetition(expansion: &Expansion, cell: &Identity) -> f64 {
    let Some(shape) = cell.shape else { return CEILING_REPETITION_S };
    let mut known = expansion.offers.iter().chain(&expansion.rivals);
    let offer = known.find(|o| o.path == cell.path && o.triple == cell.triple);
    let rate = offer.map_or(1e9, |o| o.rough_rate).max(1.0);
    cell.work.calculation().operations(shape) as f64 / rate
}

fn reference(cell: &Identity, cores: f64) -> f64 {
    cell.shape.map_or(0.0, |s| s.operations() as f64 / 2.0 / (REFERENCE_TERMS_PER_CORE_S * cores))
}

fn repetitions(share: &Share, each: f64) -> u64 {
    let affordable = share.budget.0 / Time::from_seconds(each).0.max(1);
    affordable.clamp(share.minimum as u64, share.target as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::{Recipe, Shape};

    fn cell(path: &str, triple: &str, cache: CacheState) -> Identity {
        Identity {
            probe: Probe::Throughput,
            work: Work::Gemm,
            path: path.into(),
            triple: triple.parse().unwrap(),
            shape: Some(Shape::new(100, 200, 300)),
            tile: String::new(),
            recipe: Some(Recipe::NearNormal),
            seed: 1,
            cache,
        }
    }

    fn block(cells: &[Identity]) -> Piece {
        Piece::Block { id: "gemm".into(), cells: cells.to_vec() }
    }

    #[test]
    fn a_block_holds_inputs_and_reference_once_and_operands_and_output_for_every_cell() {
        let all = u64::MAX;
        let (a, b, c) = (100 * 300 * 2, 300 * 200 * 2, 100 * 200 * 4);
        let reference = 100 * 200 * 16;
        let one = cell("tiled", "f16,f16->f32", CacheState::Warm);
        let other = cell("scalar", "f16,f16->f32", CacheState::Warm);
        assert_eq!(memory_bytes(&block(std::slice::from_ref(&one)), all), 2 * (a + b) + 2 * c + reference);
        assert_eq!(memory_bytes(&block(&[one.clone(), other.clone()]), all), 3 * (a + b) + 3 * c + reference);
        assert_eq!(memory_bytes(&block(std::slice::from_ref(&one)), 5_999_999), 2 * (a + b) + 2 * c, "sampled check");
        let cold = cell("tiled", "f16,f16->f32", CacheState::Cold);
        assert_eq!(memory_bytes(&block(&[cold]), all), 3 * (a + b) + 2 * c + reference);
        let climb = Piece::Climb { cells: vec![one.clone(), other] };
        assert_eq!(memory_bytes(&climb, all), memory_bytes(&block(&[one]), all));
        let wide = cell("tiled", "f64,f64->f64", CacheState::Warm);
        assert_eq!(memory_bytes(&block(&[wide]), all), 4 * (2 * (a + b)) + 2 * 2 * c + reference / 2 * 3);
    }

    #[test]
    fn extents_beyond_every_machine_saturate() {
        let mut huge = cell("tiled", "f64,f64->f64", CacheState::Cold);
        huge.shape = Some(Shape::cube(1 << 20));
        assert!(memory_bytes(&block(&vec![huge; 40]), 0) > 1 << 46);
    }
}
