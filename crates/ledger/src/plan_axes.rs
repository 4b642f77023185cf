//! How do the axes of probes that a plan may leave out become what they mean?

use crate::plan::*;
use crate::plan_error::PlanError;
use crate::plan_file::{SHAPE, fits_timeout, recipes, shape};
use crate::plan_section::Section;
use rigel_numerics::epilogue::Activation;
use rigel_numerics::order::MOST_PRODUCTS;
use rigel_numerics::placement::{ALIGNED, BadStride};
use rigel_numerics::{Recipe, Shape};

/// The section of the probes that ask units; nothing where neither they nor the section are there.
pub(crate) fn units(
    root: &Section<'_>,
    base: Option<&UnitsAxes>,
    needed: bool,
) -> Result<Option<UnitsAxes>, PlanError> {
    let s = root.open("units", &["validation"])?;
    if !s.is_there() && !needed {
        return Ok(base.cloned());
    }
    Ok(Some(UnitsAxes { validation: s.whole("validation", 1000..=1_000_000_000, base.map(|b| b.validation))? }))
}

/// The section of the probe `fusion`; nothing where neither it nor the section is there.
pub(crate) fn fusion(
    root: &Section<'_>,
    base: Option<&FusionAxes>,
    needed: bool,
) -> Result<Option<FusionAxes>, PlanError> {
    let s = root.open("fusion", &["shapes", "recipes", "activations"])?;
    if !s.is_there() && !needed {
        return Ok(base.cloned());
    }
    let known = Activation::ALL.map(Activation::name).join(", ");
    let activation = |text: &str| Activation::ALL.into_iter().find(|a| a.name() == text).ok_or_else(|| known.clone());
    let axes = FusionAxes {
        shapes: s.axis("shapes", SHAPE, base.map(|b| b.shapes.clone()), shape)?,
        recipes: recipes(&s, base.map(|b| b.recipes.clone()))?,
        activations: s.axis("activations", &known, base.map(|b| b.activations.clone()), activation)?,
    };
    seeing(&s, &axes.recipes)?;
    Ok(Some(axes))
}

/// The section of the probe `attention`; nothing where neither it nor the section is there.
pub(crate) fn attention(
    root: &Section<'_>,
    base: Option<&AttentionAxes>,
    needed: bool,
) -> Result<Option<AttentionAxes>, PlanError> {
    let s = root.open("attention", &["shapes", "recipes"])?;
    if !s.is_there() && !needed {
        return Ok(base.cloned());
    }
    let whole = |text: &str| {
        let fits = |shape: &Shape| rigel_numerics::attention::misfit(*shape).is_none();
        text.parse().ok().filter(fits).ok_or_else(|| ATTENTION_SHAPE.to_owned())
    };
    let axes = AttentionAxes {
        shapes: s.axis("shapes", ATTENTION_SHAPE, base.map(|b| b.shapes.clone()), whole)?,
        recipes: recipes(&s, base.map(|b| b.recipes.clone()))?,
    };
    seeing(&s, &axes.recipes)?;
    Ok(Some(axes))
}

/// That every recipe can fail its gate, where a block has no sibling to inherit from.
fn seeing(s: &Section<'_>, recipes: &[Recipe]) -> Result<(), PlanError> {
    match recipes.iter().any(|recipe| recipe.is_blind()) {
        true => Err(s.contradiction("recipes", "recipes that can fail their gate: not zeros, not constant")),
        false => Ok(()),
    }
}

/// The section of the probe `power`; nothing where neither it nor the section is there.
pub(crate) fn power(
    root: &Section<'_>,
    base: Option<&PowerAxes>,
    needed: bool,
    timeout_s: f64,
) -> Result<Option<PowerAxes>, PlanError> {
    let s = root.open("power", &["window_s", "shapes", "recipes", "ceilings"])?;
    if !s.is_there() && !needed {
        return Ok(base.cloned());
    }
    let window_s = s.real("window_s", 0.1..=600.0, base.map(|b| b.window_s))?;
    fits_timeout(&s, "window_s", window_s, timeout_s)?;
    Ok(Some(PowerAxes {
        window_s,
        shapes: s.axis("shapes", SHAPE, base.map(|b| b.shapes.clone()), shape)?,
        recipes: recipes(&s, base.map(|b| b.recipes.clone()))?,
        ceilings: s.flag("ceilings", base.map(|b| b.ceilings))?,
    }))
}

