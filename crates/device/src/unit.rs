//! How is one matrix instruction, or the smallest tile an API allows, executed on raw bits?
//!
//! # The contract
//!
//! A [`Unit`] computes D (m × n) = A (m × k) · B (k × n) + C (m × n) on raw codes; nothing is converted on the way in or
//! out but by the unit itself. Two levels exist, and a unit says which it has:
//!
//! - **tiles**: logical coordinates. Tile t of a batch is rows t·m .. (t+1)·m of A, C and D and rows t·k .. (t+1)·k of B, so a
//!   batch is three matrices and a result.
//! - **fragments**: registers. Lane l of launch t is row t·lanes + l of a matrix with one column a slot; what lies in which
//!   slot is the unit's secret, and recovering it is what the level is for.
//!
//! **Who validates.** [`execute`] and [`execute_fragments`] check formats and extents against the unit's own declaration and
//! what comes back as well; backends may rely on it. A unit whose declaration is absurd (no lanes, an extent of 0) is refused
//! by [`UnitSpec::check`].
//!
//! **Determinism** is not promised: that a unit gives the same bits twice, and that a tile does not depend on its
//! neighbours in the batch, is for the caller to find out.

use crate::contract::Fault;
use rigel_numerics::{Format, Matrix, Shape, Triple};
use serde::{Deserialize, Serialize};

/// What a unit declares of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitSpec {
    /// Name, unique on the device: `vdpbf16ps`, `mma.sync.m16n8k16.f32.e4m3.e4m3.f32`.
    pub name: String,
    /// Path that it belongs to.
    pub path: String,
    /// Element types; C and D are of the triple's C format.
    pub triple: Triple,
    /// Extents of one tile.
    pub shape: Shape,
    /// Scale operands of A and B, one code for each group of k.
    pub scales: Option<ScaleSpec>,
    /// Registers, where the unit can be reached below logical coordinates.
    pub fragments: Option<FragmentSpec>,
    /// Document and section that describe it, or what it is, in words.
    pub source: String,
}

/// Scale operands: A has m × (k / group) of them, B (k / group) × n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaleSpec {
    /// Format of a scale.
    pub format: Format,
    /// Elements of k that share one.
    pub group: usize,
}

/// Lanes and the slots that each holds of every operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentSpec {
    /// Lanes that take part in one launch.
    pub lanes: usize,
    /// Elements of A in a lane.
    pub a: usize,
    /// Elements of B in a lane.
    pub b: usize,
    /// Elements of C, and of D, in a lane.
    pub c: usize,
}

/// Operands of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// Left.
    pub a: &'a Matrix,
    /// Right.
    pub b: &'a Matrix,
    /// Addend.
    pub c: &'a Matrix,
    /// Scales of A and of B, where the unit has them.
    pub scales: Option<(&'a Matrix, &'a Matrix)>,
}

/// One matrix instruction, taken as a black box.
pub trait Unit {
    /// What it declares.
    fn spec(&self) -> &UnitSpec;
    /// D of every tile of a batch.
    fn tiles(&mut self, operands: Operands<'_>) -> Result<Matrix, Fault>;
    /// The D registers of every launch; called only where the declaration has fragments.
    fn fragments(&mut self, _operands: Operands<'_>) -> Result<Matrix, Fault> {
        Err(Fault::Failed("this unit cannot be reached by registers".into()))
    }
}

/// A conversion of single codes from one format to another, as hardware does it.
pub trait Conversion {
    /// What it declares.
    fn spec(&self) -> &ConversionSpec;
    /// The converted codes, one for each given.
    fn convert(&mut self, codes: &[u64]) -> Result<Vec<u64>, Fault>;
}

/// What a conversion declares of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConversionSpec {
    /// Name, unique on the device: `vcvtph2ps`.
    pub name: String,
    /// Format of what it takes.
    pub from: Format,
    /// Format of what it gives.
    pub to: Format,
    /// Document and section, or what it is, in words.
    pub source: String,
}

