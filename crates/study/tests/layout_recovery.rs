//! Are planted layouts recovered from registers alone, and hostile units refused?

mod planted_layout;

use planted_layout::draw::{FAMILIES, Family, draw};
use planted_layout::{Copies, Flaw, Planted};
use rigel_numerics::layout::{Fragment, FragmentOperand, Layout, PublishedLayout, fragments, library};
use rigel_numerics::{Format, Triple};
use rigel_study::layouts::{Agreement, Numbering, Recovered, Unrecovered, recover};

const HALF: Triple = Triple::new(Format::F16, Format::F16, Format::F32);

/// Whether a recovered layout is the planted one in every register that a product reads, and in every register of D.
fn check(planted: &Planted, recovered: &Recovered) -> Result<(), String> {
    let said = |operand: FragmentOperand, lane: usize, slot: usize| Err(format!("{operand}, lane {lane}, slot {slot}"));
    if recovered.published != Some(true) || recovered.parts != planted.parts() {
        return Err(format!("{:?}, {} parts of {}", recovered.published, recovered.parts, planted.parts()));
    }
    for operand in FragmentOperand::ALL {
        let (layout, seen) = (planted.fragment.of(operand), recovered.fragment.of(operand));
        let read = match operand {
            FragmentOperand::C => vec![true; layout.table().len()],
            _ => planted.reads(operand),
        };
        for ((lane, slot, element), read) in layout.entries().zip(read) {
            if seen.at(lane, slot) != element.filter(|_| read) {
                return said(operand, lane, slot);
            }
            if operand == FragmentOperand::C && recovered.addend.at(lane, slot) != element {
                return said(operand, lane, slot);
            }
        }
    }
    Ok(())
}

fn recovered(planted: &mut Planted) -> Recovered {
    let fragment = planted.fragment.clone();
    let found = recover(planted, Numbering::Published(&fragment), 1).unwrap_or_else(|e| panic!("{e}"));
    check(planted, &found).unwrap_or_else(|e| panic!("{e}"));
    found
}