/// The section of the probe `order`; nothing where neither it nor the section is there.
pub(crate) fn order(
    root: &Section<'_>,
    base: Option<&OrderAxes>,
    needed: bool,
) -> Result<Option<OrderAxes>, PlanError> {
    let s = root.open("order", &["shapes"])?;
    if !s.is_there() && !needed {
        return Ok(base.cloned());
    }
    let parse = |text: &str| {
        let fits = |s: &Shape| (1..=4096).contains(&s.m) && s.n <= 256 && (2..=MOST_PRODUCTS).contains(&s.k);
        text.parse().ok().filter(fits).ok_or_else(|| ORDER_SHAPE.to_owned())
    };
    Ok(Some(OrderAxes { shapes: s.axis("shapes", ORDER_SHAPE, base.map(|b| b.shapes.clone()), parse)? }))
}

/// The section of the probe `alignment`; nothing where neither it nor the section is there.
pub(crate) fn alignment(
    root: &Section<'_>,
    base: Option<&AlignmentAxes>,
    needed: bool,
) -> Result<Option<AlignmentAxes>, PlanError> {
    let s = root.open("alignment", &["shapes", "offsets", "strides", "recipes", "slow"])?;
    if !s.is_there() && !needed {
        return Ok(base.cloned());
    }
    let stride = |text: &str| text.parse().map_err(|error: BadStride| error.to_string());
    let offsets = base.map(|b| b.offsets.iter().map(|&offset| offset as u64).collect());
    let offsets = s.wholes("offsets", 0..=ALIGNED as u64 - 1, offsets)?;
    if offsets.first() != Some(&0) {
        return Err(s.contradiction("offsets", "a list that begins with 0, the aligned address"));
    }
    let axes = AlignmentAxes {
        shapes: s.axis("shapes", SHAPE, base.map(|b| b.shapes.clone()), shape)?,
        offsets: offsets.into_iter().map(|offset| offset as usize).collect(),
        strides: s.axis("strides", STRIDE, base.map(|b| b.strides.clone()), stride)?,
        recipes: recipes(&s, base.map(|b| b.recipes.clone()))?,
        slow: s.real("slow", 1.0..=100.0, base.map(|b| b.slow))?,
    };
    seeing(&s, &axes.recipes)?;
    Ok(Some(axes))
}

/// The section of the probe `versions`; nothing where neither it nor the section is there.
pub(crate) fn versions(
    root: &Section<'_>,
    base: Option<&VersionsAxes>,
    needed: bool,
) -> Result<Option<VersionsAxes>, PlanError> {
    let s = root.open("versions", &["shapes", "recipes"])?;
    if !s.is_there() && !needed {
        return Ok(base.cloned());
    }
    let small = |text: &str| {
        let fits = |s: &Shape| s.m * s.n <= VersionsAxes::MOST && s.k <= 4096;
        text.parse().ok().filter(fits).ok_or_else(|| VERSION_SHAPE.to_owned())
    };
    let axes = VersionsAxes {
        shapes: s.axis("shapes", VERSION_SHAPE, base.map(|b| b.shapes.clone()), small)?,
        recipes: recipes(&s, base.map(|b| b.recipes.clone()))?,
    };
    seeing(&s, &axes.recipes)?;
    Ok(Some(axes))
}

const STRIDE: &str = "+N, N bytes more than a row has, or *N, the next multiple of N bytes";
const VERSION_SHAPE: &str = "MxNxK with at most 1024 elements of output and K up to 4096";
const ATTENTION_SHAPE: &str = "MxNxK: queries of all heads x columns of a head x keys of a head, M a multiple of K, each extent from 1 to 1048576";
const ORDER_SHAPE: &str = "MxNxK, the largest batch (1 to 4096) x columns (1 to 256) x K (2 to 8192)";
