//! Which trees of steps fit what exchanges and masks have shown?

use super::kinds::Kind;
use super::masks::{Masked, explained};
use super::swaps::Exchanges;
use rigel_numerics::arithmetic::*;
use rigel_numerics::{Rounding, Triple};
use std::collections::HashSet;

/// A tree of steps with sums yet to be found out, and how many masked pairs it explains.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape {
    pub body: Node,
    pub explained: usize,
}

/// Trees that are compared with all masked pairs.
const LOOKED_AT: usize = 240;

/// Trees to which those with finer steps than the classes are added, whatever they explain.
const FINER: usize = 200;

/// Every shape that fits, those that explain most first. Exchanges may have told too few positions apart, so trees of finer steps than
/// the classes join them, above all those that explain more masked pairs than any other.
pub(super) fn all(triple: Triple, k: usize, exchanges: &Exchanges, masked: &[Masked]) -> Vec<Shape> {
    let mut all = shapes(triple, k, exchanges, masked, false);
    let best = all.first().map_or(0, |shape| shape.explained);
    for shape in shapes(triple, k, exchanges, masked, true) {
        let wanted = shape.explained > best || all.len() < FINER;
        if wanted && !all.iter().any(|seen| seen.body == shape.body) {
            all.push(shape);
        }
    }
    all.sort_by_key(|shape| std::cmp::Reverse(shape.explained));
    all
}

/// Every shape that does not contradict the exchanges, those that explain most first. `coarse`: exchanges may have failed to
/// tell positions apart, so steps may be finer than their classes.
fn shapes(triple: Triple, k: usize, exchanges: &Exchanges, masked: &[Masked], coarse: bool) -> Vec<Shape> {
    let mut bodies: Vec<Node> = Vec::new();
    let mut known: HashSet<Node> = HashSet::new();
    for body in frames(k, exchanges, coarse).iter().flat_map(trees) {
        if known.insert(body.clone()) {
            bodies.push(body);
        }
    }
    // A first look at some of the pairs, then all pairs for the best.
    let some: Vec<Masked> = masked.iter().step_by(4).cloned().collect();
    let ranked = |bodies: Vec<Node>, masked: &[Masked], closely: bool| {
        let explains = |body: Node| Shape { explained: explained(&body, k, masked, closely), body };
        let mut shapes: Vec<Shape> = bodies.into_iter().map(explains).collect();
        shapes.sort_by_key(|s| (std::cmp::Reverse(s.explained), size(&s.body)));
        shapes
    };
    let mut shapes = ranked(bodies, &some, false);
    shapes.truncate(LOOKED_AT);
    let mut shapes = ranked(shapes.into_iter().map(|s| s.body).collect(), masked, true);
    if triple.is_integer() {
        // Integer steps are exact; which of them there are shows in overflow alone.
        shapes.truncate(24);
    }
    shapes
}

/// Nodes of a tree, and what joins them.
pub(super) fn size(node: &Node) -> usize {
    match node {
        Node::Step(_) => 1,
        Node::Chain(chain) => 1 + size(&chain.each) + 2 * usize::from(chain.late_c.is_some()),
        // One part and c are two terms, however they are joined: the plain way comes first.
        Node::Join(join) => {
            let plain = join.split != Split::Whole || matches!(join.order, JoinOrder::Together { .. });
            2 + size(&join.each) + usize::from(!plain)
        }
    }
}

/// A division of k into groups, and of each group into the products of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Frame {
    outer: Split,
    inner: Split,
    groups: usize,
    leaves: usize,
    /// Whether the steps are classes of the exchanges, not hidden in them.
    exact: bool,
}

