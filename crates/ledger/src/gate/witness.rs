//! What do the witness elements of an output say against their exact sums?

use super::{Check, Element};
use rigel_numerics::bound::{Tolerance, round_up_3};
use rigel_numerics::exact::Dot;
use rigel_numerics::{Format, Triple};

/// The byte with which the device contract says that outputs are poisoned before a run.
pub const POISON: u8 = 0xA5;

/// A look at witness elements, taken one after another; gate and `verify` look through the same eyes.
#[derive(Debug, Clone)]
pub struct Look {
    triple: Triple,
    tolerance: Tolerance,
    fault: Option<Check>,
    error: f64,
    ulps: f64,
}

impl Look {
    /// A look that has seen nothing yet.
    pub fn new(triple: Triple, tolerance: Tolerance) -> Self {
        Look { triple, tolerance, fault: None, error: 0.0, ulps: 0.0 }
    }

    /// Takes an element's output code and its exact sums; `None` for sums that do not exist, which counts as not finite.
    ///
    /// The last unwritten element is kept, else the last one that is not finite, else the worst residual.
    pub fn take(&mut self, element: Element, code: u64, dot: Option<&Dot>) {
        let residual = dot.map(|dot| dot.residual(self.triple.c, code));
        let finite = residual.filter(|residual| residual.relative.is_finite());
        let inside = finite.is_some() && dot.is_some_and(|dot| self.admits(dot, code));
        if dot.is_some() && !inside && is_poison(self.triple.c, code) {
            self.fault = Some(Check::Unwritten(element));
            return;
        }
        match finite {
            None if matches!(self.fault, Some(Check::Unwritten(_))) => {}
            None => self.fault = Some(Check::NonFinite(element)),
            Some(residual) if residual.relative > self.error => {
                (self.error, self.ulps) = (residual.relative, residual.ulps);
            }
            Some(_) => {}
        }
    }

    fn admits(&self, dot: &Dot, code: u64) -> bool {
        dot.sum.difference(self.triple.c, code) <= self.tolerance.allowed(dot.magnitude.to_f64())
    }

    /// What was seen.
    pub fn check(&self) -> Check {
        self.fault.unwrap_or(Check::Residual(round_up_3(self.error)))
    }

    /// Error of the worst element, rounded up to three digits; none where an element cannot be compared.
    pub fn error(&self) -> Option<f64> {
        self.fault.is_none().then(|| round_up_3(self.error))
    }

    /// The same in units in the last place of the output.
    pub fn ulps(&self) -> Option<f64> {
        self.fault.is_none().then(|| round_up_3(self.ulps))
    }

    /// The worst residual as it is; none where an element cannot be compared.
    pub(crate) fn worst(&self) -> Option<f64> {
        self.fault.is_none().then_some(self.error)
    }

    /// Whether all elements can be compared and the worst lies outside the tolerance.
    pub fn is_outside(&self) -> bool {
        self.error().is_some_and(|error| error > self.tolerance.relative)
    }
}

/// Whether an output code consists of poison bytes.
fn is_poison(format: Format, code: u64) -> bool {
    code == u64::from_ne_bytes([POISON; 8]) & format.code_mask()
}
