//! Is a device's output right, and could this check have said no?
//!
//! Inputs and what outputs are checked against are made once per (type triple, shape, recipe) and shared by all paths.
//! The proof that the check can fail ([`crate::faults`]) is shared as far as it holds for others: that of a full check
//! follows from the inputs, that of a sampled check is of one output and stays with the look at it. What counts as
//! right is the ledger's business ([`rigel_ledger::gate`]); here outputs are looked at.

mod inputs;
mod scan;
#[cfg(test)]
mod tests;

pub use inputs::Inputs;

use crate::faults;
use inputs::{Against, through};
use rigel_ledger::gate::places::{self, TILE};
use rigel_ledger::gate::{self, Check, Element, FaultTrial, Gate, Judgement, Look, Proof, Suspicious};
use rigel_ledger::plan::Thresholds;
use rigel_ledger::rows::{GateMethod, Identity, Work};
use rigel_numerics::attention::Attention;
use rigel_numerics::bound::{Tolerance, round_up_3};
use rigel_numerics::checksum::{Checksums, OutputSums, SampledCheck};
use rigel_numerics::compare::{Comparison, rows_of};
use rigel_numerics::epilogue::with_ones;
use rigel_numerics::reference::reference;
use rigel_numerics::{Calculation, Format, Matrix, Operand, Recipe, Shape, Triple};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

// Devices poison with the byte that the ledger looks for.
const _: () = assert!(rigel_device::POISON == gate::POISON);

/// Elements that a sampled check computes exactly.
const SAMPLED: usize = 256;

/// What one look at an output saw.
#[derive(Debug, Clone)]
pub struct View {
    /// The finding.
    pub check: Check,
    /// How it was checked.
    pub method: GateMethod,
    /// Error of the worst witness element in units in the last place, rounded up to three digits.
    pub ulps: Option<f64>,
    /// Smallest relative single-element error that a sampled check would have seen; none where it stopped at an element
    /// that is wrong.
    pub visible: Option<f64>,
    /// Witness elements: row, column, code; the worst one included.
    pub witness: Vec<(u32, u32, u64)>,
    /// A format that operands seem to have been cut to.
    pub operands: Option<Format>,
    /// Sums of a sampled check that no element explains.
    pub sums: Option<Suspicious>,
    /// Whether the residual lies outside the tolerance.
    pub outside: bool,
    /// Whether it lies beyond the plan's coarse cap too; for integers, whether it is not 0.
    pub beyond: bool,
    /// What a sampled check said of faults planted into this very output; none where it did not let the output pass as
    /// it is.
    pub trials: Option<Rc<[FaultTrial]>>,
}

impl View {
    /// Whether the output may come out `right` or `imprecise`.
    fn passes(&self) -> bool {
        let residual = matches!(self.check, Check::Residual(_));
        residual && self.sums.is_none() && (!self.beyond || self.operands.is_some())
    }

    /// Whether this look is worse than an earlier one.
    pub fn worse_than(&self, other: &View) -> bool {
        let rank = |view: &View| match view.check {
            Check::Unwritten(_) => (6, 0.0),
            Check::NonFinite(_) => (5, 0.0),
            Check::Residual(error) if view.beyond && view.operands.is_none() => (4, error),
            Check::Residual(error) if view.sums.is_some() => (3, error),
            Check::Residual(error) if view.outside && view.operands.is_none() => (2, error),
            Check::Residual(error) => (u8::from(view.outside), error),
        };
        rank(self) > rank(other)
    }
}

type Key = (Triple, Shape, Recipe, u64, Calculation, bool);
type OperandKey = (Operand, Format, (usize, usize), Recipe, u64);

