//! Are the facts that were planted in simulated Metal devices found again by the probes?
//!
//! `RIGEL_METAL_DEVICES` sets how many devices are drawn.

#[path = "metal_host/mod.rs"]
mod metal_host;

use rigel_device::metal::alignment::{Outcome, STRIDES, sweep};
use rigel_device::metal::diagnostic::Meaning;
use rigel_device::metal::element::Element::*;
use rigel_device::metal::gpu::Gpu;
use rigel_device::metal::layout::{Told, shown, told};
use rigel_device::metal::level::{Language, Sdk};
use rigel_device::metal::modes::{Old, Semantics, semantics};
use rigel_device::metal::operation::{Mode, Operation, Scope};
use rigel_device::metal::probe::{Effective, SLICE_MODULUS, slice, versions};
use rigel_device::metal::product::Path;
use rigel_device::metal::scales::{self, Apart, Cut};
use rigel_device::metal::software::gpu::Simulated;
use rigel_device::metal::software::planted::{Alignment, BaseTile, Misaligned, Planted, Slice};
use rigel_device::metal::tails::{ASKED, Tail, tail};
use rigel_device::metal::text::Kernel;
use rigel_device::metal::traps::{Trap, spring};
use rigel_device::metal::triples::Types;
use rigel_device::metal::usage::Usage;

const HALF: Types = Types::new(Half, Half, Float);

/// Devices that are drawn.
fn devices() -> u64 {
    std::env::var("RIGEL_METAL_DEVICES").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}

fn cooperative() -> Operation {
    Operation { step: 32, scope: Scope::SimdGroups(1), mode: Mode::MultiplyAccumulate, ..Operation::new(HALF, 16, 32) }
}

/// Where the host says that base tiles put an element: tiles one after another along columns, or along rows.
fn expected(base: &BaseTile, rows: usize, cols: usize, groups: usize) -> Vec<Vec<Option<[usize; 2]>>> {
    let (high, wide) = (1 << base.bits.0, 1 << base.bits.1);
    let (down, across, each) = (rows.div_ceil(high), cols.div_ceil(wide), high * wide / 32);
    let capacity = (down * across).div_ceil(groups) * each;
    let place = |group: usize, lane: usize, slot: usize| {
        let tile = slot / each * groups + group;
        let (r, c) = if base.along_rows { (tile % down, tile / down) } else { (tile / across, tile % across) };
        let (row, col) = base.at(lane, slot % each);
        let (row, col) = (r * high + row, c * wide + col);
        (tile < down * across && row < rows && col < cols).then_some([row, col])
    };
    (0..32 * groups).map(|l| (0..capacity).map(|slot| place(l / 32, l % 32, slot)).collect()).collect()
}

/// What is told must be the map that was planted, and coordinates in the order that was planted.
fn layout_differs(
    told: &Told,
    operand: usize,
    base: &BaseTile,
    row_first: bool,
    (rows, cols, groups): (usize, usize, usize),
) -> bool {
    let expected = expected(base, rows, cols, groups);
    let ordered = |place: [usize; 2]| {
        if row_first { [place[0] as i32, place[1] as i32] } else { [place[1] as i32, place[0] as i32] }
    };
    told.lanes
        .iter()
        .zip(&expected)
        .any(|(lane, expected)| lane[operand] != expected.iter().map(|place| place.map(ordered)).collect::<Vec<_>>())
}

fn alignment_differs(gpu: &mut Simulated, path: Path, usage: Usage, rules: &[Alignment]) -> Option<String> {
    let seen = sweep(gpu, path, HALF, usage).unwrap();
    // One rule after another: what is refused is refused, rows that are read elsewhere meet the next rule there, and slow shows least.
    let expected = STRIDES.map(|stride| {
        let (mut bytes, mut all) = (stride as i64, Vec::new());
        for rule in rules {
            all.push(rule.at(bytes));
            if all.ends_with(&[Misaligned::Wrong]) {
                bytes -= bytes % i64::from(rule.bytes);
            }
        }
        let worst = [Misaligned::Refused, Misaligned::Wrong, Misaligned::Slow];
        (stride, worst.into_iter().find(|outcome| all.contains(outcome)).unwrap_or(Misaligned::Fine))
    });
    let same = |seen: &Outcome, expected: Misaligned| {
        matches!(
            (seen, expected),
            (Outcome::Refused(_), Misaligned::Refused)
                | (Outcome::Wrong, Misaligned::Wrong)
                | (Outcome::Slow, Misaligned::Slow)
                | (Outcome::Fine, Misaligned::Fine)
        )
    };
    let differs =
        seen.iter().zip(expected).any(|((stride, seen), (at, expected))| *stride != at || !same(seen, expected));
    differs.then(|| format!("{path:?} {usage:?} {rules:?}: {seen:?}"))
}

