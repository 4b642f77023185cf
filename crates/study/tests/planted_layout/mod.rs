//! What does a unit with a planted layout do with its registers?

pub mod draw;

use rigel_device::Fault;
use rigel_device::unit::{FragmentSpec, Operands, Unit, UnitSpec};
use rigel_numerics::layout::{Fragment, FragmentOperand, Layout};
use rigel_numerics::random::{below, stream};
use rigel_numerics::{Format, Matrix, Overflow, Rounding, Triple};

/// Which copy of an element of A or B a product reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// The first; nothing reads the others.
    First,
    /// Those of A turn by turn over the columns of D, the first of B.
    OfAByColumn,
    /// Those of B turn by turn over the rows of D, the first of A.
    OfBByRow,
    /// Every register of D reads the copy whose lane differs from its own in the lowest bits only, as far as there is one.
    Nearest,
}

/// What is wrong with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Flaw {
    None,
    /// A lane of D is always 0.
    DeadLane(usize),
    /// A lane of D is 1 too large.
    LaneTooLarge(usize),
    /// The first register of D holds the last one's element.
    WrongElement,
    /// Once in so many launches one register of D is 1 too large.
    Once(u64),
    /// The first register of A feeds the last row as well.
    TwoRows,
    /// The first two lanes of A change places when a value above 1 is there.
    ByData,
    /// The first two lanes of A change places when most of A's registers are 0.
    ByZeros,
}

