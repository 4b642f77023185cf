//! Which laws do layouts, their descriptions and their moves obey?

use proptest::prelude::*;
use rigel_numerics::layout::{
    Difference, Fragment, FragmentOperand, IndexOrder, Layout, LayoutError, Relabelling, csv, fragments, library,
};
use rigel_numerics::random::{below, draw, shuffle, stream};
use rigel_numerics::{Format, Matrix};

/// A layout drawn from a seed: every element once, some again, the rest of the slots unused, in a random order.
fn drawn((rows, cols): (usize, usize), (lanes, slots): (usize, usize), seed: u64) -> Layout {
    let s = stream(seed, 1);
    let element = |i: u64| Some(((i / cols as u64) as u32, (i % cols as u64) as u32));
    let all = (rows * cols) as u64;
    let mut table: Vec<_> = (0..(lanes * slots) as u64)
        .map(|i| {
            if i < all {
                element(i)
            } else if draw(s, i) & 1 == 0 {
                None
            } else {
                element(below(s, i, all))
            }
        })
        .collect();
    shuffle(&mut table, stream(seed, 2));
    Layout::from_table(rows, cols, lanes, slots, table).unwrap()
}

/// Extents and a number of lanes and slots that hold them.
fn sizes() -> impl Strategy<Value = ((usize, usize), (usize, usize))> {
    (1usize..12, 1usize..12, 1usize..9, 0usize..4)
        .prop_map(|(rows, cols, lanes, more)| ((rows, cols), (lanes, (rows * cols).div_ceil(lanes) + more)))
}

