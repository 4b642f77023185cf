//! Is every possible truth read back as it was written, and every impossible one refused in clear words?

mod planted;

use planted::*;
use proptest::prelude::*;
use rigel_device::backends;
use rigel_device::sim::{BUILT_IN, BadTruth, Family, SimDevice, Truth};
use rigel_device::{Cache, Device, GemmSpec, Kind};
use rigel_numerics::Shape;

#[test]
fn built_in_truths_are_valid_listed_and_marked_simulated() {
    let sim = backends::BACKENDS.iter().find(|b| b.name == "sim").unwrap();
    assert_eq!((sim.find)().unwrap().len(), BUILT_IN.len());
    let mut ids = Vec::new();
    for selector in (sim.find)().unwrap() {
        let device = backends::open(&selector).unwrap_or_else(|e| panic!("{e}"));
        let about = device.describe();
        assert_eq!((about.kind, about.backend.as_str()), (Kind::Simulated, "sim"));
        assert!(!ids.contains(&about.id), "{} again", about.id);
        ids.push(about.id);
        for offer in device.offers() {
            assert!(!device.tiles(&offer.path, offer.triple).is_empty());
            assert_eq!(offer.has_ceiling, !device.ceiling_variants(&offer.path, offer.triple).is_empty());
        }
    }
}

#[test]
fn truths_survive_toml() {
    let drawn = |s: u64| [Truth::draw(s, Family::Clocks), Truth::draw(s, Family::Verdicts { ratio: 1.5 })];
    let built_in = BUILT_IN.iter().map(|(_, text)| Truth::parse(text).unwrap());
    for truth in built_in.chain((0..20).flat_map(drawn)) {
        let text = truth.to_toml();
        assert_eq!(Truth::parse(&text).as_ref(), Ok(&truth), "{text}");
    }
}

#[test]
fn a_truth_in_a_file_is_opened_by_its_path() {
    let file = std::env::temp_dir().join(format!("rigel-sim-truth-{}.toml", std::process::id()));
    std::fs::write(&file, text("")).unwrap();
    let selector = format!("sim:{}", file.display());
    let name = backends::open(&selector).map(|d| d.describe().name);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(name, Ok("Planted".into()));
    let gone = backends::open(&selector).err().unwrap();
    assert!(gone.contains("cannot read") && gone.contains(&selector), "{gone}");
    let unknown = backends::open("sim:nobody").err().unwrap();
    assert!(unknown.contains("two-clocks") && unknown.contains("sim:PATH.toml"), "{unknown}");
}

#[test]
fn a_bad_truth_in_a_file_is_refused_with_file_line_key_and_what_is_allowed() {
    let good = text("");
    let line = |of: &str| 1 + good.lines().position(|line| line.starts_with(of)).unwrap();
    for (from, to, at, words) in [
        ("cores = 4", "cores = \"four\"", line("cores"), &["`cores`", "invalid type", "expected u32"][..]),
        ("cores = 4", "cores = 0", line("cores"), &["`cores` is 0; allowed: at least 1"]),
        ("cores = 4", "coers = 4", line("cores"), &["unknown field `coers`", "expected one of", "`cores`"]),
        ("cores = 4", "cores = ", line("cores"), &["`cores`"]),
        ("rate = ", "rate = -", line("rate"), &["`path[0].triple[0].rate` is -", "allowed: 1e0 to"]),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good, "{from}");
        let file = std::env::temp_dir().join(format!("rigel-sim-bad-truth-{}.toml", std::process::id()));
        std::fs::write(&file, bad).unwrap();
        let said = backends::open(&format!("sim:{}", file.display())).err().unwrap();
        std::fs::remove_file(&file).unwrap();
        let place = format!("{}:{at}: ", file.display());
        assert!(said.starts_with(&place) && !said.contains('\n'), "{place} does not begin:\n{said}");
        for word in words {
            assert!(said.contains(word), "no `{word}` in: {said}");
        }
    }
}

/// The error that a truth with these lines gets.
fn refused(more: &str) -> String {
    match Truth::parse(&text(more)) {
        Ok(_) => panic!("accepted: {more}"),
        Err(e) => e.to_string(),
    }
}

