//! Which slot of B meets which column at each k, and which slot of A which row?
//!
//! A line is one k: for every column of a part the slot of B that feeds it there, and for every row the slot of A.

use super::ask::{Answer, Asker, Fill, Launch};
use super::error::Unrecovered;
use super::grid::Part;
use rigel_numerics::layout::FragmentOperand::{self, A, B, C};

/// One k of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Slot of A (lane · slots + slot) for every row of the part.
    pub a: Vec<usize>,
    /// Slot of B for every column of the part.
    pub b: Vec<usize>,
}

/// Slots of A and B that some line has: (part, line, row or column), for lane · slots + slot.
#[derive(Debug, Clone, Default)]
pub(super) struct Owners {
    pub a: Vec<Option<(usize, usize, usize)>>,
    pub b: Vec<Option<(usize, usize, usize)>>,
}

impl Owners {
    pub fn none(asker: &Asker<'_>) -> Owners {
        Owners { a: vec![None; asker.registers(A)], b: vec![None; asker.registers(B)] }
    }
}

/// Launches spent on naming slots of A and of B.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spent {
    pub a: usize,
    pub b: usize,
}

/// Rounds without a new line after which there are none.
const IDLE: usize = 12;

/// The lines of every part; all parts are asked in the same launches.
///
/// # Errors
/// `Inner`, `NotOneElement`, `Reading`.
pub(super) fn lines(
    asker: &mut Asker<'_>,
    parts: &[Part],
    owners: &mut Owners,
    spent: &mut Spent,
) -> Result<Vec<Vec<Line>>, Unrecovered> {
    let declared = asker.spec.shape.k;
    let mut lines: Vec<Vec<Line>> = vec![Vec::new(); parts.len()];
    let mut idle = 0;
    loop {
        let fewest = lines.iter().map(Vec::len).min().unwrap_or(declared);
        if fewest >= declared || idle >= IDLE {
            break;
        }
        let known: Vec<usize> = lines.iter().map(Vec::len).collect();
        let asked = asker.asked;
        for (number, b) in light(asker, parts, owners, declared - fewest)? {
            claim(asker, number, b, owners, &mut lines[number])?;
        }
        spent.b += asker.asked - asked;
        let asked = asker.asked;
        read_a(asker, parts, &mut lines, &known)?;
        spent.a += asker.asked - asked;
        for (number, (lines, &known)) in lines.iter().zip(&known).enumerate() {
            for (l, line) in lines.iter().enumerate().skip(known) {
                for (row, &slot) in line.a.iter().enumerate() {
                    own(asker, A, &mut owners.a, slot, (number, l, row))?;
                }
            }
        }
        idle = if lines.iter().map(Vec::len).eq(known) { idle + 1 } else { 0 };
    }
    match lines.iter().find(|lines| lines.len() != declared) {
        Some(lines) => Err(Unrecovered::Inner { found: lines.len(), declared, idle }),
        None => Ok(lines),
    }
}

