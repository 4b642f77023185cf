//! Is a device's output right, and could this check have said no?
//!
//! Inputs, reference and the proof on planted faults are made once per (type triple, shape, recipe) and shared by all
//! paths. What counts as right is the ledger's business ([`rigel_ledger::gate`]); here outputs are looked at.

use crate::faults::Proven;
use rigel_ledger::gate::{self, Check, Element, FaultTrial, Gate, Judgement, Look, Proof, Suspicious};
use rigel_ledger::plan::Thresholds;
use rigel_ledger::rows::{GateMethod, Identity};
use rigel_numerics::bound::{self, Tolerance, round_up_3};
use rigel_numerics::checksum::{SampledCheck, Sampling, sampled_check};
use rigel_numerics::exact::{self, Dot, NotFinite};
use rigel_numerics::reference::Reference;
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple, random};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

// Devices poison with the byte that the ledger looks for.
const _: () = assert!(rigel_device::POISON == gate::POISON);

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
    /// Sums of a sampled check that no element explains.
    pub sums: Option<Suspicious>,
    /// Whether the residual lies outside the tolerance.
    pub outside: bool,
}

impl View {
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
    ///
    /// # Errors
    /// Why it is no output of this product: other extents, another format.
    pub fn look(&self, inputs: &Inputs, output: &Matrix) -> Result<View, String> {
        let Inputs { triple, tolerance, .. } = *inputs;
        if let Some(reference) = &inputs.reference {
            let worst = reference.compare(output, tolerance).map_err(|e| e.to_string())?;
            return Ok(self.witness(inputs, output, (worst.row, worst.col), None));
        }
        let sampling = Sampling { elements: SAMPLED, tile: (64, 64), seed: self.seed };
        let check = sampled_check(triple, &inputs.a, &inputs.b, output, tolerance, sampling);
        let check = check.map_err(|e| e.to_string())?;
        Ok(self.witness(inputs, output, (check.elements.row, check.elements.col), Some(&check)))
    }

    /// Looks at the witness elements and the worst; `sampled` is the check that found it, unless every element was compared.
    fn witness(&self, inputs: &Inputs, output: &Matrix, worst: (usize, usize), sampled: Option<&SampledCheck>) -> View {
        let elements: BTreeSet<(usize, usize)> = inputs.elements.iter().copied().chain([worst]).collect();
        let triple = inputs.triple;
        let mut look = Look::new(triple, inputs.tolerance);
        let mut witness = Vec::with_capacity(elements.len());
        for &(row, column) in &elements {
            let code = output.get(row, column);
            witness.push((row as u32, column as u32, code));
            look.take(Element { row, column }, code, inputs.exact(row, column).ok().as_ref());
        }
        let outside = look.is_outside();
        let operands = if outside && !triple.is_integer() {
            let (a, b) = (|row, k| inputs.a.get(row, k), |k, col| inputs.b.get(k, col));
            gate::operands_cut(triple, inputs.tolerance, &witness, a, b, inputs.shape.k)
        } else {
            None
        };
        View {
            check: look.check(),
            method: if sampled.is_some() { GateMethod::Sampled } else { GateMethod::Full },
            ulps: look.ulps(),
            visible: sampled.map(|check| round_up_3(check.smallest_visible_relative)),
            witness,
            operands,
            sums: sampled
                .filter(|check| !check.passes() && !outside)
                .map(|check| Suspicious { rows: check.rows.len(), columns: check.columns.len() }),
            outside,
        }
    }

