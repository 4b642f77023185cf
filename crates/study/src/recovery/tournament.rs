//! Which trees, and which kinds of sums, are worth a long search?
//!
//! Whether a sum is aligned or exact, and whether what leaves it is rounded, is structure like the tree: a climb that begins
//! with the wrong kind ends where no change of a parameter or two helps. So every kind begins with every tree. All are
//! compared as they are, many are climbed a little, those that do best are climbed on (Karnin, Koren and Somekh, "Almost
//! optimal exploration in multi-armed bandits", ICML 2013), and what has been pursued in vain is not pursued again.

use super::fit::{Fit, Fitter};
use super::kinds::{Kind, kinds};
use super::knobs::{Knob, Operand, Place, form_at, number_of_sums, step, sums};
use super::settings::Fineness;
use super::shapes::bare;
use super::witnesses::Set;
use rigel_numerics::Rounding;
use rigel_numerics::arithmetic::{Evaluator, Model, Node, Rounded, ScaledPart};

/// What is known from one search to the next.
pub(super) struct Tournament<F> {
    /// A model of a tree and kinds of its sums as it begins.
    begin: F,
    /// Whether the unit takes scales.
    scaled: bool,
    /// Whether models were tried as they begin.
    tried_plainly: bool,
    /// What single terms say, for each kinds of sums.
    alone: Vec<Model>,
    /// Trees and kinds that were pursued, and what came of them.
    pursued: Vec<Model>,
    ends: Vec<Model>,
}

/// Trees that begin, at most.
const TREES: usize = 100;
/// Observations of a single term.
const SINGLE: usize = 360;
/// Beginnings that are climbed on with them until they are explained.
const CLIMBED_ON: usize = 4;
/// Observations on which beginnings are compared.
const QUICK: usize = 180;
/// Beginnings that are tried before anything else is known.
const PLAIN: (usize, usize) = (16, 4);
/// Beginnings that are fitted a little, a lot, and in full; and how many of them may have the same tree.
const BEGUN: (usize, usize) = (64, 6);
const HEATS: (usize, usize) = (16, 4);
const FITTED: (usize, usize) = (4, 2);
/// Of these, those with which a long search is tried.
const PURSUED: usize = 2;
/// A fit that leaves this part of the observations unexplained or less ends the search among others.
const CLOSE: u64 = 40;
/// Ends of searches that are kept for crossings.
const ENDS: usize = 8;

impl<F: Fn(&Node, &[Kind], Option<ScaledPart>) -> Model> Tournament<F> {
    pub(super) fn new(scaled: bool, begin: F) -> Tournament<F> {
        Tournament { begin, scaled, tried_plainly: false, alone: Vec::new(), pursued: Vec::new(), ends: Vec::new() }
    }

    /// What searches came to.
    pub(super) fn ends(&self) -> &[Model] {
        &self.ends
    }

    /// The model that explains most, of those that the evaluations of the search suffice for; its penalty is the number of
    /// observations that it does not explain.
    pub(super) fn winner(&mut self, search: &mut Fitter<'_>) -> Option<Fit> {
        let all = search.most.saturating_sub(search.witnesses.spent());
        search.others = self.ends.clone();
        let mut quick = Set::of(search.witnesses.of_terms(2, usize::MAX, QUICK));
        quick.order.extend(search.witnesses.latest(QUICK));
        if quick.order.is_empty() {
            quick = Set::first(search.witnesses.len().min(QUICK));
        }
        if !std::mem::replace(&mut self.tried_plainly, true)
            && let Some(plain) = self.plain(search, &mut quick, all / 2)
        {
            self.ends.push(plain.model.clone());
            return Some(plain);
        }
        if self.alone.is_empty() {
            self.alone = self.singly(search, all / 2);
        }
        let mut begun = self.beginnings(search, &mut quick);
        chosen(&mut begun, BEGUN);
        let until = search.witnesses.spent() + all / 4;
        let mut promising: Vec<Fit> = Vec::new();
        for fit in begun {
            if search.witnesses.spent() > until {
                break;
            }
            promising.extend(search.begin(&fit.model, &mut quick));
        }
        let heats = [(HEATS, 0, all / 32), (FITTED, 1, all / 8)];
        for (places, patience, part) in heats {
            chosen(&mut promising, places);
            let mut found = Vec::new();
            for fit in promising {
                if search.is_spent() && !found.is_empty() {
                    break;
                }
                found.push(search.within(part, |own| {
                    let settled = own.settle(fit, patience);
                    if patience > 0 { own.within(part / 3, |own| own.polish(settled)) } else { settled }
                }));
                if found.last().is_some_and(|fit| fit.penalty <= search.witnesses.len() as u64 / CLOSE) {
                    break;
                }
            }
            promising = found;
            if promising.last().is_some_and(|fit| fit.penalty <= search.witnesses.len() as u64 / CLOSE) {
                break;
            }
        }
        promising.sort_by_key(|fit| fit.penalty);
        promising.truncate(FITTED.0);
        search.others.extend(promising.iter().map(|fit| fit.model.clone()));
        self.pursued.extend(promising.iter().map(|fit| fit.model.clone()));
        for fit in promising.iter_mut().take(PURSUED) {
            if fit.penalty == 0 || search.is_spent() {
                break;
            }
            *fit = search.within(all / 3, |own| own.settle(fit.clone(), 16));
            *fit = search.within(all / 12, |own| own.polish(fit.clone()));
        }
        self.ends.extend(promising.iter().map(|fit| fit.model.clone()));
        let old = self.ends.len().saturating_sub(ENDS);
        self.ends.drain(..old);
        promising.into_iter().min_by_key(|fit| fit.penalty)
    }

