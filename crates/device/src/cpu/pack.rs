//! How do operands become panels that a kernel reads from front to back?

use super::decode::Decode;
use super::kernel::Kernel;

/// Packs one panel of A, which may begin at any address: up to `K::ROWS` rows, `groups` groups of k.
///
/// # Safety
/// `source` points to `rows` rows, `stride` codes apart, of `depth` codes; `panel` has room for
/// `groups · K::ROWS · K::GROUP` elements, and `depth` ≤ `groups · K::GROUP`.
#[inline(always)]
pub unsafe fn pack_a<K: Kernel, D: Decode<Packed = K::A>>(
    source: *const D::Code,
    stride: usize,
    rows: usize,
    depth: usize,
    groups: usize,
    panel: *mut K::A,
) {
    let table = D::table();
    let whole = depth / K::GROUP;
    let step = K::ROWS * K::GROUP;
    // SAFETY: every index is bounded by the extents that the caller vouches for.
    unsafe {
        if rows < K::ROWS || whole < groups {
            panel.write_bytes(0, groups * step);
        }
        for row in 0..rows {
            let from = source.add(row * stride);
            let to = panel.add(row * K::GROUP);
            for group in 0..whole {
                for k in 0..K::GROUP {
                    *to.add(group * step + k) = D::decode(table, from.add(group * K::GROUP + k).read_unaligned());
                }
            }
            for k in 0..depth - whole * K::GROUP {
                *to.add(whole * step + k) = D::decode(table, from.add(whole * K::GROUP + k).read_unaligned());
            }
        }
    }
}

/// Packs the panels of B that cover `columns` columns from the first of a panel on, `groups` groups of k each, and
/// lets the kernel finish them. Row after row of B is read across all of them.
///
/// # Safety
/// `source` points to `depth` rows, `stride` codes apart, of `columns` codes; `panels` has room for
/// ⌈columns / K::COLUMNS⌉ panels of `panel_elements` elements each, and `depth` ≤ `groups · K::GROUP`.
#[inline(always)]
pub unsafe fn pack_b<K: Kernel, D: Decode<Packed = K::B>>(
    source: *const D::Code,
    stride: usize,
    columns: usize,
    depth: usize,
    groups: usize,
    panels: *mut K::B,
) {
    let table = D::table();
    let step = K::COLUMNS * K::GROUP;
    let length = panel_elements::<K>(groups);
    let whole_panels = columns / K::COLUMNS;
    // SAFETY: every index is bounded by the extents that the caller vouches for.
    unsafe {
        for group in 0..groups {
            let depth_here = K::GROUP.min(depth.saturating_sub(group * K::GROUP));
            let from = source.add(group * K::GROUP * stride);
            for panel in 0..columns.div_ceil(K::COLUMNS) {
                let from = from.add(panel * K::COLUMNS);
                let to = panels.add(panel * length + group * step);
                if panel < whole_panels && depth_here == K::GROUP {
                    for column in 0..K::COLUMNS {
                        for k in 0..K::GROUP {
                            *to.add(column * K::GROUP + k) =
                                D::decode(table, from.add(k * stride + column).read_unaligned());
                        }
                    }
                } else {
                    to.write_bytes(0, step);
                    for column in 0..K::COLUMNS.min(columns - panel * K::COLUMNS) {
                        for k in 0..depth_here {
                            *to.add(column * K::GROUP + k) =
                                D::decode(table, from.add(k * stride + column).read_unaligned());
                        }
                    }
                }
            }
        }
        for panel in 0..columns.div_ceil(K::COLUMNS) {
            K::finish_panel(groups, panels.add(panel * length));
        }
    }
}

/// Elements of one packed panel of B, its trailer included.
pub fn panel_elements<K: Kernel>(groups: usize) -> usize {
    (groups + K::TRAILER) * K::COLUMNS * K::GROUP
}