/// A unit that cannot be asked, or that broke its declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The declaration itself is absurd.
    #[error("unit {unit}: {what} is {found}; allowed: {allowed}")]
    Declaration {
        /// Its name.
        unit: String,
        /// What is wrong.
        what: &'static str,
        /// As declared.
        found: String,
        /// What a declaration may say.
        allowed: &'static str,
    },
    /// An operand or result has other extents or another format than declared.
    #[error("unit {unit}: {operand} is {found}; declared: {declared}")]
    Misfit {
        /// Its name.
        unit: String,
        /// Which operand.
        operand: &'static str,
        /// Its extents and format.
        found: String,
        /// What was declared.
        declared: String,
    },
    /// It did not finish.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl UnitSpec {
    /// Whether the declaration can be asked at all.
    ///
    /// # Errors
    /// An extent or a number of lanes of 0, slots that cannot hold the tile, a scale group that does not divide k.
    pub fn check(&self) -> Result<(), UnitError> {
        let bad = |what, found: String, allowed| {
            Err(UnitError::Declaration { unit: self.name.clone(), what, found, allowed })
        };
        let Shape { m, n, k } = self.shape;
        if [m, n, k].contains(&0) {
            return bad("its shape", self.shape.to_string(), "extents of at least 1");
        }
        if [m, n, k].iter().any(|&extent| extent > MOST_EXTENT) {
            return bad("its shape", self.shape.to_string(), "extents of at most 65536");
        }
        if let Some(ScaleSpec { group, .. }) = self.scales
            && (group == 0 || k % group != 0)
        {
            return bad("its scale group", group.to_string(), "a divisor of k");
        }
        if let Some(FragmentSpec { lanes, a, b, c }) = self.fragments {
            if lanes == 0 || lanes > MOST_EXTENT {
                return bad("its number of lanes", lanes.to_string(), "1 to 65536");
            }
            for (what, slots, elements) in
                [("slots of A", a, m * k), ("slots of B", b, k * n), ("slots of C", c, m * n)]
            {
                if slots == 0 || slots > MOST_EXTENT || lanes * slots < elements {
                    return bad(what, slots.to_string(), "enough for the tile over all lanes, at most 65536");
                }
            }
        }
        Ok(())
    }
}

/// Largest extent, number of lanes or of slots that a declaration may have.
const MOST_EXTENT: usize = 1 << 16;

/// D of every tile of a batch, operands and result checked against the unit's declaration.
///
/// # Errors
/// [`UnitError`]: the unit was not asked, or what it gave is no result.
pub fn execute(unit: &mut dyn Unit, operands: Operands<'_>) -> Result<Matrix, UnitError> {
    let spec = unit.spec().clone();
    spec.check()?;
    let Shape { m, n, k } = spec.shape;
    let tiles = operands.a.rows / m;
    let groups = spec.scales.map_or(1, |scales| k / scales.group);
    let extents = Extents { a: (tiles * m, k), b: (tiles * k, n), c: (tiles * m, n) };
    check_operands(&spec, operands, extents)?;
    if let (Some((a, b)), Some(scales)) = (operands.scales, spec.scales) {
        check(&spec, "the scales of A", a, scales.format, (tiles * m, groups))?;
        check(&spec, "the scales of B", b, scales.format, (tiles * groups, n))?;
    }
    let d = unit.tiles(operands)?;
    check(&spec, "D", &d, spec.triple.c, extents.c)?;
    Ok(d)
}

/// The D registers of every launch, operands and result checked against the unit's declaration.
///
/// # Errors
/// As [`execute`]; also for a unit without fragments.
pub fn execute_fragments(unit: &mut dyn Unit, operands: Operands<'_>) -> Result<Matrix, UnitError> {
    let spec = unit.spec().clone();
    spec.check()?;
    let Some(FragmentSpec { lanes, a, b, c }) = spec.fragments else {
        return Err(Fault::Failed(format!("unit {} cannot be reached by registers", spec.name)).into());
    };
    let rows = operands.a.rows / lanes * lanes;
    let extents = Extents { a: (rows, a), b: (rows, b), c: (rows, c) };
    check_operands(&spec, operands, extents)?;
    let d = unit.fragments(operands)?;
    check(&spec, "D", &d, spec.triple.c, extents.c)?;
    Ok(d)
}

/// Rows and columns of the operands of a batch.
#[derive(Clone, Copy)]
struct Extents {
    a: (usize, usize),
    b: (usize, usize),
    c: (usize, usize),
}

fn check_operands(spec: &UnitSpec, operands: Operands<'_>, extents: Extents) -> Result<(), UnitError> {
    if extents.a.0 == 0 {
        return Err(UnitError::Misfit {
            unit: spec.name.clone(),
            operand: "A",
            found: format!("{} rows", operands.a.rows),
            declared: "at least one whole tile".into(),
        });
    }
    if operands.scales.is_some() != spec.scales.is_some() {
        let said = |there: bool| if there { "given" } else { "not given" }.to_owned();
        return Err(UnitError::Misfit {
            unit: spec.name.clone(),
            operand: "scales",
            found: said(operands.scales.is_some()),
            declared: said(spec.scales.is_some()),
        });
    }
    check(spec, "A", operands.a, spec.triple.a, extents.a)?;
    check(spec, "B", operands.b, spec.triple.b, extents.b)?;
    check(spec, "C", operands.c, spec.triple.c, extents.c)
}

