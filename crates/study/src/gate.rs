//! Is a device's output right, and could this check have said no?
//!
//! Inputs and what outputs are checked against are made once per (type triple, shape, recipe) and shared by all paths, and so is
//! the proof that the check can fail ([`crate::faults`]). What counts as right is the ledger's business
//! ([`rigel_ledger::gate`]); here outputs are looked at.

mod places;
#[cfg(test)]
mod tests;

pub use places::TILE;

use crate::faults;
use rigel_ledger::gate::{self, Check, Element, FaultTrial, Gate, Judgement, Look, Proof, Suspicious};
use rigel_ledger::plan::Thresholds;
use rigel_ledger::rows::{GateMethod, Identity};
use rigel_numerics::bound::{self, Tolerance, round_up_3};
use rigel_numerics::checksum::{Checksums, SampledCheck};
use rigel_numerics::compare::rows_of;
use rigel_numerics::exact::{self, Dot, NotFinite};
use rigel_numerics::reference::{Reference, reference};
use rigel_numerics::{Format, Matrix, Operand, Recipe, Shape, Triple};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

// Devices poison with the byte that the ledger looks for.
const _: () = assert!(rigel_device::POISON == gate::POISON);

/// Elements that a sampled check computes exactly.
const SAMPLED: usize = 256;

/// Inputs of cells that share them, with what is known of their product.
pub struct Inputs {
    /// The left operand.
    pub a: Arc<Matrix>,
    /// The right operand.
    pub b: Arc<Matrix>,
    /// Limit of `right`.
    pub tolerance: Tolerance,
    triple: Triple,
    shape: Shape,
    /// Whether the recipe hides planted faults, so that none are planted.
    blind: bool,
    against: Against,
    /// What the check said of planted faults, once it was asked.
    proof: RefCell<Option<Trials>>,
}

/// What outputs are checked against.
enum Against {
    /// Every element.
    Whole(Reference<Arc<Matrix>>),
    /// Sums and a sample of elements, above the size of a full check.
    Sums(Checksums<Arc<Matrix>>),
}

/// What a check said of planted faults.
struct Trials {
    /// The smallest error that the check would have seen in the output into which they were planted, 0 for a full
    /// check: it grows with the output's own rounding errors, which hide others.
    visible: f64,
    trials: Rc<[FaultTrial]>,
}

impl Inputs {
    /// The exact dot product of an element.
    fn exact(&self, row: usize, col: usize) -> Result<Dot, NotFinite> {
        let terms = (0..self.shape.k).map(|k| (self.a.get(row, k), self.b.get(k, col)));
        exact::dot(self.triple.a, self.triple.b, terms)
    }

    /// Some rows of the product, checked element by element.
    fn rows(&self, rows: &[usize]) -> Result<Inputs, String> {
        let a = Arc::new(rows_of(&self.a, rows));
        let part = reference(self.triple, Arc::clone(&a), Arc::clone(&self.b)).map_err(|e| e.to_string())?;
        Ok(Inputs {
            a,
            b: Arc::clone(&self.b),
            tolerance: self.tolerance,
            triple: self.triple,
            shape: part.shape,
            blind: self.blind,
            against: Against::Whole(part),
            proof: RefCell::new(None),
        })
    }
}

/// What one look at an output saw.
#[derive(Debug, Clone)]
pub struct View {
    /// The finding.
    pub check: Check,
    /// How it was checked.
    pub method: GateMethod,
    /// Error of the worst witness element in units in the last place, rounded up to three digits.
    pub ulps: Option<f64>,
    /// Smallest relative single-element error that a sampled check would have seen.
    pub visible: Option<f64>,
    /// Witness elements: row, column, code; the worst one included.
    pub witness: Vec<(u32, u32, u64)>,
    /// A format that operands seem to have been cut to.
    pub operands: Option<Format>,
    /// Sums of a sampled check that no element explains.
    pub sums: Option<Suspicious>,
    /// Whether the residual lies outside the tolerance.
    pub outside: bool,
}

impl View {
    /// Whether nothing speaks against the output.
    fn passes(&self) -> bool {
        matches!(self.check, Check::Residual(_)) && !self.outside && self.sums.is_none()
    }

    /// Whether this look is worse than an earlier one.
    pub fn worse_than(&self, other: &View) -> bool {
        let rank = |view: &View| match view.check {
            Check::Unwritten(_) => (5, 0.0),
            Check::NonFinite(_) => (4, 0.0),
            Check::Residual(error) if view.outside && view.operands.is_none() => (3, error),
            Check::Residual(error) if view.outside => (2, error),
            Check::Residual(error) => (u8::from(view.sums.is_some()), error),
        };
        rank(self) > rank(other)
    }
}

