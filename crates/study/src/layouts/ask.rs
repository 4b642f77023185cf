//! How are launches packed into a batch, asked and counted?

use super::error::Unrecovered;
use rigel_device::Fault;
use rigel_device::unit::{FragmentSpec, Operands, Unit, UnitError, UnitSpec, execute_fragments};
use rigel_numerics::layout::FragmentOperand;
use rigel_numerics::random;
use rigel_numerics::{Format, Matrix, Overflow, Rounding};

/// What every slot of an operand holds in one launch: a small whole number.
#[derive(Debug, Clone)]
pub(super) enum Fill {
    /// The same everywhere.
    All(u8),
    /// One number for each lane · slots + slot.
    Each(Vec<u8>),
}

/// One launch.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    pub a: Fill,
    pub b: Fill,
    pub c: Fill,
}

impl Launch {
    /// A and B as given, C zero.
    pub fn product(a: Fill, b: Fill) -> Launch {
        Launch { a, b, c: Fill::All(0) }
    }
}

/// Values of D's registers, lane · slots + slot.
pub(super) type Answer = Vec<f64>;

/// A unit being asked.
pub(super) struct Asker<'a> {
    unit: &'a mut dyn Unit,
    pub spec: UnitSpec,
    pub fragments: FragmentSpec,
    /// Launches so far.
    pub asked: usize,
    /// Codes of 0 … 255 in the formats of A, B and C; those that a format cannot hold exactly are never asked for.
    codes: [Vec<u64>; 3],
    /// Powers of two that A and B both hold, from 1 up to 128.
    pub weights: Vec<u8>,
    stream: u64,
    drawn: u64,
}

/// Registers of one batch of launches: 2^22 of the widest operand.
const REGISTERS: usize = 1 << 22;