    /// Judges a cell by the worse of what was seen before and after timing, so that outcome, reason and witness speak of the
    /// same output. Zeros and constants are judged without planted faults; their worker lets them inherit.
    pub fn judge(&self, identity: &Identity, inputs: &Inputs, before: &View, after: Option<&View>) -> Judgement {
        let worse_after = after.filter(|after| after.worse_than(before));
        let view = worse_after.unwrap_or(before);
        gate::judge(&Gate {
            triple: identity.triple,
            tolerance: gate_tolerance(inputs.tolerance),
            model_bound: None,
            coarse_cap: self.thresholds.coarse_cap,
            proof: if blind(identity.recipe) { Proof::Blind } else { Proof::Trials(&inputs.trials) },
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

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_ledger::rows::{CacheState, Work};
    use rigel_ledger::{Outcome, Probe};
    use rigel_numerics::sample::sample;
    use rigel_numerics::{Format, Overflow, Rounding};

    const SHAPE: Shape = Shape::new(200, 150, 40);
    const F32: Triple = Triple::new(Format::F32, Format::F32, Format::F32);

    fn identity(recipe: Recipe) -> Identity {
        Identity {
            probe: Probe::Throughput,
            work: Work::Gemm,
            path: "path".into(),
            triple: F32,
            shape: Some(SHAPE),
            tile: String::new(),
            recipe: Some(recipe),
            seed: 3,
            cache: CacheState::Warm,
        }
    }

    /// A gatekeeper that compares every element of products up to `full_check` multiplications.
    fn gatekeeper(full_check: u64) -> Gatekeeper {
        let thresholds = Thresholds {
            accelerated: 1.5,
            win: 1.1,
            same: [0.9, 1.1],
            ceiling_share: 0.6,
            plateau: 0.02,
            coarse_cap: 0.01,
            full_check,
        };
        Gatekeeper::new(11, thresholds)
    }

    /// The exact product plus `error` in units of Σ|a||b|, rounded to f32.
    fn element(inputs: &Inputs, (row, col): (usize, usize), error: f64) -> u64 {
        let dot = inputs.exact(row, col).unwrap();
        F32.c.encode(dot.sum.to_f64() + error * dot.magnitude.to_f64(), Rounding::NearestEven, Overflow::Ieee)
    }

    fn right(inputs: &Inputs) -> Matrix {
        let mut output = Matrix::zeroed(F32.c, SHAPE.m, SHAPE.n);
        for row in 0..SHAPE.m {
            (0..SHAPE.n).for_each(|col| output.set(row, col, element(inputs, (row, col), 0.0)));
        }
        output
    }

    fn unseen(seed: u64, place: (usize, usize)) -> bool {
        let sampled = sample(SHAPE, (64, 64), SAMPLED, seed);
        !sampled.contains(&place) && !witness_elements(SHAPE, seed).contains(&place)
    }

    #[test]
    fn a_sampled_check_finds_single_elements_and_puts_them_into_the_witness() {
        let mut gatekeeper = gatekeeper(0);
        let identity = identity(Recipe::NearNormal);
        let inputs = gatekeeper.inputs(&identity).unwrap();
        let output = right(&inputs);
        let view = gatekeeper.look(&inputs, &output).unwrap();
        assert_eq!((view.method, view.sums), (GateMethod::Sampled, None));
        assert_eq!(gatekeeper.judge(&identity, &inputs, &view, None).outcome, Outcome::Right);
        // On both sides of tile edges, and amid a tile.
        let places = [(63, 63), (64, 65), (127, 64), (128, 128), (31, 77), (199, 101)];
        let unsampled: Vec<_> = places.into_iter().filter(|&place| unseen(11, place)).collect();
        assert!(unsampled.len() >= 3);
        for place in unsampled {
            let mut wrong = output.clone();
            wrong.set(place.0, place.1, element(&inputs, place, 0.3));
            let view = gatekeeper.look(&inputs, &wrong).unwrap();
            assert!(view.witness.iter().any(|w| (w.0 as usize, w.1 as usize) == place), "{place:?}");
            assert_eq!(gatekeeper.judge(&identity, &inputs, &view, None).outcome, Outcome::Wrong, "{place:?}");
        }
        // One element in every row, all behind the second tile edge.
        let mut wrong = output.clone();
        (0..SHAPE.m).filter(|&row| unseen(11, (row, 131))).for_each(|row| {
            wrong.set(row, 131, element(&inputs, (row, 131), 0.3));
        });
        let view = gatekeeper.look(&inputs, &wrong).unwrap();
        assert_eq!(gatekeeper.judge(&identity, &inputs, &view, None).outcome, Outcome::Wrong);
    }

    #[test]
    fn sums_that_no_element_explains_are_mistrusted() {
        let mut gatekeeper = gatekeeper(0);
        let identity = identity(Recipe::NearNormal);
        let inputs = gatekeeper.inputs(&identity).unwrap();
        let fine = right(&inputs);
        let mut off = fine.clone();
        let error = 0.9 * inputs.tolerance.relative;
        for place in (20..60).flat_map(|row| (0..SHAPE.n).map(move |col| (row, col))).filter(|&p| unseen(11, p)) {
            off.set(place.0, place.1, element(&inputs, place, error));
        }
        let (before, after) = (gatekeeper.look(&inputs, &off).unwrap(), gatekeeper.look(&inputs, &fine).unwrap());
        assert!(!before.outside && before.sums.is_some(), "{before:?}");
        let judgement = gatekeeper.judge(&identity, &inputs, &before, Some(&after));
        assert_eq!(judgement.outcome, Outcome::Mistrusted);
        assert!(judgement.reason.starts_with(Suspicious::PREFIX), "{}", judgement.reason);
        assert!(before.worse_than(&after) && !after.worse_than(&before));
    }

    #[test]
    fn reason_and_witness_are_of_the_worse_view() {
        for full_check in [0, u64::MAX] {
            let mut gatekeeper = gatekeeper(full_check);
            let identity = identity(Recipe::NearNormal);
            let inputs = gatekeeper.inputs(&identity).unwrap();
            let fine = right(&inputs);
            let spoiled = |code| {
                let mut output = fine.clone();
                output.set(0, 0, code);
                gatekeeper.look(&inputs, &output).unwrap()
            };
            // From good to bad.
            let views = [
                gatekeeper.look(&inputs, &fine).unwrap(),
                spoiled(element(&inputs, (0, 0), 1e-3)),
                spoiled(element(&inputs, (0, 0), 0.4)),
                spoiled(0x7F80_0000),
                spoiled(0xA5A5_A5A5),
            ];
            for (i, before) in views.iter().enumerate() {
                for (j, after) in views.iter().enumerate() {
                    assert_eq!(after.worse_than(before), j > i);
                    let both = gatekeeper.judge(&identity, &inputs, before, Some(after));
                    let worse = gatekeeper.judge(&identity, &inputs, if j > i { after } else { before }, None);
                    assert_eq!((both.outcome, both.error), (worse.outcome, worse.error));
                    let when = if j > i { "after timing" } else { "before timing" };
                    assert!(both.reason.is_empty() || both.reason.contains(when), "{}", both.reason);
                }
            }
        }
    }

    #[test]
    fn what_is_no_output_is_an_error_and_not_unwritten() {
        for full_check in [0, u64::MAX] {
            let mut gatekeeper = gatekeeper(full_check);
            let inputs = gatekeeper.inputs(&identity(Recipe::NearNormal)).unwrap();
            for misfit in [Matrix::zeroed(F32.c, SHAPE.m, SHAPE.n - 1), Matrix::zeroed(Format::F16, SHAPE.m, SHAPE.n)] {
                assert!(!gatekeeper.look(&inputs, &misfit).unwrap_err().is_empty());
            }
        }
    }

    #[test]
    fn a_blind_product_is_judged_by_its_own_residual() {
        let mut gatekeeper = gatekeeper(u64::MAX);
        for recipe in [Recipe::Zeros, Recipe::Constant] {
            let identity = identity(recipe);
            let inputs = gatekeeper.inputs(&identity).unwrap();
            let fine = right(&inputs);
            let mut wrong = fine.clone();
            wrong.set(64, 64, 0x4270_0000);
            let outcome = |output: &Matrix| {
                let view = gatekeeper.look(&inputs, output).unwrap();
                gatekeeper.judge(&identity, &inputs, &view, None).outcome
            };
            assert_eq!((outcome(&fine), outcome(&wrong)), (Outcome::Right, Outcome::Wrong), "{recipe}");
        }
    }
}