fn slices_differ(gpu: &mut Simulated, planted: &Planted) -> Option<String> {
    let (columns, rows, column, row) = (64, 48, 24, 16);
    let near = slice(gpu, (columns, rows), (column, row)).unwrap();
    let extents = if planted.slice == Slice::Original { (columns, rows) } else { (columns - column, rows - row) };
    let begins = if planted.slice == Slice::Unmoved { 0 } else { row * columns + column };
    let near_differs = near.extents != extents || near.begins_at != begins % SLICE_MODULUS;
    // Far from the base: elements of two bytes in rows of 4096.
    let far_row = 60;
    let far = slice(gpu, (4096, far_row + 2), (0, far_row)).unwrap();
    let moved = if planted.slice == Slice::Unmoved { 0 } else { far_row * 4096 };
    let limit = planted.slice_limit as u32 / 2;
    let lands = if limit > 0 && moved >= limit { moved - limit } else { moved };
    let far_differs = far.begins_at != lands % SLICE_MODULUS;
    (near_differs || far_differs).then(|| format!("{:?} limit {limit}: {near:?}, {far:?}", planted.slice))
}

#[test]
fn drawn_devices_are_recovered() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let mut gpu = metal_host::simulated(clang, Sdk::V27_0, Planted::PLAIN);
    let wide = Operation { scope: Scope::SimdGroups(3), ..Operation::new(HALF, 40, 48) };
    let listed: Vec<Types> = Types::listed().map(|(_, types)| types).collect();
    let gate_of = |types: &Types| {
        let operation = Operation { step: 32, ..Operation::new(*types, 16, 32) };
        Kernel::Matmul2d(operation, Default::default()).source(Language::V4_1)
    };
    let gates: Vec<_> = listed.iter().step_by(9).map(|types| (*types, gate_of(types))).collect();
    gpu.prepare(&gates.iter().map(|(_, source)| source.clone()).collect::<Vec<_>>()).unwrap();
    let mut wrong = Vec::new();
    for index in 0..devices() {
        let planted = Planted::drawn(2026, index);
        gpu.plant(planted).unwrap();
        gpu.gated = gates
            .iter()
            .enumerate()
            .filter(|(i, _)| (index >> (i % 6)) & 1 == 1)
            .map(|(_, (types, _))| *types)
            .collect();
        let mut say =
            |what: &str, differs: Option<String>| wrong.extend(differs.map(|d| format!("device {index}, {what}: {d}")));
        let lanes = told(&mut gpu, &cooperative()).unwrap();
        for (operand, base, rows, cols) in
            [(0, &planted.left, 16, 32), (1, &planted.right, 32, 32), (2, &planted.destination, 16, 32)]
        {
            let differs = layout_differs(&lanes, operand, base, planted.row_first, (rows, cols, 1));
            say("layout", differs.then(|| format!("operand {operand} of {base:?}")));
        }
        let lanes = told(&mut gpu, &wide).unwrap();
        let differs = layout_differs(&lanes, 2, &planted.destination, planted.row_first, (40, 48, 3));
        say("layout over SIMD-groups, with dead slots", differs.then(|| format!("{:?}", planted.destination)));
        let matrix = shown(&mut gpu).unwrap();
        let differs = (0..64).find(|i| {
            let (row, col) = planted.matrix.at(i / 2, i % 2);
            matrix.at(i / 2, i % 2) != Some((row as u32, col as u32))
        });
        say("layout of simdgroup_matrix", differs.map(|i| format!("lane {} slot {}", i / 2, i % 2)));
        let old = |adds| if adds { Old::Added } else { Old::Overwritten };
        let expected = Semantics { tensor: old(planted.accumulates.0), cooperative: old(planted.accumulates.1) };
        // The sweep and the slices are read through plain tensors; a rule that refuses or misreads those is planted apart.
        let seen = semantics(&mut gpu, Mode::Multiply);
        say("modes", (seen != Ok(expected)).then(|| format!("{seen:?}")));
        let adds = semantics(&mut gpu, Mode::MultiplyAccumulate);
        say(
            "modes",
            (adds != Ok(Semantics { tensor: Old::Added, cooperative: Old::Added })).then(|| format!("{adds:?}")),
        );
        say("slices", slices_differ(&mut gpu, &planted));
        let readable = Planted { slice: Slice::Remaining, slice_limit: 0, ..planted };
        gpu.plant(readable).unwrap();
        say("alignment", alignment_differs(&mut gpu, Path::Inline, Usage::Compute, &[planted.inlined]));
        for usage in Usage::ALL {
            let rules = [planted.handle, planted.machine_learning];
            let rules = if usage == Usage::MachineLearning { &rules[..] } else { &rules[..1] };
            say("alignment", alignment_differs(&mut gpu, Path::Handle, usage, rules));
        }
        let cut = [false, true].map(|slices| scales::product(&mut gpu, slices));
        let of_slices = if planted.scales_stay { Cut::Wrong } else { Cut::Right };
        say("scales of slices", (cut != [Ok(Cut::Right), Ok(of_slices)]).then(|| format!("{cut:?}")));
        let apart = if planted.scales_by_stride { Apart::ByStride } else { Apart::ByExtent };
        let seen = scales::distance(&mut gpu);
        say("rows of scales", (seen != Ok(apart)).then(|| format!("{seen:?}")));
        for (types, source) in &gates {
            let library = gpu.compile(source).unwrap();
            let loads = gpu.pipeline(library, "matmul2d_gemm").is_ok();
            let gated = gpu.gated.contains(types);
            say("gates", (loads == gated).then(|| format!("{types:?} loads: {loads}")));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} facts are not found again:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(12)].join("\n")
    );
}

