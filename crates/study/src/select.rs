//! Which axes does the user override?

use rigel_ledger::Plan;
use rigel_ledger::plan::{OrderAxes, VersionsAxes};
use rigel_ledger::rows::CacheState;
use rigel_numerics::placement::Stride;
use rigel_numerics::{Recipe, Shape, Triple};

/// An axis override that cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AxisError {
    /// Not of the form `name=v1,v2`.
    #[error(
        "`{0}` is no axis override: write `--axis name=v1,v2`; axes: shape, recipe, cache, path, triple, types-shape, types-recipe, order-shape, offset, stride, version-shape, validation"
    )]
    Form(String),
    /// No such axis.
    #[error(
        "no axis `{0}`; axes: shape, recipe, cache, path, triple, types-shape, types-recipe, order-shape, offset, stride, version-shape, validation"
    )]
    Unknown(String),
    /// A value that the axis does not take.
    #[error("axis `{axis}`: {error}")]
    Value {
        /// Axis.
        axis: String,
        /// What is wrong and what is allowed.
        error: String,
    },
}

/// Applies one `name=v1,v2` to a plan. Triples hold commas, so axis `triple` separates its values by `;`.
pub fn apply_axis(plan: &mut Plan, text: &str) -> Result<(), AxisError> {
    let (name, values) = text.split_once('=').ok_or_else(|| AxisError::Form(text.to_owned()))?;
    let separator = if name == "triple" { ';' } else { ',' };
    let values: Vec<&str> = values.split(separator).map(str::trim).filter(|v| !v.is_empty()).collect();
    if values.is_empty() {
        return Err(AxisError::Form(text.to_owned()));
    }
    fn read<T: std::str::FromStr>(axis: &str, values: &[&str]) -> Result<Vec<T>, AxisError>
    where
        T::Err: std::fmt::Display,
    {
        let value = |v: &&str| v.parse::<T>().map_err(|e| AxisError::Value { axis: axis.into(), error: e.to_string() });
        values.iter().map(value).collect()
    }
    match name {
        "shape" => {
            let shapes = read::<Shape>(name, &values)?;
            plan.fusion.iter_mut().for_each(|axes| axes.shapes.clone_from(&shapes));
            plan.power.iter_mut().for_each(|axes| axes.shapes.clone_from(&shapes));
            plan.attention.iter_mut().for_each(|axes| axes.shapes.clone_from(&shapes));
            plan.alignment.iter_mut().for_each(|axes| axes.shapes.clone_from(&shapes));
            plan.throughput.shapes = shapes;
        }
        "recipe" => plan.throughput.recipes = read::<Recipe>(name, &values)?,
        "cache" => plan.throughput.caches = values.iter().map(|v| cache(v)).collect::<Result<_, _>>()?,
        "path" => plan.select.paths = values.iter().map(|v| (*v).to_owned()).collect(),
        "triple" => plan.select.triples = read::<Triple>(name, &values)?,
        "types-shape" => plan.types.shapes = read::<Shape>(name, &values)?,
        "types-recipe" => plan.types.recipes = read::<Recipe>(name, &values)?,
        "order-shape" => plan.order = Some(OrderAxes { shapes: read::<Shape>(name, &values)? }),
        "offset" => plan.alignment.get_or_insert_default().offsets = read::<usize>(name, &values)?,
        "stride" => plan.alignment.get_or_insert_default().strides = read::<Stride>(name, &values)?,
        "version-shape" => {
            let shapes = read::<Shape>(name, &values)?;
            let recipes = plan.versions.take().map_or_else(|| vec![Recipe::NearNormal], |axes| axes.recipes);
            plan.versions = Some(VersionsAxes { shapes, recipes });
        }
        "validation" => {
            let count = read::<u64>(name, &values)?;
            plan.units.get_or_insert_default().validation = count[0];
        }
        other => return Err(AxisError::Unknown(other.to_owned())),
    }
    Ok(())
}

fn cache(value: &str) -> Result<CacheState, AxisError> {
    match value {
        "warm" => Ok(CacheState::Warm),
        "cold" => Ok(CacheState::Cold),
        "replayed" => Ok(CacheState::Replayed),
        other => Err(AxisError::Value {
            axis: "cache".into(),
            error: format!("`{other}` is no cache state: warm, cold, replayed"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::preset;

    #[test]
    fn every_axis_is_applied_and_bad_ones_name_what_is_allowed() {
        let mut plan = preset("quick", "cpu").unwrap();
        for text in [
            "shape=64,65x63x129",
            "recipe=uniform,zeros",
            "cache=cold",
            "path=scalar",
            "triple=f32,f32->f32;f64,f64->f64",
        ] {
            apply_axis(&mut plan, text).unwrap();
        }
        assert_eq!(plan.throughput.shapes, [Shape::cube(64), Shape::new(65, 63, 129)]);
        assert_eq!(plan.throughput.caches, [CacheState::Cold]);
        assert_eq!(plan.select.triples.len(), 2);
        for bad in ["shape", "shape=", "shape=0", "sizes=4", "cache=hot", "recipe=noise", "triple=f32"] {
            let error = apply_axis(&mut plan, bad).unwrap_err().to_string();
            assert!(error.len() > 20, "{bad}: {error}");
        }
    }
}