impl<'a> Asker<'a> {
    pub fn new(unit: &'a mut dyn Unit, seed: u64) -> Result<Asker<'a>, Unrecovered> {
        let spec = unit.spec().clone();
        spec.check()?;
        let Some(fragments) = spec.fragments else {
            let said = format!("unit {} cannot be reached by registers", spec.name);
            return Err(UnitError::from(Fault::Failed(said)).into());
        };
        let formats = [
            (FragmentOperand::A, spec.triple.a, fragments.a),
            (FragmentOperand::B, spec.triple.b, fragments.b),
            (FragmentOperand::C, spec.triple.c, fragments.c),
        ];
        for (operand, format, slots) in formats {
            if !holds(format, 0) || !holds(format, 1) {
                return Err(Unrecovered::Format { operand, format });
            }
            let entries = fragments.lanes * slots;
            if entries > 1 << 24 {
                return Err(Unrecovered::TooLarge { operand, entries });
            }
        }
        let codes = formats.map(|(_, format, _)| (0..=255).map(|value| code(format, value)).collect());
        let both = |&weight: &u8| holds(spec.triple.a, weight) && holds(spec.triple.b, weight);
        // Sums go up to 255, so D has to hold 8 bits; where it does not, 1 is the only weight.
        let most = if spec.triple.c.precision() >= 8 { 8 } else { 1 };
        let weights = (0..most).map(|bit| 1u8 << bit).take_while(both).collect();
        Ok(Asker {
            unit,
            spec,
            fragments,
            asked: 0,
            codes,
            weights,
            stream: random::stream(seed, 0x4c61_796f),
            drawn: 0,
        })
    }

    /// Registers of an operand over all lanes.
    pub fn registers(&self, operand: FragmentOperand) -> usize {
        let FragmentSpec { lanes, a, b, c } = self.fragments;
        lanes
            * match operand {
                FragmentOperand::A => a,
                FragmentOperand::B => b,
                FragmentOperand::C => c,
            }
    }

    /// Lane and slot of a register.
    pub fn place(&self, operand: FragmentOperand, register: usize) -> (usize, usize) {
        let slots = self.registers(operand) / self.fragments.lanes;
        (register / slots, register % slots)
    }

    /// A fresh stream.
    pub fn stream(&mut self) -> u64 {
        self.drawn += 1;
        random::draw(self.stream, self.drawn)
    }

    /// Random bits in every slot of an operand, one in `of` set.
    pub fn random_bits(&mut self, operand: FragmentOperand, of: u64) -> Fill {
        let stream = self.stream();
        let count = self.registers(operand) as u64;
        Fill::Each((0..count).map(|i| u8::from(random::below(stream, i, of) == 0)).collect())
    }

    /// A random weight of at most 4 in every slot of an operand with probability 1 in `of`, else 0.
    pub fn random_weights(&mut self, operand: FragmentOperand, of: u64) -> Fill {
        let stream = self.stream();
        let weights: Vec<u8> = self.weights.iter().copied().take(3).collect();
        let count = self.registers(operand) as u64;
        let draw = |i: u64| match random::below(stream, 2 * i, of) {
            0 => weights[random::below(stream, 2 * i + 1, weights.len() as u64) as usize],
            _ => 0,
        };
        Fill::Each((0..count).map(draw).collect())
    }

    /// Bit `bit` of its own number in every slot of an operand.
    pub fn number_bits(&self, operand: FragmentOperand, bit: u32) -> Fill {
        Fill::Each((0..self.registers(operand)).map(|i| (i >> bit & 1) as u8).collect())
    }

    /// Bits that the slot numbers of an operand have.
    pub fn number_width(&self, operand: FragmentOperand) -> u32 {
        usize::BITS - (self.registers(operand) - 1).leading_zeros()
    }

    /// D's registers for every launch, in batches.
    pub fn ask(&mut self, launches: &[Launch]) -> Result<Vec<Answer>, Unrecovered> {
        let largest = FragmentOperand::ALL.into_iter().map(|operand| self.registers(operand)).max().unwrap_or(1);
        let mut answers = Vec::with_capacity(launches.len());
        for batch in launches.chunks((REGISTERS / largest).max(1)) {
            self.batch(batch, &mut answers)?;
        }
        self.asked += launches.len();
        Ok(answers)
    }

    fn batch(&mut self, launches: &[Launch], answers: &mut Vec<Answer>) -> Result<(), Unrecovered> {
        let triple = self.spec.triple;
        let a = self.pack(triple.a, FragmentOperand::A, launches, |launch| &launch.a);
        let b = self.pack(triple.b, FragmentOperand::B, launches, |launch| &launch.b);
        let c = self.pack(triple.c, FragmentOperand::C, launches, |launch| &launch.c);
        let shape = self.spec.shape;
        let scales = self.spec.scales.map(|scales| {
            let groups = shape.k / scales.group;
            let of = |rows, cols| filled(scales.format, rows, cols, code(scales.format, 1));
            (of(launches.len() * shape.m, groups), of(launches.len() * groups, shape.n))
        });
        let scales = scales.as_ref().map(|(a, b)| (a, b));
        let d = execute_fragments(self.unit, Operands { a: &a, b: &b, c: &c, scales })?;
        for launch in 0..launches.len() {
            let rows = launch * self.fragments.lanes..(launch + 1) * self.fragments.lanes;
            answers.push(
                rows.flat_map(|row| (0..d.cols).map(move |col| (row, col))).map(|(r, s)| d.value(r, s)).collect(),
            );
        }
        Ok(())
    }

    fn pack(
        &self,
        format: Format,
        operand: FragmentOperand,
        launches: &[Launch],
        of: impl Fn(&Launch) -> &Fill,
    ) -> Matrix {
        let lanes = self.fragments.lanes;
        let slots = self.registers(operand) / lanes;
        let codes = &self.codes[operand as usize];
        let mut matrix = Matrix::zeroed(format, launches.len() * lanes, slots);
        for (i, launch) in launches.iter().enumerate() {
            for lane in 0..lanes {
                let row = matrix.row_mut(i * lanes + lane);
                for slot in 0..slots {
                    let value = match of(launch) {
                        Fill::All(value) => *value,
                        Fill::Each(values) => values[lane * slots + slot],
                    };
                    rigel_numerics::packing::set(format, row, slot, codes[value as usize]);
                }
            }
        }
        matrix
    }
}

fn filled(format: Format, rows: usize, cols: usize, code: u64) -> Matrix {
    let mut matrix = Matrix::zeroed(format, rows, cols);
    for row in 0..rows {
        for col in 0..cols {
            matrix.set(row, col, code);
        }
    }
    matrix
}

fn code(format: Format, value: u8) -> u64 {
    format.encode(value.into(), Rounding::NearestEven, Overflow::Saturate)
}

fn holds(format: Format, value: u8) -> bool {
    format.decode(code(format, value)) == f64::from(value)
}