proptest! {
    #[test]
    fn gathered_tiles_scatter_back(((rows, cols), held) in sizes(), tiles in 1usize..4, seed: u64) {
        let layout = drawn((rows, cols), held, seed);
        for format in [Format::I4, Format::E2m3, Format::F16, Format::F64] {
            let mut tile = Matrix::zeroed(format, tiles * rows, cols);
            for r in 0..tile.rows {
                for c in 0..cols {
                    tile.set(r, c, draw(seed, (r * cols + c) as u64) & format.code_mask());
                }
            }
            let registers = layout.gather(&tile).unwrap();
            prop_assert_eq!((registers.rows, registers.cols), (tiles * held.0, held.1));
            prop_assert_eq!(layout.disagreement(&registers), None);
            prop_assert_eq!(layout.scatter(&registers).unwrap(), tile);
        }
    }

    #[test]
    fn the_inverse_is_the_table_turned_round(((rows, cols), held) in sizes(), seed: u64) {
        let layout = drawn((rows, cols), held, seed);
        let mut count = layout.coverage().unused;
        for row in 0..rows {
            for col in 0..cols {
                let holders = layout.inverse(row, col);
                prop_assert!(!holders.is_empty());
                prop_assert_eq!(layout.first_holders()[row * cols + col], holders.first().copied());
                count += holders.len();
                for (lane, slot) in holders {
                    prop_assert_eq!(layout.at(lane, slot), Some((row as u32, col as u32)));
                }
            }
        }
        prop_assert_eq!(count, held.0 * held.1);
    }

    #[test]
    fn json_and_csv_read_back(((m, n), held) in sizes(), k in 1usize..5, seed: u64) {
        let more = |elements: usize| elements.div_ceil(held.0) + 1;
        let fragment = Fragment::new(
            drawn((m, k), (held.0, more(m * k)), seed),
            drawn((k, n), (held.0, more(k * n)), seed ^ 1),
            drawn((m, n), (held.0, more(m * n)), seed ^ 2),
        ).unwrap();
        let json = serde_json::to_string(&fragment).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Fragment>(&json).unwrap(), &fragment);
        prop_assert_eq!(&csv::read(&csv::write(&fragment), fragment.shape()).unwrap(), &fragment);
    }

    #[test]
    fn renumberings_are_found_and_nothing_else_is(((m, n), held) in sizes(), k in 1usize..5, seed: u64) {
        let more = |elements: usize| elements.div_ceil(held.0) + 1;
        let fragment = Fragment::new(
            drawn((m, k), (held.0, more(m * k)), seed),
            drawn((k, n), (held.0, more(k * n)), seed ^ 1),
            drawn((m, n), (held.0, more(m * n)), seed ^ 2),
        ).unwrap();
        let axis = |extent: usize, s: u64| {
            let mut list: Vec<u32> = (0..extent as u32).collect();
            shuffle(&mut list, stream(seed, s));
            list
        };
        let by = Relabelling { m: axis(m, 3), n: axis(n, 4), k: axis(k, 5) };
        let other = fragment.relabelled(&by);
        prop_assert_eq!(&fragment.same_up_to_relabelling(&other).unwrap(), &by);
        prop_assert!(fragment.same_up_to_relabelling(&fragment).unwrap().is_identity());
        // Two slots of one lane exchanged, whose elements share neither row nor column, cannot be a renumbering in one operand alone.
        let first = other.c.entries().next().unwrap();
        let partner = other.c.entries().find(|(_, _, e)| matches!((e, first.2), (Some(x), Some(y)) if x.0 != y.0 && x.1 != y.1));
        if let (Some(partner), true) = (partner, k > 0) {
            let mut table = other.c.table().to_vec();
            let slots = other.c.slots();
            table.swap(first.0 * slots + first.1, partner.0 * slots + partner.1);
            let c = Layout::from_table(m, n, other.c.lanes(), slots, table).unwrap();
            let exchanged = Fragment::new(other.a.clone(), other.b.clone(), c).unwrap();
            let renumbered = fragment.same_up_to_relabelling(&exchanged);
            if let Ok(found) = &renumbered {
                prop_assert_eq!(&fragment.relabelled(found), &exchanged);
            }
            if m * n > 4 && m > 2 && n > 2 {
                let refused = matches!(renumbered, Err(Difference::Conflict { .. }));
                prop_assert!(refused);
            }
        }
    }

    /// Mixed radices with digits of any extent: found again, equal as functions, through CuTe's notation too.
    #[test]
    fn digits_are_found_in_what_they_make(extents in prop::collection::vec(2usize..6, 1..6), cut in 0usize..6, seed: u64) {
        // Digits of rows and columns in a random order; the first `cut` number the lanes.
        let mut order: Vec<usize> = (0..extents.len()).collect();
        shuffle(&mut order, stream(seed, 1));
        let (mut rows, mut cols) = (1usize, 1usize);
        let mut digits = vec![(0, 0i64, 0i64); extents.len()];
        for i in order {
            if draw(seed, i as u64) & 1 == 0 {
                digits[i] = (extents[i], rows as i64, 0);
                rows *= extents[i];
            } else {
                digits[i] = (extents[i], 0, cols as i64);
                cols *= extents[i];
            }
        }
        let cut = cut.min(extents.len());
        let modes = |part: &[(usize, i64, i64)]| part.iter().map(|&d| d.into()).collect::<Vec<rigel_numerics::layout::Mode>>();
        let planted = rigel_numerics::layout::MixedRadix { offset: (0, 0), lanes: modes(&digits[..cut]), slots: modes(&digits[cut..]) };
        let count = |part: &[(usize, i64, i64)]| part.iter().map(|d| d.0).product::<usize>();
        let layout = Layout::from_digits((rows, cols), (count(&digits[..cut]), count(&digits[cut..])), &planted).unwrap();
        prop_assert!(layout.coverage().is_onto() && layout.coverage().is_one_to_one());
        let found = layout.mixed_radix().unwrap();
        prop_assert!(found.lanes.len() <= planted.lanes.len() && found.slots.len() <= planted.slots.len());
        prop_assert_eq!(&Layout::from_digits((rows, cols), (layout.lanes(), layout.slots()), &found).unwrap(), &layout);
        for order in [IndexOrder::DownColumns, IndexOrder::AlongRows] {
            let text = found.cute((rows, cols), order);
            prop_assert_eq!(&Layout::from_cute(&text, (rows, cols), order).unwrap(), &layout, "{}", text);
        }
    }

    /// Linear maps over F2 with any bases: found again; rank and kernel account for every bit and kernel vectors change nothing.
    #[test]
    fn bases_are_found_in_what_they_make(lane_bits in 0u32..5, slot_bits in 0u32..5, seed: u64) {
        let s = stream(seed, 1);
        let image = |i: u32| ((draw(s, u64::from(i)) & 7) as u32, (draw(s, u64::from(i) + 64) & 15) as u32);
        let fold = |bits: u32, value: u32, first: u32| (0..bits).filter(|b| value >> b & 1 == 1).fold((0, 0), |sum: (u32, u32), b| {
            let basis = image(first + b);
            (sum.0 ^ basis.0, sum.1 ^ basis.1)
        });
        let layout = Layout::from_fn((8, 16), (1 << lane_bits, 1 << slot_bits), |lane, slot| {
            let (x, y, offset) = (fold(lane_bits, lane, 0), fold(slot_bits, slot, 32), image(63));
            Some((x.0 ^ y.0 ^ offset.0, x.1 ^ y.1 ^ offset.1))
        }).unwrap();
        let map = layout.affine().unwrap();
        prop_assert_eq!(map.rank() + map.kernel().len(), (lane_bits + slot_bits) as usize);
        prop_assert_eq!(1usize << map.rank(), {
            let mut seen: Vec<_> = layout.table().to_vec();
            seen.sort_unstable();
            seen.dedup();
            seen.len()
        });
        for (lane, slot) in map.kernel() {
            prop_assert!((lane, slot) != (0, 0));
            for (l, s, element) in layout.entries() {
                prop_assert_eq!(layout.at(l ^ lane, s ^ slot), element);
            }
        }
    }

    #[test]
    fn one_wrong_entry_ends_every_description(i in 0usize..256, seed: u64) {
        let layout = &library().iter().find(|l| l.name == "mma.sync.m16n8k16.f16.a").unwrap().layout;
        let mut table = layout.table().to_vec();
        let other = below(seed, 0, 255) as usize;
        table.swap(i, if other >= i { other + 1 } else { other });
        let swapped = Layout::from_table(16, 16, 32, 8, table).unwrap();
        prop_assert!(swapped.coverage().is_one_to_one());
        prop_assert!(swapped.affine().is_err() && swapped.mixed_radix().is_err());
    }
}

