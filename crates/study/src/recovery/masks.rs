//! How many units survive a large term and its negative?
//!
//! FPRev's experiment (arXiv 2411.00442): one product is +M, another one −M, all others are a unit that M swallows. Units
//! added before both have met are lost. Here nodes may be fused: a step that holds a mask loses its units too, or,
//! where sums are exact, keeps them if the masks meet in it. c takes the part of a product like any other.

use super::question::{Asker, Question};
use super::scope::Scope;
use super::terms::{code, range};
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_numerics::arithmetic::{CPlace, Join, JoinOrder, Node};

/// A term of a sum: a product, or c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term {
    Product(usize),
    C,
}

/// Which terms are +M and −M, and how many units came out, one count for each pair of sizes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Masked {
    pub up: Term,
    pub down: Term,
    pub survivors: Vec<Option<usize>>,
}

/// Products of which every pair is masked.
const POSITIONS: usize = 14;
/// Ratios of M to the unit, as powers of two.
const RATIOS: [i32; 3] = [26, 40, 56];

/// Masks every pair of some positions, and of c with each.
///
/// # Errors
/// What the unit contract says.
pub(super) fn masked(asker: &mut Asker<'_>, scope: &Scope, classes: &[Vec<usize>]) -> Result<Vec<Masked>, UnitError> {
    let spec = asker.spec().clone();
    if spec.triple.is_integer() {
        return Ok(Vec::new());
    }
    let positions = representatives(classes, spec.shape.k);
    let mut pairs: Vec<(Term, Term)> = positions.iter().map(|&j| (Term::C, Term::Product(j))).collect();
    for (n, &i) in positions.iter().enumerate() {
        pairs.extend(positions[n + 1..].iter().map(|&j| (Term::Product(i), Term::Product(j))));
    }
    let sizes = RATIOS.map(|ratio| sizes(&spec, scope, ratio));
    let questions: Vec<Question> =
        pairs.iter().flat_map(|&pair| sizes.map(|(mask, unit)| question(&spec, pair, mask, unit))).collect();
    let answers = asker.ask(&questions)?;
    let counts = answers.chunks(sizes.len());
    let count = |d: u64, unit: i32| {
        let units = spec.triple.c.decode(d) / f64::from(unit).exp2();
        (0.0..=1e6).contains(&units).then_some(units.round() as usize)
    };
    Ok(pairs
        .iter()
        .zip(counts)
        .map(|(&(up, down), words)| {
            let survivors = words.iter().zip(sizes).map(|(&d, (_, unit))| count(d, unit)).collect();
            Masked { up, down, survivors }
        })
        .collect())
}

/// The first of every class, then the second ones, up to [`POSITIONS`]; ends of k always.
fn representatives(classes: &[Vec<usize>], k: usize) -> Vec<usize> {
    let depth = classes.iter().map(Vec::len).max().unwrap_or(0);
    let by_depth = (0..depth).flat_map(|n| classes.iter().filter_map(move |class| class.get(n).copied()));
    let mut positions: Vec<usize> = [0, k - 1].into_iter().chain(by_depth).collect();
    let mut seen = Vec::new();
    positions.retain(|&p| {
        !seen.contains(&p) && {
            seen.push(p);
            true
        }
    });
    positions.truncate(POSITIONS);
    positions
}

/// Exponents of M and of the unit, as far apart as wanted and as the formats allow.
fn sizes(spec: &UnitSpec, scope: &Scope, ratio: i32) -> (i32, i32) {
    let t = spec.triple;
    let ((la, ta), (lb, tb), (lc, tc)) = (range(t.a), range(t.b), range(t.c));
    let most = (ta.min(14) + tb.min(14)).min(tc - 2);
    let least = (la.max(-24) + lb.max(-24)).max(lc);
    let unit = ((ratio / 2).min(most) - ratio).max(least).max(scope.products.0).min(most);
    ((unit + ratio).min(most), unit)
}

