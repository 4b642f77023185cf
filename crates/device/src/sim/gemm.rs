//! How does a planted product load, run and fault?

use super::fault::{Effect, PlantedFault, Wrong};
use super::random::{Stream, key};
use super::timeline::Timeline;
use super::toolchain::PlantedToolchain;
use super::truth::PlantedTriple;
use super::world::{Shared, World};
use super::wrong::{Spoiled, poisoned};
use crate::contract::{Cache, Epilogue, Fault, Gemm, GemmSpec, Refusal, Rung, Sample};
use rigel_numerics::placement::Placement;
use rigel_numerics::{Calculation, Format, Matrix};
use std::rc::Rc;

/// A compiled product of a software device.
pub struct SimGemm {
    world: Shared,
    spec: GemmSpec,
    asked: Asked,
    planted: PlantedTriple,
    faults: Vec<PlantedFault>,
    timeline: Timeline,
    bound: Option<Bound>,
    /// Repetitions done.
    done: u64,
}

/// What is computed of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Their product.
    Product,
    /// A product with an epilogue.
    Finished(Epilogue),
    /// A product whose operands are placed.
    Placed(Placement),
    /// An attention.
    Attention {
        /// In one kernel.
        fused: bool,
    },
}

impl Asked {
    fn calculation(self) -> Calculation {
        match self {
            Asked::Product | Asked::Placed(_) => Calculation::Product,
            Asked::Finished(epilogue) => Calculation::Finished(epilogue.activation),
            Asked::Attention { .. } => Calculation::Attention,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Asked::Product => "",
            Asked::Finished(_) => " that has an epilogue",
            Asked::Placed(_) => " whose operands can be placed",
            Asked::Attention { fused: true } => " that has a fused attention",
            Asked::Attention { fused: false } => " that has a decomposed attention",
        }
    }
}

struct Bound {
    a: Matrix,
    b: Matrix,
    right: Rc<Matrix>,
    memory: Matrix,
}

impl SimGemm {
    /// Compiles what is asked, or refuses as planted.
    pub fn compile(world: Shared, spec: &GemmSpec, asked: Asked) -> Result<Self, Refusal> {
        let refused = |diagnostic: String| Refusal { rung: Rung::Compile, diagnostic };
        let (truth, process) = {
            let world = world.borrow();
            (world.truth.clone(), world.process)
        };
        let timeline = match asked {
            Asked::Product => truth.timeline(spec, process),
            Asked::Finished(epilogue) => truth.epilogue_timeline(spec, epilogue, process),
            Asked::Placed(placement) => truth.placed_timeline(spec, placement, process),
            Asked::Attention { fused } => truth.attention_timeline(spec, fused, process),
        };
        let (Some(found), Some(timeline)) = (truth.find(&spec.path, spec.triple), timeline) else {
            return Err(refused(format!(
                "sim device `{}` has no path `{}` with triple {} and launch tile `{}`{}",
                truth.name,
                spec.path,
                spec.triple,
                spec.tile,
                asked.words()
            )));
        };
        if !found.triple.absent.is_empty() {
            return Err(refused(found.triple.absent.clone()));
        }
        let mut faults: Vec<PlantedFault> = truth.faults.iter().filter(|f| f.hits(spec, process)).cloned().collect();
        if let (Asked::Placed(placement), Some(alignment)) = (asked, &found.triple.alignment) {
            faults.extend(alignment.fault(spec.triple, spec.shape, placement));
        }
        for fault in &faults {
            if let Effect::RefuseCompile { diagnostic } = &fault.effect {
                return Err(refused(diagnostic.clone()));
            }
        }
        let planted = found.triple.clone();
        Ok(SimGemm { world, spec: spec.clone(), asked, planted, faults, timeline, bound: None, done: 0 })
    }

    /// The same by a toolchain that is planted: its effect and its arithmetic take the place of the device's.
    pub fn compile_by(world: Shared, spec: &GemmSpec, toolchain: &PlantedToolchain) -> Result<Self, Refusal> {
        let mut gemm = SimGemm::compile(world, spec, Asked::Product)?;
        gemm.planted.arithmetic = toolchain.arithmetic.unwrap_or(gemm.planted.arithmetic);
        if let Some(effect) = &toolchain.effect {
            if let Effect::RefuseCompile { diagnostic } = effect {
                return Err(Refusal { rung: Rung::Compile, diagnostic: diagnostic.clone() });
            }
            let effect = effect.clone();
            let fault =
                PlantedFault { path: None, triple: None, shape: None, tile: None, process: None, after: 0, effect };
            gemm.faults.push(fault);
        }
        Ok(gemm)
    }

    /// Does what is planted for the repetition after `self.done` good ones; the wrong output, if that is its effect.
    fn act(&mut self) -> Result<Option<Wrong>, Fault> {
        let mut wrong = None;
        for fault in self.faults.iter().filter(|f| f.after <= self.done) {
            match &fault.effect {
                Effect::Crash => std::process::abort(),
                Effect::Hang => loop {
                    std::thread::sleep(std::time::Duration::from_secs(3600));
                },
                Effect::DeviceLost { message } => {
                    self.world.borrow_mut().lost = Some(message.clone());
                    return Err(Fault::DeviceLost(message.clone()));
                }
                Effect::Failed { message } => return Err(Fault::Failed(message.clone())),
                Effect::Wrong(how) => wrong = Some(how.clone()),
                Effect::RefuseCompile { .. } | Effect::RefuseLoad { .. } => {}
                Effect::OutOfMemory { .. } | Effect::ExhaustMemory => {}
            }
        }
        Ok(wrong)
    }

