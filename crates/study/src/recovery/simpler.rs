//! Is there a simpler tree that explains everything, too?
//!
//! A tree of more sums can imitate one of fewer so closely that few inputs tell them apart: a sum that is left unrounded inside
//! and rounded at the end, c that joins by a sum of its own. Which of two trees a search meets first is chance. Where both explain
//! all that was asked, the one of fewer parts is what questions are asked about first; the other one is kept in case it is wrong.

use super::knobs::{Place, form_at, number_of_sums};
use super::shapes::{Shape, bare, reshaped, size};
use super::witnesses::Witnesses;
use rigel_numerics::arithmetic::Model;

/// Of the models with a simpler tree that explain everything the simplest one; `None` where none does.
pub(super) fn simpler(model: &Model, shapes: &[Shape], witnesses: &mut Witnesses) -> Option<Model> {
    let own = parts(model);
    let mut others: Vec<Model> = Vec::new();
    for base in [Some(model.clone()), joined(model)].into_iter().flatten() {
        if parts(&base) < own {
            others.push(base.clone());
        }
        let trees = shapes.iter().flat_map(|shape| reshaped(&base, &shape.body));
        others.extend(trees.filter(|other| parts(other) < own));
    }
    others.sort_by_key(parts);
    others.into_iter().find(|other| witnesses.explains(other))
}

/// How many parts a model has: sums first, then what makes up the tree, then a last rounding.
fn parts(model: &Model) -> (usize, usize, usize) {
    (number_of_sums(model), size(&bare(&model.body)), usize::from(model.store.is_some()))
}

/// The last rounding done by the last sum.
fn joined(model: &Model) -> Option<Model> {
    let last = Place::Sum(number_of_sums(model) - 1);
    let mut other = Model { store: None, ..model.clone() };
    let store = model.store?;
    *form_at(&mut other, last)? = store;
    Some(other)
}

#[cfg(test)]
mod tests {
    use super::super::pool::{Scope, pooled};
    use super::super::question::Observation;
    use super::*;
    use rigel_device::unit::UnitSpec;
    use rigel_numerics::Shape as Extents;
    use rigel_numerics::arithmetic::{
        Align, Alignment, Chain, Evaluator, Intake, LateC, NanRule, Node, Output, Rounded, Split, Step, Sum, ZeroSign,
    };
    use rigel_numerics::{Format, Rounding};

    const K: usize = 8;

    /// Two blocks of one step each, c in the first, every sum cut at 23 bits and rounded to f16.
    fn planted() -> Model {
        let output = Output::Rounded(Rounded::to(Format::F16, Rounding::NearestEven));
        let align = Align::Largest(Alignment::new(23, Rounding::TowardZero));
        let step = Step { c: true, product_limit: None, sum: Sum { align, zero: ZeroSign::Ieee, output } };
        let body = Node::from(step).chained(4);
        let (plain, nan) = (Intake::default(), NanRule::Word(0x7fff));
        let triple = "f16,f16->f16".parse().expect("a triple");
        Model { triple, k: K, a: plain, b: plain, c: plain, scales: None, body, store: None, nan }
    }

    /// The same, but c joins the first block by a sum of its own.
    fn imitating(planted: &Model) -> Model {
        let Node::Chain(Chain { split, each, .. }) = &planted.body else { panic!("a chain") };
        let Node::Step(step) = each.as_ref() else { panic!("a chain of steps") };
        let inner = Sum { output: Output::Unrounded, ..step.sum.clone() };
        let each = Box::new(Node::Step(Step { sum: inner, ..step.clone() }));
        let late_c = Some(LateC { after: 1, sum: step.sum.clone() });
        let store = Some(Rounded::to(Format::F16, Rounding::NearestEven));
        Model { body: Node::Chain(Chain { split: split.clone(), each, late_c }), store, ..planted.clone() }
    }

    fn observed(truth: &Model, count: usize) -> Witnesses {
        let spec = UnitSpec {
            name: "planted".into(),
            path: "planted".into(),
            triple: truth.triple,
            shape: Extents::new(4, 4, K),
            scales: None,
            fragments: None,
            source: "a test".into(),
        };
        let evaluator = Evaluator::new(truth, K).expect("an evaluator");
        let mut scratch = evaluator.scratch();
        let questions = (0..count).map(|i| pooled(&spec, &Scope { products: (-48, 30), c: (-24, 15) }, 3, i));
        let seen =
            questions.map(|question| Observation { d: evaluator.dot(&mut scratch, question.inputs()), question });
        Witnesses::new(truth.triple, K, seen.collect())
    }

    fn trees() -> Vec<Shape> {
        let whole = Split::blocks(4);
        [planted().body, imitating(&planted()).body, Node::from(planted().body.step().clone()).chained(2)]
            .iter()
            .map(|body| Shape { body: bare(body), explained: 0 })
            .filter(|shape| matches!(&shape.body, Node::Chain(chain) if chain.split == whole || chain.late_c.is_none()))
            .collect()
    }

    #[test]
    fn a_tree_of_fewer_sums_that_explains_as_much_is_preferred() {
        let (truth, other) = (planted(), imitating(&planted()));
        let mut few = observed(&truth, 40);
        let kept: Vec<usize> = few.unexplained(&other);
        assert!(kept.len() < 40, "nothing in common");
        let told: Vec<Observation> =
            (0..40).filter(|i| !kept.contains(i)).map(|i| few.observations()[i].clone()).collect();
        let mut alike = Witnesses::new(truth.triple, K, told);
        assert_eq!(simpler(&other, &trees(), &mut alike).map(|model| model.body), Some(truth.body.clone()));
        assert_eq!(simpler(&truth, &trees(), &mut alike), None);
    }

    #[test]
    fn a_simpler_tree_that_does_not_explain_everything_is_not() {
        let truth = imitating(&planted());
        let mut witnesses = observed(&truth, 900);
        assert!(!witnesses.explains(&planted()), "questions must tell them apart");
        assert_eq!(simpler(&truth, &trees(), &mut witnesses), None);
    }
}
