//! Does a recovery's printed class hold the parameters of a model that somebody states?
//!
//! Two models can be one function and still be written down differently: a floor below which nothing is ever seen, a cut of
//! terms that no input has. A recovery prints one setting of each parameter and, where no input tells others from it, those
//! too. A stated model stands in that class if every one of its parameters is the recovered one or is listed beside it, or if it
//! is listed whole.

use super::knobs::{Knob, form_at, knobs, number_of_sums, sums};
use super::outcome::Recovered;
use super::rivals::{TREE, WHOLE, published_as};
use super::words::{setting, tree};
use rigel_ledger::units::Undetermined;
use rigel_numerics::arithmetic::{Align, Chain, Join, Model, Node, library};

impl Recovered {
    /// The parameters of a stated model that an exact recovery neither found nor lists as not to be told from what it found, in
    /// words: none where the whole model lies in the printed class. `None` without an exact model.
    pub fn unlisted(&self, stated: &Model) -> Option<Vec<String>> {
        let Recovered::Exact { model, class, .. } = self else { return None };
        Some(unlisted(model, class, stated))
    }
}

fn unlisted(model: &Model, class: &[Undetermined], stated: &Model) -> Vec<String> {
    let settings = |parameter: &str| {
        let of_it = class.iter().filter(move |undetermined| undetermined.parameter == parameter);
        of_it.flat_map(|undetermined| undetermined.settings.iter().map(String::as_str)).collect::<Vec<_>>()
    };
    let whole = settings(WHOLE);
    if library().iter().any(|published| published.model == *stated && whole.contains(&published_as(published).as_str()))
    {
        return Vec::new();
    }
    let all: Vec<usize> = (0..model.k).collect();
    let theirs = tree(&stated.body);
    let same = grown(&model.body, &all, "c") == grown(&stated.body, &all, "c");
    if number_of_sums(model) != number_of_sums(stated) || !same && !settings(TREE).contains(&theirs.as_str()) {
        return vec![format!("{TREE}: {theirs} instead of {}", tree(&model.body))];
    }
    let mut all = Vec::new();
    for knob in knobs(stated).into_iter().filter(|&knob| has(stated, knob)) {
        let (own, theirs) = (said(model, knob), said(stated, knob));
        let parameter = knob.to_string();
        let listed = || settings(&parameter).iter().any(|words| format_of(words, knob) == theirs);
        if own != theirs && !listed() {
            all.push(format!("{parameter}: {theirs} instead of {own}"));
        }
    }
    all
}

/// What is added to what, in which order, over some indices: chains of one block, and splits that divide alike, are said alike.
fn grown(node: &Node, indices: &[usize], c: &str) -> String {
    match node {
        Node::Step(step) => format!("({indices:?}{})", if step.c { c } else { "" }),
        Node::Chain(Chain { split, each, late_c }) => {
            let blocks = split.divide(indices);
            let after = late_c.as_ref().map(|late| late.after.min(blocks.len()));
            let mut sum = if after.is_some() { "0" } else { c }.to_owned();
            for (n, block) in blocks.iter().enumerate() {
                if after == Some(n) {
                    sum = format!("({sum} late {c})");
                }
                sum = grown(each, block, &sum);
            }
            if after == Some(blocks.len()) { format!("({sum} late {c})") } else { sum }
        }
        Node::Join(Join { split, each, order, .. }) => {
            let parts: Vec<String> = split.divide(indices).iter().map(|part| grown(each, part, "0")).collect();
            format!("({} {order:?} {c})", parts.join(" "))
        }
    }
}

/// Whether a model has a parameter at all: an exact sum has no cut, what leaves unrounded no rounding.
fn has(model: &Model, knob: Knob) -> bool {
    let mut own = model.clone();
    let mut alignment = |s: usize| match sums(&mut own.body).into_iter().nth(s).map(|sum| sum.align.clone()) {
        Some(Align::Largest(alignment)) => Some(alignment),
        _ => None,
    };
    match knob {
        Knob::CCut(s) | Knob::Reach(s) => alignment(s).is_some_and(|alignment| alignment.c.is_some()),
        Knob::Cut(s)
        | Knob::CFraction(s)
        | Knob::ProductExponent(s)
        | Knob::ValueExponent(s)
        | Knob::ZeroProducts(s)
        | Knob::ZeroValues(s)
        | Knob::Floor(s)
        | Knob::Carry(s) => alignment(s).is_some(),
        Knob::Precision(place)
        | Knob::Rounding(place)
        | Knob::Overflow(place)
        | Knob::Subnormals(place)
        | Knob::Vanished(place) => form_at(&mut own, place).is_some(),
        _ => true,
    }
}

/// The setting of a knob; of a form its format alone, for width and rounding are parameters of their own.
fn said(model: &Model, knob: Knob) -> String {
    format_of(&setting(model, knob), knob)
}

fn format_of(words: &str, knob: Knob) -> String {
    match knob {
        Knob::Form(_) | Knob::Convert(_) | Knob::Store => words.split(" of ").next().unwrap_or(words).to_owned(),
        _ => words.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::{Fineness, settings};
    use super::*;
    use rigel_numerics::arithmetic::Published;

    fn published(name: &str) -> &'static Published {
        library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no model `{name}`"))
    }

    fn listing(parameter: &str, settings: &[&str]) -> Vec<Undetermined> {
        let settings = settings.iter().map(|&words| words.to_owned()).collect();
        vec![Undetermined { parameter: parameter.to_owned(), settings }]
    }

    #[test]
    fn a_model_has_all_of_its_own_parameters() {
        for published in library() {
            assert_eq!(unlisted(&published.model, &[], &published.model), [""; 0], "{}", published.name);
        }
    }

    /// Every knob that is turned away from what is stated is named, until the class lists what is stated.
    #[test]
    fn a_parameter_that_is_neither_found_nor_listed_is_named() {
        let stated = &published("hopper mma f16 to f32, floored").model;
        for knob in knobs(stated) {
            for other in settings(stated, knob, Fineness::Ladder).iter().take(9) {
                // Settings that are said alike are one setting.
                if said(other, knob) == said(stated, knob) {
                    continue;
                }
                let parameter = knob.to_string();
                let named = unlisted(other, &[], stated);
                let depends = !has(stated, knob);
                assert!(depends || named.iter().any(|words| words.starts_with(&parameter)), "{knob}: {named:?}");
                let class = listing(&parameter, &[&setting(other, knob), &setting(stated, knob)]);
                assert!(
                    !unlisted(other, &class, stated).iter().any(|words| words.starts_with(&format!("{parameter}:")))
                );
            }
        }
    }

    #[test]
    fn a_tree_and_a_whole_model_are_listed_too() {
        let stated = published("hopper mma f16 to f32, floored");
        let finer = Node::from(stated.model.body.step().clone()).chained(4);
        let other = &Model { body: finer, ..stated.model.clone() };
        let words = unlisted(other, &[], &stated.model);
        assert!(matches!(words.as_slice(), [one] if one.starts_with(TREE)), "{words:?}");
        let class = listing(WHOLE, &["this one", &published_as(stated)]);
        assert_eq!(unlisted(other, &class, &stated.model), [""; 0]);
        assert_ne!(unlisted(&stated.model, &class, other), [""; 0]);
    }
}
