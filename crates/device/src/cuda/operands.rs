//! How do operands and output of a product lie on the device?
//!
//! A lies row by row, B column by column: the order that `wgmma` and cuBLASLt demand of 8-bit operands, taken for every type, so that
//! all paths read the same bytes. A user who keeps weights packed does so once, and so does [`Operands::bind`]; no repetition pays
//! for it. Rows and columns are padded with zeros to whole launch tiles, k to whole 128 bytes: products with zeros add nothing. C
//! has whole 16 rows and a pitch of whole 16 elements; what lies beyond m × n is never looked at.
//!
//! Block-scaled operands lie the same way, elements and scales apart, beside room for the bf16 that every repetition makes of them.

use super::driver::{Context, DriverError, check};
use super::memory::Memory;
use super::tile::{PADDING, SLAB};
use crate::contract::{Cache, Fault, GUARD, POISON};
use cudarc::driver::sys;
use rayon::prelude::*;
use rigel_numerics::block::planes;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Format, Matrix, Operand, Shape, Triple};
use std::ffi::c_void;
use std::rc::Rc;

/// Extents as the kernels see them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extents {
    /// Rows of A, padded.
    pub rows_a: usize,
    /// Rows of packed B: columns of B, padded.
    pub rows_b: usize,
    /// Bytes of one row of either.
    pub pitch: usize,
    /// Bytes from one row of either to the next: as many, unless they are placed.
    pub apart: usize,
    /// Rows of C, padded.
    pub rows_c: usize,
    /// Elements of one row of C.
    pub pitch_c: usize,
}

impl Extents {
    /// Those of a product.
    pub fn of(shape: Shape, triple: Triple) -> Extents {
        let pitch = Matrix::row_bytes(triple.a, shape.k).next_multiple_of(SLAB);
        Extents {
            rows_a: shape.m.next_multiple_of(PADDING),
            rows_b: shape.n.next_multiple_of(PADDING),
            pitch,
            apart: pitch,
            rows_c: shape.m.next_multiple_of(16),
            pitch_c: shape.n.next_multiple_of(16),
        }
    }

    /// The same with rows as far apart as a placement says.
    pub fn placed(shape: Shape, triple: Triple, placement: Option<Placement>) -> Extents {
        let extents = Extents::of(shape, triple);
        Extents { apart: placement.map_or(extents.pitch, |place| place.stride.bytes(extents.pitch)), ..extents }
    }

    /// Elements of one row of A, or of packed B.
    pub fn depth(&self, triple: Triple) -> usize {
        self.pitch * 8 / triple.a.bits() as usize
    }
}

/// A block-scaled operand as a user keeps it: rows of A, columns of B.
pub struct Coded {
    /// Elements, packed.
    pub elements: Memory,
    /// Scales, one a scale group.
    pub scales: Memory,
    /// Eights of elements.
    pub eights: usize,
}

/// One set of operands, bound.
pub struct Bound {
    /// A, row by row.
    pub a: Memory,
    /// B, column by column.
    pub b: Memory,
    /// What A and B are made of anew in every repetition, where they are block-scaled.
    pub coded: Option<[Coded; 2]>,
}

/// Operands and output on the device.
pub struct Operands {
    context: Rc<Context>,
    shape: Shape,
    output: Format,
    extents: Extents,
    l2_bytes: usize,
    /// As many sets as were asked for: one, or so many that they fill twice the L2 cache.
    pub sets: Vec<Bound>,
    /// C.
    pub c: Memory,
}

impl Coded {
    fn copy(&self) -> Result<Coded, DriverError> {
        Ok(Coded { elements: self.elements.copy()?, scales: self.scales.copy()?, eights: self.eights })
    }
}

impl Operands {
    /// Packs and copies both operands.
    ///
    /// # Errors
    /// What the driver says.
    pub fn bind(
        context: &Rc<Context>,
        shape: Shape,
        triple: Triple,
        l2_bytes: usize,
        placement: Option<Placement>,
        a: &Matrix,
        b: &Matrix,
    ) -> Result<Operands, DriverError> {
        let extents = Extents::placed(shape, triple, placement);
        let hold = |packed: Vec<u8>, rows: usize| match placement {
            None => Memory::holding(context, &packed, rows * extents.pitch),
            Some(place) => Memory::placed(context, &spread(&packed, rows, extents), place.offset),
        };
        let set = Bound {
            a: hold(padded(a, extents.pitch), extents.rows_a)?,
            b: hold(transposed(b, extents.pitch), extents.rows_b)?,
            coded: None,
        };
        let c = Memory::filled(context, extents.rows_c * Matrix::row_bytes(triple.c, extents.pitch_c), POISON)?;
        Ok(Operands { context: Rc::clone(context), shape, output: triple.c, extents, l2_bytes, sets: vec![set], c })
    }

