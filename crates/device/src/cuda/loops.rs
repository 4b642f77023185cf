//! Which ceiling loops are there, and how do we know that one really worked?
//!
//! Every instruction raises each accumulator by exactly 1, from a start at which all sums on the way are exact in the accumulator's
//! format; the kernel compares every accumulator with what it must hold and stores how many differ. Operands are zeros but for one
//! element of k, so that little toggles and the clock stays high.

use super::kernel::{Argument, Geometry, Kernel};
use super::memory::Memory;
use super::nvrtc;
use super::path::Path;
use super::product::{Setting, refused};
use super::source;
use super::target::Target;
use crate::contract::{Ceiling, Fault, POISON, Refusal, Rung, Sample};
use rigel_numerics::{Format, Triple};
use std::fmt;

/// Columns of one accumulator of `wgmma`.
const COLUMNS: usize = 128;

/// A variant of a ceiling loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// Independent accumulators of a warp or warpgroup (64 × 128 by `wgmma`), or sums of a thread.
    pub chains: usize,
    /// Warps on a multiprocessor.
    pub warps: usize,
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ilp{}x{}", self.chains, self.warps)
    }
}

impl Variant {
    /// The kernel of this variant.
    ///
    /// # Errors
    /// Why there is none.
    pub fn source(&self, path: Path, triple: Triple) -> Result<source::Source, String> {
        source::ceiling(path, triple, self.chains, COLUMNS, self.warps / 4)
    }
}

/// The variants of a path and triple in order of growing parallelism; enough of them beside each other for a plateau to show.
pub fn variants(path: Path, triple: Triple) -> Vec<Variant> {
    let of = |all: &[(usize, usize)]| all.iter().map(|&(chains, warps)| Variant { chains, warps }).collect();
    match path {
        // Twelve chains of 32 warps spill their registers: an edge of the kernel, none of the unit.
        Path::Scalar | Path::Tiled => of(&[(1, 16), (4, 16), (4, 32), (6, 32), (8, 32)]),
        Path::MmaSync if matches!(triple.a, Format::E4m3 | Format::E5m2) => {
            // An emulated product is two of f16 and four additions, beside which whatever else the compiler writes takes its time: of
            // five and of eight chains it moves registers about, of six and seven it does not (`cuda_opcodes`).
            of(&[(1, 4), (4, 4), (4, 8), (4, 16), (6, 16), (7, 16), (6, 20), (7, 20)])
        }
        Path::MmaSync => of(&[(1, 4), (4, 4), (4, 8), (4, 16), (6, 16), (8, 16)]),
        Path::Wgmma => of(&[(1, 4), (2, 4), (1, 8), (2, 8), (1, 16)]),
        Path::CublasLt => Vec::new(),
    }
}

/// A ceiling loop on all multiprocessors.
pub struct CudaCeiling {
    setting: Setting,
    kernel: Kernel,
    geometry: Geometry,
    wrong: Memory,
    start: i32,
    steps: i32,
    rounds: i32,
    operations: u64,
    more: Option<i32>,
    ran: bool,
}

impl CudaCeiling {
    /// Compiles and loads the loop.
    ///
    /// # Errors
    /// A refusal with the compiler's log.
    pub fn new(
        setting: Setting,
        path: Path,
        triple: Triple,
        variant: Variant,
        target: Target,
    ) -> Result<CudaCeiling, Refusal> {
        let cannot = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let triple = source::multiplied(triple);
        let source = variant.source(path, triple).map_err(cannot)?;
        let architecture = source.targets.compiled_for(target).map_err(cannot)?;
        let cubin = nvrtc::compile(&source, &architecture)?;
        let shared = if path == Path::Wgmma { ((64 + COLUMNS) * super::tile::SLAB + 1024) as u32 } else { 0 };
        let kernel = Kernel::of(&setting.context, &cubin, source.entry, shared)?;
        // One block a multiprocessor, but no block has more than 1024 threads.
        let each = (32 * variant.warps).min(1024);
        let blocks = setting.multiprocessors as usize * (32 * variant.warps / each);
        let geometry = Geometry { grid: (blocks as u32, 1), block: each as u32, shared };
        let wrong = Memory::filled(&setting.context, blocks * each * 4, POISON).map_err(|e| refused(&e))?;
        let instruction = instruction(path, triple).map_err(cannot)?;
        let exact = exact(path, triple);
        let wanted = (instruction.steps(path, variant) & !3).max(4);
        // What does not fit into the accumulator in one round is done in several, so that no loop is short.
        let steps = wanted.min(2 * exact - 64);
        let rounds = (wanted + steps - 1) / steps;
        let executing = match path {
            Path::Wgmma => blocks * variant.warps / 4,
            Path::MmaSync => blocks * each / 32,
            _ => blocks * each,
        };
        let operations =
            executing as u64 * variant.chains as u64 * (steps as u64 * rounds as u64) * instruction.operations;
        let start = if steps >= exact { -(exact - 32) } else { 1 };
        // What the compiler must not know: the one that scalar loops add, the nothing that `mma.sync` adds to A.
        let more = match path {
            Path::Scalar | Path::Tiled => Some(1),
            Path::MmaSync => Some(0),
            Path::Wgmma | Path::CublasLt => None,
        };
        Ok(CudaCeiling { setting, kernel, geometry, wrong, start, steps, rounds, operations, more, ran: false })
    }
}

