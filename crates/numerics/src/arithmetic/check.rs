//! Which models can be evaluated?

use super::error::ModelError;
use super::intake::{Intake, ScaledPart, Scales};
use super::model::{Model, NanRule};
use super::node::{Join, Node};
use super::output::{Output, Rounded};
use super::program::Program;
use super::sum::{Align, Sum, ZeroProducts};
use crate::Format;
use crate::format::Specials;

/// How deep nodes may be nested.
const DEPTH: usize = 12;

impl Model {
    /// Whether every evaluator can evaluate the model; checked for one instruction, K = `k`.
    ///
    /// # Errors
    /// The first flaw found. Widths depend on K: [`super::Evaluator::new`] checks them again.
    pub fn check(&self) -> Result<(), ModelError> {
        self.check_form()?;
        Program::new(self, self.k, None).map(|_| ())
    }

    /// All that does not depend on K.
    pub(super) fn check_form(&self) -> Result<(), ModelError> {
        let t = self.triple;
        if self.k == 0 || self.k > 1 << 16 {
            return Err(ModelError::Range { what: "k", value: self.k as i64, allowed: "1 to 65536" });
        }
        let integer = t.c.is_integer();
        if t.a.is_integer() != integer || t.b.is_integer() != integer {
            return Err(ModelError::Mixed("operands and output must all be integers or all be floating"));
        }
        for (what, format) in [("an operand", t.a), ("an operand", t.b), ("the output", t.c)] {
            if format.scale_groups().is_some() {
                let allowed = "its elements' format, with `scales` beside it";
                return Err(ModelError::Format { what, format, allowed });
            }
            if format.floating().is_some_and(|f| f.sign_bits == 0) {
                return Err(ModelError::Format { what, format, allowed: "it must have a sign" });
            }
        }
        for intake in [&self.a, &self.b, &self.c] {
            check_intake(intake, integer)?;
        }
        if let Some(scales) = &self.scales {
            self.check_scales(scales)?;
        }
        if let Some(form) = &self.store {
            check_rounded(form, integer)?;
            if form.format != t.c || form.significant_bits() > t.c.precision() {
                return Err(ModelError::Store(t.c));
            }
        }
        let (NanRule::Word(word) | NanRule::First { invalid: word, .. }) = self.nan;
        if word & !t.c.code_mask() != 0 || (t.c.nan_code().is_some() && !t.c.is_nan(word)) {
            return Err(ModelError::Nan { word, format: t.c });
        }
        check_node(&self.body, integer, self.scales.as_ref(), 1)
    }

    fn check_scales(&self, scales: &Scales) -> Result<(), ModelError> {
        for format in [scales.a, scales.b] {
            if !matches!(format, Format::E8m0 | Format::Ue4m3) {
                return Err(ModelError::Format { what: "a scale", format, allowed: "e8m0 or ue4m3" });
            }
        }
        if scales.group == 0 {
            return Err(ModelError::Scales("a group of 0 indices shares a scale"));
        }
        if self.triple.c.is_integer() || self.triple.a.bits() > 8 || self.triple.b.bits() > 8 {
            return Err(ModelError::Scales("they multiply floating operands of at most 8 bits"));
        }
        if self.a.convert.is_some() || self.b.convert.is_some() {
            return Err(ModelError::Scales("operands that are converted first cannot be scaled"));
        }
        Ok(())
    }
}

fn check_intake(intake: &Intake, integer: bool) -> Result<(), ModelError> {
    if integer && *intake != Intake::default() {
        return Err(ModelError::Mixed("integer operands are neither flushed nor converted"));
    }
    intake.convert.as_ref().map_or(Ok(()), |form| {
        check_rounded(form, integer)?;
        if form.significant_bits() > 53 {
            let value = i64::from(form.significant_bits());
            return Err(ModelError::Range { what: "precision of an operand", value, allowed: "1 to 53" });
        }
        Ok(())
    })
}

