//! How many units survive a large term and its negative?
//!
//! FPRev's experiment (arXiv 2411.00442): one product is +M, another one −M, all others are a unit that M swallows. Units
//! added before both have met are lost. Here nodes may be fused: a step that holds a mask loses its units too, or,
//! where sums are exact, keeps them if the masks meet in it. c takes the part of a product like any other.
//!
//! All units are asked at once, and counted. That fails where a rounding up or to odd leaves a trace of every unit that it
//! swallows, and where the output has too few bits to count. Then units are asked one by one: a unit alone has survived
//! if and only if the output is the unit.

use super::kinds::with_each;
use super::knobs::sums;
use super::question::{Asker, Question};
use super::scope::Scope;
use super::terms::{code, range};
use rigel_device::unit::{UnitError, UnitSpec};
use rigel_numerics::arithmetic::{CPlace, Join, JoinOrder, Node, Split};

/// A term of a sum: a product, or c.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Term {
    Product(usize),
    C,
}

/// Which terms are +M and −M, and how many units came out, one count for each pair of sizes, and each way of asking.
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
/// Those at which units are asked one by one, and about how many such questions are asked where k is not very long.
const RATIOS_SINGLY: [i32; 2] = [40, 56];
const MOST_SINGLY: usize = 3000;
/// Sizes at which less than this part of the pairs says anything are left out.
const FEWEST: usize = 10;

/// Masks every pair of some positions, and of c with each.
///
/// # Errors
/// What the unit contract says.
pub(super) fn masked(asker: &mut Asker<'_>, scope: &Scope, classes: &[Vec<usize>]) -> Result<Vec<Masked>, UnitError> {
    let spec = asker.spec().clone();
    if spec.triple.is_integer() {
        return Ok(Vec::new());
    }
    let k = spec.shape.k;
    let pairs = pairs(&representatives(classes, k, POSITIONS));
    let sizes_of = |ratios: &[i32]| ratios.iter().map(|&ratio| sizes(&spec, scope, ratio)).collect::<Vec<_>>();
    let (together, alone) = (sizes_of(&RATIOS), sizes_of(&RATIOS_SINGLY));
    let mut found = counted(asker, &spec, &pairs, &together)?;
    if found.iter().flat_map(|m| &m.survivors).any(|n| n.is_none_or(|n| n > k)) {
        let few = (2..POSITIONS).rev().find(|n| n * (n + 1) / 2 * k * alone.len() <= MOST_SINGLY).unwrap_or(2);
        let few = self::pairs(&representatives(classes, k, few));
        let singly = singly(asker, &spec, &few, &alone)?;
        for m in &mut found {
            let of_pair = few.iter().position(|&pair| pair == (m.up, m.down));
            m.survivors.extend(of_pair.map_or(vec![None; alone.len()], |at| singly[at].clone()));
        }
    }
    Ok(found)
}

/// All units at once, for each pair and size; `None` at sizes at which as many units without masks are not counted right.
fn counted(
    asker: &mut Asker<'_>,
    spec: &UnitSpec,
    pairs: &[(Term, Term)],
    sizes: &[(i32, i32)],
) -> Result<Vec<Masked>, UnitError> {
    let all: Vec<usize> = (0..spec.shape.k).collect();
    let bare = sizes.iter().map(|&size| question(spec, &[], size, &all));
    let masked = pairs.iter().flat_map(|pair| sizes.iter().map(|&size| question(spec, &[*pair], size, &all)));
    let answers = asker.ask(&bare.chain(masked).collect::<Vec<_>>())?;
    let count = |d: u64, unit: i32| {
        let units = spec.triple.c.decode(d) / f64::from(unit).exp2();
        (0.0..=1e6).contains(&units).then_some(units.round() as usize)
    };
    let (bare, masked) = answers.split_at(sizes.len());
    let right: Vec<bool> = bare.iter().zip(sizes).map(|(&d, &(_, unit))| count(d, unit) == Some(all.len())).collect();
    let survivors = |words: &[u64]| {
        let of_size = words.iter().zip(sizes).zip(&right);
        of_size.map(|((&d, &(_, unit)), &right)| count(d, unit).filter(|_| right)).collect()
    };
    let counts = pairs.iter().zip(masked.chunks(sizes.len()));
    Ok(counts.map(|(&(up, down), words)| Masked { up, down, survivors: survivors(words) }).collect())
}