/// Frames whose steps do not hold positions that cannot be exchanged.
fn frames(k: usize, exchanges: &Exchanges, coarse: bool) -> Vec<Frame> {
    let all: Vec<usize> = (0..k).collect();
    let class_of = |i: usize| exchanges.classes.iter().position(|class| class.contains(&i));
    let complete = exchanges.open.is_empty();
    let mut splits = vec![Split::Whole];
    for of in 1..k {
        if k.is_multiple_of(of) || of <= 32 {
            splits.push(Split::blocks(of));
            splits.push(Split::Blocks { of, descending: true });
        }
    }
    splits.extend((2..k).filter(|count| k.is_multiple_of(*count)).map(|count| Split::Strided { count }));
    splits.push(Split::Pattern { parts: vec![vec![0, 1], vec![2, 3]] });
    splits.push(Split::Pattern { parts: vec![vec![2, 3], vec![0, 1]] });
    // Steps may look for NaN in another order than that of their positions.
    let rank = |i: usize| exchanges.classes.iter().flatten().position(|&x| x == i);
    let mut singly: Vec<usize> = all.clone();
    singly.sort_by_key(|&i| rank(i));
    let singly = named(&singly.iter().map(|&i| vec![i]).collect::<Vec<_>>(), k);
    splits.extend(singly.iter().filter(|split| !splits.contains(split)).cloned().collect::<Vec<_>>());
    for split in splits.clone() {
        let mut parts = split.divide(&all);
        parts.iter_mut().for_each(|part| part.sort_by_key(|&i| rank(i)));
        splits.extend(named(&parts, k).filter(|ordered| *ordered != split));
    }
    let mut own = Vec::new();
    if complete && exchanges.classes.len() > 1 {
        own.extend(named(&exchanges.classes, k));
        let mut reversed = exchanges.classes.clone();
        reversed.reverse();
        own.extend(named(&reversed, k));
    }
    let mut frames: Vec<Frame> = Vec::new();
    let mut seen: HashSet<Vec<Vec<Vec<usize>>>> = HashSet::new();
    for outer in splits.iter().chain(&own) {
        let groups = outer.divide(&all);
        let parts = |of: usize| k.is_multiple_of(of) || (2..=8).any(|count| k.div_ceil(count) == of);
        let odd = matches!(outer, Split::Blocks { of, .. } if !parts(*of));
        let local =
            if complete && *outer != Split::Whole { inside(&exchanges.classes, &groups[0]) } else { Vec::new() };
        for inner in splits.iter().chain(own.iter().filter(|_| *outer == Split::Whole)).chain(&local) {
            let nested: Vec<Vec<Vec<usize>>> = groups.iter().map(|group| inner.divide(group)).collect();
            // A frame that divides nothing twice has a simpler twin.
            if odd && *inner != Split::Whole {
                continue;
            }
            let trivial = groups.len() == 1 && *outer != Split::Whole
                || nested.iter().all(|group| group.len() == 1) && *inner != Split::Whole;
            if trivial || seen.contains(&nested) {
                continue;
            }
            let leaves: Vec<&Vec<usize>> = nested.iter().flatten().collect();
            // A step never holds positions that cannot be exchanged.
            if leaves.iter().any(|leaf| !exchanges.allow(leaf)) {
                continue;
            }
            let whole = |leaf: &&Vec<usize>| class_of(leaf[0]).is_none_or(|c| exchanges.classes[c].len() == leaf.len());
            let exact = coarse || leaves.iter().all(whole);
            // Steps finer than the classes are tried where a symmetric sum of single products could hide them.
            let unions = |group: &Vec<usize>| {
                let inside =
                    |&i: &usize| class_of(i).is_none_or(|c| exchanges.classes[c].iter().all(|x| group.contains(x)));
                group.iter().all(inside)
            };
            let single = nested.iter().flatten().all(|leaf| leaf.len() == 1);
            let hidden = single && *inner != Split::Whole && groups.iter().all(unions);
            if exact || hidden {
                let (groups, leaves) = (groups.len(), leaves.len());
                frames.push(Frame { outer: outer.clone(), inner: inner.clone(), groups, leaves, exact });
                seen.insert(nested);
            }
        }
    }
    frames
}