/// A unit that multiplies exactly through its layouts and rounds once.
pub struct Planted {
    pub spec: UnitSpec,
    pub fragment: Fragment,
    pub copies: Copies,
    pub flaw: Flaw,
    pub launches: usize,
    /// Registers of A and of B, by k, that each register of D reads, for `Copies::Nearest`.
    sources: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Planted {
    pub fn new(fragment: Fragment, triple: Triple, copies: Copies, flaw: Flaw) -> Planted {
        let spec = UnitSpec {
            name: "planted".into(),
            path: "planted".into(),
            triple,
            shape: fragment.shape(),
            scales: None,
            fragments: Some(FragmentSpec {
                lanes: fragment.lanes(),
                a: fragment.a.slots(),
                b: fragment.b.slots(),
                c: fragment.c.slots(),
            }),
            source: "a test".into(),
        };
        let sources = if copies == Copies::Nearest { nearest(&fragment) } else { Vec::new() };
        Planted { spec, fragment, copies, flaw, launches: 0, sources }
    }

    /// Which registers of A or B some product reads.
    pub fn reads(&self, operand: FragmentOperand) -> Vec<bool> {
        let layout = self.fragment.of(operand);
        if self.copies == Copies::Nearest {
            let mut read = vec![false; layout.table().len()];
            let of = |source: &(Vec<usize>, Vec<usize>)| {
                if operand == FragmentOperand::A { source.0.clone() } else { source.1.clone() }
            };
            self.sources.iter().flat_map(of).for_each(|register| read[register] = true);
            return read;
        }
        let shape = self.fragment.shape();
        let turns = match (operand, self.copies) {
            (FragmentOperand::A, Copies::OfAByColumn) => shape.n,
            (FragmentOperand::B, Copies::OfBByRow) => shape.m,
            _ => 1,
        };
        let holders = holders(layout);
        let mut read = vec![false; layout.table().len()];
        holders.iter().for_each(|of| of.iter().take(turns).for_each(|&register| read[register] = true));
        read
    }

    /// How many independent products it is.
    pub fn parts(&self) -> usize {
        let shape = self.fragment.shape();
        match self.copies {
            Copies::Nearest => {
                let sets: std::collections::HashSet<_> = self.sources.iter().collect();
                // Parts are complete: rows of A times columns of B.
                let rows: std::collections::HashSet<_> = self.sources.iter().map(|source| &source.0).collect();
                let cols: std::collections::HashSet<_> = self.sources.iter().map(|source| &source.1).collect();
                rows.len() * cols.len() / sets.len()
            }
            Copies::First => 1,
            Copies::OfAByColumn => most(&self.fragment.a).min(shape.n),
            Copies::OfBByRow => most(&self.fragment.b).min(shape.m),
        }
    }

    fn launch(&mut self, a: &[f64], b: &[f64], c: &[f64]) -> Vec<f64> {
        self.launches += 1;
        let mut a = a.to_vec();
        let slots = self.fragment.a.slots();
        let exchange = match self.flaw {
            Flaw::ByData => a.iter().any(|&v| v > 1.0),
            Flaw::ByZeros => a.iter().filter(|&&v| v == 0.0).count() * 4 > a.len() * 3,
            _ => false,
        };
        if exchange {
            (0..slots).for_each(|slot| a.swap(slot, slots + slot));
        }
        let shape = self.fragment.shape();
        let (of_a, of_b) = match self.copies {
            Copies::First | Copies::Nearest => (1, 1),
            Copies::OfAByColumn => (most(&self.fragment.a), 1),
            Copies::OfBByRow => (1, most(&self.fragment.b)),
        };
        let read = |layout: &Layout, registers: &[f64], copy: usize| -> Vec<f64> {
            holders(layout).iter().map(|of| registers[of[copy % of.len()]]).collect()
        };
        let mut d = vec![0.0; shape.m * shape.n];
        for copy_a in 0..of_a {
            let left = read(&self.fragment.a, &a, copy_a);
            for copy_b in 0..of_b {
                let right = read(&self.fragment.b, b, copy_b);
                for m in (copy_b..shape.m).step_by(of_b) {
                    for k in 0..shape.k {
                        let x = left[m * shape.k + k];
                        if x != 0.0 {
                            for n in (copy_a..shape.n).step_by(of_a) {
                                d[m * shape.n + n] += x * right[k * shape.n + n];
                            }
                        }
                    }
                }
            }
        }
        if let (Flaw::TwoRows, Some((_, k))) = (self.flaw, self.fragment.a.at(0, 0)) {
            let right = read(&self.fragment.b, b, 0);
            for n in 0..shape.n {
                d[(shape.m - 1) * shape.n + n] += a[0] * right[k as usize * shape.n + n];
            }
        }
        let element = |e: Option<(u32, u32)>| e.map(|(m, n)| d[m as usize * shape.n + n as usize]);
        let mut out: Vec<f64> =
            self.fragment.c.table().iter().zip(c).map(|(&e, c)| element(e).map_or(0.0, |v| v + c)).collect();
        if self.copies == Copies::Nearest {
            for ((out, (left, right)), c) in out.iter_mut().zip(&self.sources).zip(c) {
                *out = c + left.iter().zip(right).map(|(&p, &q)| a[p] * b[q]).sum::<f64>();
            }
        }
        let slots = self.fragment.c.slots();
        match self.flaw {
            Flaw::DeadLane(lane) => out[lane * slots..(lane + 1) * slots].fill(0.0),
            Flaw::LaneTooLarge(lane) => out[lane * slots..(lane + 1) * slots].iter_mut().for_each(|v| *v += 1.0),
            Flaw::WrongElement => out[0] = out[out.len() - 1],
            Flaw::Once(of) if below(stream(3, 4), self.launches as u64, of) == 0 => {
                let register = below(stream(5, 6), self.launches as u64, out.len() as u64) as usize;
                out[register] += 1.0;
            }
            _ => {}
        }
        out
    }
}

/// Registers (lane · slots + slot) of every element, row by row.
fn holders(layout: &Layout) -> Vec<Vec<usize>> {
    let mut holders = vec![Vec::new(); layout.rows() * layout.cols()];
    for (register, element) in layout.table().iter().enumerate() {
        if let Some((row, col)) = element {
            holders[*row as usize * layout.cols() + *col as usize].push(register);
        }
    }
    holders
}

/// What every register of D reads under `Copies::Nearest`; all are used.
fn nearest(fragment: &Fragment) -> Vec<(Vec<usize>, Vec<usize>)> {
    let (of_a, of_b) = (holders(&fragment.a), holders(&fragment.b));
    let shape = fragment.shape();
    let pick = |holders: &[usize], slots: usize, lane: usize| {
        holders.iter().copied().min_by_key(|register| ((register / slots) ^ lane, register % slots)).unwrap()
    };
    let source = |(lane, _, element): (usize, usize, Option<(u32, u32)>)| {
        let (m, n) = element.map(|(m, n)| (m as usize, n as usize)).unwrap();
        let a = (0..shape.k).map(|k| pick(&of_a[m * shape.k + k], fragment.a.slots(), lane)).collect();
        let b = (0..shape.k).map(|k| pick(&of_b[k * shape.n + n], fragment.b.slots(), lane)).collect();
        (a, b)
    };
    fragment.c.entries().map(source).collect()
}

fn most(layout: &Layout) -> usize {
    layout.coverage().most
}

impl Unit for Planted {
    fn spec(&self) -> &UnitSpec {
        &self.spec
    }

    fn tiles(&mut self, _: Operands<'_>) -> Result<Matrix, Fault> {
        Err(Fault::Failed("only registers are planted".into()))
    }

    fn fragments(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault> {
        let lanes = self.fragment.lanes();
        let values = |matrix: &Matrix, launch: usize| -> Vec<f64> {
            let rows = launch * lanes..(launch + 1) * lanes;
            rows.flat_map(|row| (0..matrix.cols).map(move |col| (row, col))).map(|(r, c)| matrix.value(r, c)).collect()
        };
        let format: Format = self.spec.triple.c;
        let mut d = Matrix::zeroed(format, operands.c.rows, operands.c.cols);
        for launch in 0..operands.c.rows / lanes {
            let (a, b, c) = (values(operands.a, launch), values(operands.b, launch), values(operands.c, launch));
            for (register, value) in self.launch(&a, &b, &c).into_iter().enumerate() {
                let (lane, slot) = (register / d.cols, register % d.cols);
                d.set(launch * lanes + lane, slot, format.encode(value, Rounding::NearestEven, Overflow::Ieee));
            }
        }
        Ok(d)
    }
}