type Key = (Triple, Shape, Recipe, u64);

/// Makes inputs and references, and looks at outputs.
pub struct Gatekeeper {
    seed: u64,
    thresholds: Thresholds,
    inputs: HashMap<Key, Rc<Inputs>>,
    operands: HashMap<(Operand, Format, Shape, Recipe, u64), Arc<Matrix>>,
}

impl Gatekeeper {
    /// A gatekeeper whose witness elements and faults follow from `seed`.
    pub fn new(seed: u64, thresholds: Thresholds) -> Self {
        Gatekeeper { seed, thresholds, inputs: HashMap::new(), operands: HashMap::new() }
    }

    /// Forgets inputs, so that a long climb does not hold them all.
    pub fn forget(&mut self) {
        self.inputs.clear();
        self.operands.clear();
    }

    /// Whether a cell's recipe cannot fail its gate.
    pub fn is_blind(&self, identity: &Identity) -> bool {
        identity.recipe.is_some_and(Recipe::is_blind)
    }

    /// Inputs of a product; the reason when its recipe does not fit its types at this K.
    pub fn inputs(&mut self, identity: &Identity) -> Result<Rc<Inputs>, String> {
        let (Some(shape), Some(recipe)) = (identity.shape, identity.recipe) else {
            return Err("a product needs a shape and a recipe".into());
        };
        let key = (identity.triple, shape, recipe, identity.seed);
        if let Some(inputs) = self.inputs.get(&key) {
            return Ok(Rc::clone(inputs));
        }
        rigel_numerics::recipe::fits(recipe, identity.triple, shape.k).map_err(|e| e.to_string())?;
        let a = self.operand(Operand::A, identity.triple.a, shape, recipe, identity.seed);
        let b = self.operand(Operand::B, identity.triple.b, shape, recipe, identity.seed);
        let full = shape.operations() / 2 <= self.thresholds.full_check;
        let triple = identity.triple;
        let against = if full {
            Against::Whole(reference(triple, Arc::clone(&a), Arc::clone(&b)).map_err(|e| e.to_string())?)
        } else {
            Against::Sums(Checksums::new(triple, Arc::clone(&a), Arc::clone(&b), self.seed).map_err(|e| e.to_string())?)
        };
        let tolerance = bound::tolerance(triple, shape.k, recipe);
        let inputs = Rc::new(Inputs {
            a,
            b,
            tolerance,
            triple,
            shape,
            blind: recipe.is_blind(),
            against,
            proof: RefCell::new(None),
        });
        self.inputs.insert(key, Rc::clone(&inputs));
        Ok(inputs)
    }

    fn operand(&mut self, operand: Operand, format: Format, shape: Shape, recipe: Recipe, seed: u64) -> Arc<Matrix> {
        let (rows, cols) = if operand == Operand::A { (shape.m, shape.k) } else { (shape.k, shape.n) };
        let make = || Arc::new(recipe.matrix(format, seed, operand, rows, cols));
        Arc::clone(self.operands.entry((operand, format, shape, recipe, seed)).or_insert_with(make))
    }

    /// Looks at an output; `tile` is rows × columns of the launch tile that made it, whose edges are looked at.
    ///
    /// A sampled check that finds nothing is put to the proof on this very output, unless it already was on one whose
    /// rounding errors hide as much.
    ///
    /// # Errors
    /// Why it is no output of this product: other extents, another format.
    pub fn look(&self, inputs: &Inputs, output: &Matrix, tile: (usize, usize)) -> Result<View, String> {
        let mut view = self.view(inputs, output, tile, places::witness(inputs.shape, tile, self.seed))?;
        if view.outside && !inputs.triple.is_integer() {
            let (a, b) = (|row, k| inputs.a.get(row, k), |k, col| inputs.b.get(k, col));
            let Inputs { triple, tolerance, .. } = *inputs;
            view.operands = gate::operands_cut(triple, tolerance, &view.witness, a, b, inputs.shape.k);
        }
        if let Some(visible) = view.visible.filter(|_| view.passes() && !inputs.blind) {
            let proven = inputs.proof.borrow().as_ref().is_some_and(|proof| proof.visible >= visible);
            if !proven {
                let base = faults::Base { a: &inputs.a, b: &inputs.b, output };
                let rows = faults::rows(inputs.shape.m, self.seed);
                let trials = base.trials(&rows, self.seed, |faulty| self.trial(inputs, faulty, tile))?;
                *inputs.proof.borrow_mut() = Some(Trials { visible, trials: trials.into() });
            }
        }
        Ok(view)
    }