/// The splits of a group of positions into its parts of the classes, in their order and in reverse.
fn inside(classes: &[Vec<usize>], group: &[usize]) -> Vec<Split> {
    let place = |i: &usize| group.iter().position(|x| x == i);
    let parts = classes.iter().map(|class| class.iter().filter_map(place).collect::<Vec<usize>>());
    let mut parts: Vec<Vec<usize>> = parts.filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 {
        return Vec::new();
    }
    let ascending = named(&parts, group.len());
    parts.reverse();
    ascending.into_iter().chain(named(&parts, group.len())).collect()
}

/// The simplest split that gives these parts in this order.
fn named(parts: &[Vec<usize>], k: usize) -> Option<Split> {
    let all: Vec<usize> = (0..k).collect();
    let is = |split: &Split| split.divide(&all) == parts;
    let blocks = (1..k).flat_map(|of| [Split::blocks(of), Split::Blocks { of, descending: true }]);
    let strided = (2..=k).map(|count| Split::Strided { count });
    let periodic = (2..=k).map(|period| Split::Pattern {
        parts: parts
            .iter()
            .map(|p| p.iter().copied().filter(|&i| i < period).collect::<Vec<_>>())
            .filter(|p| !p.is_empty())
            .collect(),
    });
    blocks.chain(strided).chain(periodic).find(is)
}

/// The trees over a frame.
fn trees(frame: &Frame) -> Vec<Node> {
    let step = |c| Node::Step(Step { c, product_limit: None, sum: unset() });
    let chain = |split: &Split, each: Node| match split {
        Split::Whole => each,
        _ => Node::Chain(Chain { split: split.clone(), each: Box::new(each), late_c: None }),
    };
    let late = |split: &Split, each: Node, after| {
        Node::Chain(Chain { split: split.clone(), each: Box::new(each), late_c: Some(LateC { after, sum: unset() }) })
    };
    let join = |split: &Split, each: Node, order| {
        Node::Join(Join { split: split.clone(), each: Box::new(each), order, sum: unset() })
    };
    let together = JoinOrder::Together { c: true };
    let (outer, inner) = (&frame.outer, &frame.inner);
    let parts = frame.leaves.div_ceil(frame.groups);
    let afters = |count: usize| (0..=count).filter(move |&n| n <= 3 || n + 1 >= count);
    let mut inside: Vec<Node> = Vec::new();
    if parts == 1 {
        inside.push(step(true));
        inside.push(join(&Split::Whole, step(false), together));
        // The same, but c is the first of the two: a NaN of c comes out before that of the products.
        inside.push(join(&Split::Whole, step(false), JoinOrder::InTurn { c: CPlace::First }));
        // Or c goes through a sum of its own before it meets them.
        if frame.groups == 1 {
            inside.push(late(&Split::Whole, step(true), 0));
        }
    } else if !frame.exact {
        let nowhere = [JoinOrder::Together { c: false }, JoinOrder::Pairwise { c: CPlace::Nowhere }];
        let with_c =
            [CPlace::First, CPlace::Last, CPlace::After(1), CPlace::After(2)].map(|c| JoinOrder::Pairwise { c });
        inside.extend(nowhere.map(|order| join(&Split::Whole, join(inner, step(false), order), together)));
        let in_turn = JoinOrder::InTurn { c: CPlace::Last };
        inside.extend([together, in_turn].into_iter().chain(with_c).map(|order| join(inner, step(false), order)));
    } else {
        inside.push(chain(inner, step(true)));
        let orders = |c| [JoinOrder::InTurn { c }, JoinOrder::Pairwise { c }];
        let places = [CPlace::First, CPlace::Last].into_iter().chain((1..=3.min(parts)).map(CPlace::After));
        let all = places.flat_map(orders).chain([together]);
        inside.extend(all.map(|order| join(inner, step(false), order)));
        let nowhere = CPlace::Nowhere;
        for order in
            [JoinOrder::Together { c: false }, JoinOrder::Pairwise { c: nowhere }, JoinOrder::InTurn { c: nowhere }]
        {
            inside.push(join(&Split::Whole, join(inner, step(false), order), together));
        }
        inside.push(join(&Split::Whole, chain(inner, step(true)), together));
    }
    let mut all: Vec<Node> = inside.iter().map(|body| chain(outer, body.clone())).collect();
    if !frame.exact {
        return all;
    }
    if *outer == Split::Whole && parts > 1 {
        all.extend(afters(parts).map(|after| late(inner, step(true), after)));
    }
    if parts == 1 && frame.groups > 1 {
        // The groups are the steps: late c is met above under the other name of the frame.
        all.extend(afters(frame.groups).map(|after| late(outer, step(true), after)));
    }
    if frame.groups > 1 && parts > 1 {
        for order in [
            JoinOrder::InTurn { c: CPlace::First },
            JoinOrder::InTurn { c: CPlace::Last },
            JoinOrder::Pairwise { c: CPlace::Last },
            together,
        ] {
            all.push(join(outer, chain(inner, step(true)), order));
        }
    }
    all
}

