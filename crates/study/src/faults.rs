//! Would the gate reject an output with a planted fault?
//!
//! A fault is planted into a few rows of an output, which is harder to see than the same fault everywhere: a gate
//! that rejects those rows rejects the matrix. The faulty output then goes through the very check that judges the
//! device's. A full check says of an element what it says whatever the others are, so there an output of the faulty rows
//! alone is made of the reference, and checked. Sums depend on all elements and on their errors: a sampled check is
//! shown the whole output of a device, which it had let pass as right or as imprecise, with the fault in it.

use rayon::prelude::*;
use rigel_ledger::gate::{FaultTrial, PlantedFault, Suspicious};
use rigel_numerics::attention::Attention;
use rigel_numerics::decode_row::decode_row;
use rigel_numerics::epilogue::Activation;
use rigel_numerics::reference::Reference;
use rigel_numerics::{Matrix, Overflow, Rounding, Shape, Triple, random};
use std::sync::Arc;

/// Rows that carry a fault.
const ROWS: u64 = 3;

/// What a check said of an output: the worst residual, infinite where an element cannot be compared, and the lines that
/// nothing explains.
pub type Said = (f64, Option<Suspicious>);

/// An output into which faults are planted.
pub struct Base<'a> {
    /// Left operand.
    pub a: &'a Matrix,
    /// Right operand.
    pub b: &'a Matrix,
    /// Their product.
    pub output: &'a Matrix,
}

impl Base<'_> {
    /// Plants every fault into some rows, one after another, and asks the check.
    ///
    /// # Errors
    /// Those of the check.
    pub fn trials(
        &self,
        rows: &[usize],
        seed: u64,
        check: impl Fn(&Matrix) -> Result<Said, String>,
    ) -> Result<Vec<FaultTrial>, String> {
        let key = stream(seed);
        let mut faulty = self.output.clone();
        let trial = |fault| {
            if !self.is_possible(fault) {
                return Ok(FaultTrial { fault, error: None, sums: None });
            }
            self.make_faulty(&mut faulty, rows, fault, key);
            let (error, sums) = check(&faulty)?;
            rows.iter().for_each(|&row| faulty.row_mut(row).copy_from_slice(self.output.row(row)));
            Ok(FaultTrial { fault, error: Some(error), sums })
        };
        PlantedFault::ALL.into_iter().map(trial).collect()
    }

    fn is_possible(&self, fault: PlantedFault) -> bool {
        let k = self.b.rows;
        match fault {
            PlantedFault::Zeros => true,
            PlantedFault::DroppedStep | PlantedFault::SwappedElement => k > 1,
            PlantedFault::TransposedB => k == self.b.cols && k > 1,
        }
    }

    /// Plants a fault into some rows of an output that is right.
    fn make_faulty(&self, faulty: &mut Matrix, rows: &[usize], fault: PlantedFault, key: u64) {
        let mut a = vec![0.0; self.a.cols];
        for &row in rows {
            decode_row(self.a.format, self.a.row(row), &mut a);
            self.plant(faulty, row, &a, fault, key);
        }
    }

    fn plant(&self, faulty: &mut Matrix, row: usize, a: &[f64], fault: PlantedFault, key: u64) {
        let value = |column| self.output.value(row, column);
        match fault {
            PlantedFault::Zeros => faulty.row_mut(row).fill(0),
            PlantedFault::DroppedStep => {
                let step = dropped(a, key, self.output.format.is_integer());
                write(faulty, row, |column| value(column) - a[step] * self.b.value(step, column));
            }
            PlantedFault::SwappedElement => {
                let exact = self.output.format.is_integer();
                let Some((first, second)) = swapped(a, key, exact) else { return };
                write(faulty, row, |column| {
                    let change = self.b.value(first, column) - self.b.value(second, column);
                    value(column) + (a[second] - a[first]) * change
                });
            }
            PlantedFault::TransposedB => {
                let columns = 0..self.b.cols;
                let across = || vec![0.0; self.b.cols];
                let sums: Vec<f64> = columns
                    .into_par_iter()
                    .map_init(across, |across, column| {
                        decode_row(self.b.format, self.b.row(column), across);
                        a.iter().zip(across).map(|(x, y)| x * *y).sum()
                    })
                    .collect();
                write(faulty, row, |column| sums[column]);
            }
        }
    }
}