    /// Adds elements and scales of block-scaled operands: A and B are then only room for what they become.
    ///
    /// # Errors
    /// What the driver says; codes of one scale group that have unlike scales.
    pub fn add_codes(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        let apart = |rows: &Matrix| {
            let (elements, scales) = planes(rows, Operand::A).map_err(|e| Fault::Failed(e.to_string()))?;
            let depth = self.extents.pitch * 8 / rows.format.bits() as usize;
            let lines = |x: &Matrix, depth: usize| padded(x, depth * x.format.bits() as usize / 8);
            let size = rows.format.scale_groups().map_or(1, |groups| groups.size);
            Ok::<_, Fault>(Coded {
                elements: Memory::holding(&self.context, &lines(&elements, depth), 0)?,
                scales: Memory::holding(&self.context, &lines(&scales, depth / size), 0)?,
                eights: rows.rows * depth / 8,
            })
        };
        let columns =
            Matrix { rows: b.cols, cols: b.rows, bytes: transposed(b, Matrix::row_bytes(b.format, b.rows)), ..*b };
        self.sets[0].coded = Some([apart(a)?, apart(&columns)?]);
        Ok(())
    }

    /// How they lie.
    pub fn extents(&self) -> Extents {
        self.extents
    }

    /// How many sets a cache state takes, made where they are missing.
    ///
    /// # Errors
    /// What the driver says.
    pub fn sets_for(&mut self, cache: Cache) -> Result<usize, DriverError> {
        let wanted = match cache {
            Cache::Warm | Cache::Replayed => 1,
            Cache::Cold => (2 * self.l2_bytes).div_ceil(self.sets[0].a.bytes() + self.sets[0].b.bytes()) + 1,
        };
        while self.sets.len() < wanted {
            let Bound { a, b, coded } = &self.sets[0];
            let coded = match coded {
                Some([a, b]) => Some([a.copy()?, b.copy()?]),
                None => None,
            };
            let set = Bound { a: a.copy()?, b: b.copy()?, coded };
            self.sets.push(set);
        }
        Ok(wanted)
    }

    /// The output, m × n.
    ///
    /// # Errors
    /// What the driver says.
    pub fn output(&self) -> Result<Matrix, DriverError> {
        self.context.finish()?;
        let (row, pitch) =
            (Matrix::row_bytes(self.output, self.shape.n), Matrix::row_bytes(self.output, self.extents.pitch_c));
        let mut output = Matrix::zeroed(self.output, self.shape.m, self.shape.n);
        if row == pitch {
            self.c.read(&mut output.bytes)?;
            return Ok(output);
        }
        let mut bytes = vec![0; self.shape.m * pitch];
        self.c.read(&mut bytes)?;
        output
            .bytes
            .par_chunks_mut(row)
            .zip(bytes.par_chunks(pitch))
            .for_each(|(to, from)| to.copy_from_slice(&from[..row]));
        Ok(output)
    }
}

/// Rows as far apart as they are placed, guards between them; rows beyond the packed ones are zeros.
fn spread(packed: &[u8], rows: usize, extents: Extents) -> Vec<u8> {
    let mut bytes = vec![GUARD; rows * extents.apart];
    let zeros = vec![0; extents.pitch];
    let lines = packed.chunks(extents.pitch).chain(std::iter::repeat(&*zeros));
    bytes.chunks_mut(extents.apart).zip(lines).for_each(|(to, row)| to[..row.len()].copy_from_slice(row));
    bytes
}

