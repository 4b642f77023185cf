//! How does a cell climb from compile to load, bind and run, and where does it stop?

use crate::gate::{Gatekeeper, Inputs, View};
use crate::protocol::{Stage, cache_of};
use crate::spent::Spent;
use rigel_device::{CeilingSpec, Device, Epilogue, Fault, Gemm, GemmSpec, Refusal, Rung, Sample};
use rigel_ledger::Outcome;
use rigel_ledger::gate::places;
use rigel_ledger::rows::{Identity, Stop, Work};
use rigel_numerics::{Calculation, placement};
use std::rc::Rc;

/// Why a cell climbs no further.
#[derive(Debug, Clone, PartialEq)]
pub struct Stopped {
    /// The outcome.
    pub outcome: Outcome,
    /// The verbatim diagnostic or the reason.
    pub reason: String,
}

impl Stopped {
    /// An outcome with its reason.
    pub fn new(outcome: Outcome, reason: impl Into<String>) -> Self {
        Stopped { outcome, reason: reason.into() }
    }
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        let outcome = match refusal.rung {
            Rung::Compile => Outcome::RefusedCompile,
            Rung::Load => Outcome::RefusedLoad,
        };
        Stopped::new(outcome, refusal.diagnostic)
    }
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::OutOfMemory(reason) => Stopped::new(Outcome::OutOfMemory, reason),
            Fault::DeviceLost(reason) => Stopped::new(Outcome::DeviceLost, reason),
            Fault::Failed(reason) => Stopped::new(Outcome::Failed, reason),
        }
    }
}

/// What a cell runs, compiled.
pub enum Compiled {
    /// A product with its inputs.
    Product {
        /// The kernel.
        gemm: Box<dyn Gemm>,
        /// Inputs and reference.
        inputs: Rc<Inputs>,
    },
    /// A ceiling loop.
    Ceiling(Box<dyn rigel_device::Ceiling>),
}

/// A cell that can run.
pub struct Prepared {
    /// Index in the job.
    pub index: usize,
    /// Identity.
    pub identity: Identity,
    /// The kernel.
    pub compiled: Compiled,
    /// Repetitions so far.
    pub samples: Vec<Sample>,
    /// Rows and columns of its launch tile, whose edges the gate looks at; those of [`places::TILE`] where its name tells none.
    pub tile: (usize, usize),
    /// What the gate saw before timing.
    pub before: Option<View>,
    /// How its turns ended.
    pub end: Option<Result<Stop, Stopped>>,
    /// Where its time went since it was compiled.
    pub spent: Spent,
}

impl Prepared {
    /// Compiles, loads and binds one cell; `at` is told before each step that may kill the process, `spent` after each that
    /// takes long.
    pub fn new(
        device: &mut dyn Device,
        gatekeeper: &mut Gatekeeper,
        index: usize,
        identity: &Identity,
        at: &mut dyn FnMut(usize, Stage),
        spent: &mut Spent,
    ) -> Result<Prepared, Stopped> {
        let compiled = match (identity.work, identity.shape) {
            (Work::Ceiling, _) => {
                at(index, Stage::Compile);
                Compiled::Ceiling(device.ceiling(&CeilingSpec {
                    path: identity.path.clone(),
                    triple: identity.triple,
                    variant: identity.tile.clone(),
                })?)
            }
            (work, Some(shape)) if work.is_product() || matches!(work, Work::Rung | Work::Version) => {
                at(index, Stage::Inputs);
                let inputs =
                    spent.gate(|| gatekeeper.inputs(identity)).map_err(|why| Stopped::new(Outcome::Absent, why))?;
                at(index, Stage::Compile);
                let spec = GemmSpec {
                    path: identity.path.clone(),
                    triple: identity.triple,
                    shape,
                    tile: identity.tile.clone(),
                };
                let mut gemm = match work.calculation() {
                    Calculation::Product if work == Work::Placed => {
                        let (tile, place) = placement::split(&spec.tile).ok_or_else(|| {
                            Stopped::new(Outcome::Failed, format!("`{}` places no operands", spec.tile))
                        })?;
                        device.compile_placed(&GemmSpec { tile: tile.to_owned(), ..spec.clone() }, place)?
                    }
                    Calculation::Product if work == Work::Version => device.compile_by(&spec)?,
                    Calculation::Product => device.compile(&spec)?,
                    Calculation::Finished(activation) => {
                        device.compile_with(&spec, Epilogue { activation, fused: work.is_fused() })?
                    }
                    Calculation::Attention => device.compile_attention(&spec, work.is_fused())?,
                };
                at(index, Stage::Load);
                gemm.load()?;
                at(index, Stage::Bind);
                spent.gate(|| gemm.bind(&inputs.a, &inputs.b))?;
                Compiled::Product { gemm, inputs }
            }
            (Work::Unit | Work::Conversion | Work::Product | Work::Meter, _) => {
                let why = "units, orders and meters are asked by themselves, not timed as products";
                return Err(Stopped::new(Outcome::Failed, why));
            }
            _ => {
                return Err(Stopped::new(Outcome::Failed, "a product without a shape cannot be measured"));
            }
        };
        let tile = places::tile_of(&identity.tile);
        let identity = identity.clone();
        Ok(Prepared {
            index,
            identity,
            compiled,
            samples: vec![],
            tile,
            before: None,
            end: None,
            spent: Spent::default(),
        })
    }