#[test]
fn planted_layouts_of_every_family_are_recovered() {
    for family in FAMILIES {
        for seed in 0..12 {
            let mut planted = draw(family, false, seed);
            let (fragment, shape) = (planted.fragment.clone(), planted.fragment.shape());
            let name = format!("{family:?} {seed}: {shape}, {} lanes, {:?}", fragment.lanes(), planted.copies);
            let found =
                recover(&mut planted, Numbering::Published(&fragment), seed).unwrap_or_else(|e| panic!("{name}: {e}"));
            check(&planted, &found).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

#[test]
fn an_operand_of_128_lanes_and_128_slots_takes_at_most_64_launches() {
    let mut planted = draw(Family::Bases, true, 1);
    planted.spec.triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);
    planted.copies = Copies::First;
    let spent = recovered(&mut planted).launches;
    for launches in [spent.a, spent.b, spent.c, spent.d] {
        assert!(launches <= 64, "{spent:?}");
    }
    assert!(spent.confirmation >= 2 * planted.fragment.shape().k, "every slot is asked again: {spent:?}");
}

/// Numbers by first appearance: the published map up to renumbering, and still linear where the published one is.
#[test]
fn published_fragments_are_recovered_up_to_renumbering() {
    for published in fragments() {
        let mut planted = Planted::new(published.fragment.clone(), HALF, Copies::First, Flaw::None);
        let found =
            recover(&mut planted, Numbering::Appearance, 7).unwrap_or_else(|e| panic!("{}: {e}", published.name));
        assert!(matches!(found.agreement(&published.fragment), Agreement::Same(_)), "{}", published.name);
        assert_eq!((found.published, found.parts), (None, 1));
        for operand in FragmentOperand::ALL {
            let rank = |f: &Fragment| f.of(operand).affine().map(|map| map.rank());
            let full = published.fragment.of(operand).coverage().unused == 0;
            assert_eq!(rank(&published.fragment).is_ok(), full, "{} {operand}", published.name);
            assert_eq!(rank(&found.fragment).ok(), rank(&published.fragment).ok(), "{} {operand}", published.name);
        }
        let exact = recovered(&mut planted);
        assert_eq!(exact.fragment, published.fragment, "{}", published.name);
        assert_eq!(exact.addend, published.fragment.c);
    }
}

fn find(name: &str) -> &'static PublishedLayout {
    library().iter().find(|l| l.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// A fragment around one published layout; what the sources do not give is made up here.
fn around(published: &PublishedLayout) -> Fragment {
    let (layout, lanes) = (&published.layout, published.layout.lanes());
    let plain = |rows: usize, cols: usize| {
        let slots = (rows * cols).div_ceil(lanes);
        let element = |lane: u32, slot: u32| {
            let i = slot as usize * lanes + lane as usize;
            (i < rows * cols).then_some(((i / cols) as u32, (i % cols) as u32))
        };
        Layout::from_fn((rows, cols), (lanes, slots), element).unwrap()
    };
    let (a, b, c) = match published.operand {
        FragmentOperand::A => (layout.clone(), plain(layout.cols(), 8), plain(layout.rows(), 8)),
        FragmentOperand::B => (plain(8, layout.rows()), layout.clone(), plain(8, layout.cols())),
        FragmentOperand::C => (plain(layout.rows(), 8), plain(8, layout.cols()), layout.clone()),
    };
    Fragment::new(a, b, c).unwrap()
}

#[test]
fn every_published_layout_is_recovered_alone() {
    for published in library() {
        let mut planted = Planted::new(around(published), HALF, Copies::First, Flaw::None);
        let found = recovered(&mut planted);
        let read = planted.reads(published.operand);
        if read.iter().all(|&read| read) {
            assert_eq!(found.fragment.of(published.operand), &published.layout, "{}", published.name);
        }
    }
}

/// RDNA3's A in two readings of its broadcast: copies ignored, and copies that serve a half of the columns each.
#[test]
fn copies_are_recovered_where_they_are_read() {
    let fragment = around(find("rdna3.v_wmma_f32_16x16x16_f16.a"));
    let mut ignored = Planted::new(fragment.clone(), HALF, Copies::First, Flaw::None);
    let found = recovered(&mut ignored);
    assert_eq!(found.fragment.a.coverage().unused, 256);
    assert!(matches!(found.agreement(&fragment), Agreement::SameWhereRead { unread: 256, .. }));
    let mut halves = Planted::new(fragment.clone(), HALF, Copies::OfAByColumn, Flaw::None);
    let found = recovered(&mut halves);
    assert_eq!((found.parts, &found.fragment), (2, &fragment));
    assert!(matches!(found.agreement(&fragment), Agreement::Same(_)));
    assert!(found.convention().contains("one of 2 independent parts"));
}

/// Another map than the published one is recovered as it is, and said to be another.
#[test]
fn a_layout_that_is_not_the_published_one_is_told_apart() {
    let narrow = fragments().iter().find(|f| f.name == "mma.sync.m16n8k8.f16").unwrap().fragment.clone();
    let wide = fragments().iter().find(|f| f.name == "mma.sync.m16n8k8.tf32").unwrap().fragment.clone();
    let mut planted = Planted::new(wide.clone(), HALF, Copies::First, Flaw::None);
    let found = recover(&mut planted, Numbering::Published(&narrow), 1).unwrap();
    assert_eq!(found.published, Some(false));
    assert!(matches!(found.agreement(&narrow), Agreement::Different(_)));
    assert!(matches!(found.agreement(&wide), Agreement::Same(_)));
}

/// One lane wrong, one element wrong, answers that change, a map that is no function: never a map.
#[test]
fn hostile_units_are_refused_with_a_place() {
    let mma = &fragments().iter().find(|f| f.name == "mma.sync.m16n8k16.f16").unwrap().fragment;
    let ask = |flaw| {
        let mut planted = Planted::new(mma.clone(), HALF, Copies::First, flaw);
        recover(&mut planted, Numbering::Appearance, 3).expect_err("a hostile unit has no layout")
    };
    let dead = ask(Flaw::DeadLane(5));
    assert!(matches!(dead, Unrecovered::Outputs { .. }), "{dead}");
    assert!(
        dead.to_string()
            .contains("no register holds the element in the row of lane 4, slot 0 and the column of lane 1"),
        "{dead}"
    );
    assert!(matches!(ask(Flaw::LaneTooLarge(9)), Unrecovered::Zeros { lane: 9, slot: 0, .. }));
    assert!(matches!(ask(Flaw::WrongElement), Unrecovered::Outputs { .. }));
    for once in [1, 2, 10, 100] {
        let said = ask(Flaw::Once(once));
        let honest =
            matches!(said, Unrecovered::Unsteady { .. } | Unrecovered::Contradicted { .. } | Unrecovered::Zeros { .. });
        assert!(
            honest
                || matches!(said, Unrecovered::Reading { .. } | Unrecovered::Outputs { .. } | Unrecovered::Ones { .. }),
            "{once}: {said}"
        );
    }
    let two = ask(Flaw::TwoRows);
    assert!(
        matches!(two, Unrecovered::NotOneElement { .. } | Unrecovered::Reading { .. } | Unrecovered::Ones { .. }),
        "{two}"
    );
    for flaw in [Flaw::ByData, Flaw::ByZeros] {
        let said = ask(flaw);
        let refused = matches!(
            said,
            Unrecovered::Contradicted { .. }
                | Unrecovered::NotOneElement { .. }
                | Unrecovered::Reading { .. }
                | Unrecovered::Inner { .. }
        );
        assert!(refused, "{flaw:?}: {said}");
    }
}

#[test]
fn units_without_registers_are_refused() {
    let mma = &fragments()[0].fragment;
    let mut planted = Planted::new(mma.clone(), HALF, Copies::First, Flaw::None);
    planted.spec.fragments = None;
    let said = recover(&mut planted, Numbering::Appearance, 1).unwrap_err();
    assert_eq!(said.to_string(), "unit planted cannot be reached by registers");
    planted.spec =
        Planted::new(mma.clone(), Triple::new(Format::E8m0, Format::F16, Format::F32), Copies::First, Flaw::None).spec;
    let said = recover(&mut planted, Numbering::Appearance, 1).unwrap_err();
    assert!(matches!(said, Unrecovered::Format { operand: FragmentOperand::A, format: Format::E8m0 }), "{said}");
}