/// How the copy engine sees a matrix of `rows` × `pitch` bytes, rows `apart` bytes from each other: it takes slabs of `high` rows and writes them swizzled; rows
/// beyond the end read as zeros.
///
/// # Errors
/// What the driver says.
pub fn mapped(
    address: u64,
    rows: usize,
    (pitch, apart): (usize, usize),
    high: usize,
) -> Result<sys::CUtensorMap, DriverError> {
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    let (extents, strides) = ([pitch as u64, rows as u64], [apart as u64]);
    let (box_extents, steps) = ([SLAB as u32, high as u32], [1_u32, 1]);
    // SAFETY: two dimensions, one stride between them; all arrays outlive the call.
    let code = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
            2,
            std::ptr::with_exposed_provenance_mut::<c_void>(address as usize),
            extents.as_ptr(),
            strides.as_ptr(),
            box_extents.as_ptr(),
            steps.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    };
    check("cuTensorMapEncodeTiled", code)?;
    Ok(map)
}

/// Rows with zeros behind them, up to `pitch` bytes.
fn padded(x: &Matrix, pitch: usize) -> Vec<u8> {
    let row = Matrix::row_bytes(x.format, x.cols);
    let mut bytes = vec![0; x.rows * pitch];
    bytes.par_chunks_mut(pitch).zip(x.bytes.par_chunks(row)).for_each(|(to, from)| to[..row].copy_from_slice(from));
    bytes
}

/// Columns as rows, with zeros behind them, up to `pitch` bytes. Elements take whole bytes.
fn transposed(x: &Matrix, pitch: usize) -> Vec<u8> {
    /// Columns that are gathered together, so that a line of the source is used while it is in a cache.
    const TOGETHER: usize = 32;
    let each = x.format.bits() as usize / 8;
    let row = x.cols * each;
    let mut bytes = vec![0; x.cols * pitch];
    bytes.par_chunks_mut(TOGETHER * pitch).enumerate().for_each(|(block, to)| {
        for k in 0..x.rows {
            let from = &x.bytes[k * row + block * TOGETHER * each..];
            for (column, to) in to.chunks_mut(pitch).enumerate() {
                to[k * each..][..each].copy_from_slice(&from[column * each..][..each]);
            }
        }
    });
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use rigel_numerics::placement::Stride;

    #[test]
    fn packed_operands_hold_every_element_where_the_kernels_look() {
        for (format, rows, cols) in
            [(Format::I8, 3, 70), (Format::F16, 65, 33), (Format::F32, 1, 1), (Format::F64, 17, 40)]
        {
            let each = format.bits() as usize / 8;
            let mut x = Matrix::zeroed(format, rows, cols);
            x.bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 7 + 1) as u8);
            let at = |r: usize, c: usize| &x.bytes[(r * cols + c) * each..][..each];
            let pitch = (rows.max(cols) * each).next_multiple_of(128);
            let (plain, turned) = (padded(&x, pitch), transposed(&x, pitch));
            for (r, c) in (0..rows).flat_map(|r| (0..cols).map(move |c| (r, c))) {
                assert_eq!(&plain[r * pitch + c * each..][..each], at(r, c));
                assert_eq!(&turned[c * pitch + r * each..][..each], at(r, c));
            }
            assert!(turned.chunks(pitch).all(|row| row[rows * each..].iter().all(|&byte| byte == 0)));
        }
    }

    #[test]
    fn placed_rows_have_guards_between_them_and_zeros_behind() {
        let extents = Extents { rows_a: 3, rows_b: 3, pitch: 4, apart: 7, rows_c: 16, pitch_c: 16 };
        let g = GUARD;
        let expected = [1, 2, 3, 4, g, g, g, 5, 6, 7, 8, g, g, g, 0, 0, 0, 0, g, g, g];
        assert_eq!(spread(&[1, 2, 3, 4, 5, 6, 7, 8], 3, extents), expected);
    }

    #[test]
    fn extents_are_whole_tiles_and_slabs() {
        let triple = Triple::new(Format::F16, Format::F16, Format::F32);
        let extents = Extents::of(Shape::new(1, 257, 65), triple);
        assert_eq!(extents, Extents { rows_a: 256, rows_b: 512, pitch: 256, apart: 256, rows_c: 16, pitch_c: 272 });
        let place = Placement { offset: 2, stride: Stride::Plus(8) };
        assert_eq!(Extents::placed(Shape::new(1, 257, 65), triple, Some(place)), Extents { apart: 264, ..extents });
        assert_eq!(extents.depth(triple), 128);
    }
}