    fn write(&mut self, wrong: Option<Wrong>) -> Result<(), Fault> {
        let identity = [self.world.borrow().truth.seed, 4, key(&self.spec.path), key(&self.spec.shape.to_string())];
        let bound = self.bound.as_mut().ok_or_else(unbound)?;
        match wrong {
            None => bound.memory.bytes.copy_from_slice(&bound.right.bytes),
            Some(wrong) => {
                let Bound { a, b, right, memory } = bound;
                let spoiled = Spoiled { triple: &self.planted, a, b, right, stream: Stream::new(&identity) };
                let products = &mut self.world.borrow_mut().products;
                *memory = spoiled.output(&wrong, products, memory);
            }
        }
        Ok(())
    }
}

impl Gemm for SimGemm {
    fn load(&mut self) -> Result<(), Refusal> {
        let refused = self.faults.iter().find_map(|f| match &f.effect {
            Effect::RefuseLoad { diagnostic } => Some(diagnostic.clone()),
            _ => None,
        });
        refused.map_or(Ok(()), |diagnostic| Err(Refusal { rung: Rung::Load, diagnostic }))
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        alive(&self.world.borrow())?;
        for fault in &self.faults {
            match &fault.effect {
                Effect::OutOfMemory { message } => return Err(Fault::OutOfMemory(message.clone())),
                Effect::ExhaustMemory => return Err(exhaust(self.world.borrow().truth.memory_bytes)),
                _ => {}
            }
        }
        let (shape, triple) = (self.spec.shape, self.spec.triple);
        let fits = |matrix: &Matrix, format: Format, rows: usize, cols: usize| {
            (matrix.format, matrix.rows, matrix.cols) == (format, rows, cols)
                && matrix.bytes.len() == rows * Matrix::row_bytes(format, cols)
        };
        let calculation = self.asked.calculation();
        let ((rows_a, cols_a), (rows_b, cols_b)) = (calculation.a(shape), calculation.b(shape));
        if !fits(a, triple.a, rows_a, cols_a) || !fits(b, triple.b, rows_b, cols_b) {
            return Err(Fault::Failed(format!("operands do not fit {triple} at {shape}")));
        }
        let mut world = self.world.borrow_mut();
        let output_bytes = shape.m * Matrix::row_bytes(triple.c, shape.n);
        let (needed, has) = (a.bytes.len() + b.bytes.len() + output_bytes, world.truth.memory_bytes);
        if needed as u64 > has {
            return Err(Fault::OutOfMemory(format!("operands and output take {needed} bytes; the device has {has}")));
        }
        let right = match (self.asked, self.planted.epilogue, self.planted.attention) {
            (Asked::Finished(epilogue), Some(planted), _) => {
                Rc::new(planted.output(&mut world.products, &self.planted, epilogue, a, b))
            }
            (Asked::Attention { fused }, _, Some(planted)) => {
                Rc::new(planted.output(&self.planted, shape, fused, a, b).map_err(Fault::Failed)?)
            }
            _ => world.products.of(self.planted.arithmetic, triple, a, b),
        };
        let memory = Matrix::zeroed(triple.c, shape.m, shape.n);
        self.bound = Some(Bound { a: a.clone(), b: b.clone(), right, memory });
        Ok(())
    }

    fn poison(&mut self) -> Result<(), Fault> {
        alive(&self.world.borrow())?;
        let bound = self.bound.as_mut().ok_or_else(unbound)?;
        bound.memory = poisoned(bound.memory.format, bound.memory.rows, bound.memory.cols);
        Ok(())
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        alive(&self.world.borrow())?;
        if self.bound.is_none() {
            return Err(unbound());
        }
        let factor = match cache {
            Cache::Warm => 1.0,
            Cache::Cold => self.planted.cold_factor,
            Cache::Replayed => return Err(Fault::not_replayed("this backend records no chain of launches")),
        };
        let mut samples = Vec::new();
        let mut wrong = None;
        for _ in 0..repetitions {
            wrong = self.act()?;
            let sample = self.timeline.step(factor);
            self.world.borrow_mut().compute(sample.time);
            samples.push(sample);
            self.done += 1;
        }
        if repetitions > 0 {
            self.write(wrong)?;
        }
        Ok(samples)
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        alive(&self.world.borrow())?;
        self.bound.as_ref().map(|b| b.memory.clone()).ok_or_else(unbound)
    }
}

fn unbound() -> Fault {
    Fault::Failed("no operands are bound: call bind first".into())
}

/// Whether the device still answers.
fn alive(world: &World) -> Result<(), Fault> {
    world.lost.as_ref().map_or(Ok(()), |message| Err(Fault::DeviceLost(message.clone())))
}

/// Allocates until the process may have no more, and aborts then; gives up at `most` bytes. Limits count what is mapped, so nothing is
/// touched: that would take seconds of silence, which is another fault.
fn exhaust(most: u64) -> Fault {
    const CHUNK: usize = 16 << 20;
    let mut held: Vec<Vec<u8>> = Vec::new();
    while (held.len() as u64 + 1) * CHUNK as u64 <= most {
        let mut chunk: Vec<u8> = Vec::new();
        if chunk.try_reserve_exact(CHUNK).is_err() {
            eprintln!("sim: memory allocation of {CHUNK} bytes failed, as planted");
            std::process::abort();
        }
        held.push(std::hint::black_box(chunk));
    }
    Fault::OutOfMemory(format!("took {} bytes and no memory limit stopped it", held.len() * CHUNK))
}