    /// A model that begins as it is and soon explains nearly all: most units are simple.
    fn plain(&self, search: &mut Fitter<'_>, quick: &mut Set, most: u64) -> Option<Fit> {
        let mut begun = self.beginnings(search, quick);
        chosen(&mut begun, PLAIN);
        let close = search.witnesses.len() as u64 / CLOSE;
        let mut fits: Vec<Fit> = begun.into_iter().filter_map(|fit| search.begin(&fit.model, quick)).collect();
        fits.sort_by_key(|fit| fit.penalty);
        for fit in fits.into_iter().take(FITTED.1) {
            search.witnesses.arrange(&fit.model, quick);
            if quick.wrong <= quick.order.len() / 4 {
                let settled = search.within(most, |own| own.settle(fit, 1));
                if settled.penalty <= close {
                    return Some(settled);
                }
            }
        }
        None
    }

    /// What happens to a single term depends little on the tree: it is found out first, with one tree for each kinds of
    /// sums, and carried over to all others. Twice: what operands are converted to may be looked for before the sums have
    /// taken its place, or after.
    fn singly(&self, search: &mut Fitter<'_>, most: u64) -> Vec<Model> {
        let bits = search.witnesses.shown_bits();
        let mut all = Vec::new();
        for count in [1, 2] {
            let trees = || search.shapes.iter().take(TREES).map(|shape| &shape.body);
            for (kinds, part) in kinds(count, self.scaled) {
                let mut models = trees().map(|body| (self.begin)(body, &kinds, part));
                let possible =
                    |model: &Model| number_of_sums(model) == count && Evaluator::new(model, search.k).is_ok();
                all.extend(models.find(possible).into_iter().flat_map(|model| ended(&model, bits)));
            }
        }
        all.dedup();
        if all.iter().any(|model| model.triple.is_integer()) {
            return all;
        }
        let single = search.witnesses.of_terms(0, 1, SINGLE);
        let Some(plainest) = all.iter().find(|model| Kind::of(&model.body.step().sum).exact) else { return all };
        let mut taken_in = Fit { model: plainest.clone(), penalty: 0 };
        search.within(most / 3, |own| own.take_in(&mut taken_in, &mut Set::of(single.clone())));
        let mut first: Vec<Model> = Vec::new();
        if (taken_in.model.a, taken_in.model.b, taken_in.model.c) != (plainest.a, plainest.b, plainest.c) {
            let Model { a, b, c, .. } = taken_in.model;
            first.extend(all.iter().map(|model| Model { a, b, c, ..model.clone() }));
        }
        let starts = first.into_iter().chain(all).map(|model| Fit { model, penalty: 0 });
        let mut fits: Vec<Fit> = starts.collect();
        let part = most / 3 / fits.len().max(1) as u64;
        for (count, part) in [(usize::MAX, part), (CLIMBED_ON, most / 3 / CLIMBED_ON as u64)] {
            for fit in fits.iter_mut().filter(|fit| count > CLIMBED_ON || fit.penalty > 0).take(count) {
                let mut set = Set::of(single.clone());
                search.within(part, |own| own.climb(fit, &mut set, 1, false));
                fit.penalty = search.witnesses.arrange(&fit.model, &mut set);
            }
            fits.sort_by_key(|fit| fit.penalty);
        }
        fits.into_iter().map(|fit| fit.model).collect()
    }

    /// Every tree with every kinds of sums, as it begins and with what single terms have shown, and how well it does.
    fn beginnings(&self, search: &mut Fitter<'_>, quick: &mut Set) -> Vec<Fit> {
        let mut all = Vec::new();
        let (shapes, bits) = (search.shapes, search.witnesses.shown_bits());
        for body in shapes.iter().take(TREES).map(|shape| &shape.body) {
            let count = sums(&mut body.clone()).len();
            let mut least = u64::MAX / 4;
            let plain = kinds(count, self.scaled).into_iter().map(|(kinds, part)| (self.begin)(body, &kinds, part));
            let plain = plain.flat_map(|model| ended(&model, bits));
            let carried =
                self.alone.iter().filter(|model| number_of_sums(model) == count).map(|model| carried(model, body));
            for model in carried.chain(plain) {
                if Evaluator::new(&model, search.k).is_err() || self.is_pursued(&model) {
                    continue;
                }
                if let Some(penalty) = search.witnesses.penalty(&model, quick, 4 * least) {
                    least = least.min(penalty);
                    all.push(Fit { model, penalty });
                }
            }
        }
        all
    }