fn question(spec: &UnitSpec, (up, down): (Term, Term), mask: i32, unit: i32) -> Question {
    let t = spec.triple;
    let mut q = Question::zero(spec);
    let ((la, ta), (lb, tb)) = (range(t.a), range(t.b));
    let factors = |exponent: i32, sign: i128| {
        let ea = (exponent / 2).min((exponent - lb).min(ta)).max((exponent - tb).max(la));
        (code(t.a, sign, ea), code(t.b, 1, exponent - ea))
    };
    for i in 0..spec.shape.k {
        (q.a[i], q.b[i]) = factors(unit, 1);
    }
    for (term, sign) in [(up, 1), (down, -1)] {
        match term {
            Term::Product(i) => (q.a[i], q.b[i]) = factors(mask, sign),
            Term::C => q.c = code(t.c, sign, mask),
        }
    }
    q
}

/// What a sum holds: masks, counted with their signs, and units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Held {
    masks: i32,
    units: usize,
}

/// The units that survive in a node where masks swallow all that they meet.
pub(super) fn survivors(node: &Node, k: usize, (up, down): (Term, Term), exact: bool) -> usize {
    let held = |term: Term| match (term == up, term == down, term) {
        (true, ..) => Held { masks: 1, units: 0 },
        (_, true, _) => Held { masks: -1, units: 0 },
        (.., Term::C) => Held { masks: 0, units: 0 },
        _ => Held { masks: 0, units: 1 },
    };
    let indices: Vec<usize> = (0..k).collect();
    walk(node, &indices, held(Term::C), &|i| held(Term::Product(i)), exact).units
}

fn add(terms: &[Held], exact: bool) -> Held {
    let masks: i32 = terms.iter().map(|t| t.masks).sum();
    let lost = masks != 0 || !exact && terms.iter().any(|t| t.masks != 0);
    Held { masks, units: if lost { 0 } else { terms.iter().map(|t| t.units).sum() } }
}

fn walk(node: &Node, indices: &[usize], c: Held, product: &impl Fn(usize) -> Held, exact: bool) -> Held {
    const NOTHING: Held = Held { masks: 0, units: 0 };
    match node {
        Node::Step(step) => {
            let terms: Vec<Held> = indices.iter().map(|&i| product(i)).chain(step.c.then_some(c)).collect();
            add(&terms, exact)
        }
        Node::Chain(chain) => {
            let blocks = chain.split.divide(indices);
            let after = chain.late_c.as_ref().map(|late| late.after.min(blocks.len()));
            let mut held = if after.is_some() { NOTHING } else { c };
            for (n, block) in blocks.iter().enumerate() {
                if after == Some(n) {
                    held = add(&[held, c], exact);
                }
                held = walk(&chain.each, block, held, product, exact);
            }
            if after == Some(blocks.len()) { add(&[held, c], exact) } else { held }
        }
        Node::Join(Join { split, each, order, .. }) => {
            let mut parts: Vec<Held> =
                split.divide(indices).iter().map(|part| walk(each, part, NOTHING, product, exact)).collect();
            let place = match order {
                JoinOrder::Together { c: with } => {
                    parts.extend(with.then_some(c));
                    return add(&parts, exact);
                }
                JoinOrder::InTurn { c } | JoinOrder::Pairwise { c } => *c,
            };
            match place {
                CPlace::First => parts.insert(0, c),
                CPlace::After(n) => parts.insert(n.min(parts.len()), c),
                CPlace::Last | CPlace::Nowhere => {}
            }
            while parts.len() > 1 {
                parts = match order {
                    JoinOrder::Pairwise { .. } => parts.chunks(2).map(|pair| add(pair, exact)).collect(),
                    _ => {
                        let first = add(&parts[..2], exact);
                        std::iter::once(first).chain(parts[2..].iter().copied()).collect()
                    }
                };
            }
            let joined = parts.first().copied().unwrap_or(NOTHING);
            if place == CPlace::Last { add(&[joined, c], exact) } else { joined }
        }
    }
}

/// How many of the masked pairs a node explains, at the sizes where it explains most.
pub(super) fn explained(node: &Node, k: usize, masked: &[Masked]) -> usize {
    let sizes = masked.first().map_or(0, |m| m.survivors.len());
    let mut most = 0;
    for exact in [false, true] {
        let predicted: Vec<usize> = masked.iter().map(|m| survivors(node, k, (m.up, m.down), exact)).collect();
        for size in 0..sizes {
            let agrees = masked.iter().zip(&predicted).filter(|(m, p)| m.survivors[size] == Some(**p)).count();
            most = most.max(agrees);
        }
    }
    most
}