#[test]
fn matrices_that_do_not_fit_are_named() {
    let layout = &fragments()[0].fragment.a;
    let tile = |rows, cols| layout.gather(&Matrix::zeroed(Format::F16, rows, cols));
    assert!(tile(16, 16).is_ok() && tile(32, 16).is_ok());
    for (rows, cols) in [(0, 16), (15, 16), (16, 15)] {
        assert!(matches!(tile(rows, cols), Err(LayoutError::Misfit { what: "the tile", .. })), "{rows} × {cols}");
    }
    let gap = Layout::from_table(1, 2, 1, 1, vec![Some((0, 1))]).unwrap();
    assert_eq!(gap.scatter(&Matrix::zeroed(Format::F16, 1, 1)), Err(LayoutError::Unheld { row: 0, col: 0 }));
}

#[test]
fn copies_that_disagree_are_named() {
    let layout = &library().iter().find(|l| l.name == "rdna3.v_wmma_f32_16x16x16_f16.a").unwrap().layout;
    let mut registers = Matrix::zeroed(Format::F16, 64, 16);
    assert_eq!(layout.disagreement(&registers), None);
    registers.set(32 + 18, 5, 1);
    assert_eq!(layout.disagreement(&registers), Some((1, (2, 5), (18, 5))));
}

#[test]
fn csv_that_is_no_layout_is_refused_with_its_line() {
    let fragment = &fragments().iter().find(|f| f.name == "simdgroup_matrix.8x8").unwrap().fragment;
    let text = csv::write(fragment);
    let said = |text: &str| csv::read(text, fragment.shape()).unwrap_err().to_string();
    assert_eq!(text.lines().nth(1), Some("a,0,0,0,0"));
    assert!(said("").contains("empty"));
    assert!(said("lane,slot\n").contains("line 1: the head is not"));
    assert!(said(&text.replacen("a,0,1,0,1", "a,0,1,0", 1)).contains("line 3: 4 fields"));
    assert!(said(&text.replacen("a,0,1,0,1", "e,0,1,0,1", 1)).contains("line 3: operand `e`; allowed: a, b, c, d"));
    assert!(said(&text.replacen("a,0,1,0,1", "a,0,1,,1", 1)).contains("line 3: one of row and column is empty"));
    assert!(
        said(&text.replacen("a,0,1,0,1", "a,0,0,0,1", 1)).contains("line 3: lane 0, slot 0 of A stands there twice")
    );
    assert!(said(&text.replacen("a,0,1,0,1\n", "", 1)).contains("lane 0, slot 1 of A has no row"));
    assert!(said(&text.replacen("a,0,1,0,1", "a,0,1,0,8", 1)).contains("outside an operand of 8 × 8"));
    assert!(said(&text.replacen("a,0,1,0,1", "a,4294967295,1,0,1", 1)).contains("lanes of a layout is 4294967296"));
    let without_b: String = text.lines().filter(|l| !l.starts_with("b,")).map(|l| format!("{l}\n")).collect();
    assert!(said(&without_b).contains("no row of operand B"));
}

#[test]
fn three_layouts_must_be_those_of_one_product() {
    let mma = &fragments()[0].fragment;
    let swapped = Fragment::new(mma.b.clone(), mma.a.clone(), mma.c.clone());
    assert!(matches!(swapped, Err(LayoutError::Shapes { .. })));
    let wide = drawn((16, 16), (64, 4), 1);
    assert_eq!(Fragment::new(wide, mma.b.clone(), mma.c.clone()), Err(LayoutError::Lanes { a: 64, b: 32, c: 32 }));
    assert_eq!(FragmentOperand::B.to_string(), "B");
}

#[test]
fn cute_texts_that_say_nothing_are_refused() {
    let read = |text: &str| Layout::from_cute(text, (8, 8), IndexOrder::DownColumns);
    assert!(read("((4, 8), 2):((16, 1), 8)").is_ok());
    for text in [
        "",
        "(8,8)",
        "(8,8):(1)",
        "((4,8),2):(16,8)",
        "(8,8):(1,9)",
        "(0,8):(1,8)",
        "(8,x):(1,8)",
        "(8,8,1):(1,8,0)",
        "((8,8):(1,8)",
        ")(,:(1,8)",
    ] {
        assert!(matches!(read(text), Err(LayoutError::Cute { .. })), "{text}");
    }
    let huge = read("((99999999999,99999999999),1):((0,0),0)");
    assert!(matches!(huge, Err(LayoutError::Extent { what: "lanes", .. })));
}
