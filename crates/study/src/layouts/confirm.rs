//! Does the unit do, slot by slot, what the finished map says?

use super::ask::{Asker, Fill, Launch};
use super::assemble::Seen;
use super::error::Unrecovered;
use super::sight;
use rigel_numerics::layout::FragmentOperand::{self, A, B, C};
use rigel_numerics::random::{shuffle, stream};

/// Operands of at most this many registers have every register asked alone in a launch.
const ALONE: usize = 1024;
/// Pairs of dense random launches.
const DENSE: usize = 8;
/// Launches predicted and asked at a time.
const AT_A_TIME: usize = 64;

/// Every slot once more; see the list in the module's description.
///
/// # Errors
/// `Contradicted` with the first register of D that is not as predicted; `Unsteady` when the unit also changes its answers.
pub(super) fn confirm(asker: &mut Asker<'_>, seen: &Seen, used: &[bool]) -> Result<(), Unrecovered> {
    let unread = unread(seen);
    pass(asker, seen, used, "slots that nothing reads, all lit", unread.into_iter())?;
    for operand in [A, B] {
        let launches = alone_in_line(asker, seen, operand);
        pass(asker, seen, used, "each slot alone in its row or column", launches.into_iter())?;
    }
    for operand in [A, B, C] {
        let count = asker.registers(operand);
        if count <= ALONE {
            let codes = if operand == C { vec![Fill::All(0)] } else { codes(seen, other(operand), asker) };
            let launches =
                (0..count).flat_map(|i| codes.iter().map(move |code| alone(count, i, operand, code.clone())));
            pass(asker, seen, used, "each slot alone", launches)?;
        }
    }
    let k = asker.spec.shape.k as u64;
    // On average 16 terms of a sum are 1, fewer where D holds few bits.
    let terms = if asker.spec.triple.c.precision() >= 8 { 16 } else { 1 };
    let rare = (k / (2 * terms)).max(2);
    let mut dense = Vec::new();
    for _ in 0..DENSE {
        let c = asker.random_bits(C, 2);
        dense.push(Launch { a: asker.random_weights(A, rare), b: asker.random_bits(B, 2), c: c.clone() });
        dense.push(Launch { a: asker.random_bits(A, 2), b: asker.random_weights(B, rare), c });
    }
    pass(asker, seen, used, "dense random values", dense.into_iter())
}

fn pass(
    asker: &mut Asker<'_>,
    seen: &Seen,
    used: &[bool],
    name: &'static str,
    mut launches: impl Iterator<Item = Launch>,
) -> Result<(), Unrecovered> {
    let most = f64::from(1u32 << asker.spec.triple.c.precision().min(8));
    loop {
        let batch: Vec<Launch> = launches.by_ref().take(AT_A_TIME).collect();
        if batch.is_empty() {
            return Ok(());
        }
        let answers = asker.ask(&batch)?;
        for (launch, answer) in batch.iter().zip(answers) {
            let predicted = predict(seen, launch);
            let wrong = (0..used.len()).find(|&i| used[i] && predicted[i] <= most && answer[i] != predicted[i]);
            if let Some(i) = wrong {
                sight::steady(asker, used, 64)?;
                let (lane, slot) = asker.place(C, i);
                return Err(Unrecovered::Contradicted {
                    pass: name,
                    lane,
                    slot,
                    expected: predicted[i],
                    seen: answer[i],
                });
            }
        }
    }
}

/// D as the map says; whole numbers, exactly.
fn predict(seen: &Seen, launch: &Launch) -> Vec<f64> {
    let value = |fill: &Fill, i: usize| match fill {
        Fill::All(value) => *value,
        Fill::Each(values) => values[i],
    };
    let (rows, cols) = (seen.grid.rows, seen.grid.cols);
    let mut sums = vec![0u32; rows * cols];
    for (part, lines) in seen.grid.parts.iter().zip(&seen.lines) {
        for line in lines {
            let b: Vec<u32> = line.b.iter().map(|&slot| value(&launch.b, slot).into()).collect();
            for (&row, &slot) in part.rows.iter().zip(&line.a) {
                let a = u32::from(value(&launch.a, slot));
                if a != 0 {
                    part.cols.iter().zip(&b).for_each(|(&col, b)| sums[row as usize * cols + col as usize] += a * b);
                }
            }
        }
    }
    let element = |(register, element): (usize, &Option<(u32, u32)>)| {
        let product = element.map_or(0, |(row, col)| sums[row as usize * cols + col as usize]);
        f64::from(product + seen.addends.of[register].map_or(0, |slot| u32::from(value(&launch.c, slot))))
    };
    seen.grid.element.iter().enumerate().map(element).collect()
}

