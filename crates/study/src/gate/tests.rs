//! Does the gate tell right outputs from wrong ones, whichever way it checks?

use super::*;
use rigel_ledger::plan::Plan;
use rigel_ledger::rows::{CacheState, Work};
use rigel_ledger::{Outcome, Probe};
use rigel_numerics::sample::sample;
use rigel_numerics::{Format, Overflow, Rounding};

const SHAPE: Shape = Shape::new(200, 150, 40);
const F32: Triple = Triple::new(Format::F32, Format::F32, Format::F32);

fn identity(recipe: Recipe) -> Identity {
    Identity {
        probe: Probe::Throughput,
        work: Work::Gemm,
        path: "path".into(),
        triple: F32,
        shape: Some(SHAPE),
        tile: String::new(),
        recipe: Some(recipe),
        seed: 3,
        cache: CacheState::Warm,
    }
}

/// A gatekeeper that compares every element of products up to `full_check` multiplications.
fn gatekeeper(full_check: u64) -> Gatekeeper {
    let thresholds = Thresholds { full_check, ..Plan::planted("gate").thresholds };
    Gatekeeper::new(11, thresholds)
}

/// The exact product plus `error` in units of Σ|a||b|, rounded to f32.
fn element(inputs: &Inputs, (row, col): (usize, usize), error: f64) -> u64 {
    let dot = inputs.exact(row, col).unwrap();
    F32.c.encode(dot.sum.to_f64() + error * dot.magnitude.to_f64(), Rounding::NearestEven, Overflow::Ieee)
}

fn right(inputs: &Inputs) -> Matrix {
    let mut output = Matrix::zeroed(F32.c, SHAPE.m, SHAPE.n);
    for row in 0..SHAPE.m {
        (0..SHAPE.n).for_each(|col| output.set(row, col, element(inputs, (row, col), 0.0)));
    }
    output
}

fn unseen(seed: u64, place: (usize, usize)) -> bool {
    let sampled = sample(SHAPE, TILE, SAMPLED, seed);
    !sampled.contains(&place) && !places::witness(SHAPE, TILE, seed).contains(&place)
}

#[test]
fn a_sampled_check_finds_single_elements_and_puts_them_into_the_witness() {
    let mut gatekeeper = gatekeeper(0);
    let identity = identity(Recipe::NearNormal);
    let inputs = gatekeeper.inputs(&identity).unwrap();
    let output = right(&inputs);
    let view = gatekeeper.look(&inputs, &output, TILE).unwrap();
    assert_eq!((view.method, view.sums), (GateMethod::Sampled, None));
    assert_eq!(gatekeeper.judge(&identity, &inputs, &view, None).outcome, Outcome::Right);
    // On both sides of tile edges, and amid a tile.
    let places = [(63, 63), (64, 65), (127, 64), (128, 128), (31, 77), (199, 101)];
    let unsampled: Vec<_> = places.into_iter().filter(|&place| unseen(11, place)).collect();
    assert!(unsampled.len() >= 3);
    for place in unsampled {
        let mut wrong = output.clone();
        wrong.set(place.0, place.1, element(&inputs, place, 0.3));
        let view = gatekeeper.look(&inputs, &wrong, TILE).unwrap();
        assert!(view.witness.iter().any(|w| (w.0 as usize, w.1 as usize) == place), "{place:?}");
        assert_eq!(gatekeeper.judge(&identity, &inputs, &view, None).outcome, Outcome::Wrong, "{place:?}");
    }
    // One element in every row, all behind the second tile edge.
    let mut wrong = output.clone();
    (0..SHAPE.m).filter(|&row| unseen(11, (row, 131))).for_each(|row| {
        wrong.set(row, 131, element(&inputs, (row, 131), 0.3));
    });
    let view = gatekeeper.look(&inputs, &wrong, TILE).unwrap();
    assert_eq!(gatekeeper.judge(&identity, &inputs, &view, None).outcome, Outcome::Wrong);
}