/// Makes inputs and references, and looks at outputs.
pub struct Gatekeeper {
    seed: u64,
    thresholds: Thresholds,
    inputs: HashMap<Key, Rc<Inputs>>,
    operands: HashMap<OperandKey, Arc<Matrix>>,
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
        let calculation = identity.work.calculation();
        let whole = identity.work == Work::Version;
        let key = (identity.triple, shape, recipe, identity.seed, calculation, whole);
        if let Some(inputs) = self.inputs.get(&key) {
            return Ok(Rc::clone(inputs));
        }
        let triple = identity.triple;
        calculation.fits(triple, shape, recipe)?;
        let a = self.operand(Operand::A, triple.a, calculation.a(shape), recipe, identity.seed);
        let b = self.operand(Operand::B, triple.b, calculation.b(shape), recipe, identity.seed);
        let full = shape.operations() / 2 <= self.thresholds.full_check;
        let tolerance = calculation.tolerance(triple, shape, recipe);
        let activation = identity.work.activation();
        let of = |rows: Option<&[usize]>| {
            let left = rows.map_or_else(|| Arc::clone(&a), |rows| Arc::new(rows_of(&a, rows)));
            let left = if activation.is_some() { Arc::new(with_ones(&left)) } else { left };
            let sums = reference(triple, left, Arc::clone(&b)).map_err(|e| e.to_string())?;
            Ok::<_, String>(through(sums, activation))
        };
        let against = match (full, activation) {
            _ if calculation == Calculation::Attention => {
                let rows = if full { (0..shape.m).collect() } else { places::rows(shape.m, self.seed) };
                Against::Attention(rows, Attention::new(triple, shape, Arc::clone(&a), Arc::clone(&b))?)
            }
            (true, _) => Against::Whole(of(None)?),
            (false, None) => Against::Sums(
                Checksums::new(triple, Arc::clone(&a), Arc::clone(&b), self.seed).map_err(|e| e.to_string())?,
            ),
            (false, Some(_)) => {
                let rows = places::rows(shape.m, self.seed);
                let part = of(Some(&rows))?;
                Against::Rows(rows, part)
            }
        };
        let inputs = Rc::new(Inputs {
            a,
            b,
            tolerance,
            triple,
            shape,
            calculation,
            seed: match calculation {
                Calculation::Attention => places::seed(identity.seed, places::SOLO),
                _ => self.seed,
            },
            blind: recipe.is_blind(),
            whole,
            against,
            sizes: OnceCell::new(),
            seen: RefCell::default(),
        });
        self.inputs.insert(key, Rc::clone(&inputs));
        Ok(inputs)
    }

    fn operand(
        &mut self,
        operand: Operand,
        format: Format,
        extents: (usize, usize),
        recipe: Recipe,
        seed: u64,
    ) -> Arc<Matrix> {
        let make = || Arc::new(recipe.matrix(format, seed, operand, extents.0, extents.1));
        Arc::clone(self.operands.entry((operand, format, extents, recipe, seed)).or_insert_with(make))
    }

    /// Looks at an output; `tile` is rows × columns of the launch tile that made it, whose edges are looked at.
    ///
    /// A check by sums that lets an output pass is put to the proof on this very output.
    ///
    /// # Errors
    /// Why it is no output of this product: other extents, another format.
    pub fn look(&self, inputs: &Inputs, output: &Matrix, tile: (usize, usize)) -> Result<View, String> {
        if matches!(inputs.against, Against::Whole(_)) {
            return self.view(inputs, output, None, tile);
        }
        let looked = (blake3::Hasher::new().update_rayon(&output.bytes).finalize(), tile);
        if let Some(view) = inputs.seen.borrow().get(&looked) {
            output_of(inputs.shape, inputs.triple, output)?;
            return Ok(view.clone());
        }
        let sums = match &inputs.against {
            Against::Sums(expected) => Some(expected.sums(output).map_err(|e| e.to_string())?),
            _ => None,
        };
        let mut view = self.view(inputs, output, sums.as_ref(), tile)?;
        if let Some(sums) = sums.filter(|_| view.passes() && !inputs.blind) {
            view.trials = Some(self.proof(inputs, output, &sums, tile)?);
        }
        inputs.seen.borrow_mut().insert(looked, view.clone());
        Ok(view)
    }

    /// What the check says of an output, whose sums are needed by a sampled check.
    ///
    /// Errors beyond the cap may still come from operands that were cut. A sampled check looks again then, as if there
    /// was no cap, for elements that the cut does not explain.
    fn view(
        &self,
        inputs: &Inputs,
        output: &Matrix,
        sums: Option<&OutputSums>,
        tile: (usize, usize),
    ) -> Result<View, String> {
        let view = self.view_within(inputs, output, sums, tile, self.thresholds.coarse_cap)?;
        if view.method == GateMethod::Sampled && view.beyond && view.operands.is_some() {
            return self.view_within(inputs, output, sums, tile, f64::INFINITY);
        }
        Ok(view)
    }

    /// The same with errors up to `cap` told but not called wrong by a sampled check.
    fn view_within(
        &self,
        inputs: &Inputs,
        output: &Matrix,
        found: Option<&OutputSums>,
        tile: (usize, usize),
        cap: f64,
    ) -> Result<View, String> {
        let Inputs { triple, tolerance, shape, .. } = *inputs;
        let mut elements = if inputs.whole { places::all(shape) } else { places::witness(shape, tile, inputs.seed) };
        let (worst, sampled) = match &inputs.against {
            Against::Whole(whole) => (whole.compare(output, tolerance).map_err(|e| e.to_string())?, None),
            Against::Sums(sums) => {
                let found = found.ok_or("a check by sums was not told the output's")?;
                let check = sums.check_by(found, output, tolerance, cap, SAMPLED, tile).map_err(|e| e.to_string())?;
                elements.extend(scan::scan(inputs, output));
                (check.elements, Some(check))
            }
            Against::Rows(rows, part) => {
                elements.extend(scan::scan(inputs, output));
                let looked_at = rows_of(output_of(shape, triple, output)?, rows);
                let worst = part.compare(&looked_at, tolerance).map_err(|e| e.to_string())?;
                (Comparison { row: rows[worst.row], ..worst }, None)
            }
            Against::Attention(rows, attention) => {
                if rows.len() < shape.m {
                    elements.extend(scan::scan(inputs, output));
                }
                (attention.compare(output, rows, tolerance).map_err(|e| e.to_string())?, None)
            }
        };
        elements.insert((worst.row, worst.col));
        let mut look = Look::new(triple, tolerance);
        let mut witness = Vec::with_capacity(elements.len());
        for (row, column) in elements {
            let code = output.get(row, column);
            witness.push((row as u32, column as u32, code));
            look.take(Element { row, column }, code, inputs.exact(row, column).as_ref());
        }
        let (a, b) = (|row, k| inputs.a.get(row, k), |k, col| inputs.b.get(k, col));
        let cut = || gate::operands_cut(triple, tolerance, &witness, a, b, shape.k);
        let outside = look.is_outside();
        let plain = !triple.is_integer() && inputs.calculation == Calculation::Product;
        let cap = if triple.is_integer() { 0.0 } else { self.thresholds.coarse_cap };
        let suspicious = |check: &SampledCheck| Suspicious { rows: check.rows.len(), columns: check.columns.len() };
        let left = |check: &&SampledCheck| !check.stopped && check.rows.len() + check.columns.len() > 0;
        Ok(View {
            check: look.check(),
            method: match inputs.against {
                Against::Whole(_) => GateMethod::Full,
                Against::Attention(ref rows, _) if rows.len() == shape.m => GateMethod::Full,
                Against::Sums(_) | Against::Rows(..) | Against::Attention(..) => GateMethod::Sampled,
            },
            ulps: look.ulps(),
            visible: sampled
                .as_ref()
                .filter(|check| !check.stopped)
                .map(|check| round_up_3(check.smallest_visible_relative)),
            operands: if outside && plain { cut() } else { None },
            witness,
            sums: sampled.as_ref().filter(left).map(suspicious),
            outside,
            beyond: outside && look.error().is_some_and(|error| error > cap),
            trials: None,
        })
    }

    /// What a sampled check says of faults planted into an output.
    fn proof(
        &self,
        inputs: &Inputs,
        output: &Matrix,
        sums: &OutputSums,
        tile: (usize, usize),
    ) -> Result<Rc<[FaultTrial]>, String> {
        let Against::Sums(expected) = &inputs.against else { return Err("this check is none by sums".into()) };
        let base = faults::Base { a: &inputs.a, b: &inputs.b, output };
        let rows = faults::rows(inputs.shape.m, self.seed);
        let trial = |faulty: &Matrix| {
            let sums = expected.changed(sums, output, faulty, &rows).map_err(|e| e.to_string())?;
            self.trial(inputs, faulty, Some(&sums), tile)
        };
        Ok(base.trials(&rows, self.seed, trial)?.into())
    }

    /// What the check says of an output with a planted fault. That it stands in the way of `right` is for the judge to
    /// say.
    fn trial(
        &self,
        inputs: &Inputs,
        faulty: &Matrix,
        sums: Option<&OutputSums>,
        tile: (usize, usize),
    ) -> Result<faults::Said, String> {
        let view = self.view(inputs, faulty, sums, tile)?;
        Ok(match view.check {
            Check::Residual(error) => (error, view.sums),
            Check::NonFinite(_) | Check::Unwritten(_) => (f64::INFINITY, view.sums),
        })
    }

    /// What a full check of a few rows says of faults planted into the right product.
    ///
    /// That is the proof of a full check, which says of an element what it says whatever the others are. Of an output
    /// that a sampled check does not let pass it tells whether its limit means anything.
    fn sizes(&self, inputs: &Inputs) -> Result<Rc<[FaultTrial]>, String> {
        let sizes = || {
            let rows = faults::rows(inputs.shape.m, self.seed);
            if let Against::Attention(_, attention) = &inputs.against {
                return Ok(faults::attention_trials(attention, inputs.triple, inputs.shape, &rows, self.seed).into());
            }
            let part = inputs.rows(&rows)?;
            // Faults are of the product: an activation follows them as it follows the device's.
            let output = faults::rounded(&inputs.sums_of(&rows)?);
            let without_bias =
                inputs.activation().map(|_| rows_of(&inputs.b, &(0..inputs.shape.k).collect::<Vec<_>>()));
            let base = faults::Base { a: &part.a, b: without_bias.as_ref().unwrap_or(&part.b), output: &output };
            let all: Vec<usize> = (0..rows.len()).collect();
            let trial = |faulty: &Matrix| match inputs.activation() {
                None => self.trial(&part, faulty, None, TILE),
                Some(activation) => self.trial(&part, &faults::activated(faulty, activation), None, TILE),
            };
            Ok(base.trials(&all, self.seed, trial)?.into())
        };
        inputs.sizes.get_or_init(sizes).clone()
    }

    /// Judges a cell by the worse of what was seen before and after timing, so that outcome, reason and witness speak
    /// of the same output. Zeros and constants are judged without planted faults; their worker lets them inherit.
    pub fn judge(&self, identity: &Identity, inputs: &Inputs, before: &View, after: Option<&View>) -> Judgement {
        let worse_after = after.filter(|after| after.worse_than(before));
        let view = worse_after.unwrap_or(before);
        let found = match &view.trials {
            Some(trials) => Ok(Rc::clone(trials)),
            None if inputs.blind => Ok(Rc::default()),
            None => self.sizes(inputs),
        };
        // Without trials no output is right.
        let (trials, unplanted) = match found {
            Ok(trials) => (trials, None),
            Err(why) => (Rc::default(), Some(why)),
        };
        let mut judgement = gate::judge(&Gate {
            triple: identity.triple,
            tolerance: gate_tolerance(inputs.tolerance),
            model_bound: None,
            coarse_cap: self.thresholds.coarse_cap,
            proof: if inputs.blind { Proof::Blind } else { Proof::Trials(&trials) },
            before: if worse_after.is_some() { Check::Residual(0.0) } else { view.check },
            after: worse_after.map(|view| view.check),
            sums: view.sums,
            operands: view.operands,
        });
        if let Some(why) = unplanted.filter(|_| judgement.outcome == rigel_ledger::Outcome::Mistrusted) {
            judgement.reason = format!("no fault could be planted, so nothing shows that the gate sees one: {why}");
        }
        judgement
    }
}

/// An output, if it is one of this product.
fn output_of(shape: Shape, triple: Triple, output: &Matrix) -> Result<&Matrix, String> {
    let fits = (output.format, output.rows, output.cols) == (triple.c, shape.m, shape.n)
        && output.bytes.len() == shape.m * Matrix::row_bytes(triple.c, shape.n);
    if fits { Ok(output) } else { Err(format!("{} x {} of {}", output.rows, output.cols, output.format)) }
}

/// The ledger's form of a tolerance. The absolute part, which only underflow needs, is left out of stored errors.
fn gate_tolerance(tolerance: Tolerance) -> gate::Tolerance {
    if tolerance.exact { gate::Tolerance::Exact } else { gate::Tolerance::Relative(tolerance.relative) }
}
