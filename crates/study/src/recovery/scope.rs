//! At which sizes of a product, and of c, does an output show anything?
//!
//! A step that aligns to 2^10 and keeps no bits below shows nothing of terms near 1; a format of small range overflows there.
//! Questions that nothing comes of teach nothing, so sizes are scanned before they are chosen.

use super::question::{Asker, Question};
use super::terms::{code, range};
use rigel_device::unit::{UnitError, UnitSpec};

/// Exponents at which terms show, or all that the formats have where nothing shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    /// Of a product.
    pub products: (i32, i32),
    /// Of c.
    pub c: (i32, i32),
}

/// Exponents that are scanned for each kind of term, at most.
const SCANNED: i32 = 160;

/// Exponents that products may have and that outputs may feel.
pub(super) fn product_range(spec: &UnitSpec) -> (i32, i32) {
    let t = spec.triple;
    let ((a, ta), (b, tb), (c, tc)) = (range(t.a), range(t.b), range(t.c));
    ((a + b).max(c - 50), (ta + tb).min(tc + 3))
}

/// Factors of two exponents that add up to one, like sizes if the formats allow it.
pub(super) fn halves(spec: &UnitSpec, exponent: i32) -> (i32, i32) {
    let ((la, ta), (lb, tb)) = (range(spec.triple.a), range(spec.triple.b));
    let ea = (exponent.div_euclid(2)).min((exponent - lb).min(ta)).max((exponent - tb).max(la));
    (ea, exponent - ea)
}

/// Scans both kinds of terms, and gives what was asked.
///
/// # Errors
/// What the unit contract says.
pub(super) fn scope(asker: &mut Asker<'_>) -> Result<(Scope, Vec<super::question::Observation>), UnitError> {
    let spec = asker.spec().clone();
    let t = spec.triple;
    let all = Scope { products: product_range(&spec), c: range(t.c) };
    if t.is_integer() {
        return Ok((all, Vec::new()));
    }
    let steps = |(least, most): (i32, i32)| {
        let step = ((most - least) / SCANNED + 1).max(1);
        (least..=most).step_by(step as usize)
    };
    let product = |e: i32, negative: bool| {
        let mut q = Question::zero(&spec);
        let (ea, eb) = halves(&spec, e);
        // Three terms, so that one wrongly guessed position does not hide all.
        for i in [0, spec.shape.k / 2, spec.shape.k - 1] {
            (q.a[i], q.b[i]) = (code(t.a, if negative { -7 } else { 7 }, ea - 2), code(t.b, 1, eb));
        }
        q
    };
    let addend = |e: i32, negative: bool| {
        let mut q = Question::zero(&spec);
        q.c = code(t.c, if negative { -7 } else { 7 }, e - 2);
        q
    };
    let mut questions = Vec::new();
    let mut about = Vec::new();
    for negative in [false, true] {
        for e in steps(all.products) {
            questions.push(product(e, negative));
            about.push((true, e));
        }
        for e in steps(all.c) {
            questions.push(addend(e, negative));
            about.push((false, e));
        }
    }
    let seen = asker.observe(questions)?;
    // What shows differs from what the next size gives.
    let shows = |of_product: bool| {
        let alive = |n: &usize| {
            let n = *n;
            about[n].0 == of_product
                && about.get(n + 1).is_some_and(|next| next.0 == of_product && next.1 > about[n].1)
                && seen[n].d != seen[n + 1].d
        };
        let exponents = || (0..about.len()).filter(alive).map(|n| about[n].1);
        exponents().min().zip(exponents().max())
    };
    let scope = Scope { products: shows(true).unwrap_or(all.products), c: shows(false).unwrap_or(all.c) };
    Ok((scope, seen))
}