/// A sum whose parameters are to be fitted.
fn unset() -> Sum {
    Sum { align: Align::Exact, zero: ZeroSign::Positive, output: Output::Unrounded }
}

/// A model with another tree, its sums taken over; where their number differs, in several ways.
pub(super) fn reshaped(model: &Model, shape: &Node) -> Vec<Model> {
    use super::knobs::sums;
    if *shape == bare(&model.body) {
        return Vec::new();
    }
    let own: Vec<Sum> = sums(&mut model.body.clone()).into_iter().map(|s| s.clone()).collect();
    let places = sums(&mut shape.clone()).len();
    let (first, last) = (own[0].clone(), own[own.len() - 1].clone());
    let left = |output: Output| Sum { output, ..first.clone() };
    let rounded_once = Sum {
        align: Align::Exact,
        zero: ZeroSign::Ieee,
        output: match last.output {
            Output::Rounded(form) => Output::Rounded(form),
            _ => Output::Rounded(Rounded::to(model.triple.c, Rounding::NearestEven)),
        },
    };
    let ways: Vec<Vec<Sum>> = if places == own.len() && places == 1 || model.triple.is_integer() && places == own.len()
    {
        vec![own]
    } else if places == own.len() {
        // What one step did, single products may have come to on their way out.
        let unrounded = Sum { align: Align::Exact, ..left(Output::Unrounded) };
        vec![own, vec![left(Output::Unrounded), last.clone()], vec![unrounded, last]]
    } else if places == 1 {
        vec![vec![first.clone()], vec![left(last.output)], vec![last]]
    } else if own.len() == 1 && !model.triple.is_integer() {
        vec![
            vec![first.clone(), first.clone()],
            vec![left(Output::Unrounded), first.clone()],
            vec![first.clone(), rounded_once.clone()],
            vec![left(Output::Unrounded), rounded_once],
        ]
    } else {
        vec![vec![first.clone(); places]]
    };
    let limit = model.body.step().product_limit;
    let with = |sums_of_it: Vec<Sum>| {
        let mut body = shape.clone();
        sums(&mut body).into_iter().zip(sums_of_it).for_each(|(place, sum)| *place = sum);
        super::knobs::step(&mut body).product_limit = limit;
        Model { body, ..model.clone() }
    };
    ways.into_iter().map(with).collect()
}

/// A tree with its sums unset, as shapes have it.
pub(super) fn bare(body: &Node) -> Node {
    let mut body = body.clone();
    super::knobs::sums(&mut body).into_iter().for_each(|sum| *sum = unset());
    super::knobs::step(&mut body).product_limit = None;
    body
}

