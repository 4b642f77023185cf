//! Is a device's output right, and could this check have said no?
//!
//! Inputs, reference and the proof on planted faults are made once per (type triple, shape, recipe) and shared by all
//! paths. What counts as right is the ledger's business ([`rigel_ledger::gate`]); here outputs are looked at.

use crate::faults::Proven;
use rigel_device::POISON;
use rigel_ledger::gate::{self, Check, Element, FaultTrial, Gate, Judgement, Proof};
use rigel_ledger::plan::Thresholds;
use rigel_ledger::rows::{GateMethod, Identity};
use rigel_numerics::bound::{self, Tolerance, round_up_3};
use rigel_numerics::checksum::{Sampling, sampled_check};
use rigel_numerics::exact::{self, Dot, NotFinite};
use rigel_numerics::reference::Reference;
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple, random};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// Random witness elements, besides corners, edges and the worst one.
const RANDOM_WITNESS: u64 = 16;
/// Elements that a sampled check computes exactly.
const SAMPLED: usize = 256;

/// Whether a recipe's product cannot fail a gate: every term is alike, so a swapped element or a transposed operand is not seen.
pub fn blind(recipe: Option<Recipe>) -> bool {
    matches!(recipe, Some(Recipe::Zeros | Recipe::Constant))
}

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
    /// None above the size of a full check.
    reference: Option<Reference<Arc<Matrix>>>,
    trials: Vec<FaultTrial>,
    elements: Vec<(usize, usize)>,
}

impl Inputs {
    /// The exact dot product of an element.
    fn exact(&self, row: usize, col: usize) -> Result<Dot, NotFinite> {
        let terms = (0..self.shape.k).map(|k| (self.a.get(row, k), self.b.get(k, col)));
        exact::dot(self.triple.a, self.triple.b, terms)
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
    pub operands: Option<rigel_numerics::Format>,
}

impl View {
    /// Whether this look is worse than an earlier one.
    pub fn worse_than(&self, other: &View) -> bool {
        let rank = |check: &Check| match check {
            Check::Unwritten(_) => (2, 0.0),
            Check::NonFinite(_) => (1, 0.0),
            Check::Residual(error) => (0, *error),
        };
        rank(&self.check) > rank(&other.check)
    }
}

type Key = (Triple, Shape, Recipe, u64);

/// Makes inputs and references, and looks at outputs.
pub struct Gatekeeper {
    seed: u64,
    thresholds: Thresholds,
    inputs: HashMap<Key, Rc<Inputs>>,
    operands: HashMap<(Operand, rigel_numerics::Format, Shape, Recipe, u64), Arc<Matrix>>,
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
        blind(identity.recipe)
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
        let made = || rigel_numerics::reference::reference(identity.triple, Arc::clone(&a), Arc::clone(&b));
        let reference = if full { Some(made().map_err(|e| e.to_string())?) } else { None };
        let proven = Proven { triple: identity.triple, shape, a: &a, b: &b, reference: reference.as_ref() };
        let trials = proven.trials(self.seed);
        let tolerance = bound::tolerance(identity.triple, shape.k, recipe);
        let elements = witness_elements(shape, self.seed);
        let triple = identity.triple;
        let inputs = Rc::new(Inputs { a, b, tolerance, triple, shape, reference, trials, elements });
        self.inputs.insert(key, Rc::clone(&inputs));
        Ok(inputs)
    }

    fn operand(
        &mut self,
        operand: Operand,
        format: rigel_numerics::Format,
        shape: Shape,
        recipe: Recipe,
        seed: u64,
    ) -> Arc<Matrix> {
        let (rows, cols) = if operand == Operand::A { (shape.m, shape.k) } else { (shape.k, shape.n) };
        let make = || Arc::new(recipe.matrix(format, seed, operand, rows, cols));
        Arc::clone(self.operands.entry((operand, format, shape, recipe, seed)).or_insert_with(make))
    }

    /// Looks at an output.
    pub fn look(&self, inputs: &Inputs, output: &Matrix) -> View {
        let (method, worst, visible) = match &inputs.reference {
            Some(reference) => {
                let compared = reference.compare(output, inputs.tolerance);
                (GateMethod::Full, compared.map(|c| (c.row, c.col)).ok(), None)
            }
            None => {
                let sampling = Sampling { elements: SAMPLED, tile: (64, 64), seed: self.seed };
                let check = sampled_check(inputs.triple, &inputs.a, &inputs.b, output, inputs.tolerance, sampling);
                let worst = check.as_ref().ok().map(|c| (c.elements.row, c.elements.col));
                (GateMethod::Sampled, worst, check.ok().map(|c| round_up_3(c.smallest_visible_relative)))
            }
        };
        let Some(worst) = worst else {
            // An output of other extents or format than asked for holds nothing that was asked for.
            let check = Check::Unwritten(Element { row: 0, column: 0 });
            return View { check, method, ulps: None, visible, witness: vec![], operands: None };
        };
        self.witness(inputs, output, worst, method, visible)
    }

