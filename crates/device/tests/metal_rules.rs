//! Does everything that ships compile, and is everything that the vendor refuses refused, with the rule's name?

#[path = "metal_host/mod.rs"]
mod metal_host;

use metal_host::lint::lint;
use metal_host::refusals::{rules, text};
use rayon::prelude::*;
use rigel_device::metal::element::Element::*;
use rigel_device::metal::level::{Language, Sdk};
use rigel_device::metal::operation::Operation;
use rigel_device::metal::software::compiler::Target;
use rigel_device::metal::text::{FILES, Finish, Kernel, Placement, Reach};
use rigel_device::metal::traps::Trap;
use rigel_device::metal::triples::Types;

/// A kernel of each file and each branch of its constants.
fn kernels() -> Vec<(Kernel, Sdk)> {
    let half = Operation::new(Types::new(Half, Half, Float), 16, 32);
    let step = half.with_tile("16x32k32s1").unwrap();
    let fp8 = Operation { types: Types::new(E4m3, E4m3, Float), transpose_right: true, ..step };
    let mx = Operation { types: Types::new(Mxe4m3, Mxe4m3, Float), ..fp8 };
    let cooperative = Placement { cooperative: true, ..Placement::default() };
    let fused = Placement { finish: Finish::BiasGelu, ..cooperative };
    let biased = Placement { finish: Finish::Bias, ..cooperative };
    let scaled = Placement { scaled: (true, true), ..Placement::default() };
    let handle = Placement { handle: true, ..Placement::default() };
    let types = half.types;
    vec![
        (Kernel::Roofline { element: Half, chains: 8 }, Sdk::V26_1),
        (Kernel::Tiled { types, tile: 16 }, Sdk::V26_1),
        (Kernel::Tiled { types: Types::new(Int8, Int8, Int32), tile: 16 }, Sdk::V26_1),
        (Kernel::CeilingSimdGroup { types, chains: 4 }, Sdk::V26_1),
        (Kernel::CeilingMatmul2d { operation: step, fragments: false, chains: 3 }, Sdk::V26_1),
        (Kernel::CeilingMatmul2d { operation: step, fragments: true, chains: 2 }, Sdk::V26_5),
        (Kernel::CeilingMatmul2d { operation: fp8, fragments: false, chains: 1 }, Sdk::V27_0),
        (Kernel::Scalar { types, tile: 16 }, Sdk::V26_1),
        (Kernel::SimdGroup { types, owned: (2, 2), groups: 2, finish: Finish::None }, Sdk::V26_1),
        (Kernel::SimdGroup { types, owned: (2, 2), groups: 2, finish: Finish::Bias }, Sdk::V26_1),
        (Kernel::SimdGroup { types, owned: (2, 2), groups: 2, finish: Finish::BiasGelu }, Sdk::V26_1),
        (Kernel::Matmul2d(half, Placement::default()), Sdk::V26_1),
        (Kernel::Matmul2d(step, handle), Sdk::V26_1),
        (Kernel::Matmul2d(step, cooperative), Sdk::V26_1),
        (Kernel::Matmul2d(half, fused), Sdk::V26_5),
        (Kernel::Matmul2d(half, biased), Sdk::V26_1),
        (Kernel::Matmul2d(fp8, scaled), Sdk::V27_0),
        (Kernel::UnitMatmul2d(step, Reach::Registers), Sdk::V26_5),
        (Kernel::UnitMatmul2d(step, Reach::Inline), Sdk::V26_1),
        (Kernel::UnitMatmul2d(step, Reach::Handle), Sdk::V26_1),
        (Kernel::UnitMatmul2d(fp8, Reach::Inline), Sdk::V27_0),
        (Kernel::UnitMatmul2d(mx, Reach::Inline), Sdk::V27_0),
        (Kernel::UnitSimdGroup(types), Sdk::V26_1),
        (Kernel::Layout(step, true), Sdk::V26_5),
        (Kernel::Layout(half, false), Sdk::V26_1),
        (Kernel::Gelu(Half), Sdk::V26_1),
        (Kernel::AttentionScalar { types: (Half, Float), head: 64 }, Sdk::V26_1),
        (Kernel::AttentionMatmul2d { types: (Half, Float), head: 64, rows: 16, keys: 32 }, Sdk::V26_1),
        (Kernel::Softmax(Half), Sdk::V26_1),
        (Kernel::Slices(Half), Sdk::V26_1),
        (Kernel::Versions, Sdk::V26_1),
    ]
    .into_iter()
    .chain(Trap::ALL.map(|trap| {
        let since = if trap.language() > Language::V4_0 { Sdk::V27_0 } else { Sdk::V26_1 };
        (Kernel::Trap(trap, true), since)
    }))
    .collect()
}

