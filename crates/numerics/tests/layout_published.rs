//! Do the published layouts say what their sources say, in every notation that the sources use?

use rigel_numerics::layout::{FragmentOperand, IndexOrder, Layout, PublishedLayout, fragments, library};

fn find(name: &str) -> &'static PublishedLayout {
    library().iter().find(|l| l.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// The formula of the source: (lane, slot) → (row, column), with rows of B being k.
type Formula = fn(u32, u32) -> (u32, u32);

/// Formulas of the PTX manual's form, with g = lane / 4 and t = lane % 4.
#[rustfmt::skip]
const FORMULAS: [(&str, Formula); 40] = [
    ("mma.sync.m16n8k16.f16.a", |l, i| (l / 4 + 8 * ((i >> 1) & 1), 2 * (l % 4) + (i & 1) + 8 * (i >> 2))),
    ("mma.sync.m16n8k16.f16.b", |l, i| (2 * (l % 4) + (i & 1) + 8 * (i >> 1), l / 4)),
    ("mma.sync.m16n8.c", |l, i| (l / 4 + 8 * (i >> 1), 2 * (l % 4) + (i & 1))),
    ("mma.sync.m16n8k8.f16.a", |l, i| (l / 4 + 8 * (i >> 1), 2 * (l % 4) + (i & 1))),
    ("mma.sync.m16n8k8.f16.b", |l, i| (2 * (l % 4) + i, l / 4)),
    ("mma.sync.m16n8k8.tf32.a", |l, i| (l / 4 + 8 * (i & 1), l % 4 + 4 * (i >> 1))),
    ("mma.sync.m16n8k8.tf32.b", |l, i| (l % 4 + 4 * i, l / 4)),
    ("mma.sync.m16n8k4.tf32.a", |l, i| (l / 4 + 8 * i, l % 4)),
    ("mma.sync.m16n8k4.tf32.b", |l, _| (l % 4, l / 4)),
    ("mma.sync.m16n8k16.f64.a", |l, i| (l / 4 + 8 * (i & 1), l % 4 + 4 * (i >> 1))),
    ("mma.sync.m16n8k16.f64.b", |l, i| (l % 4 + 4 * i, l / 4)),
    ("mma.sync.m8n8k4.f64.a", |l, _| (l / 4, l % 4)),
    ("mma.sync.m8n8k4.f64.b", |l, _| (l % 4, l / 4)),
    ("mma.sync.m8n8.c", |l, i| (l / 4, 2 * (l % 4) + i)),
    ("mma.sync.m16n8k32.s8.a", |l, i| (l / 4 + 8 * ((i >> 2) & 1), 4 * (l % 4) + (i & 3) + 16 * (i >> 3))),
    ("mma.sync.m16n8k32.s8.b", |l, i| (4 * (l % 4) + (i & 3) + 16 * (i >> 2), l / 4)),
    ("mma.sync.m16n8k16.s8.a", |l, i| (l / 4 + 8 * (i >> 2), 4 * (l % 4) + (i & 3))),
    ("mma.sync.m16n8k16.s8.b", |l, i| (4 * (l % 4) + i, l / 4)),
    ("mma.sync.m8n8k16.s8.a", |l, i| (l / 4, 4 * (l % 4) + i)),
    ("mma.sync.m8n8k16.s8.b", |l, i| (4 * (l % 4) + i, l / 4)),
    ("mma.sync.m16n8k64.s4.a", |l, i| (l / 4 + 8 * ((i >> 3) & 1), 8 * (l % 4) + (i & 7) + 32 * (i >> 4))),
    ("mma.sync.m16n8k64.s4.b", |l, i| (8 * (l % 4) + (i & 7) + 32 * (i >> 3), l / 4)),
    ("mma.sync.m16n8k32.s4.a", |l, i| (l / 4 + 8 * (i >> 3), 8 * (l % 4) + (i & 7))),
    ("mma.sync.m16n8k32.s4.b", |l, i| (8 * (l % 4) + i, l / 4)),
    ("mma.sync.m8n8k32.s4.a", |l, i| (l / 4, 8 * (l % 4) + i)),
    ("mma.sync.m8n8k32.s4.b", |l, i| (8 * (l % 4) + i, l / 4)),
    ("mma.sync.m8n8k4.f16.c.f16", |l, i| (l, i)),
    ("wgmma.m64n8.c", wgmma),
    ("wgmma.m64n24.c", wgmma),
    ("wgmma.m64n64.c", wgmma),
    ("wgmma.m64n96.c", wgmma),
    ("wgmma.m64n256.c", wgmma),
    // Each warp holds the mma.sync layout of its 16 rows.
    ("wgmma.m64k16.f16.a", |l, i| (16 * (l / 32) + l % 32 / 4 + 8 * ((i >> 1) & 1), 2 * (l % 4) + (i & 1) + 8 * (i >> 2))),
    ("wgmma.m64k8.tf32.a", |l, i| (16 * (l / 32) + l % 32 / 4 + 8 * (i & 1), l % 4 + 4 * (i >> 1))),
    ("wgmma.m64k32.e4m3.a", |l, i| (16 * (l / 32) + l % 32 / 4 + 8 * ((i >> 2) & 1), 4 * (l % 4) + (i & 3) + 16 * (i >> 3))),
    ("v_mfma_f32_16x16x16_f16.c", |l, i| (4 * (l / 16) + i, l % 16)),
    ("v_mfma_f32_32x32x8_f16.c", |l, i| (8 * (i / 4) + 4 * (l / 32) + i % 4, l % 32)),
    ("simdgroup_matrix.8x8.a", apple),
    ("simdgroup_matrix.8x8.b", apple),
    ("simdgroup_matrix.8x8.c", apple),
];

fn wgmma(tid: u32, i: u32) -> (u32, u32) {
    let (w, l) = (tid >> 5, tid & 31);
    (16 * w + (l >> 2) + 8 * ((i >> 1) & 1), 2 * (l & 3) + (i & 1) + 8 * (i >> 2))
}

/// The form in which MLX codes it: one row and two adjacent columns a lane.
fn apple(lane: u32, i: u32) -> (u32, u32) {
    let q = lane >> 2;
    ((q & 4) + ((lane >> 1) & 3), (q & 2) * 2 + (lane & 1) * 2 + i)
}

#[test]
fn digits_agree_with_the_formulas_of_the_sources() {
    for (name, formula) in FORMULAS {
        for (lane, slot, element) in find(name).layout.entries() {
            assert_eq!(element, Some(formula(lane as u32, slot as u32)), "{name}, lane {lane}, slot {slot}");
        }
    }
}

#[test]
fn matmul2d_of_the_m5_agrees_with_its_formulas() {
    let place = |lane: u32| {
        let q = lane >> 2;
        ((q & 4) | ((lane >> 1) & 3), ((q & 2) | (lane & 1)) * 4)
    };
    for (lane, i, element) in find("matmul2d.m5.m16n32k16.left").layout.entries() {
        let (fm, fn_) = place(lane as u32);
        let i = i as u32;
        assert_eq!(element, Some((fm + (i >> 2) * 8, fn_ + (i & 3))));
    }
    for name in ["matmul2d.m5.m16n32k16.right", "matmul2d.m5.m16n32k16.destination"] {
        for (lane, i, element) in find(name).layout.entries() {
            let (fm, fn_) = place(lane as u32);
            let i = i as u32;
            assert_eq!(element, Some((fm + ((i >> 2) & 1) * 8, fn_ + (i & 3) + (i >> 3) * 16)), "{name}");
        }
    }
    for (lane, i, element) in find("matmul2d.m5.m16n32k16.right.transposed").layout.entries() {
        let (fm, fn_) = place(lane as u32);
        let i = i as u32;
        assert_eq!(element, Some((fn_ + (i & 3), fm + ((i >> 2) & 1) * 8 + (i >> 3) * 16)));
    }
}

/// Bases as the sources list them: images of the lane bits, then of the slot bits.
type Bases = (&'static str, &'static [(u32, u32)], &'static [(u32, u32)]);

#[rustfmt::skip]
const BASES: [Bases; 24] = [
    ("mma.sync.m16n8k16.f16.a", &[(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], &[(0, 1), (8, 0), (0, 8)]),
    ("mma.sync.m16n8k16.f16.b", &[(2, 0), (4, 0), (0, 1), (0, 2), (0, 4)], &[(1, 0), (8, 0)]),
    ("mma.sync.m16n8.c", &[(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)], &[(0, 1), (8, 0)]),
    ("mma.sync.m16n8k8.tf32.a", &[(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)], &[(8, 0), (0, 4)]),
    ("mma.sync.m16n8k4.tf32.a", &[(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)], &[(8, 0)]),
    ("mma.sync.m16n8k16.f64.a", &[(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)], &[(8, 0), (0, 4), (0, 8)]),
    ("mma.sync.m16n8k16.f64.b", &[(1, 0), (2, 0), (0, 1), (0, 2), (0, 4)], &[(4, 0), (8, 0)]),
    ("mma.sync.m8n8k4.f64.a", &[(0, 1), (0, 2), (1, 0), (2, 0), (4, 0)], &[]),
    ("mma.sync.m16n8k32.s8.a", &[(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)], &[(0, 1), (0, 2), (8, 0), (0, 16)]),
    ("mma.sync.m16n8k32.s8.b", &[(4, 0), (8, 0), (0, 1), (0, 2), (0, 4)], &[(1, 0), (2, 0), (16, 0)]),
    ("mma.sync.m16n8k16.s8.a", &[(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)], &[(0, 1), (0, 2), (8, 0)]),
    ("mma.sync.m8n8k16.s8.a", &[(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)], &[(0, 1), (0, 2)]),
    ("mma.sync.m16n8k64.s4.a", &[(0, 8), (0, 16), (1, 0), (2, 0), (4, 0)], &[(0, 1), (0, 2), (0, 4), (8, 0), (0, 32)]),
    ("wgmma.m64n64.c", &[(0, 2), (0, 4), (1, 0), (2, 0), (4, 0), (16, 0), (32, 0)], &[(0, 1), (8, 0), (0, 8), (0, 16), (0, 32)]),
    ("v_mfma_f32_16x16x16_f16.a", &[(1, 0), (2, 0), (4, 0), (8, 0), (0, 4), (0, 8)], &[(0, 1), (0, 2)]),
    ("v_mfma_f32_16x16x16_f16.b", &[(0, 1), (0, 2), (0, 4), (0, 8), (4, 0), (8, 0)], &[(1, 0), (2, 0)]),
    ("v_mfma_f32_16x16x16_f16.c", &[(0, 1), (0, 2), (0, 4), (0, 8), (4, 0), (8, 0)], &[(1, 0), (2, 0)]),
    ("v_mfma_f32_32x32x8_f16.c", &[(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (4, 0)], &[(1, 0), (2, 0), (8, 0), (16, 0)]),
    ("v_mfma_f32_16x16x32_fp8_fp8.a", &[(1, 0), (2, 0), (4, 0), (8, 0), (0, 8), (0, 16)], &[(0, 1), (0, 2), (0, 4)]),
    ("v_mfma_f64_16x16x4_f64.c", &[(0, 1), (0, 2), (0, 4), (0, 8), (1, 0), (2, 0)], &[(4, 0), (8, 0)]),
    ("rdna3.v_wmma_f32_16x16x16_f16.a", &[(1, 0), (2, 0), (4, 0), (8, 0), (0, 0)], &[(0, 1), (0, 2), (0, 4), (0, 8)]),
    ("rdna3.v_wmma_f32_16x16x16_f16.c", &[(0, 1), (0, 2), (0, 4), (0, 8), (1, 0)], &[(2, 0), (4, 0), (8, 0)]),
    ("rdna4.v_wmma_f32_16x16x16_f16.c", &[(0, 1), (0, 2), (0, 4), (0, 8), (8, 0)], &[(1, 0), (2, 0), (4, 0)]),
    ("simdgroup_matrix.8x8.a", &[(0, 2), (1, 0), (2, 0), (0, 4), (4, 0)], &[(0, 1)]),
];

#[test]
fn bases_over_f2_are_those_of_the_sources() {
    for (name, lanes, slots) in BASES {
        let map = find(name).layout.affine().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(map.is_linear(), "{name}");
        assert_eq!((map.lanes.as_slice(), map.slots.as_slice()), (lanes, slots), "{name}");
    }
}

/// CuTe's layouts as `mma_traits` and its documents print them; B counts n first.
const CUTE: [(&str, &str); 13] = [
    ("wgmma.m64n64.c", "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))"),
    ("wgmma.m64n96.c", "((4,8,4),(2,2,12)):((128,1,16),(64,8,512))"),
    ("wgmma.m64n256.c", "((4,8,4),(2,2,32)):((128,1,16),(64,8,512))"),
    ("wgmma.m64k16.f16.a", "((4,8,4),(2,2,2)):((128,1,16),(64,8,512))"),
    ("wgmma.m64k8.tf32.a", "((4,8,4),(2,2)):((64,1,16),(8,256))"),
    ("wgmma.m64k32.e4m3.a", "((4,8,4),(4,2,2)):((256,1,16),(64,8,1024))"),
    ("mma.sync.m8n8k4.f16.c", "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))"),
    ("mma.sync.m16n8k64.s4.a", "((4,8),(8,2,2)):((128,1),(16,8,512))"),
    ("mma.sync.m16n8k32.s4.a", "((4,8),(8,2)):((128,1),(16,8))"),
    ("mma.sync.m8n8k32.s4.a", "((4,8),8):((64,1),8)"),
    ("mma.sync.m8n8k4.f16.c.f16", "(8,8):(1,8)"),
    ("mma.sync.m8n8k4.f16.a.tn", "(8,4):(1,8)"),
    ("mma.sync.m8n8k4.f16.b.nt", "((4,2),4):((8,4),1)"),
];

#[test]
fn cute_notation_is_that_of_the_sources_and_reads_back() {
    for (name, text) in CUTE {
        let published = find(name);
        let (extents, order) = ((published.layout.rows(), published.layout.cols()), IndexOrder::of(published.operand));
        assert_eq!(published.layout.mixed_radix().unwrap().cute(extents, order), text, "{name}");
        assert_eq!(Layout::from_cute(text, extents, order).as_ref(), Ok(&published.layout), "{name}");
    }
}

#[test]
fn every_published_layout_is_onto_and_only_the_known_one_broadcasts() {
    for published in library() {
        let coverage = published.layout.coverage();
        // Eight columns of tf32 are half a position a lane.
        let unused = if published.name == "wgmma.n8k8.tf32.b.shared" { 64 } else { 0 };
        assert!(coverage.is_onto() && coverage.unused == unused, "{}: {}", published.name, coverage.words());
        let broadcast = published.name == "rdna3.v_wmma_f32_16x16x16_f16.a";
        assert_eq!(!coverage.is_one_to_one(), broadcast, "{}", published.name);
        // A swizzle adds no digits, it takes their exclusive or.
        let swizzled = published.name.ends_with(".shared");
        assert_eq!(published.layout.mixed_radix().is_ok(), !swizzled, "{}", published.name);
        let power = published.layout.slots().is_power_of_two() && unused == 0;
        assert_eq!(published.layout.affine().is_ok(), power, "{}", published.name);
        assert!(!published.source.is_empty() && !published.device.is_empty() && !published.instruction.is_empty());
    }
    let broadcast = &find("rdna3.v_wmma_f32_16x16x16_f16.a").layout;
    assert_eq!(broadcast.affine().unwrap().kernel(), [(16, 0)]);
    assert_eq!(broadcast.affine().unwrap().rank(), 8);
    assert_eq!(broadcast.coverage().copied_lanes, (16..32).map(|lane| (lane, lane - 16)).collect::<Vec<_>>());
}

/// The trap of the sources: 16-bit A takes the column pair first and row + 8 before the high half of k, tf32 A row + 8 first.
/// Swapping them is still one-to-one and onto, and another map.
#[test]
fn the_order_of_slots_of_narrow_and_wide_a_differs() {
    let narrow = &find("mma.sync.m16n8k8.f16.a").layout;
    let wide = &find("mma.sync.m16n8k8.tf32.a").layout;
    assert!(narrow.coverage().is_one_to_one() && wide.coverage().is_one_to_one());
    assert_eq!((narrow.at(0, 1), wide.at(0, 1)), (Some((0, 1)), Some((8, 0))));
    assert_ne!(narrow, wide);
}

/// Elements worked out by hand from the manuals' pictures.
#[test]
fn hand_checked_elements() {
    #[rustfmt::skip]
    let checked = [
        ("mma.sync.m16n8k16.f16.a", 0, 2, (8, 0)), ("mma.sync.m16n8k16.f16.a", 31, 7, (15, 15)),
        ("mma.sync.m16n8k16.f16.a", 5, 4, (1, 10)), ("mma.sync.m16n8k16.f16.b", 6, 3, (13, 1)),
        ("mma.sync.m16n8.c", 13, 2, (11, 2)), ("mma.sync.m16n8k64.s4.a", 1, 16, (0, 40)),
        ("wgmma.m64n256.c", 127, 127, (63, 255)), ("wgmma.m64n24.c", 33, 5, (16, 11)),
        ("wgmma.m64k16.f16.a.shared", 8, 0, (4, 8)), ("wgmma.n8k16.f16.b.shared", 64, 0, (8, 4)),
        ("v_mfma_f32_32x32x8_f16.c", 33, 6, (14, 1)), ("v_mfma_f64_16x16x4_f64.c", 17, 1, (5, 1)),
        ("rdna3.v_wmma_f32_16x16x16_f16.c", 16, 3, (7, 0)), ("rdna4.v_wmma_f32_16x16x16_f16.c", 16, 3, (11, 0)),
        ("simdgroup_matrix.8x8.c", 9, 1, (0, 7)), ("simdgroup_matrix.8x8.c", 22, 0, (7, 0)),
    ];
    for (name, lane, slot, element) in checked {
        assert_eq!(find(name).layout.at(lane, slot), Some(element), "{name}, lane {lane}, slot {slot}");
    }
}

#[test]
fn fragments_are_products_and_the_lists_are_whole() {
    // Layouts of mma.sync and wgmma in one notation each, Volta's quadpairs and two widths of wgmma besides.
    let of = |start: &str| library().iter().filter(|l| l.name.starts_with(start)).count();
    assert_eq!(
        (of("mma.sync.m16"), of("mma.sync.m8n8k16"), of("mma.sync.m8n8k4.f64"), of("mma.sync.m8n8.c")),
        (19, 2, 2, 1)
    );
    assert_eq!((of("wgmma."), of("mma.sync.m8n8k4.f16"), of("v_mfma"), of("rdna"), of("simdgroup")), (17, 6, 6, 3, 3));
    assert_eq!(of("mma.sync.m8n8k32"), 2);
    for published in fragments() {
        let shape = published.fragment.shape();
        for operand in FragmentOperand::ALL {
            assert!(published.fragment.of(operand).coverage().is_onto(), "{} {operand}", published.name);
        }
        if let Some(mnk) = published.name.strip_prefix("mma.sync.") {
            let text = format!("m{}n{}k{}.", shape.m, shape.n, shape.k);
            assert!(mnk.starts_with(&text), "{} is {text}", published.name);
        }
    }
}