    fn is_pursued(&self, model: &Model) -> bool {
        self.pursued.iter().any(|other| alike(model, other))
    }
}

/// Whether two models have one tree and their sums are of the same kinds.
fn alike(one: &Model, other: &Model) -> bool {
    let kinds =
        |model: &Model| -> Vec<Kind> { sums(&mut model.body.clone()).into_iter().map(|s| Kind::of(s)).collect() };
    let part = |model: &Model| model.scales.map(|scales| scales.on);
    part(one) == part(other)
        && one.store.is_some() == other.store.is_some()
        && kinds(one) == kinds(other)
        && bare(&one.body) == bare(&other.body)
}

/// A model whose outputs have as many significant bits as are seen: its last sum is rounded to so many, or a last rounding
/// follows it. Like the kind of a sum, that is structure.
fn ended(model: &Model, bits: u32) -> Vec<Model> {
    if model.triple.is_integer() {
        return vec![model.clone()];
    }
    let precision = Some(bits).filter(|&bits| bits < model.triple.c.precision());
    let mut own = model.clone();
    if let Some(form) = form_at(&mut own, Place::Sum(number_of_sums(model) - 1)) {
        form.precision = precision;
    }
    let last = Rounded { precision, ..Rounded::to(model.triple.c, Rounding::NearestEven) };
    vec![own, Model { store: Some(last), ..model.clone() }]
}

/// A model with another tree of as many sums.
fn carried(model: &Model, body: &Node) -> Model {
    let mut other = Model { body: body.clone(), ..model.clone() };
    let own: Vec<_> = sums(&mut model.body.clone()).into_iter().map(|sum| sum.clone()).collect();
    sums(&mut other.body).into_iter().zip(own).for_each(|(place, sum)| *place = sum);
    step(&mut other.body).product_limit = model.body.step().product_limit;
    other
}

/// The best, so many at most, and so many of one tree, none of which is another one's twin.
fn chosen(fits: &mut Vec<Fit>, (most, of_a_tree): (usize, usize)) {
    fits.sort_by_key(|fit| fit.penalty);
    let mut kept: Vec<(Node, Model)> = Vec::new();
    fits.retain(|fit| {
        let tree = bare(&fit.model.body);
        let same = kept.iter().filter(|(other, _)| *other == tree);
        let twin = same.clone().any(|(_, model)| alike(model, &fit.model));
        let stays = kept.len() < most && !twin && same.count() < of_a_tree;
        if stays {
            kept.push((tree, fit.model.clone()));
        }
        stays
    });
}

impl Fitter<'_> {
    /// Turns what is done to operands, and the roundings of what comes out, with sums that lose nothing.
    fn take_in(&mut self, fit: &mut Fit, set: &mut Set) {
        let out = (0..number_of_sums(&fit.model)).map(Place::Sum);
        let out: Vec<Knob> =
            out.flat_map(|p| [Knob::PrecisionAndRounding(p), Knob::Overflow(p), Knob::Subnormals(p)]).collect();
        fit.penalty = self.witnesses.arrange(&fit.model, set);
        for _ in 0..3 {
            let before = fit.penalty;
            for operand in Operand::ALL {
                let place = Place::Operand(operand);
                let rules = [Knob::Overflow(place), Knob::Subnormals(place), Knob::Vanished(place)];
                for knob in [Knob::Convert(operand), Knob::Flush(operand)].into_iter().chain(rules) {
                    self.turn(fit, knob, set, Fineness::All);
                }
            }
            for &knob in &out {
                self.turn(fit, knob, set, Fineness::All);
            }
            if fit.penalty == 0 || fit.penalty == before || self.is_spent() {
                break;
            }
        }
    }

    /// A round or two over the knobs that matter most.
    pub(super) fn begin(&mut self, start: &Model, set: &mut Set) -> Option<Fit> {
        Evaluator::new(start, self.k).ok()?;
        let mut fit = Fit { model: start.clone(), penalty: self.witnesses.arrange(start, set) };
        let count = number_of_sums(start);
        for _ in 0..2 {
            let before = fit.penalty;
            for s in 0..count {
                let place = Place::Sum(s);
                let first = [Knob::Fraction(s), Knob::Cut(s), Knob::Rounding(place), Knob::Precision(place)];
                for knob in first.into_iter().chain([Knob::Integer(s)]) {
                    if matches!(knob, Knob::Integer(_)) == fit.model.triple.is_integer() {
                        self.turn(&mut fit, knob, set, Fineness::Ladder);
                    }
                }
            }
            // A second round where the first one brought much.
            if count == 1 || fit.penalty * 4 > before * 3 {
                break;
            }
        }
        Some(fit)
    }
}