    fn witness(
        &self,
        inputs: &Inputs,
        output: &Matrix,
        worst: (usize, usize),
        method: GateMethod,
        visible: Option<f64>,
    ) -> View {
        let elements: BTreeSet<(usize, usize)> = inputs.elements.iter().copied().chain([worst]).collect();
        let triple = inputs.triple;
        let (mut error, mut ulps) = (0.0f64, 0.0f64);
        let mut witness = Vec::with_capacity(elements.len());
        let mut check = None;
        for &(row, col) in &elements {
            let code = output.get(row, col);
            witness.push((row as u32, col as u32, code));
            let Ok(dot) = inputs.exact(row, col) else { continue };
            let residual = dot.residual(triple.c, code);
            let element = Element { row, column: col };
            if !inside(&dot, triple, code, inputs.tolerance) && is_poison(triple, code) {
                check = Some(Check::Unwritten(element));
            } else if !residual.relative.is_finite() && !matches!(check, Some(Check::Unwritten(_))) {
                check = Some(Check::NonFinite(element));
            } else if residual.relative > error {
                (error, ulps) = (residual.relative, residual.ulps);
            }
        }
        let finite = check.is_none();
        let operands = if finite && round_up_3(error) > inputs.tolerance.relative && !triple.is_integer() {
            let (a, b) = (|row, k| inputs.a.get(row, k), |k, col| inputs.b.get(k, col));
            gate::operands_cut(triple, inputs.tolerance, &witness, a, b, inputs.shape.k)
        } else {
            None
        };
        View {
            check: check.unwrap_or(Check::Residual(round_up_3(error))),
            method,
            ulps: finite.then(|| round_up_3(ulps)),
            visible,
            witness,
            operands,
        }
    }

    /// Judges a cell by what was seen before and after timing.
    pub fn judge(&self, identity: &Identity, inputs: &Inputs, before: &View, after: Option<&View>) -> Judgement {
        gate::judge(&Gate {
            triple: identity.triple,
            tolerance: gate_tolerance(inputs.tolerance),
            model_bound: None,
            coarse_cap: self.thresholds.coarse_cap,
            proof: Proof::Trials(&inputs.trials),
            before: before.check,
            after: after.map(|view| view.check),
            operands: after.and_then(|view| view.operands).or(before.operands),
        })
    }
}

/// The ledger's form of a tolerance. The absolute part, which only underflow needs, is left out of stored errors.
fn gate_tolerance(tolerance: Tolerance) -> gate::Tolerance {
    if tolerance.exact { gate::Tolerance::Exact } else { gate::Tolerance::Relative(tolerance.relative) }
}

fn inside(dot: &Dot, triple: Triple, code: u64, tolerance: Tolerance) -> bool {
    let residual = dot.residual(triple.c, code);
    residual.relative.is_finite() && dot.sum.difference(triple.c, code) <= tolerance.allowed(dot.magnitude.to_f64())
}

fn is_poison(triple: Triple, code: u64) -> bool {
    let bits = triple.c.bits();
    let all = u64::from_ne_bytes([POISON; 8]);
    code == if bits == 64 { all } else { all & ((1 << bits) - 1) }
}

/// Corners, the middle, tile edges and seeded random elements; all of them where there are few.
fn witness_elements(shape: Shape, seed: u64) -> Vec<(usize, usize)> {
    let total = shape.m as u64 * shape.n as u64;
    if total <= RANDOM_WITNESS {
        return (0..shape.m).flat_map(|r| (0..shape.n).map(move |c| (r, c))).collect();
    }
    let edges = |extent: usize| {
        let near = [0, 1, 7, 8, 15, 16, 31, 32, 63, 64, extent / 2, extent - 1];
        near.into_iter().filter(move |&e| e < extent).collect::<Vec<_>>()
    };
    let (rows, cols) = (edges(shape.m), edges(shape.n));
    let key = random::stream(seed, 0x7769_746e);
    let mut elements: BTreeSet<(usize, usize)> =
        [(0, 0), (shape.m - 1, shape.n - 1), (0, shape.n - 1), (shape.m - 1, 0)].into();
    for i in 0..4 {
        let r = rows[random::below(key, 2 * i, rows.len() as u64) as usize];
        let c = cols[random::below(key, 2 * i + 1, cols.len() as u64) as usize];
        elements.insert((r, c));
    }
    let mut index = 100;
    let wanted = elements.len() + (RANDOM_WITNESS as usize).min(total as usize - elements.len());
    while elements.len() < wanted {
        let r = random::below(key, index, shape.m as u64) as usize;
        let c = random::below(key, index + 1, shape.n as u64) as usize;
        elements.insert((r, c));
        index += 2;
    }
    elements.into_iter().collect()
}
