//! Can every planted rate, clock state and disturbance be seen in the samples?

mod planted;

use planted::*;
use rigel_device::sim::{Family, SimDevice, Truth};
use rigel_device::{Cache, Ceiling, CeilingSpec, Device, GemmSpec, Sample};
use rigel_numerics::{Megahertz, Time};

fn seconds(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|s| s.time.seconds()).collect()
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn deviation(x: &[f64]) -> f64 {
    let m = mean(x);
    (x.iter().map(|v| (v - m).powi(2)).sum::<f64>() / x.len() as f64).sqrt()
}

fn autocorrelation(x: &[f64]) -> f64 {
    let m = mean(x);
    let products = x.windows(2).map(|w| (w[0] - m) * (w[1] - m)).sum::<f64>();
    products / x.iter().map(|v| (v - m).powi(2)).sum::<f64>()
}

fn median(x: &[f64]) -> f64 {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    x[x.len() / 2]
}

fn rate(spec: &GemmSpec, sample: Sample) -> f64 {
    spec.shape.operations() as f64 / sample.time.seconds()
}

fn close(got: f64, planted: f64, relative: f64) {
    assert!((got / planted - 1.0).abs() <= relative, "got {got:e}, planted {planted:e}");
}

#[test]
fn rate_launch_size_tile_and_cache_are_what_was_planted() {
    let flat = truth("");
    close(rate(&half("64"), samples(&flat, &half("64"), 0, 1)[0]), 1e12, 1e-6);
    let slow_tile = GemmSpec { tile: "half".into(), ..half("64") };
    close(rate(&slow_tile, samples(&flat, &slow_tile, 0, 1)[0]), 0.5e12, 1e-6);

    let law = truth("launch_ns = \"1500\"\nhalf_extent = 64.0\ncold_factor = 1.25");
    let spec = half("64x64x64");
    let warm = samples(&law, &spec, 0, 1)[0].time;
    assert_eq!(warm, Time::from_seconds(1500e-9 + 2.0 * 64f64.powi(3) / 0.5e12));
    let mut device = SimDevice::new(law).unwrap();
    let cold = bound(&mut device, &spec).unwrap().run(1, Cache::Cold).unwrap()[0].time;
    close(cold.seconds(), 1.25 * warm.seconds(), 1e-6);

    // A planted shape overrides the law for the best tile; the others keep their ratio.
    let at = truth("[[path.triple.shape]]\nshape = \"64x64x64\"\nrate = 3e11");
    close(rate(&half("64"), samples(&at, &half("64"), 0, 1)[0]), 3e11, 1e-6);
    close(rate(&slow_tile, samples(&at, &slow_tile, 0, 1)[0]), 1.5e11, 1e-6);
    close(rate(&half("65"), samples(&at, &half("65"), 0, 1)[0]), 1e12, 1e-6);
}

#[test]
fn the_best_tile_depends_on_the_shape() {
    let plain = Truth::select("sim:plain").unwrap();
    let device = SimDevice::new(plain.clone()).unwrap();
    let best = |shape: &str| {
        let spec = half(shape);
        let tiles = device.tiles(&spec.path, spec.triple);
        let time = |tile: &String| plain.planted_seconds(&GemmSpec { tile: tile.clone(), ..half(shape) }).unwrap();
        tiles.into_iter().min_by(|a, b| time(a).total_cmp(&time(b))).unwrap()
    };
    assert_eq!([best("64"), best("2048")], ["32x32", "64x64"]);
    assert_eq!(device.tile_extents("matmul2d", half("1").triple, "64x64"), Some("64x64x16".parse().unwrap()));
}

#[test]
fn the_timer_ticks_and_the_clock_can_be_hidden() {
    let hostile = Truth::select("sim:hostile").unwrap();
    for s in samples(&hostile, &GemmSpec { tile: "32x32".into(), ..half("96") }, 0, 50) {
        assert_eq!((s.time.0 % 41_000, s.clock), (0, None));
    }
    assert_eq!(samples(&truth(""), &half("8"), 0, 1)[0].clock, Some(Megahertz(1000)));
}

