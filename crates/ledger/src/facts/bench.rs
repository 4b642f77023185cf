//! Which measured cells stand beside each other?

use super::ceilings::Ceiling;
use super::cells::{Index, Pair, Product};
use super::compare::Side;
use super::products::Measured;
use super::units::Composed;
use crate::plan::Plan;
use crate::provenance::Provenance;
use crate::rows::CacheState;
use crate::verdict::Baseline;
use rigel_numerics::{Recipe, Shape, Triple};
use std::collections::{BTreeSet, HashMap};

/// Everything measured, ready to be compared.
pub(super) struct Bench<'a> {
    pub(super) plan: &'a Plan,
    pub(super) provenance: &'a [Provenance],
    index: &'a Index<'a>,
    pub(super) ceilings: &'a [Ceiling<'a>],
    pub(super) products: &'a [Measured<'a>],
    /// Units whose arithmetic is a composition of others' steps.
    pub(super) composed: &'a [Composed],
    by_product: HashMap<Product<'a>, usize>,
    of_pair: HashMap<Pair<'a>, Vec<usize>>,
    fastest_match: HashMap<(Shape, Recipe, CacheState), usize>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        provenance: &'a [Provenance],
        index: &'a Index<'a>,
        ceilings: &'a [Ceiling<'a>],
        products: &'a [Measured<'a>],
        composed: &'a [Composed],
    ) -> Self {
        let mut by_product = HashMap::new();
        let mut of_pair: HashMap<Pair<'a>, Vec<usize>> = HashMap::new();
        let mut fastest: HashMap<(Shape, Recipe, CacheState), (f64, usize)> = HashMap::new();
        for (i, measured) in products.iter().enumerate() {
            let product = measured.product;
            by_product.insert(product, i);
            of_pair.entry((product.path, product.triple)).or_default().push(i);
            if product.triple != plan.matches.triple {
                continue;
            }
            let Some((rate, _)) = measured.side.as_ref().and_then(Side::rate) else { continue };
            let best = fastest.entry((product.shape, product.recipe, product.cache)).or_insert((rate, i));
            if rate > best.0 {
                *best = (rate, i);
            }
        }
        let fastest_match = fastest.into_iter().map(|(cell, (_, i))| (cell, i)).collect();
        Bench { plan, provenance, index, ceilings, products, composed, by_product, of_pair, fastest_match }
    }

    /// Whether the plan judges a triple against the match.
    pub(super) fn judges(&self, triple: Triple) -> bool {
        let plan = &self.plan.matches;
        triple != plan.triple
            && match plan.judged.is_empty() {
                true => triple.operand_bits() <= plan.triple.operand_bits(),
                false => plan.judged.contains(&triple),
            }
    }

    /// Every path and triple that was timed, or was to be.
    pub(super) fn pairs(&self) -> BTreeSet<Pair<'a>> {
        self.index.ceilings.keys().chain(self.of_pair.keys()).copied().collect()
    }

    /// The ceiling of a path and triple.
    pub(super) fn ceiling(&self, path: &str, triple: Triple) -> Option<&'a Ceiling<'a>> {
        self.ceilings.iter().find(|ceiling| ceiling.path == path && ceiling.triple == triple)
    }

    /// The products of a path and triple.
    pub(super) fn products_of(&self, pair: Pair<'a>) -> impl Iterator<Item = &'a Measured<'a>> + '_ {
        let products = self.products;
        self.of_pair.get(&pair).into_iter().flatten().map(move |&i| &products[i])
    }

    /// The same product on another path or with another triple.
    pub(super) fn find(&self, like: &Measured<'a>, path: &str, triple: Triple) -> Option<&'a Measured<'a>> {
        let product = Product { path, triple, ..like.product };
        self.by_product.get(&product).map(|&i| &self.products[i])
    }

    /// The same product of the match on the device's fastest path for it.
    pub(super) fn fastest_match(&self, like: &Measured<'a>) -> Option<&'a Measured<'a>> {
        let product = like.product;
        self.fastest_match.get(&(product.shape, product.recipe, product.cache)).map(|&i| &self.products[i])
    }

    /// The match's rate over its own accepted ceiling in the cell of `like`.
    pub(super) fn share(&self, of: Option<&Measured<'a>>) -> Option<f64> {
        let of = of?;
        let ceiling = self.ceiling(of.product.path, of.product.triple)?.best_side()?;
        of.side.as_ref()?.share_of(&ceiling)
    }

    /// Whether any product or rung of a path and triple came out wrong.
    pub(super) fn is_wrong_somewhere(&self, path: &str, triple: Triple) -> bool {
        self.index.wrong.contains(&(path, triple))
    }

    /// Whether products or rungs of a path and triple came out wrong, and none right or imprecise.
    pub(super) fn is_right_nowhere(&self, path: &'a str, triple: Triple) -> bool {
        let rungs = self.index.rungs.get(&(path, triple)).into_iter().flatten();
        self.is_wrong_somewhere(path, triple)
            && !rungs.clone().any(|row| row.outcome.counts())
            && !self.products_of((path, triple)).any(|measured| measured.side.is_some())
    }

    /// Whether a path and triple are this baseline: B and C run every triple that they have, D the match alone.
    pub(super) fn is_baseline(&self, path: &str, triple: Triple, which: Baseline) -> bool {
        path == self.path_of(which) && (which != Baseline::D || triple == self.plan.matches.triple)
    }

    fn path_of(&self, which: Baseline) -> &'a str {
        let plan = &self.plan.baselines;
        match which {
            Baseline::B => &plan.b,
            Baseline::C => &plan.c,
            Baseline::D => &plan.d,
        }
    }

    /// The baseline's cell for this product, or why there is none. B and C run the candidate's own triple where they have
    /// it, else the match; D always runs the match.
    pub(super) fn baseline(&self, of: &Measured<'a>, which: Baseline) -> Result<&'a Measured<'a>, String> {
        let path = self.path_of(which);
        if path.is_empty() {
            return Err("the plan names none".to_owned());
        }
        let matched = self.plan.matches.triple;
        let triples = if which == Baseline::D { vec![matched] } else { vec![of.product.triple, matched] };
        let mut why = format!("no {path} cell");
        for triple in triples {
            let Some(found) = self.find(of, path, triple) else { continue };
            if found.product == of.product {
                return Err("it is this path and triple itself".to_owned());
            }
            if found.side.is_some() {
                return Ok(found);
            }
            why = format!("{path} {triple} does not count ({})", found.excluded.join(", "));
        }
        Err(why)
    }
}
