//! Would the gate reject a product with a planted fault?
//!
//! Each fault is planted into a few output rows only, which is harder to see than the same fault everywhere: a gate that
//! rejects one row rejects the matrix. The residual of a faulty element is |c' − c| / Σ|a||b| with both sums good to
//! float64; their rounding is far below any tolerance that the residual must exceed.

use rigel_ledger::gate::{FaultTrial, PlantedFault};
use rigel_numerics::decode_row::decode_row;
use rigel_numerics::reference::Reference;
use rigel_numerics::{Matrix, Shape, Triple, exact, random};
use std::sync::Arc;

/// Rows that carry a fault.
const ROWS: u64 = 3;
/// Columns that are looked at where there is no whole reference.
const COLUMNS: u64 = 64;

/// A product whose gate is put to the proof.
pub struct Proven<'a> {
    /// Types.
    pub triple: Triple,
    /// Extents.
    pub shape: Shape,
    /// Left operand.
    pub a: &'a Matrix,
    /// Right operand.
    pub b: &'a Matrix,
    /// Its reference; without one, single elements are computed exactly.
    pub reference: Option<&'a Reference<Arc<Matrix>>>,
}

impl Proven<'_> {
    /// Tries every planted fault.
    pub fn trials(&self, seed: u64) -> Vec<FaultTrial> {
        let key = random::stream(seed, 0x6661_756c);
        let rows = some(key, ROWS, self.shape.m);
        let columns = match self.reference {
            Some(_) => (0..self.shape.n).collect(),
            None => some(random::stream(key, 1), COLUMNS, self.shape.n),
        };
        let planted = |fault| FaultTrial { fault, error: self.worst(&rows, &columns, fault, key) };
        PlantedFault::ALL.into_iter().map(planted).collect()
    }

    /// The largest residual over the rows; `None` where the shape cannot have the fault.
    fn worst(&self, rows: &[usize], columns: &[usize], fault: PlantedFault, key: u64) -> Option<f64> {
        let possible = match fault {
            PlantedFault::Zeros => true,
            PlantedFault::DroppedStep | PlantedFault::SwappedElement => self.shape.k > 1,
            PlantedFault::TransposedB => self.shape.k == self.shape.n && self.shape.k > 1,
        };
        if !possible {
            return None;
        }
        let mut worst = 0.0f64;
        for &row in rows {
            let mut a = vec![0.0; self.shape.k];
            decode_row(self.a.format, self.a.row(row), &mut a);
            let plant = Plant { product: self, row, a: &a, fault, key };
            for &column in columns {
                worst = worst.max(plant.residual(column));
            }
        }
        Some(worst)
    }

    /// Σ a·b and Σ |a||b| of an element.
    fn sums(&self, row: usize, column: usize) -> (f64, f64) {
        match self.reference {
            Some(reference) => (reference.value(row, column), reference.magnitude(row, column)),
            None => {
                let terms = (0..self.shape.k).map(|k| (self.a.get(row, k), self.b.get(k, column)));
                let dot = exact::dot(self.a.format, self.b.format, terms);
                dot.map_or((f64::NAN, f64::NAN), |dot| (dot.sum.to_f64(), dot.magnitude.to_f64()))
            }
        }
    }
}

/// A few seeded indices below an extent, ascending, each once.
fn some(key: u64, count: u64, extent: usize) -> Vec<usize> {
    let mut indices: Vec<usize> = (0..count).map(|i| random::below(key, i, extent as u64) as usize).collect();
    indices.sort_unstable();
    indices.dedup();
    indices
}

/// A fault in one row.
struct Plant<'a> {
    product: &'a Proven<'a>,
    row: usize,
    a: &'a [f64],
    fault: PlantedFault,
    key: u64,
}