#[test]
fn ceilings_have_a_plateau_or_none() {
    let ceiling = |truth: &str, triple: &str, variant: &str| -> Box<dyn Ceiling> {
        let mut device = SimDevice::new(Truth::select(truth).unwrap()).unwrap();
        let (path, triple) = ("matmul2d".into(), triple.parse().unwrap());
        assert!(device.ceiling_variants("matmul2d", triple).contains(&variant.to_owned()));
        device.ceiling(&CeilingSpec { path, triple, variant: variant.into() }).unwrap()
    };
    let rate = |truth: &str, triple: &str, variant: &str| {
        let mut loop_ = ceiling(truth, triple, variant);
        let times = seconds(&loop_.run(101).unwrap());
        loop_.operations() as f64 / median(&times)
    };
    let (lower, upper) = (rate("sim:plain", "f16,f16->f32", "ilp4x1"), rate("sim:plain", "f16,f16->f32", "ilp8x1"));
    close(upper, 4.05e12, 0.01);
    close(lower, upper, 0.02);
    let (lower, upper) = (rate("sim:liar", "i8,i8->i32", "ilp4x1"), rate("sim:liar", "i8,i8->i32", "ilp8x1"));
    close(lower, upper / 2.0, 0.02);
    assert_eq!(ceiling("sim:plain", "e4m3,e4m3->f32", "ilp8x1").check(), Ok(()));
    let wrong = ceiling("sim:hostile", "e4m3,e4m3->f32", "ilp8x1").check();
    assert_eq!(wrong, Err("accumulator 3 holds 17, not 16".into()));
}

#[test]
fn mixtures_have_their_weights_and_their_dwell() {
    let n = 20_000;
    let clocks = |law: &str, process: u32| -> Vec<u32> {
        let two = format!(
            "states = {{ law = {law}, mixture = [{{ weight = 3, factor = 0.5 }}, {{ weight = 7, clock_mhz = 1000 }}] }}"
        );
        let truth = truth(&two);
        truth.timeline(&half("64"), process).unwrap().take(n).iter().map(|s| s.clock.unwrap().0).collect()
    };
    let slow = |c: &[u32]| c.iter().filter(|&&c| c == 500).count() as f64;
    let runs = |c: &[u32]| c.windows(2).filter(|w| w[0] != w[1]).count() as f64;
    // Five standard deviations of a binomial count.
    let error = |n: f64, p: f64| 5.0 * (n * p * (1.0 - p)).sqrt();

    let iid = clocks("\"iid\"", 0);
    assert!((slow(&iid) - 0.3 * n as f64).abs() < error(n as f64, 0.3));
    assert!((runs(&iid) - 0.42 * n as f64).abs() < 2.0 * error(n as f64, 0.42));

    // A state is drawn anew every tenth repetition on average, and changes in 42 % of the draws.
    let chain = clocks("{ markov = { dwell = 10.0 } }", 0);
    assert!((slow(&chain) / n as f64 - 0.3).abs() < 0.1, "{}", slow(&chain));
    assert!((runs(&chain) - 0.042 * n as f64).abs() < 2.0 * error(n as f64, 0.042), "{}", runs(&chain));

    let deck = clocks("\"deck\"", 0);
    assert!(deck.chunks(10).all(|ten| slow(ten) == 3.0));
    assert_ne!(deck[..10], deck[10..20]);

    let processes: Vec<Vec<u32>> = (0..400).map(|p| clocks("\"per-process\"", p)[..3].to_vec()).collect();
    assert!(processes.iter().all(|c| c.iter().all(|x| *x == c[0])));
    let slow_ones = processes.iter().filter(|c| c[0] == 500).count() as f64;
    assert!((slow_ones - 120.0).abs() < error(400.0, 0.3));
}