fn check_rounded(form: &Rounded, integer: bool) -> Result<(), ModelError> {
    if integer {
        return Err(ModelError::Mixed("an integer model rounds to no floating format"));
    }
    let Some(fields) = form.format.floating().filter(|f| f.sign_bits == 1) else {
        let allowed = "it must be a floating format with a sign";
        return Err(ModelError::Format { what: "a rounded value", format: form.format, allowed });
    };
    let bits = form.significant_bits();
    if bits == 0 || bits > 60 {
        return Err(ModelError::Range { what: "precision", value: i64::from(bits), allowed: "1 to 60" });
    }
    if fields.specials != Specials::Ieee && bits != form.format.precision() {
        let allowed = "a precision of its own needs a format with infinities";
        return Err(ModelError::Format { what: "a rounded value", format: form.format, allowed });
    }
    Ok(())
}

fn check_node(node: &Node, integer: bool, scales: Option<&Scales>, depth: usize) -> Result<(), ModelError> {
    if depth > DEPTH {
        return Err(ModelError::Depth { depth, limit: DEPTH });
    }
    let split = match node {
        Node::Step(_) => None,
        Node::Chain(chain) => Some(&chain.split),
        Node::Join(join) => Some(&join.split),
    };
    if let Some(flaw) = split.and_then(|s| s.flaw()) {
        return Err(ModelError::Split(flaw));
    }
    match node {
        Node::Step(step) => {
            if step.c && scales.is_some_and(|s| s.on == ScaledPart::Sums) {
                return Err(ModelError::Scales("a step whose sum is scaled takes no c; join it with c"));
            }
            if step.product_limit.is_some_and(|l| integer || !(-4096..=4096).contains(&l)) {
                let value = i64::from(step.product_limit.unwrap_or(0));
                let allowed = "-4096 to 4096, in a floating model";
                return Err(ModelError::Range { what: "product_limit", value, allowed });
            }
            check_sum(&step.sum, integer)
        }
        Node::Chain(chain) if !chain.each.uses_c() => Err(ModelError::LosesBlocks),
        Node::Chain(chain) => {
            chain.late_c.as_ref().map_or(Ok(()), |late| check_sum(&late.sum, integer))?;
            check_node(&chain.each, integer, scales, depth + 1)
        }
        Node::Join(Join { each, sum, .. }) => {
            check_sum(sum, integer)?;
            check_node(each, integer, scales, depth + 1)
        }
    }
}

fn check_sum(sum: &Sum, integer: bool) -> Result<(), ModelError> {
    let range = |what, value: i64, least: i64, most: i64, allowed| {
        if (least..=most).contains(&value) { Ok(()) } else { Err(ModelError::Range { what, value, allowed }) }
    };
    if let Align::Largest(alignment) = &sum.align {
        if integer {
            return Err(ModelError::Mixed("integer sums are exact: align them exactly"));
        }
        let c = alignment.c.as_ref();
        let finest = alignment.fraction_bits.max(c.map_or(0, |c| c.fraction_bits));
        range("fraction_bits", i64::from(finest), 0, 100, "0 to 100")?;
        range("reach", i64::from(c.and_then(|c| c.reach).unwrap_or(0)), 0, 4096, "0 to 4096")?;
        let carry = i64::from(alignment.carry_bits.unwrap_or(1));
        range(
            "carry_bits",
            carry,
            1,
            40.min(118 - i64::from(finest)),
            "1 to 40, and at most 118 with the fraction bits",
        )?;
        let zero = match alignment.zero_products {
            ZeroProducts::Ignored => 0,
            ZeroProducts::Operand(e) | ZeroProducts::Product(e) => e,
        };
        for (what, e) in [
            ("floor", alignment.floor.unwrap_or(0)),
            ("zero_values", alignment.zero_values.unwrap_or(0)),
            ("zero_products", zero),
        ] {
            range(what, i64::from(e), -4096, 4096, "-4096 to 4096")?;
        }
    }
    match &sum.output {
        Output::Unrounded => Ok(()),
        Output::Rounded(form) => check_rounded(form, integer),
        Output::Integer(_) if !integer => Err(ModelError::Mixed("a floating model has no integer steps")),
        Output::Integer(form) => range("bits", i64::from(form.bits), 2, 63, "2 to 63"),
    }
}