#[test]
fn sums_that_no_element_explains_are_mistrusted() {
    let mut gatekeeper = gatekeeper(0);
    let identity = identity(Recipe::NearNormal);
    let inputs = gatekeeper.inputs(&identity).unwrap();
    let fine = right(&inputs);
    let mut off = fine.clone();
    let error = 0.9 * inputs.tolerance.relative;
    for place in (20..60).flat_map(|row| (0..SHAPE.n).map(move |col| (row, col))).filter(|&p| unseen(11, p)) {
        off.set(place.0, place.1, element(&inputs, place, error));
    }
    let (before, after) =
        (gatekeeper.look(&inputs, &off, TILE).unwrap(), gatekeeper.look(&inputs, &fine, TILE).unwrap());
    assert!(!before.outside && before.sums.is_some(), "{before:?}");
    let judgement = gatekeeper.judge(&identity, &inputs, &before, Some(&after));
    assert_eq!(judgement.outcome, Outcome::Mistrusted);
    assert!(judgement.reason.starts_with(Suspicious::PREFIX), "{}", judgement.reason);
    assert!(before.worse_than(&after) && !after.worse_than(&before));
}

#[test]
fn reason_and_witness_are_of_the_worse_view() {
    for full_check in [0, u64::MAX] {
        let mut gatekeeper = gatekeeper(full_check);
        let identity = identity(Recipe::NearNormal);
        let inputs = gatekeeper.inputs(&identity).unwrap();
        let fine = right(&inputs);
        let spoiled = |code| {
            let mut output = fine.clone();
            output.set(0, 0, code);
            gatekeeper.look(&inputs, &output, TILE).unwrap()
        };
        // From good to bad.
        let views = [
            gatekeeper.look(&inputs, &fine, TILE).unwrap(),
            spoiled(element(&inputs, (0, 0), 1e-3)),
            spoiled(element(&inputs, (0, 0), 0.4)),
            spoiled(0x7F80_0000),
            spoiled(0xA5A5_A5A5),
        ];
        for (i, before) in views.iter().enumerate() {
            for (j, after) in views.iter().enumerate() {
                assert_eq!(after.worse_than(before), j > i);
                let both = gatekeeper.judge(&identity, &inputs, before, Some(after));
                let worse = gatekeeper.judge(&identity, &inputs, if j > i { after } else { before }, None);
                assert_eq!((both.outcome, both.error), (worse.outcome, worse.error));
                let when = if j > i { "after timing" } else { "before timing" };
                assert!(both.reason.is_empty() || both.reason.contains(when), "{}", both.reason);
            }
        }
    }
}

#[test]
fn what_is_no_output_is_an_error_and_not_unwritten() {
    for full_check in [0, u64::MAX] {
        let mut gatekeeper = gatekeeper(full_check);
        let inputs = gatekeeper.inputs(&identity(Recipe::NearNormal)).unwrap();
        for misfit in [Matrix::zeroed(F32.c, SHAPE.m, SHAPE.n - 1), Matrix::zeroed(Format::F16, SHAPE.m, SHAPE.n)] {
            assert!(!gatekeeper.look(&inputs, &misfit, TILE).unwrap_err().is_empty());
        }
    }
}

#[test]
fn a_blind_product_is_judged_by_its_own_residual() {
    let mut gatekeeper = gatekeeper(u64::MAX);
    for recipe in [Recipe::Zeros, Recipe::Constant] {
        let identity = identity(recipe);
        let inputs = gatekeeper.inputs(&identity).unwrap();
        let fine = right(&inputs);
        let mut wrong = fine.clone();
        wrong.set(64, 64, 0x4270_0000);
        let outcome = |output: &Matrix| {
            let view = gatekeeper.look(&inputs, output, TILE).unwrap();
            gatekeeper.judge(&identity, &inputs, &view, None).outcome
        };
        assert_eq!((outcome(&fine), outcome(&wrong)), (Outcome::Right, Outcome::Wrong), "{recipe}");
    }
}

#[test]
fn a_sampled_check_is_proven_on_every_output_that_it_lets_pass() {
    let mut gatekeeper = gatekeeper(0);
    let inputs = gatekeeper.inputs(&identity(Recipe::NearNormal)).unwrap();
    let fine = right(&inputs);
    let mut wrong = fine.clone();
    wrong.set(3, 3, element(&inputs, (3, 3), 0.4));
    assert!(gatekeeper.look(&inputs, &wrong, TILE).unwrap().trials.is_none(), "a wrong output proves nothing");
    let quiet = gatekeeper.look(&inputs, &fine, TILE).unwrap();
    let trials = quiet.trials.as_ref().unwrap();
    // 200×40 times 40×150: B has no transpose to be read as.
    let impossible: Vec<_> = trials.iter().filter(|t| t.error.is_none()).map(|t| t.fault).collect();
    assert_eq!(impossible, [gate::PlantedFault::TransposedB]);
    assert!(trials.iter().filter_map(|t| t.error).all(|error| error > inputs.tolerance.relative), "{trials:?}");
    for noise in [0.1 * inputs.tolerance.relative, 2e-3] {
        let view = gatekeeper.look(&inputs, &noisy(&inputs, noise), TILE).unwrap();
        assert!(view.passes() && view.trials.is_some() && view.visible > quiet.visible, "{view:?}");
        let again = gatekeeper.look(&inputs, &fine, TILE).unwrap();
        let shared = Rc::ptr_eq(again.trials.as_ref().unwrap(), quiet.trials.as_ref().unwrap());
        assert!(shared, "what is proven of equal bytes is kept, and is theirs alone");
    }
}