    /// Operations of one repetition, where that is a throughput.
    pub fn operations(&self) -> Option<u64> {
        match (&self.compiled, self.identity.work) {
            (Compiled::Ceiling(ceiling), _) => Some(ceiling.operations()),
            (Compiled::Product { .. }, work) if work.is_product() => {
                self.identity.shape.map(|shape| work.calculation().operations(shape))
            }
            (Compiled::Product { .. }, _) => None,
        }
    }

    /// Poisons the output, runs once and looks at it. A ceiling loop runs once; its accumulators are looked at later.
    pub fn gate_before(&mut self, gatekeeper: &Gatekeeper, at: &mut dyn FnMut(usize, Stage)) -> Result<(), Stopped> {
        at(self.index, Stage::Gate);
        let spent = &mut self.spent;
        match &mut self.compiled {
            Compiled::Ceiling(ceiling) => {
                spent.run(|| ceiling.run(1))?;
            }
            Compiled::Product { gemm, inputs } => {
                spent.gate(|| gemm.poison())?;
                spent.run(|| gemm.run(1, cache_of(self.identity.cache)))?;
                let view = spent.gate(|| {
                    let view = gatekeeper.look(inputs, &gemm.output()?, self.tile).map_err(no_output)?;
                    gemm.poison()?;
                    Ok::<View, Stopped>(view)
                })?;
                self.before = Some(view);
            }
        }
        Ok(())
    }

    /// Looks at what the last timed repetition left.
    pub fn look_again(&mut self, gatekeeper: &Gatekeeper) -> Result<Option<View>, Stopped> {
        match &mut self.compiled {
            Compiled::Ceiling(_) => Ok(None),
            Compiled::Product { gemm, inputs } => self.spent.gate(|| {
                let view = gatekeeper.look(inputs, &gemm.output()?, self.tile).map_err(no_output)?;
                Ok(Some(view))
            }),
        }
    }
}

/// A device that gave something else than the product's output: it is not even wrong.
fn no_output(why: String) -> Stopped {
    Stopped::new(Outcome::Failed, format!("the device gave no output of this product: {why}"))
}

impl crate::sampling::Turns for Prepared {
    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault> {
        let cache = cache_of(self.identity.cache);
        let compiled = &mut self.compiled;
        self.spent.run(|| match compiled {
            Compiled::Ceiling(ceiling) => ceiling.run(repetitions),
            Compiled::Product { gemm, .. } => gemm.run(repetitions, cache),
        })
    }

    fn samples(&self) -> &[Sample] {
        &self.samples
    }

    fn keep(&mut self, samples: &[Sample]) {
        self.samples.extend_from_slice(samples);
    }

    fn end(&mut self, how: Result<Stop, Fault>) {
        self.end = Some(how.map_err(Stopped::from));
    }

    fn ended(&self) -> bool {
        self.end.is_some()
    }
}