#[test]
fn impossible_truths_name_the_key_and_what_is_allowed() {
    for (more, words) in [
        ("rates = 1", &["unknown field `rates`", "half_extent", "line "][..]),
        ("half_extent = -1.0", &["path[0].triple[0].half_extent", "-1", "0e0 to"]),
        ("half_extent = nan", &["half_extent", "NaN"]),
        ("cold_factor = 0.0", &["cold_factor", "allowed"]),
        ("launch_ns = \"-5\"", &["not a time", "line "]),
        ("noise = { sigma = 2.0 }", &["path[0].triple[0].noise.sigma", "0e0 to 1e0"]),
        ("noise = { rho = 1.0 }", &["noise.rho"]),
        ("noise = { sigmas = 0.1 }", &["unknown field `sigmas`"]),
        ("states = { mixture = [] }", &["states.mixture", "at least one state"]),
        ("states = { mixture = [{ weight = 1 }] }", &["mixture[0]", "factor and clock_mhz"]),
        ("states = { mixture = [{ weight = 0, factor = 1.0 }] }", &["total weight 0"]),
        ("states = { law = \"deck\", mixture = [{ weight = 0.5, factor = 1.0 }] }", &["whole count"]),
        (
            "states = { law = { markov = { dwell = 0.5 } }, mixture = [{ weight = 1, factor = 1.0 }] }",
            &["dwell", "1e0"],
        ),
        ("arithmetic = { aligned-blocks = { terms = 0, fraction_bits = 13, output_bits = 14 } }", &["terms"]),
        ("arithmetic = { aligned-blocks = { terms = 32, fraction_bits = 13, output_bits = 99 } }", &["output_bits"]),
        ("arithmetic = \"magic\"", &["unknown variant `magic`", "aligned-blocks"]),
        ("ceiling = { rate = 1e12, variants = [] }", &["ceiling.variants", "at least one"]),
        ("stated = { operations_per_cycle_per_core = 1.0, source = \"\" }", &["stated.source", "not empty"]),
        (
            "[[path.triple]]\ntriple = \"f16,f16->f32\"\nadvertised = true\nsource = \"p\"\nrate = 1.0",
            &["each triple once"],
        ),
        (
            "[[path.triple]]\ntriple = \"f16,i8->i32\"\nadvertised = true\nsource = \"p\"\nrate = 1.0",
            &["sums floating operands"],
        ),
        ("[[path.triple.shape]]\nshape = \"0x1x1\"", &["not a shape"]),
        ("[[path]]\nname = \"matmul2d\"\ntriple = []", &["path[1].name", "each name once"]),
        ("[[fault]]\npath = \"tiled\"\neffect = \"crash\"", &["fault[0].path", "matmul2d"]),
        ("[[fault]]\ntriple = \"f32,f32->f32\"\neffect = \"crash\"", &["fault[0].triple", "offers"]),
        ("[[fault]]\ntile = \"9\"\neffect = \"crash\"", &["fault[0].tile"]),
        ("[[fault]]\nafter = 1\neffect = \"exhaust-memory\"", &["fault[0].after", "before the first repetition"]),
        ("[[fault]]\neffect = { wrong = { dropped-step = { step = 0 } } }", &["step", "at least 1"]),
        ("[[fault]]\neffect = { wrong = \"late\" }", &["unknown variant `late`", "not-a-number"]),
        ("[[meter]]\nname = \"m\"\nreads = { energy = { idle_w = -1.0, load_w = 1.0 } }", &["idle_w"]),
        ("[[meter]]\nname = \"m\"\nreads = { missing = { reason = \"\" } }", &["reason"]),
    ] {
        let message = refused(more);
        for word in words {
            assert!(message.contains(word), "`{more}` gave `{message}`, without `{word}`");
        }
    }
    for (key, value) in
        [("cores = 4", "cores = 0"), ("seed = 11", "seed = -1"), ("reference_mhz = 1000", "reference_mhz = 0")]
    {
        assert!(Truth::parse(&text("").replace(key, value)).is_err(), "{value}");
    }
    assert!(matches!(Truth::parse(""), Err(BadTruth::Form(_))));
}

/// Runs a little of everything that a truth offers, where that neither ends nor stops the process.
fn exercise(truth: Truth) {
    let truth = Truth { faults: Vec::new(), memory_bytes: 1 << 30, ..truth };
    let mut device = SimDevice::new(truth).unwrap();
    for offer in device.offers() {
        let shape = Shape::new(3, 5, 2);
        let tile = device.tiles(&offer.path, offer.triple)[0].clone();
        let spec = GemmSpec { path: offer.path, triple: offer.triple, shape, tile };
        if let Ok(mut gemm) = device.compile(&spec) {
            let a = rigel_numerics::Matrix::zeroed(spec.triple.a, shape.m, shape.k);
            let b = rigel_numerics::Matrix::zeroed(spec.triple.b, shape.k, shape.n);
            gemm.bind(&a, &b).unwrap();
            gemm.run(3, Cache::Cold).unwrap();
        }
    }
    device.meters().0.iter_mut().for_each(|m| drop(m.read()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A built-in truth with one piece replaced is refused or works; it never panics.
    #[test]
    fn damaged_truths_never_panic(
        which in 0..BUILT_IN.len(), at in any::<prop::sample::Index>(), cut in 0usize..12,
        put in prop_oneof!["[ -~\n]{0,8}", Just("-1".to_owned()), Just("nan".into()), Just("1e308".into()), Just("[[".into())],
    ) {
        let text = BUILT_IN[which].1;
        let start = at.index(text.len());
        let end = (start + cut).min(text.len());
        if text.is_char_boundary(start) && text.is_char_boundary(end) {
            let damaged = format!("{}{put}{}", &text[..start], &text[end..]);
            if let Ok(truth) = Truth::parse(&damaged) {
                prop_assert_eq!(Truth::parse(&truth.to_toml()), Ok(truth.clone()));
                exercise(truth);
            }
        }
    }

    /// A number anywhere may be replaced by any other.
    #[test]
    fn odd_numbers_never_panic(which in 0..BUILT_IN.len(), at in any::<prop::sample::Index>(), value in any::<f64>()) {
        let text = BUILT_IN[which].1;
        let keys: Vec<usize> = text.match_indices(" = ").map(|(i, _)| i + 3).collect();
        let start = keys[at.index(keys.len())];
        let length = text[start..].find([',', '\n', ' ', '}']).unwrap_or(0);
        let damaged = format!("{}{value:?}{}", &text[..start], &text[start + length..]);
        if let Ok(truth) = Truth::parse(&damaged) {
            exercise(truth);
        }
    }
}