/// The right output, off by `noise` of Σ|a||b| in either direction.
fn noisy(inputs: &Inputs, noise: f64) -> Matrix {
    let mut noisy = right(inputs);
    for (row, col) in (0..SHAPE.m).flat_map(|row| (0..SHAPE.n).map(move |col| (row, col))) {
        let sign = if (row * 31 + col * 17) % 7 < 3 { 1.0 } else { -1.0 };
        noisy.set(row, col, element(inputs, (row, col), sign * noise));
    }
    noisy
}

#[test]
fn a_narrow_output_with_one_bad_element_is_wrong_and_its_neighbours_do_not_matter() {
    for noise in [1e-4, 2e-3] {
        let mut gatekeeper = gatekeeper(0);
        let identity = identity(Recipe::NearNormal);
        let inputs = gatekeeper.inputs(&identity).unwrap();
        let narrow = noisy(&inputs, noise);
        let fine = gatekeeper.look(&inputs, &right(&inputs), TILE).unwrap();
        let clean = gatekeeper.look(&inputs, &narrow, TILE).unwrap();
        let outcome = |view: &View| gatekeeper.judge(&identity, &inputs, view, None).outcome;
        assert_eq!((outcome(&fine), outcome(&clean)), (Outcome::Right, Outcome::Imprecise), "{clean:?}");
        for place in [(31, 77), (64, 65), (199, 101), (90, 3)].into_iter().filter(|&place| unseen(11, place)) {
            for code in
                [element(&inputs, place, 0.25), element(&inputs, place, 0.1), 0x7FC0_0000, 0x7F80_0000, 0xA5A5_A5A5]
            {
                let mut wrong = narrow.clone();
                wrong.set(place.0, place.1, code);
                let view = gatekeeper.look(&inputs, &wrong, TILE).unwrap();
                assert_eq!(outcome(&view), Outcome::Wrong, "{noise} {place:?} {code:x}: {view:?}");
                assert!(view.witness.contains(&(place.0 as u32, place.1 as u32, code)));
                assert!(view.worse_than(&clean) && view.worse_than(&fine));
            }
        }
    }
}

#[test]
fn sums_of_a_narrow_output_that_no_element_explains_are_mistrusted() {
    let mut gatekeeper = gatekeeper(0);
    let identity = identity(Recipe::NearNormal);
    let inputs = gatekeeper.inputs(&identity).unwrap();
    let mut narrow = noisy(&inputs, 1e-5);
    let clean = gatekeeper.look(&inputs, &narrow, TILE).unwrap();
    for place in (20..60).flat_map(|row| (0..SHAPE.n).map(move |col| (row, col))).filter(|&p| unseen(11, p)) {
        narrow.set(place.0, place.1, element(&inputs, place, 5e-3));
    }
    let view = gatekeeper.look(&inputs, &narrow, TILE).unwrap();
    let judgement = gatekeeper.judge(&identity, &inputs, &view, None);
    assert_eq!(judgement.outcome, Outcome::Mistrusted, "{judgement:?}");
    assert!(judgement.reason.starts_with(Suspicious::PREFIX) && view.visible.is_some() && view.worse_than(&clean));
}