#[test]
fn a_device_wide_state_of_a_process_is_shared_by_its_cells() {
    let states =
        "[states]\nlaw = \"per-process\"\nmixture = [{ weight = 1, factor = 0.5 }, { weight = 1, factor = 1.0 }]\n";
    let text = text("").replace("[[path]]", &format!("{states}[[path]]"));
    let truth = Truth::parse(&text).unwrap();
    for process in 0..20 {
        let clock = |shape| truth.timeline(&half(shape), process).unwrap().take(1)[0].clock;
        assert_eq!(clock("64"), clock("128"));
    }
}

#[test]
fn published_clock_states_are_planted_exactly() {
    for selector in ["sim:two-clocks", "sim:m4max"] {
        let truth = Truth::select(selector).unwrap();
        let rates = |shape: &str| -> Vec<f64> {
            let spec = GemmSpec { tile: "64x64".into(), ..half(shape) };
            let mut timeline = truth.timeline(&spec, 0).unwrap();
            timeline.take(300).into_iter().map(|s| rate(&spec, s)).collect()
        };
        let mut small = rates("512");
        small.sort_by(f64::total_cmp);
        // The order statistics 133 and 168 of 300 bound the median with 95 % confidence: published as [5.21, 5.96].
        close(small[132], 5.21e12, 0.05);
        close(small[167], 5.96e12, 0.05);
        let middle = rates("1024");
        assert_eq!(middle.iter().filter(|&&r| r < 9e12).count(), 8, "{selector}");
        close(median(&middle), 12.7e12, 0.01);
        close(median(&rates("2048")), 14.8e12, 0.01);
    }
    let truth = Truth::select("sim:two-clocks").unwrap();
    let spec = GemmSpec { tile: "64x64".into(), ..half("512") };
    let samples = truth.timeline(&spec, 3).unwrap().take(300);
    let (low, high): (Vec<Sample>, Vec<Sample>) = samples.into_iter().partition(|s| s.clock < Some(Megahertz(1560)));
    assert_eq!((low.len(), high.len()), (145, 155));
    close(median(&low.iter().map(|&s| rate(&spec, s)).collect::<Vec<_>>()), 4.65e12, 0.03);
    close(median(&high.iter().map(|&s| rate(&spec, s)).collect::<Vec<_>>()), 6.5e12, 0.03);
}

#[test]
fn every_disturbance_shows() {
    let n = 20_000;
    let series = |noise: &str, process: u32| {
        let truth = truth(&format!("noise = {{ {noise} }}"));
        let spec = half("64");
        let planted = truth.planted_seconds(&spec).unwrap();
        let samples = truth.timeline(&spec, process).unwrap().take(n);
        seconds(&samples).iter().map(|t| t / planted).collect::<Vec<f64>>()
    };
    let plain = series("sigma = 0.02", 0);
    close(deviation(&plain), 0.02, 0.05);
    close(median(&plain), 1.0, 0.001);
    assert!(autocorrelation(&plain).abs() < 0.04);

    let correlated = series("sigma = 0.02, rho = 0.8", 0);
    close(deviation(&correlated), 0.02, 0.1);
    close(autocorrelation(&correlated), 0.8, 0.05);

    let skewed = series("skew = 0.02", 0);
    close(median(&skewed), 1.0, 0.001);
    close(mean(&skewed), 1.0 + 0.02 * (1.0 - std::f64::consts::LN_2), 0.001);

    let drifting = series("drift_per_repetition = 1e-5", 0);
    close(drifting[n - 1], 1.0 + 1e-5 * (n - 1) as f64, 1e-6);

    let spiked = series("outlier_rate = 0.01, outlier_factor = 3.0", 0);
    let outliers = spiked.iter().filter(|&&t| t > 2.0).count() as f64;
    assert!((outliers - 200.0).abs() < 5.0 * (200.0f64 * 0.99).sqrt(), "{outliers}");

    let warm = series("warmup_repetitions = 4, warmup_factor = 2.0", 0);
    let factors = [2.0, 1.75, 1.5, 1.25, 1.0, 1.0];
    factors.iter().zip(&warm).for_each(|(planted, got)| close(*got, *planted, 1e-6));

    let offsets: Vec<f64> = (0..1000).map(|p| series_first("process_sigma = 0.05", p)).collect();
    close(deviation(&offsets), 0.05, 0.1);
    close(mean(&offsets), 1.0, 0.01);
}