/// The step that is left out, the first from a drawn one on. One whose factor is 0 adds nothing and leaving it out is no fault. Its factor
/// is no less than the median of those that are not 0: a proof with an easier step would say that a gate sees what it mostly does
/// not, one with a harder step asks of a bound what no bound gives. Integers are exact, so that any step shows.
fn dropped(elements: &[f64], key: u64, exact: bool) -> usize {
    let k = elements.len();
    let start = random::below(key, 10, k as u64) as usize;
    let typical = if exact { 0.0 } else { median_size(elements.iter().copied()) };
    let mut from = (0..k).map(|i| (start + i) % k);
    from.find(|&k| elements[k] != 0.0 && elements[k].abs() >= typical).unwrap_or(start)
}

/// The median of the sizes that are not 0, the upper of two; 0 where there is none.
fn median_size(values: impl Iterator<Item = f64>) -> f64 {
    let mut sizes: Vec<f64> = values.map(f64::abs).filter(|&size| size > 0.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or(0.0)
}

/// Two elements that change places, the first drawn, the second the next whose distance from it is no less than the median
/// of those of all that differ from it. Equal elements that change places are no fault.
fn swapped(elements: &[f64], key: u64, exact: bool) -> Option<(usize, usize)> {
    let k = elements.len();
    let first = random::below(key, 11, k as u64) as usize;
    let distance = |other: usize| elements[other] - elements[first];
    let typical = if exact { 0.0 } else { median_size((0..k).map(distance)) };
    let mut others = (1..k).map(|i| (first + i) % k);
    let second = others.find(|&other| distance(other) != 0.0 && distance(other).abs() >= typical)?;
    Some((first, second))
}

/// Writes a row, rounded to the output's format; integers modulo their width.
fn write(output: &mut Matrix, row: usize, mut value: impl FnMut(usize) -> f64) {
    let format = output.format;
    for column in 0..output.cols {
        let value = value(column);
        let code = if format.is_integer() {
            // Sums and products of the operands' integers stay below 2^53.
            value as i64 as u64 & format.code_mask()
        } else {
            format.encode(value, Rounding::NearestEven, Overflow::Ieee)
        };
        output.set(row, column, code);
    }
}

/// The reference as the output of a device that rounds once.
pub fn rounded(reference: &Reference<Arc<Matrix>>) -> Matrix {
    let mut output = Matrix::zeroed(reference.triple.c, reference.shape.m, reference.shape.n);
    (0..output.rows).for_each(|row| write(&mut output, row, |column| reference.value(row, column)));
    output
}

/// The output of a device whose sums these were, behind an activation.
pub fn activated(sums: &Matrix, activation: Activation) -> Matrix {
    let mut output = sums.clone();
    (0..output.rows).for_each(|row| write(&mut output, row, |column| activation.of(sums.value(row, column))));
    output
}

/// What a comparison with an attention says of faults in some of its rows. A step is a key: the heaviest of the row, since leaving out
/// one that weighs next to nothing is next to no fault. Swapped are two elements of the query. Nothing is square enough to be read
/// transposed unseen.
pub fn attention_trials(
    attention: &Attention,
    triple: Triple,
    shape: Shape,
    rows: &[usize],
    seed: u64,
) -> Vec<FaultTrial> {
    let key = stream(seed);
    let worst = |fault: PlantedFault| {
        let mut worst = None;
        for &row in rows {
            let (line, query) = (attention.line(row), attention.query(row));
            let faulty = match fault {
                PlantedFault::Zeros => vec![0.0; shape.n],
                PlantedFault::DroppedStep if shape.k > 1 => attention.head(row).without_heaviest(&query, line),
                PlantedFault::SwappedElement if shape.n > 1 => {
                    let mut changed = query.clone();
                    swapped(&query, key, false).into_iter().for_each(|(first, second)| changed.swap(first, second));
                    attention.head(row).line(triple, shape, &changed).sums
                }
                _ => return None,
            };
            let errors = faulty.iter().zip(&line.sums).zip(&line.magnitudes).map(|((x, y), m)| (x - y).abs() / m);
            let error = errors.fold(0.0_f64, |worst, e| if e.is_finite() { worst.max(e) } else { f64::INFINITY });
            worst = worst.max(Some(error).map(|e: f64| e.to_bits()));
        }
        worst.map(f64::from_bits)
    };
    PlantedFault::ALL.into_iter().map(|fault| FaultTrial { fault, error: worst(fault), sums: None }).collect()
}

/// The seeded rows of an output of `m` rows that carry a fault, ascending, each once.
pub fn rows(m: usize, seed: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..ROWS).map(|i| random::below(stream(seed), i, m as u64) as usize).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn stream(seed: u64) -> u64 {
    random::stream(seed, 0x6661_756c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::bound::{Tolerance, tolerance};
    use rigel_numerics::checksum::Checksums;
    use rigel_numerics::compare::rows_of;
    use rigel_numerics::reference::reference;
    use rigel_numerics::{Operand, Recipe, Shape, Triple};

    struct Case {
        a: Arc<Matrix>,
        b: Arc<Matrix>,
        whole: Reference<Arc<Matrix>>,
        tolerance: Tolerance,
    }

    impl Case {
        fn new(triple: &str, shape: Shape, recipe: Recipe) -> Self {
            let triple: Triple = triple.parse().unwrap();
            let a = Arc::new(recipe.matrix(triple.a, 5, Operand::A, shape.m, shape.k));
            let b = Arc::new(recipe.matrix(triple.b, 5, Operand::B, shape.k, shape.n));
            let whole = reference(triple, Arc::clone(&a), Arc::clone(&b)).unwrap();
            Case { a, b, whole, tolerance: tolerance(triple, shape.k, recipe) }
        }

        fn trials(&self, check: impl Fn(&Matrix) -> Said) -> Vec<FaultTrial> {
            let output = rounded(&self.whole);
            let base = Base { a: &self.a, b: &self.b, output: &output };
            base.trials(&rows(output.rows, 9), 9, |faulty| Ok(check(faulty))).unwrap()
        }

        /// What a comparison of every element says.
        fn full(&self) -> Vec<FaultTrial> {
            self.trials(|faulty| (self.whole.compare(faulty, self.tolerance).unwrap().residual.relative, None))
        }

        /// The same of the faulty rows alone.
        fn few(&self) -> Vec<FaultTrial> {
            let rows = rows(self.whole.shape.m, 9);
            let a = Arc::new(rows_of(&self.a, &rows));
            let part = reference(self.whole.triple, a, Arc::clone(&self.b)).unwrap();
            let said = |faulty: &Matrix| {
                let compared = part.compare(&rows_of(faulty, &rows), self.tolerance).unwrap();
                (compared.residual.relative, None)
            };
            self.trials(said)
        }

        fn sampled(&self) -> Vec<FaultTrial> {
            let sums = Checksums::new(self.whole.triple, Arc::clone(&self.a), Arc::clone(&self.b), 3).unwrap();
            self.trials(|faulty| {
                let check = sums.check(faulty, self.tolerance, 0.0, 64, (32, 16)).unwrap();
                (check.elements.residual.relative, None)
            })
        }
    }

    #[test]
    fn every_fault_is_rejected_by_either_check_of_random_inputs() {
        for triple in ["f32,f32->f32", "bf16,bf16->f32", "e4m3,e4m3->f32", "u8,i8->i32", "f64,f64->f64"] {
            for recipe in [Recipe::NearNormal, Recipe::SmallIntegers] {
                for shape in [Shape::cube(8), Shape::cube(96)] {
                    let case = Case::new(triple, shape, recipe);
                    let limit = case.tolerance.relative;
                    for trial in case.full().into_iter().chain(case.sampled()) {
                        assert!(trial.error.unwrap() > limit, "{triple} {recipe} {shape}: {trial:?} against {limit}");
                    }
                }
            }
        }
    }

    #[test]
    fn planted_steps_and_swaps_are_no_easier_than_half_of_all() {
        let row = Recipe::NearNormal.matrix(rigel_numerics::Format::Bf16, 5, Operand::A, 1, 512);
        let elements: Vec<f64> = (0..512).map(|k| row.value(0, k)).collect();
        let below = |limit: f64, sizes: &[f64]| sizes.iter().filter(|&&size| size > 0.0 && size < limit).count();
        let sizes: Vec<f64> = elements.iter().map(|x| x.abs()).collect();
        let least = (0..400).map(|key| sizes[dropped(&elements, key, false)]).fold(f64::INFINITY, f64::min);
        let harder = below(least, &sizes);
        assert!(
            (200..=256).contains(&harder),
            "{harder} of 512 steps are harder to see than the hardest that is planted"
        );
        for key in 0..200 {
            let (first, second) = swapped(&elements, key, false).unwrap();
            let distances: Vec<f64> = elements.iter().map(|x| (x - elements[first]).abs()).collect();
            assert!(below(distances[second], &distances) >= 240, "{key}");
        }
        assert!((0..400).any(|key| sizes[dropped(&elements, key, true)] < least), "exact sums show any step");
        assert_eq!(dropped(&[0.0, 0.0, 0.5, 0.0], 1, false), 2, "a step that adds nothing is no fault");
        assert_eq!(swapped(&[1.0; 9], 3, false), None, "equal elements that change places are no fault");
        let (first, second) = swapped(&[1.0, 1.0, 1.0, 1.125], 0, false).unwrap();
        assert!(first != second && first.max(second) == 3, "the nearest thing to a fault that there is");
    }

    /// One step of 2^20 among 4095 of 1: a bound that grows with the whole sum cannot see one of those, and the proof must say so.
    #[test]
    fn a_gate_that_sees_the_largest_step_alone_fails_its_proof() {
        let mut elements = vec![1.0; 4096];
        elements[7] = 1_048_576.0;
        let easy = (0..200).filter(|&key| elements[dropped(&elements, key, false)] != 1.0).count();
        assert!(easy <= 2, "{easy} of 200 proofs are by the one step that any bound sees");
    }

    #[test]
    fn the_faulty_rows_alone_say_what_the_whole_output_says() {
        for triple in ["f32,f32->f32", "f16,f16->f16+f32", "u8,i8->i32", "f64,f64->f64"] {
            for recipe in [Recipe::NearNormal, Recipe::Constant] {
                let case = Case::new(triple, Shape::cube(40), recipe);
                let faulty = rounded(&case.whole);
                let unplanted = case.whole.compare(&faulty, case.tolerance).unwrap().residual.relative;
                for (full, few) in case.full().into_iter().zip(case.few()) {
                    // Rows without a fault are off by a rounding; where no fault shows they may be the worst.
                    assert!(full == few || full.error.unwrap() <= unplanted, "{triple} {recipe}: {full:?}, {few:?}");
                }
            }
        }
    }

    #[test]
    fn constants_hide_what_they_must_and_impossible_faults_are_said() {
        let blind = Case::new("f32,f32->f32", Shape::cube(16), Recipe::Constant).full();
        let of = |trials: &[FaultTrial], fault| trials.iter().find(|t| t.fault == fault).unwrap().error;
        assert_eq!(of(&blind, PlantedFault::SwappedElement), Some(0.0));
        assert_eq!(of(&blind, PlantedFault::TransposedB), Some(0.0));
        let thin = Case::new("f32,f32->f32", Shape::new(4, 6, 1), Recipe::NearNormal).full();
        assert_eq!(of(&thin, PlantedFault::DroppedStep), None);
        assert_eq!(of(&thin, PlantedFault::TransposedB), None);
    }
}