/// Lights some slots of A that no line has, and names B's slots for every row on which one alone shows: (part, slots of B).
fn light(
    asker: &mut Asker<'_>,
    parts: &[Part],
    owners: &Owners,
    left: usize,
) -> Result<Vec<(usize, Vec<usize>)>, Unrecovered> {
    // Every second weight, so that up to three lit slots of one weight stay below the next.
    let bins: Vec<u8> = asker.weights.iter().copied().step_by(2).collect();
    let stream = asker.stream();
    let draw = |i: usize, bound: usize| rigel_numerics::random::below(stream, i as u64, bound as u64) as usize;
    // One lit slot of each weight a row is what shows most single ones.
    let chosen = |p: usize| draw(2 * p, left) < bins.len();
    let a: Vec<u8> = (0..asker.registers(A))
        .map(|p| if owners.a[p].is_none() && chosen(p) { bins[draw(2 * p + 1, bins.len())] } else { 0 })
        .collect();
    let width = asker.number_width(B);
    let mut launches = vec![Launch::product(Fill::Each(a.clone()), Fill::All(1))];
    launches.extend((0..width).map(|bit| Launch::product(Fill::Each(a.clone()), asker.number_bits(B, bit))));
    let checks = [random_bits(asker), random_bits(asker)];
    launches.extend(checks.iter().map(|check| Launch::product(Fill::Each(a.clone()), Fill::Each(check.clone()))));
    let answers = asker.ask(&launches)?;
    let (planes, checked) = answers[1..].split_at(width as usize);
    let mut found = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        for row in 0..part.rows.len() {
            let all = part.register(row, 0);
            let Some(total) = small(answers[0][all]) else { continue };
            for col in 1..part.cols.len() {
                let register = part.register(row, col);
                if answers[0][register] != answers[0][all] {
                    return Err(reading(asker, A, register, answers[0][all], answers[0][register]));
                }
            }
            for &bin in bins.iter().filter(|&&bin| digit(total, bin) == 1) {
                let b = named(asker, part, row, bin, total, planes).filter(|b| {
                    // Seven lighter slots can look like one; what they seem to name does not answer random bits as it should.
                    let holds = |(check, answer): (&Vec<u8>, &Answer)| {
                        b.iter().enumerate().all(|(col, &slot)| {
                            small(answer[part.register(row, col)]).is_some_and(|v| digit(v, bin) == check[slot])
                        })
                    };
                    checks.iter().zip(checked).all(holds)
                });
                found.extend(b.map(|b| (number, b)));
            }
        }
    }
    Ok(found)
}

/// The slot of B of every column that the one lit slot of weight `bin` meets; `None` where the digits show that it was not one
/// lit slot but a carry of several lighter ones.
fn named(asker: &Asker<'_>, part: &Part, row: usize, bin: u8, total: u8, planes: &[Answer]) -> Option<Vec<usize>> {
    let slot_of = |col: usize| {
        let register = part.register(row, col);
        let mut slot = 0;
        for (bit, plane) in planes.iter().enumerate() {
            let value = small(plane[register])?;
            // A plane selects some of the lit slots: no digit may exceed its digit in the sum of all.
            if [1, 4, 16, 64].into_iter().any(|other| digit(value, other) > digit(total, other)) {
                return None;
            }
            slot |= usize::from(digit(value, bin)) << bit;
        }
        (slot < asker.registers(B)).then_some(slot)
    };
    (0..part.cols.len()).map(slot_of).collect()
}

/// Random bits, one for each slot of B.
fn random_bits(asker: &mut Asker<'_>) -> Vec<u8> {
    let stream = asker.stream();
    (0..asker.registers(B) as u64).map(|slot| rigel_numerics::random::below(stream, slot, 2) as u8).collect()
}

/// A number below 256, when the value is one.
fn small(value: f64) -> Option<u8> {
    let whole = value as u8;
    (f64::from(whole) == value).then_some(whole)
}

/// The digit of a number to the base of 4 at a power of 4.
fn digit(value: u8, place: u8) -> u8 {
    value / place % 4
}

/// Takes a newly named line, or checks it against what is known of its slots.
fn claim(
    asker: &Asker<'_>,
    number: usize,
    b: Vec<usize>,
    owners: &mut Owners,
    lines: &mut Vec<Line>,
) -> Result<(), Unrecovered> {
    if let Some((_, l, _)) = owners.b[b[0]].filter(|&(part, l, col)| part == number && col == 0 && l < lines.len()) {
        return match (0..b.len()).find(|&col| b[col] != lines[l].b[col]) {
            None => Ok(()),
            Some(col) => Err(not_one(asker, B, b[col], "meets other columns at another k".into())),
        };
    }
    for (col, &slot) in b.iter().enumerate() {
        own(asker, B, &mut owners.b, slot, (number, lines.len(), col))?;
    }
    lines.push(Line { a: Vec::new(), b });
    Ok(())
}

