//! Where in shared memory does `wgmma` read the elements of an operand that is not in registers?
//!
//! No lane holds such an operand. What stands for lane and slot is a position, counted in elements from the start of the operand:
//! lane · slots + slot, with 128 lanes. The operand lies as rows of 32 bytes of k under the 32-byte swizzle, so that an instruction
//! reads every byte; where that is less than an element a lane, the positions behind it hold none.

use super::{FragmentOperand, Layout, LayoutError, PublishedLayout};

const LANES: usize = 128;

/// Bytes of a row: all of k of one instruction.
const ROW: usize = 32;

const SOURCE: &str = "NVIDIA PTX ISA, Asynchronous Warpgroup Level Matrix Shared Memory Layout, K-major, 32-byte swizzle; NVIDIA CUTLASS, \
                      include/cute/atom/mma_traits_sm90_gmma.hpp, Layout_K_SW32_Atom (swizzle <1,4,3> on byte addresses)";

/// Windows of A (64 rows) and of B of 8 and 64 columns, for elements of 1, 2 and 4 bytes.
pub(super) fn all() -> Result<Vec<PublishedLayout>, LayoutError> {
    let kinds = [(1, "e4m3", "e4m3, e5m2, s8 and u8"), (2, "f16", "f16 and bf16"), (4, "tf32", "tf32")];
    let of = |(bytes, name, types): (usize, &str, &str)| {
        [(FragmentOperand::A, 64), (FragmentOperand::B, 8), (FragmentOperand::B, 64)].map(|(operand, count)| {
            let (k, letter) = (ROW / bytes, if operand == FragmentOperand::A { 'm' } else { 'n' });
            Ok(PublishedLayout {
                name: format!("wgmma.{letter}{count}k{k}.{name}.{}.shared", operand.name()),
                device: "NVIDIA Hopper, positions in shared memory".into(),
                instruction: format!("wgmma.mma_async, {letter}{count}k{k}, {types} from shared memory"),
                operand,
                source: SOURCE.into(),
                layout: window(operand, count, bytes)?,
            })
        })
    };
    kinds.into_iter().flat_map(of).collect()
}

/// The window of so many rows of A, or columns of B.
fn window(operand: FragmentOperand, count: usize, bytes: usize) -> Result<Layout, LayoutError> {
    let k = ROW / bytes;
    let slots = (count * k).div_ceil(LANES);
    let element = |lane: u32, slot: u32| {
        let at = (lane as usize * slots + slot as usize) * bytes;
        let at = at ^ ((at >> 3) & 16);
        let (line, k) = ((at / ROW) as u32, (at % ROW / bytes) as u32);
        let placed = if operand == FragmentOperand::A { (line, k) } else { (k, line) };
        ((line as usize) < count).then_some(placed)
    };
    let extents = if operand == FragmentOperand::A { (count, k) } else { (k, count) };
    Layout::from_fn(extents, (LANES, slots), element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_hold_every_element_once_and_swap_halves_of_every_second_four_rows() {
        for published in all().unwrap_or_else(|e| panic!("{e}")) {
            let layout = &published.layout;
            assert!(layout.first_holders().iter().all(Option::is_some), "{}", published.name);
            let held = layout.table().iter().flatten().count();
            assert_eq!(held, layout.rows() * layout.cols(), "{}", published.name);
            // A window is linear over F2 wherever it fills its positions.
            assert_eq!(layout.affine().is_ok(), held == layout.table().len(), "{}", published.name);
        }
        // Rows of 16 halves: the first element of row 3 is element 48; of row 4 its second half comes first.
        let a = window(FragmentOperand::A, 64, 2).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(
            (a.at(6, 0), a.at(8, 0), a.at(9, 0), a.at(16, 0)),
            (Some((3, 0)), Some((4, 8)), Some((4, 0)), Some((8, 0)))
        );
    }
}