    /// What the check says of an output, before anything explains it; `elements` are looked at besides the worst.
    fn view(
        &self,
        inputs: &Inputs,
        output: &Matrix,
        tile: (usize, usize),
        mut elements: BTreeSet<(usize, usize)>,
    ) -> Result<View, String> {
        let Inputs { triple, tolerance, .. } = *inputs;
        let (worst, sampled) = match &inputs.against {
            Against::Whole(whole) => (whole.compare(output, tolerance).map_err(|e| e.to_string())?, None),
            Against::Sums(sums) => {
                let check = sums.check(output, tolerance, SAMPLED, tile).map_err(|e| e.to_string())?;
                (check.elements, Some(check))
            }
        };
        elements.insert((worst.row, worst.col));
        let mut look = Look::new(triple, tolerance);
        let mut witness = Vec::with_capacity(elements.len());
        for (row, column) in elements {
            let code = output.get(row, column);
            witness.push((row as u32, column as u32, code));
            look.take(Element { row, column }, code, inputs.exact(row, column).ok().as_ref());
        }
        let outside = look.is_outside();
        let suspicious = |check: &SampledCheck| Suspicious { rows: check.rows.len(), columns: check.columns.len() };
        Ok(View {
            check: look.check(),
            method: if sampled.is_some() { GateMethod::Sampled } else { GateMethod::Full },
            ulps: look.ulps(),
            visible: sampled.as_ref().map(|check| round_up_3(check.smallest_visible_relative)),
            witness,
            operands: None,
            sums: sampled.as_ref().filter(|check| !check.passes() && !outside).map(suspicious),
            outside,
        })
    }

    /// What the check says of an output with a planted fault. That it stands in the way of `right` is for the judge to say.
    fn trial(&self, inputs: &Inputs, faulty: &Matrix, tile: (usize, usize)) -> Result<faults::Said, String> {
        let view = self.view(inputs, faulty, tile, BTreeSet::new())?;
        Ok(match view.check {
            Check::Residual(error) => (error, view.sums),
            Check::NonFinite(_) | Check::Unwritten(_) => (f64::INFINITY, view.sums),
        })
    }

    /// What the check says of planted faults.
    ///
    /// A sampled check is proven by a look at an output that passes. Where none did, only the faults' own size matters, to
    /// say which of them a wider limit would not have seen, and a full check of a few rows tells it.
    fn proof(&self, inputs: &Inputs) -> Result<Rc<[FaultTrial]>, String> {
        if let Some(proof) = inputs.proof.borrow().as_ref() {
            return Ok(Rc::clone(&proof.trials));
        }
        let rows = faults::rows(inputs.shape.m, self.seed);
        let part = inputs.rows(&rows)?;
        let Against::Whole(right) = &part.against else { return Err("rows of a product have a reference".into()) };
        let output = faults::rounded(right);
        let base = faults::Base { a: &part.a, b: &part.b, output: &output };
        let all: Vec<usize> = (0..rows.len()).collect();
        let trials: Rc<[FaultTrial]> = base.trials(&all, self.seed, |faulty| self.trial(&part, faulty, TILE))?.into();
        let visible = if matches!(inputs.against, Against::Whole(_)) { 0.0 } else { -1.0 };
        *inputs.proof.borrow_mut() = Some(Trials { visible, trials: Rc::clone(&trials) });
        Ok(trials)
    }

    /// Judges a cell by the worse of what was seen before and after timing, so that outcome, reason and witness speak of the
    /// same output. Zeros and constants are judged without planted faults; their worker lets them inherit.
    pub fn judge(&self, identity: &Identity, inputs: &Inputs, before: &View, after: Option<&View>) -> Judgement {
        let worse_after = after.filter(|after| after.worse_than(before));
        let view = worse_after.unwrap_or(before);
        // Without trials no output is right.
        let trials = if inputs.blind { Rc::default() } else { self.proof(inputs).unwrap_or_default() };
        gate::judge(&Gate {
            triple: identity.triple,
            tolerance: gate_tolerance(inputs.tolerance),
            model_bound: None,
            coarse_cap: self.thresholds.coarse_cap,
            proof: if inputs.blind { Proof::Blind } else { Proof::Trials(&trials) },
            before: if worse_after.is_some() { Check::Residual(0.0) } else { view.check },
            after: worse_after.map(|view| view.check),
            sums: view.sums,
            operands: view.operands,
        })
    }
}

/// The ledger's form of a tolerance. The absolute part, which only underflow needs, is left out of stored errors.
fn gate_tolerance(tolerance: Tolerance) -> gate::Tolerance {
    if tolerance.exact { gate::Tolerance::Exact } else { gate::Tolerance::Relative(tolerance.relative) }
}