fn check(
    spec: &UnitSpec,
    operand: &'static str,
    matrix: &Matrix,
    format: Format,
    (rows, cols): (usize, usize),
) -> Result<(), UnitError> {
    let bytes = Matrix::row_bytes(format, cols).saturating_mul(rows);
    if (matrix.format, matrix.rows, matrix.cols, matrix.bytes.len()) == (format, rows, cols, bytes) {
        return Ok(());
    }
    Err(UnitError::Misfit {
        unit: spec.name.clone(),
        operand,
        found: format!("{} × {} of {} in {} bytes", matrix.rows, matrix.cols, matrix.format, matrix.bytes.len()),
        declared: format!("{rows} × {cols} of {format} in {bytes} bytes"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit that gives a fixed result, whatever it is asked.
    struct Fixed(UnitSpec, Matrix);

    impl Unit for Fixed {
        fn spec(&self) -> &UnitSpec {
            &self.0
        }
        fn tiles(&mut self, _: Operands<'_>) -> Result<Matrix, Fault> {
            Ok(self.1.clone())
        }
        fn fragments(&mut self, _: Operands<'_>) -> Result<Matrix, Fault> {
            Ok(self.1.clone())
        }
    }

    fn spec() -> UnitSpec {
        UnitSpec {
            name: "planted".into(),
            path: "path".into(),
            triple: Triple::new(Format::F16, Format::F16, Format::F32),
            shape: Shape::new(2, 3, 4),
            scales: None,
            fragments: Some(FragmentSpec { lanes: 4, a: 2, b: 3, c: 2 }),
            source: "a test".into(),
        }
    }

    fn ask(unit: &mut Fixed, rows: usize) -> Result<Matrix, UnitError> {
        let a = Matrix::zeroed(Format::F16, rows, 4);
        let b = Matrix::zeroed(Format::F16, rows * 2, 3);
        let c = Matrix::zeroed(Format::F32, rows, 3);
        execute(unit, Operands { a: &a, b: &b, c: &c, scales: None })
    }

    #[test]
    fn whole_tiles_pass_and_everything_else_is_named() {
        let mut fine = Fixed(spec(), Matrix::zeroed(Format::F32, 6, 3));
        assert_eq!(ask(&mut fine, 6).unwrap().rows, 6);
        for rows in [0, 1, 5, 7] {
            assert!(matches!(ask(&mut fine, rows), Err(UnitError::Misfit { .. })), "{rows}");
        }
        // A result of other extents or another format is none.
        let empty = Matrix { bytes: Vec::new(), ..Matrix::zeroed(Format::F32, 6, 3) };
        for misfit in [Matrix::zeroed(Format::F32, 6, 2), Matrix::zeroed(Format::F16, 6, 3), empty] {
            let said = ask(&mut Fixed(spec(), misfit), 6).unwrap_err().to_string();
            assert!(said.contains("D is 6 ×") && said.contains("declared: 6 × 3"), "{said}");
        }
    }

    #[test]
    fn absurd_declarations_are_refused_before_anything_is_asked() {
        let absurd = [
            UnitSpec { shape: Shape::new(2, 3, 0), ..spec() },
            UnitSpec { shape: Shape::new(1 << 17, 3, 4), ..spec() },
            UnitSpec { scales: Some(ScaleSpec { format: Format::E8m0, group: 3 }), ..spec() },
            UnitSpec { scales: Some(ScaleSpec { format: Format::E8m0, group: 0 }), ..spec() },
            UnitSpec { fragments: Some(FragmentSpec { lanes: 0, a: 2, b: 3, c: 2 }), ..spec() },
            UnitSpec { fragments: Some(FragmentSpec { lanes: 4, a: 1, b: 3, c: 2 }), ..spec() },
        ];
        for spec in absurd {
            let mut unit = Fixed(spec.clone(), Matrix::zeroed(Format::F32, 2, 3));
            assert!(matches!(ask(&mut unit, 2), Err(UnitError::Declaration { .. })), "{spec:?}");
        }
    }

    #[test]
    fn registers_come_in_whole_launches() {
        let mut unit = Fixed(spec(), Matrix::zeroed(Format::F32, 8, 2));
        let mut launch = |rows| {
            let (a, b) = (Matrix::zeroed(Format::F16, rows, 2), Matrix::zeroed(Format::F16, rows, 3));
            let c = Matrix::zeroed(Format::F32, rows, 2);
            execute_fragments(&mut unit, Operands { a: &a, b: &b, c: &c, scales: None }).map(|d| d.rows)
        };
        assert_eq!(launch(8), Ok(8));
        assert!(launch(3).is_err() && launch(9).is_err());
    }
}