#[test]
fn traps_are_refused_in_the_words_of_their_rule_and_the_edits_compile() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    for sdk in [Sdk::V26_1, Sdk::V27_0] {
        let mut gpu = metal_host::simulated(clang, sdk, Planted::PLAIN);
        for trap in Trap::ALL {
            match spring(&mut gpu, trap) {
                Err(why) => assert!(trap.language() > sdk.language() && why.contains("4.1"), "{sdk} {trap:?}: {why}"),
                Ok(sprung) => {
                    let seen = (!sprung.words.is_empty()).then(|| Meaning::of(&sprung.words));
                    assert_eq!(seen, trap.expected(sdk), "{sdk} {trap:?}: {}", sprung.words);
                    assert_eq!(sprung.mended, "", "{sdk} {trap:?}");
                }
            }
        }
    }
}

#[test]
fn tails_of_k_read_nothing_behind_and_a_device_that_moves_no_slice_is_seen() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let mut gpu = metal_host::simulated(clang, Sdk::V27_0, Planted::PLAIN);
    for (k, step) in ASKED {
        assert_eq!(tail(&mut gpu, Path::Inline, k, step), Ok(Tail::Right), "{k} in steps of {step}");
    }
    gpu.plant(Planted { slice: Slice::Unmoved, ..Planted::PLAIN }).unwrap();
    assert_eq!(tail(&mut gpu, Path::Inline, 40, 32), Ok(Tail::Wrong));
}

#[test]
fn the_language_version_that_took_effect_is_told() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    for sdk in Sdk::ALL {
        let mut gpu = metal_host::simulated(clang, sdk, Planted::PLAIN);
        for language in Language::LADDER {
            let told = versions(&mut gpu, language);
            if language > sdk.language() {
                assert!(told.unwrap_err().contains("invalid value 'metal4.1'"), "{sdk}");
                continue;
            }
            let (tensor, planes) = (language >= Language::V4_0, language >= Language::V4_1);
            let expected = Effective { language: language.macro_value(), minimum_os: sdk.minimum_os(), tensor, planes };
            assert_eq!(told, Ok(expected), "{sdk} {language}");
        }
    }
}