/// Launches that light all slots of an operand that no product reads.
fn unread(seen: &Seen) -> Vec<Launch> {
    let lit =
        |owned: Vec<bool>| owned.contains(&false).then(|| Fill::Each(owned.iter().map(|&o| u8::from(!o)).collect()));
    let mut launches = Vec::new();
    if let Some(a) = lit(seen.owners.a.iter().map(Option::is_some).collect()) {
        launches.push(Launch::product(a, Fill::All(1)));
    }
    if let Some(b) = lit(seen.owners.b.iter().map(Option::is_some).collect()) {
        launches.push(Launch::product(Fill::All(1), b));
    }
    if let Some(c) = lit(seen.addends.held.iter().map(Option::is_some).collect()) {
        launches.push(Launch { a: Fill::All(0), b: Fill::All(0), c });
    }
    launches
}

fn other(operand: FragmentOperand) -> FragmentOperand {
    if operand == A { B } else { A }
}

/// A launch with one lit slot of an operand.
fn alone(count: usize, lit: usize, operand: FragmentOperand, code: Fill) -> Launch {
    let mut each = vec![0; count];
    each[lit] = 1;
    let each = Fill::Each(each);
    match operand {
        A => Launch::product(each, code),
        B => Launch::product(code, each),
        C => Launch { a: Fill::All(0), b: code, c: each },
    }
}

/// Fills of an operand that name the line of every slot: its number plus 1 in bits, spread over rows or columns, in as many
/// launches as it takes. No line has the number 0, so a slot that is read shows.
fn codes(seen: &Seen, operand: FragmentOperand, asker: &Asker<'_>) -> Vec<Fill> {
    let lines = seen.lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = (usize::BITS - lines.leading_zeros()) as usize;
    let across = |part: usize| match operand {
        B => seen.grid.parts[part].cols.len(),
        _ => seen.grid.parts[part].rows.len(),
    };
    let fewest = (0..seen.lines.len()).map(across).min().unwrap_or(1);
    let fill = |start: usize| {
        let mut each = vec![0; asker.registers(operand)];
        for lines in &seen.lines {
            for (l, line) in lines.iter().enumerate() {
                let slots = if operand == B { &line.b } else { &line.a };
                for (i, &slot) in slots.iter().enumerate() {
                    each[slot] = ((l + 1) >> ((start + i) % width) & 1) as u8;
                }
            }
        }
        Fill::Each(each)
    };
    (0..width).step_by(fewest).map(fill).collect()
}

/// Launches that light one slot in every row (of A) or column (of B), each slot in one launch of its own row, in a random order
/// so that rows that were exchanged would show different lines.
fn alone_in_line(asker: &mut Asker<'_>, seen: &Seen, operand: FragmentOperand) -> Vec<Launch> {
    let count = asker.registers(operand);
    let k = asker.spec.shape.k;
    let mut lit = vec![vec![0u8; count]; k];
    for lines in &seen.lines {
        let of = |line: usize| if operand == A { &lines[line].a } else { &lines[line].b };
        for i in 0..of(0).len() {
            let mut order: Vec<usize> = (0..k).collect();
            shuffle(&mut order, stream(asker.stream(), 0));
            for (each, &line) in lit.iter_mut().zip(&order) {
                each[of(line)[i]] = 1;
            }
        }
    }
    let codes = codes(seen, other(operand), asker);
    let launch = |each: &Vec<u8>, code: &Fill| match operand {
        A => Launch::product(Fill::Each(each.clone()), code.clone()),
        _ => Launch::product(code.clone(), Fill::Each(each.clone())),
    };
    lit.iter().flat_map(|each| codes.iter().map(move |code| launch(each, code))).collect()
}