fn own(
    asker: &Asker<'_>,
    operand: FragmentOperand,
    owners: &mut [Option<(usize, usize, usize)>],
    slot: usize,
    owner: (usize, usize, usize),
) -> Result<(), Unrecovered> {
    match *owners[slot].get_or_insert(owner) {
        held if held == owner => Ok(()),
        _ => Err(not_one(asker, operand, slot, "feeds two elements".into())),
    }
}

fn not_one(asker: &Asker<'_>, operand: FragmentOperand, register: usize, what: String) -> Unrecovered {
    let (lane, slot) = asker.place(operand, register);
    Unrecovered::NotOneElement { operand, lane, slot, what }
}

fn reading(asker: &Asker<'_>, operand: FragmentOperand, register: usize, expected: f64, seen: f64) -> Unrecovered {
    let (lane, slot) = asker.place(C, register);
    Unrecovered::Reading { operand, lane, slot, expected, seen }
}

/// Names the slots of A for lines whose slots of B are known: in every launch each column of a part selects as many lines as
/// there are weights.
fn read_a(asker: &mut Asker<'_>, parts: &[Part], lines: &mut [Vec<Line>], known: &[usize]) -> Result<(), Unrecovered> {
    let weights = asker.weights.clone();
    let width = asker.number_width(A);
    let capacity = |part: &Part| part.cols.len() * weights.len();
    let mut start = 0;
    loop {
        // Of every part the lines of this turn; line i is selected by column i mod columns with weight i div columns.
        let turn: Vec<std::ops::Range<usize>> = (0..parts.len())
            .map(|p| {
                let first = known[p] + start * capacity(&parts[p]);
                first.min(lines[p].len())..(first + capacity(&parts[p])).min(lines[p].len())
            })
            .collect();
        if turn.iter().all(std::ops::Range::is_empty) {
            return Ok(());
        }
        let mut b = vec![0u8; asker.registers(B)];
        for ((part, lines), turn) in parts.iter().zip(lines.iter()).zip(&turn) {
            let cols = part.cols.len();
            lines[turn.clone()].iter().enumerate().for_each(|(i, line)| b[line.b[i % cols]] = weights[i / cols]);
        }
        let mut launches = vec![Launch::product(Fill::All(1), Fill::Each(b.clone()))];
        launches.extend((0..width).map(|bit| Launch::product(asker.number_bits(A, bit), Fill::Each(b.clone()))));
        let answers = asker.ask(&launches)?;
        for ((part, lines), turn) in parts.iter().zip(lines.iter_mut()).zip(turn) {
            name_a(asker, part, &mut lines[turn], &weights, &answers)?;
        }
        start += 1;
    }
}

/// Reads the slot of A for every row and line of a turn from the bits of D.
fn name_a(
    asker: &Asker<'_>,
    part: &Part,
    lines: &mut [Line],
    weights: &[u8],
    answers: &[Answer],
) -> Result<(), Unrecovered> {
    let cols = part.cols.len();
    for col in 0..cols.min(lines.len()) {
        let selected: u8 = (col..lines.len()).step_by(cols).map(|i| weights[i / cols]).sum();
        for row in 0..part.rows.len() {
            let register = part.register(row, col);
            let outside = |value: f64| small(value).is_none_or(|value| value & !selected != 0);
            let odd = answers.iter().enumerate().find(|(i, answer)| match i {
                0 => answer[register] != f64::from(selected),
                _ => outside(answer[register]),
            });
            if let Some((_, answer)) = odd {
                return Err(reading(asker, B, register, selected.into(), answer[register]));
            }
        }
    }
    for (i, line) in lines.iter_mut().enumerate() {
        let weight = weights[i / cols];
        for row in 0..part.rows.len() {
            let register = part.register(row, i % cols);
            let bits = answers[1..].iter().enumerate();
            let slot = bits.map(|(bit, answer)| usize::from(answer[register] as u8 & weight != 0) << bit).sum();
            if slot >= asker.registers(A) {
                return Err(reading(asker, A, register, weight.into(), 0.0));
            }
            line.a.push(slot);
        }
    }
    Ok(())
}