impl Plant<'_> {
    /// |c' − c| / Σ|a||b|; for integers whether the change is seen modulo the output's width.
    fn residual(&self, column: usize) -> f64 {
        let (value, magnitude) = self.product.sums(self.row, column);
        let change = self.change(column, value);
        if self.product.triple.is_integer() {
            let modulus = f64::from(self.product.triple.c.bits()).exp2();
            return f64::from(u8::from(change.rem_euclid(modulus) != 0.0));
        }
        if magnitude == 0.0 { 0.0 } else { change.abs() / magnitude }
    }

    /// c' − c.
    fn change(&self, column: usize, value: f64) -> f64 {
        let (b, k) = (self.product.b, self.product.shape.k);
        match self.fault {
            PlantedFault::Zeros => -value,
            PlantedFault::DroppedStep => {
                // A step whose factor is 0 adds nothing, and leaving it out is no fault.
                let start = random::below(self.key, 10, k as u64) as usize;
                let step = (0..k).map(|i| (start + i) % k).find(|&k| self.a[k] != 0.0).unwrap_or(start);
                -self.a[step] * b.value(step, column)
            }
            PlantedFault::SwappedElement => {
                // Two equal elements that change places are no fault.
                let first = random::below(self.key, 11, k as u64) as usize;
                let unlike = (1..k).map(|i| (first + i) % k).find(|&k| self.a[k] != self.a[first]);
                unlike.map_or(0.0, |second| {
                    (self.a[second] - self.a[first]) * (b.value(first, column) - b.value(second, column))
                })
            }
            PlantedFault::TransposedB => {
                let mut row = vec![0.0; b.cols];
                decode_row(b.format, b.row(column), &mut row);
                self.a.iter().zip(&row).map(|(x, y)| x * y).sum::<f64>() - value
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::bound::tolerance;
    use rigel_numerics::{Operand, Recipe};

    fn trials(triple: &str, shape: Shape, recipe: Recipe, whole: bool) -> Vec<FaultTrial> {
        let triple: Triple = triple.parse().unwrap();
        let a = Arc::new(recipe.matrix(triple.a, 5, Operand::A, shape.m, shape.k));
        let b = Arc::new(recipe.matrix(triple.b, 5, Operand::B, shape.k, shape.n));
        let reference = rigel_numerics::reference::reference(triple, Arc::clone(&a), Arc::clone(&b)).unwrap();
        Proven { triple, shape, a: &a, b: &b, reference: whole.then_some(&reference) }.trials(9)
    }

    #[test]
    fn every_fault_exceeds_the_tolerance_of_random_inputs() {
        for triple in ["f32,f32->f32", "bf16,bf16->f32", "e4m3,e4m3->f32", "u8,i8->i32", "f64,f64->f64"] {
            for recipe in [Recipe::NearNormal, Recipe::SmallIntegers] {
                for (shape, whole) in [(Shape::cube(8), true), (Shape::cube(96), true), (Shape::cube(96), false)] {
                    let limit = tolerance(triple.parse().unwrap(), shape.k, recipe).relative;
                    for trial in trials(triple, shape, recipe, whole) {
                        assert!(trial.error.unwrap() > limit, "{triple} {recipe} {shape}: {trial:?} against {limit}");
                    }
                }
            }
        }
    }

    #[test]
    fn constants_hide_what_they_must_and_impossible_faults_are_said() {
        let blind = trials("f32,f32->f32", Shape::cube(16), Recipe::Constant, true);
        let of = |trials: &[FaultTrial], fault| trials.iter().find(|t| t.fault == fault).unwrap().error;
        assert_eq!(of(&blind, PlantedFault::SwappedElement), Some(0.0));
        assert_eq!(of(&blind, PlantedFault::TransposedB), Some(0.0));
        let thin = trials("f32,f32->f32", Shape::new(4, 6, 1), Recipe::NearNormal, true);
        assert_eq!(of(&thin, PlantedFault::DroppedStep), None);
        assert_eq!(of(&thin, PlantedFault::TransposedB), None);
    }
}