#[test]
fn every_file_compiles_from_its_first_header_on() {
    let kernels = kernels();
    for (name, _) in FILES {
        assert!(kernels.iter().any(|(kernel, _)| kernel.file() == name), "{name} is in no test");
    }
    for (kernel, _) in &kernels {
        let source = kernel.source(kernel.language());
        match (kernel, lint(&source.text)) {
            (Kernel::Trap(..), said) => assert!(said.unwrap_err().contains("remove_addrspace_t"), "a trap for it"),
            (_, said) => said.unwrap_or_else(|rule| panic!("{}: {rule}", source.name)),
        }
    }
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let pairs: Vec<(&Kernel, Sdk)> = kernels
        .iter()
        .flat_map(|(k, since)| Sdk::ALL.into_iter().filter(move |sdk| sdk >= since).map(move |sdk| (k, sdk)))
        .collect();
    let wrong: Vec<String> = pairs
        .par_iter()
        .filter_map(|(kernel, sdk)| {
            let source = kernel.source(sdk.language());
            clang
                .check(&source.text, Target::of(*sdk))
                .err()
                .map(|words| format!("{} under {sdk}: {words}", source.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn kernels_without_tensors_compile_in_older_languages() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    for (kernel, _) in kernels().iter().filter(|(k, _)| k.language() == Language::V3_1) {
        for language in [Language::V3_1, Language::V3_2] {
            let target = Target { language: language.macro_value(), ..Target::of(Sdk::V26_1) };
            let source = kernel.source(language);
            clang.check(&source.text, target).unwrap_or_else(|words| panic!("{} in {language}: {words}", source.name));
        }
    }
}

#[test]
fn every_rule_refuses_with_its_words_and_takes_the_smallest_edit() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    let rules = rules();
    assert!(rules.len() >= 50, "{}", rules.len());
    let wrong: Vec<String> = rules
        .par_iter()
        .flat_map_iter(|rule| {
            let target = Target::of(rule.header());
            let refused = match clang.check(&text(rule.refused), target) {
                Ok(()) => Some(format!("{}: not refused", rule.name)),
                Err(words) if words.contains(rule.words) => None,
                Err(words) => Some(format!("{}: refused in other words: {}", rule.name, errors(&words))),
            };
            let accepted = clang.check(&text(rule.accepted), target).err();
            let accepted = accepted.map(|words| format!("{}: the edit is refused: {}", rule.name, errors(&words)));
            refused.into_iter().chain(accepted)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn errors(words: &str) -> String {
    words.lines().filter(|line| line.contains("error:")).take(3).collect::<Vec<_>>().join(" | ")
}

#[test]
fn rules_that_hang_on_more_than_the_header() {
    let Some(clang) = metal_host::clang_or_skip() else { return };
    // An 8 × 8 tile, as 26.1 takes it and later headers do not.
    let small = text("matmul2d<D(8, 8, 8), execution_simdgroup> op; op.run(A, B, C);");
    assert_eq!(clang.check(&small, Target::of(Sdk::V26_1)), Ok(()));
    assert!(clang.check(&small, Target::of(Sdk::V26_5)).is_err());
    // fp8 under the newest header for an older system: the old dispatch has no such row.
    let fp8 = text(
        "In<metal_fp8_e4m3_format> W(bytes, P(64, 64)); matmul2d<D(16, 16, 32), execution_simdgroup> op; op.run(A, W, C);",
    );
    let newest = Target::of(Sdk::V27_0);
    assert_eq!(clang.check(&fp8, newest), Ok(()));
    let words = clang.check(&fp8, Target { minimum_os: 260_500, ..newest }).unwrap_err();
    assert!(words.contains("Unsupported type"), "{}", errors(&words));
    // Below language 4.0 the header is empty.
    let words = clang.check(&small, Target { language: 320, ..newest }).unwrap_err();
    assert!(words.contains("mpp"), "{}", errors(&words));
}

#[test]
fn the_lint_refuses_what_the_language_has_not() {
    let refused = [
        ("float f() { double x = 1; return x; }", "no double"),
        ("float f() { try { return 1; } catch (...) { return 0; } }", "no exceptions"),
        ("void f() { throw 1; }", "no exceptions"),
        ("struct S { virtual int f() { return 1; } };", "no virtual functions"),
        ("int f(int n) { return n ? f(n - 1) : 0; }", "no recursion"),
        ("int g(int n);\nint f(int n) { return g(n); }\nint g(int n) { return f(n); }", "no recursion"),
        ("float f() { return std::sqrt(2.0f); }", "no standard C++ library"),
        ("int f(int (*g)(int)) { return 1; }", "no function pointers"),
        ("void f() { int *p = new int; }", "no allocation"),
        ("void f() { goto end; end: return; }", "no goto"),
        (
            "void f() { op.get_destination_cooperative_tensor<decltype(a), decltype(b), float>(); }",
            "remove_addrspace_t",
        ),
    ];
    for (text, rule) in refused {
        let said = lint(text).expect_err(text);
        assert!(said.contains(rule) && said.starts_with("line "), "{text}: {said}");
    }
    let accepted = [
        "// a double, std:: and a virtual one\nfloat f(float x) { return x; }\nfloat g(float x) { return f(f(x)); }",
        "/* try */ int f(int *p) { return (*p); }",
        "void f() { op.get_destination_cooperative_tensor<remove_addrspace_t<decltype(a)>, In, float>(); }",
        "int doubled(int news) { return news * 2; }",
    ];
    for text in accepted {
        assert_eq!(lint(text), Ok(()), "{text}");
    }
}