impl CudaCeiling {
    fn arguments(&self) -> Vec<Argument> {
        let [start, steps, rounds] = [self.start, self.steps, self.rounds].map(Argument::Number);
        let known = [Argument::Address(self.wrong.address()), start, steps, rounds];
        known.into_iter().chain(self.more.map(Argument::Number)).collect()
    }

    fn launch(&self, arguments: &[Argument]) -> Result<(), Fault> {
        // SAFETY: the loop takes where to count, start, steps, rounds and what the compiler must not know; it writes a word a thread, for
        // which there is room.
        unsafe { self.kernel.launch(self.geometry, arguments) }.map_err(Fault::from)
    }
}

/// One step of a chain.
struct Step {
    /// Operations of one instruction.
    operations: u64,
    /// Cycles that it takes a multiprocessor, roughly, to choose how many there are.
    cycles: f64,
}

impl Step {
    /// Steps that keep a multiprocessor busy for about a million cycles.
    fn steps(&self, path: Path, variant: Variant) -> i32 {
        let executing = if path == Path::Wgmma { variant.warps / 4 } else { variant.warps };
        (2e6 / (self.cycles * (variant.chains * executing) as f64)) as i32
    }
}

fn instruction(path: Path, triple: Triple) -> Result<Step, String> {
    let rate = super::stated::roughly(path, triple);
    let operations = match path {
        Path::Wgmma => source::wgmma(triple, COLUMNS)?.shape().operations(),
        Path::MmaSync => source::mma_sync(triple)?.shape.operations(),
        _ if triple.c == Format::F16 => 4,
        _ => 2,
    };
    // A warp executes 32 of the scalar instructions at once.
    let together = if matches!(path, Path::Scalar | Path::Tiled) { 32.0 } else { 1.0 };
    Ok(Step { operations, cycles: operations as f64 * together / rate })
}

/// The largest integer up to which every sum is exact in the accumulator: 8-bit floats by `wgmma` keep 13 fraction bits.
fn exact(path: Path, triple: Triple) -> i32 {
    match (triple.c, triple.a) {
        (Format::F16, _) => 1 << 11,
        (Format::F32, Format::E4m3 | Format::E5m2) if path == Path::Wgmma => 1 << 14,
        _ => 1 << 24,
    }
}

impl Ceiling for CudaCeiling {
    fn operations(&self) -> u64 {
        self.operations
    }

    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault> {
        self.wrong.fill(POISON)?;
        let arguments = self.arguments();
        let samples = self.setting.timer.time(repetitions, |_| self.launch(&arguments))?;
        self.ran |= repetitions > 0;
        Ok(samples)
    }

    fn repeat(&mut self, repetitions: usize) -> Result<(), Fault> {
        let arguments = self.arguments();
        for _ in 0..repetitions {
            self.launch(&arguments)?;
        }
        self.ran |= repetitions > 0;
        Ok(self.setting.context.finish()?)
    }

    fn check(&self) -> Result<(), String> {
        if !self.ran {
            return Err("the loop has not run yet".into());
        }
        let mut bytes = vec![0; self.wrong.bytes()];
        self.wrong.read(&mut bytes).map_err(|e| e.to_string())?;
        let wrong = bytes.chunks(4).position(|word| word != [0; 4]);
        wrong.map_or(Ok(()), |thread| {
            let count = i32::from_le_bytes(std::array::from_fn(|i| bytes[4 * thread + i]));
            Err(format!(
                "thread {thread}: {count} accumulators do not hold what {} steps from {} on must leave, {} times",
                self.steps, self.start, self.rounds
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_distinct_and_named_by_what_they_are() {
        for path in Path::ALL {
            for format in [Format::F16, Format::E4m3] {
                let triple = Triple::new(format, format, Format::F32);
                let names: Vec<String> = variants(path, triple).iter().map(Variant::to_string).collect();
                let mut unique = names.clone();
                unique.sort();
                unique.dedup();
                assert_eq!(unique.len(), names.len(), "{names:?}");
            }
        }
        assert_eq!(Variant { chains: 2, warps: 8 }.to_string(), "ilp2x8");
    }
}