#[test]
fn a_check_that_lets_a_fault_pass_is_mistrusted_whichever_way_it_checks() {
    // K·u ≥ 1: a declared f16 accumulator promises nothing here, and zeros would pass.
    let triple = Triple::new(Format::F16, Format::F16, Format::F16);
    let shape = Shape::new(20, 24, 2048);
    for full_check in [0, u64::MAX] {
        let mut gatekeeper = gatekeeper(full_check);
        let identity = Identity { triple, shape: Some(shape), ..identity(Recipe::NearNormal) };
        let inputs = gatekeeper.inputs(&identity).unwrap();
        let mut output = Matrix::zeroed(triple.c, shape.m, shape.n);
        for (row, col) in (0..shape.m).flat_map(|row| (0..shape.n).map(move |col| (row, col))) {
            let sum = inputs.exact(row, col).unwrap().sum.to_f64();
            output.set(row, col, triple.c.encode(sum, Rounding::NearestEven, Overflow::Ieee));
        }
        let view = gatekeeper.look(&inputs, &output, TILE).unwrap();
        let judgement = gatekeeper.judge(&identity, &inputs, &view, None);
        assert_eq!(judgement.outcome, Outcome::Mistrusted, "{full_check}: {judgement:?}");
        assert!(judgement.reason.contains("planted fault"), "{}", judgement.reason);
    }
}

#[test]
fn faults_of_an_output_that_does_not_pass_are_told_by_their_size() {
    for full_check in [0, u64::MAX] {
        let mut gatekeeper = gatekeeper(full_check);
        let identity = identity(Recipe::NearNormal);
        let inputs = gatekeeper.inputs(&identity).unwrap();
        let mut narrow = right(&inputs);
        for (row, col) in (0..SHAPE.m).flat_map(|row| (0..SHAPE.n).map(move |col| (row, col))) {
            narrow.set(row, col, element(&inputs, (row, col), 20.0 * inputs.tolerance.relative));
        }
        let view = gatekeeper.look(&inputs, &narrow, TILE).unwrap();
        let judgement = gatekeeper.judge(&identity, &inputs, &view, None);
        assert_eq!(judgement.outcome, Outcome::Imprecise, "{full_check}: {judgement:?}");
        assert!(judgement.reason.starts_with("error "), "{}", judgement.reason);
    }
}

/// What a device would give that took other scales of A than the operand has; `scale` names the column whose scale it takes.
fn rescaled(inputs: &Inputs, scale: impl Fn(usize, usize, u64) -> u64) -> Matrix {
    let mut output = Matrix::zeroed(Format::F32, SHAPE.m, SHAPE.n);
    let format = inputs.triple.a;
    for row in 0..SHAPE.m {
        let a: Vec<u64> =
            (0..SHAPE.k).map(|k| inputs.a.get(row, k) & 0xFF | scale(row, k, inputs.a.get(row, k) >> 8) << 8).collect();
        for col in 0..SHAPE.n {
            let terms = a.iter().enumerate().map(|(k, &x)| (x, inputs.b.get(k, col)));
            let sum = rigel_numerics::exact::dot(format, format, terms).unwrap().sum.to_f64();
            output.set(row, col, Format::F32.encode(sum, Rounding::NearestEven, Overflow::Ieee));
        }
    }
    output
}

#[test]
fn a_scale_off_by_one_and_scale_groups_that_begin_too_late_are_wrong() {
    for format in Format::SCALED {
        let size = format.scale_groups().unwrap().size;
        for (full_check, recipe) in
            [(0, Recipe::NearNormal), (u64::MAX, Recipe::NearNormal), (u64::MAX, Recipe::Uniform)]
        {
            let mut gatekeeper = gatekeeper(full_check);
            let identity = Identity { triple: Triple::new(format, format, Format::F32), ..identity(recipe) };
            let inputs = gatekeeper.inputs(&identity).unwrap();
            let said = |output: &Matrix| {
                let view = gatekeeper.look(&inputs, output, TILE).unwrap();
                gatekeeper.judge(&identity, &inputs, &view, None).outcome
            };
            let own = |_, _, scale| scale;
            let off_by_one = |row, k, scale: u64| if (row, k / size) == (77, 1) { scale.max(1) - 1 } else { scale };
            let late = |row, k: usize, _| inputs.a.get(row, k.saturating_sub(1)) >> 8;
            let of_the_group_before = |row, k: usize, _| inputs.a.get(row, k.saturating_sub(size)) >> 8;
            assert_eq!(said(&rescaled(&inputs, own)), Outcome::Right, "{format} {full_check} {recipe}");
            assert_eq!(said(&rescaled(&inputs, off_by_one)), Outcome::Wrong, "{format} {full_check} {recipe}");
            assert_eq!(said(&rescaled(&inputs, late)), Outcome::Wrong, "{format} {full_check} {recipe}");
            assert_eq!(said(&rescaled(&inputs, of_the_group_before)), Outcome::Wrong, "{format} {full_check} {recipe}");
        }
    }
}