/// A model of a shape with sums of some kinds as they begin.
pub(super) fn begun(shape: &Node, triple: Triple, k: usize, scales: Option<Scales>, kinds: &[Kind]) -> Model {
    let mut body = shape.clone();
    let form = IntegerOutput { bits: triple.c.bits(), signed: triple.c.is_signed(), overflow: IntegerOverflow::Wrap };
    let integer = Sum { align: Align::Exact, zero: ZeroSign::Positive, output: Output::Integer(form) };
    for (place, kind) in super::knobs::sums(&mut body).into_iter().zip(kinds) {
        *place = if triple.is_integer() { integer.clone() } else { kind.sum(triple) };
    }
    let nan = NanRule::Word(triple.c.nan_code().unwrap_or(0));
    let plain = Intake::default();
    Model { triple, k, a: plain, b: plain, c: plain, scales, body, store: None, nan }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Early terms of a long chain are hard to tell apart, and exchanges stop where there were too many. A plain chain that explains every
    /// masked pair comes first all the same.
    #[test]
    fn finer_steps_than_the_classes_are_tried_first_where_they_alone_explain_the_masks() {
        use super::super::masks::Term::{C, Product};
        let k = 32;
        let told = (5..18).map(|i| vec![i]);
        let classes: Vec<Vec<usize>> = [vec![0, 1], vec![2, 3, 4]].into_iter().chain(told).collect();
        let class = |i: usize| classes.iter().position(|class| class.contains(&i)).unwrap_or(i + k);
        let pairs = (0..18).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
        let apart: HashSet<(usize, usize)> = pairs.filter(|&(i, j)| class(i) != class(j)).collect();
        let exchanges = Exchanges { classes: classes.clone(), open: (18..k).collect(), apart };
        // Of single products in turn those behind both masks are left.
        let left = |up, j: usize| Masked { up, down: Product(j), survivors: vec![Some(k - 1 - j)] };
        let places = [0, 2, 5, 9, 13, 17, 31];
        let of_c = places.iter().map(|&j| left(C, j));
        let of_two = places.iter().enumerate().flat_map(|(n, &i)| places[n + 1..].iter().map(move |&j| (i, j)));
        let masked: Vec<Masked> = of_c.chain(of_two.map(|(i, j)| left(Product(i), j))).collect();
        let all = all("f16,f16->f32".parse().expect("a triple"), k, &exchanges, &masked);
        assert_eq!(all[0].explained, masked.len());
        let is_plain = |node: &Node| match node {
            Node::Chain(Chain { split, each, late_c: None }) => {
                *split == Split::blocks(1) && matches!(&**each, Node::Step(step) if step.c)
            }
            _ => false,
        };
        let most = all.iter().take_while(|shape| shape.explained == masked.len());
        assert!(most.into_iter().any(|shape| is_plain(&shape.body)), "{:?}", all[0].body);
    }

    /// c that is rounded by a sum of its own and then joins all products in one step: neither one step nor two terms.
    #[test]
    fn one_step_has_every_way_in_which_c_can_enter() {
        let exchanges = Exchanges { classes: vec![vec![0, 1, 2, 3]], open: Vec::new(), apart: HashSet::new() };
        let shapes = shapes("f16,f16->f32".parse().expect("a triple"), 4, &exchanges, &[], false);
        let has = |fits: &dyn Fn(&Node) -> bool| shapes.iter().any(|shape| fits(&shape.body));
        assert!(has(&|node| matches!(node, Node::Step(step) if step.c)));
        assert!(has(&|node| matches!(node, Node::Join(join) if join.split == Split::Whole && !join.each.uses_c())));
        let late = |node: &Node| match node {
            Node::Chain(Chain { split: Split::Whole, each, late_c: Some(late) }) => late.after == 0 && each.uses_c(),
            _ => false,
        };
        assert!(has(&late));
    }
}