fn series_first(noise: &str, process: u32) -> f64 {
    let truth = truth(&format!("noise = {{ {noise} }}"));
    let spec = half("64");
    truth.timeline(&spec, process).unwrap().take(1)[0].time.seconds() / truth.planted_seconds(&spec).unwrap()
}

#[test]
fn samples_are_a_function_of_seed_process_and_cell() {
    let noisy = truth("noise = { sigma = 0.1 }");
    let draw = |truth: &Truth, process: u32, shape: &str| samples(truth, &half(shape), process, 20);
    assert_eq!(draw(&noisy, 0, "64"), draw(&noisy, 0, "64"));
    assert_ne!(draw(&noisy, 0, "64"), draw(&noisy, 1, "64"));
    assert_ne!(draw(&Truth { seed: 12, ..noisy.clone() }, 0, "64"), draw(&noisy, 0, "64"));
    let relative = |truth: &Truth, shape: &str| {
        let planted = truth.planted_seconds(&half(shape)).unwrap();
        draw(truth, 0, shape)[0].time.seconds() / planted
    };
    assert!((relative(&noisy, "64") - relative(&noisy, "65")).abs() > 1e-6);

    // How repetitions are grouped into calls does not matter, and the light sampler agrees with the device.
    let mut device = SimDevice::new(noisy.clone()).unwrap();
    let mut gemm = bound(&mut device, &half("64")).unwrap();
    let mut pieces = gemm.run(7, Cache::Warm).unwrap();
    pieces.extend(gemm.run(13, Cache::Warm).unwrap());
    assert_eq!(pieces, draw(&noisy, 0, "64"));
    assert_eq!(pieces, noisy.timeline(&half("64"), 0).unwrap().take(20));
}

#[test]
fn drawn_devices_are_valid_and_plant_what_their_family_says() {
    for seed in 0..300 {
        let clocks = Truth::draw(seed, Family::Clocks);
        assert_eq!(clocks.check(), Ok(()));
        assert_eq!(clocks, Truth::draw(seed, Family::Clocks));
        assert_ne!(clocks, Truth::draw(seed + 1, Family::Clocks));
        let spec = GemmSpec { tile: "64x64".into(), ..half("512") };
        let states = clocks.states_of(&spec.path, spec.triple, spec.shape);
        assert_eq!(states.mixture.len(), if seed % 2 == 1 { 2 } else { 1 });
        if let [slow, fast] = states.mixture[..] {
            let times = [slow, fast].map(|s| 1.0 / s.rate_factor(clocks.clock.reference));
            let apart = (times[0] - times[1]) / (times[0] * clocks.noise.sigma);
            assert!((5.999..=20.001).contains(&apart), "{apart} sigma");
            assert!(slow.weight.min(fast.weight) >= 0.1);
        }
        assert!(clocks.timeline(&spec, 0).unwrap().take(300).iter().all(|s| s.time > Time(0)));

        let verdicts = Truth::draw(seed, Family::Verdicts { ratio: 1.5 });
        assert_eq!(verdicts.check(), Ok(()));
        let time = |triple: &str, path: &str| {
            let spec = GemmSpec { path: path.into(), triple: triple.parse().unwrap(), ..spec.clone() };
            verdicts.planted_seconds(&spec).unwrap()
        };
        let match_ = time("f16,f16->f32", "matmul2d");
        close(match_ / time("e4m3,e4m3->f32", "matmul2d"), 1.5, 1e-9);
        close(time("f16,f16->f32", "simdgroup_matrix") / match_, 1.5, 1e-9);
    }
}