/// Units one by one, for each pair and size; `None` at sizes at which a unit without masks does not come out.
fn singly(
    asker: &mut Asker<'_>,
    spec: &UnitSpec,
    pairs: &[(Term, Term)],
    sizes: &[(i32, i32)],
) -> Result<Vec<Vec<Option<usize>>>, UnitError> {
    let k = spec.shape.k;
    let mut survive = |masks: &[(Term, Term)], size: (i32, i32), units: &[usize]| -> Result<usize, UnitError> {
        let questions: Vec<Question> = units.iter().map(|&u| question(spec, masks, size, &[u])).collect();
        let unit = f64::from(size.1).exp2();
        Ok(asker.ask(&questions)?.into_iter().filter(|&d| spec.triple.c.decode(d) == unit).count())
    };
    let all: Vec<usize> = (0..k).collect();
    let mut found = vec![Vec::new(); pairs.len()];
    for &size in sizes {
        let right = survive(&[], size, &all)? == k;
        for (&(up, down), found) in pairs.iter().zip(&mut found) {
            let units: Vec<usize> = all.iter().copied().filter(|&u| ![up, down].contains(&Term::Product(u))).collect();
            found.push(if right { Some(survive(&[(up, down)], size, &units)?) } else { None });
        }
    }
    Ok(found)
}

/// c with every position, and every two positions.
fn pairs(positions: &[usize]) -> Vec<(Term, Term)> {
    let mut pairs: Vec<(Term, Term)> = positions.iter().map(|&j| (Term::C, Term::Product(j))).collect();
    for (n, &i) in positions.iter().enumerate() {
        pairs.extend(positions[n + 1..].iter().map(|&j| (Term::Product(i), Term::Product(j))));
    }
    pairs
}

/// The first of every class, then the second ones, so many at most; ends of k always.
fn representatives(classes: &[Vec<usize>], k: usize, most: usize) -> Vec<usize> {
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
    positions.truncate(most);
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

/// Masks if any, and units at some positions; the other products are zero.
fn question(spec: &UnitSpec, masks: &[(Term, Term)], (mask, unit): (i32, i32), units: &[usize]) -> Question {
    let t = spec.triple;
    let mut q = Question::zero(spec);
    let ((la, ta), (lb, tb)) = (range(t.a), range(t.b));
    let factors = |exponent: i32, sign: i128| {
        let ea = (exponent / 2).min((exponent - lb).min(ta)).max((exponent - tb).max(la));
        (code(t.a, sign, ea), code(t.b, 1, exponent - ea))
    };
    for &i in units {
        (q.a[i], q.b[i]) = factors(unit, 1);
    }
    for (term, sign) in masks.iter().flat_map(|&(up, down)| [(up, 1), (down, -1)]) {
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

/// What a sum does to units beside masks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loss {
    /// It aligns and cuts: units beside a mask are lost.
    Beside,
    /// It is exact and rounded: units are lost where a mask leaves it.
    Leaving,
    /// It is exact and unrounded, or wide enough for both.
    Never,
}

/// A node over its positions of k.
enum Laid {
    /// Products of one step, and c with them or not.
    Step(Vec<usize>, bool),
    /// What is carried from block to block, and after how many of them c enters where it is late.
    Chain(Vec<Laid>, Option<usize>),
    /// Parts that are added.
    Join(Vec<Laid>, JoinOrder),
}

impl Laid {
    fn of(node: &Node, indices: &[usize]) -> Laid {
        let all = |split: &Split, each: &Node| -> Vec<Laid> {
            split.divide(indices).iter().map(|part| Laid::of(each, part)).collect()
        };
        match node {
            Node::Step(step) => Laid::Step(indices.to_vec(), step.c),
            Node::Chain(chain) => {
                let blocks = all(&chain.split, &chain.each);
                let late = chain.late_c.as_ref().map(|late| late.after.min(blocks.len()));
                Laid::Chain(blocks, late)
            }
            Node::Join(Join { split, each, order, .. }) => Laid::Join(all(split, each), *order),
        }
    }
}

/// The units that survive in a node, for what each of its sums does, in the order of [`super::knobs::sums`].
fn survivors(node: &Laid, (up, down): (Term, Term), losses: &[Loss]) -> usize {
    let held = |term: Term| match (term == up, term == down, term) {
        (true, ..) => Held { masks: 1, units: 0 },
        (_, true, _) => Held { masks: -1, units: 0 },
        (.., Term::C) => Held { masks: 0, units: 0 },
        _ => Held { masks: 0, units: 1 },
    };
    walk(node, held(Term::C), &|i| held(Term::Product(i)), losses).units
}

fn add(terms: impl IntoIterator<Item = Held>, loss: Loss) -> Held {
    let (mut masks, mut units, mut has_mask) = (0, 0, false);
    for term in terms {
        masks += term.masks;
        units += term.units;
        has_mask |= term.masks != 0;
    }
    let lost = match loss {
        Loss::Beside => has_mask,
        Loss::Leaving => masks != 0,
        Loss::Never => false,
    };
    Held { masks, units: if lost { 0 } else { units } }
}

fn walk(node: &Laid, c: Held, product: &impl Fn(usize) -> Held, losses: &[Loss]) -> Held {
    const NOTHING: Held = Held { masks: 0, units: 0 };
    let (&own, inner) = losses.split_last().unwrap_or((&Loss::Beside, &[]));
    match node {
        Laid::Step(indices, takes_c) => add(indices.iter().map(|&i| product(i)).chain(takes_c.then_some(c)), own),
        Laid::Chain(blocks, after) => {
            let inner = if after.is_some() { inner } else { losses };
            let mut held = if after.is_some() { NOTHING } else { c };
            for (n, block) in blocks.iter().enumerate() {
                if *after == Some(n) {
                    held = add([held, c], own);
                }
                held = walk(block, held, product, inner);
            }
            if *after == Some(blocks.len()) { add([held, c], own) } else { held }
        }
        Laid::Join(parts, order) => {
            let each = parts.iter().map(|part| walk(part, NOTHING, product, inner));
            let place = match order {
                JoinOrder::Together { c: with } => return add(each.chain(with.then_some(c)), own),
                JoinOrder::InTurn { c } | JoinOrder::Pairwise { c } => *c,
            };
            let mut parts: Vec<Held> = each.collect();
            match place {
                CPlace::First => parts.insert(0, c),
                CPlace::After(n) => parts.insert(n.min(parts.len()), c),
                CPlace::Last | CPlace::Nowhere => {}
            }
            let joined = match order {
                JoinOrder::Pairwise { .. } => {
                    while parts.len() > 1 {
                        let pairs = parts.len().div_ceil(2);
                        (0..pairs).for_each(|n| parts[n] = add(parts[2 * n..].iter().take(2).copied(), own));
                        parts.truncate(pairs);
                    }
                    parts.first().copied()
                }
                _ => parts.into_iter().reduce(|sum, part| add([sum, part], own)),
            };
            let joined = joined.unwrap_or(NOTHING);
            if place == CPlace::Last { add([joined, c], own) } else { joined }
        }
    }
}

/// How many of the masked pairs a node explains, as a share of those that say something, at the sizes and with the losses where it
/// explains most. `closely`: every sum may lose in its own way.
pub(super) fn explained(node: &Node, k: usize, masked: &[Masked], closely: bool) -> usize {
    let sizes = masked.first().map_or(0, |m| m.survivors.len());
    let laid = Laid::of(node, &(0..k).collect::<Vec<usize>>());
    let mut most = 0;
    for losses in losses(sums(&mut node.clone()).len(), closely) {
        let predicted: Vec<usize> = masked.iter().map(|m| survivors(&laid, (m.up, m.down), &losses)).collect();
        for size in 0..sizes {
            let said = masked.iter().filter(|m| m.survivors[size].is_some()).count();
            if said * FEWEST < masked.len() {
                continue;
            }
            let agrees = masked.iter().zip(&predicted).filter(|(m, p)| m.survivors[size] == Some(**p)).count();
            most = most.max(agrees * masked.len() / said.max(1));
        }
    }
    most
}

/// What so many sums may do to units.
fn losses(count: usize, closely: bool) -> Vec<Vec<Loss>> {
    const ALL: [Loss; 3] = [Loss::Beside, Loss::Leaving, Loss::Never];
    if !closely || count > 3 {
        return ALL.iter().map(|&loss| vec![loss; count]).collect();
    }
    (0..count).fold(vec![Vec::new()], |all, _| with_each(&all, &ALL))
}
