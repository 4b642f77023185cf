//! How often do the verdict rules give a false word, and how often none?

use super::planted::{PlantedRun, plan};
use super::{Family, Limit, Line, Table};
use rayon::prelude::*;
use rigel_device::sim::{Family as Planted, Truth};
use rigel_ledger::plan::Plan;
use rigel_ledger::provenance::Provenance;
use rigel_numerics::{Format, Triple};

const HALF: Triple = Triple::new(Format::F16, Format::F16, Format::F32);
const NARROW: Triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);

/// Which comparisons the acceleration rule has.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Deciding {
    /// A product alone: the fewest comparisons, so the most false words.
    Product,
    /// A ceiling alone, chosen among variants by the very samples that judge it.
    Ceiling,
    /// Both: the most comparisons, so the most doubt.
    Both,
}

/// Which devices of the planted family are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum States {
    /// All of them.
    Any,
    /// One clock state, or two that a clock tells apart.
    Told,
    /// Two clock states and no clock.
    Untold,
}

/// Calibrates the words `accelerated` and `win` with `n` planted devices a line.
///
/// A line plants the true ratio at the threshold, or 10 % to either side of it, under drift, AR(1), outliers, variance
/// between processes and, in two of three devices, clock states. Without a clock two states more than the margin
/// apart cannot be told from a slower unit, and the rule says `undecided: clock states`; that is its duty, so those devices
/// are counted apart.
pub fn verdicts(seed: u64, n: u32) -> Table {
    let plan = plan(HALF);
    let provenance = Provenance::planted(&plan, "calibrate");
    let bench = Bench { seed, n, plan, provenance };
    let accelerated = |ratio, deciding| move |bench: &Bench, truth: u64| bench.acceleration(truth, ratio, deciding);
    let win = |ratio| move |bench: &Bench, truth: u64| bench.win(truth, ratio);
    let outrun = |rate| move |bench: &Bench, truth: u64| bench.outrun(truth, rate);
    let is_outrun = |value: &str| !value.is_empty();
    let is_accelerated = |word: &str| word == "accelerated";
    let is_not = |word: &str| word != "accelerated" && !word.starts_with("undecided");
    let is_win = |word: &str| word.starts_with("win");
    let is_no_win = |word: &str| word == "no win";
    let undecided = |word: &str| word.starts_with("undecided");
    use Deciding::{Both, Ceiling, Product};
    use States::{Any, Told, Untold};
    let lines = vec![
        bench.line(
            "at 1.50, product",
            Any,
            "accelerated",
            accelerated(1.5, Product),
            is_accelerated,
            Limit::AtMost(0.025),
        ),
        bench.line(
            "at 1.50, ceiling",
            Any,
            "accelerated",
            accelerated(1.5, Ceiling),
            is_accelerated,
            Limit::AtMost(0.025),
        ),
        bench.line("at 1.50, both", Any, "accelerated", accelerated(1.5, Both), is_accelerated, Limit::AtMost(0.025)),
        bench.line("at 1.35, product", Any, "accelerated", accelerated(1.35, Product), is_accelerated, Limit::Never),
        bench.line("at 1.35, ceiling", Any, "accelerated", accelerated(1.35, Ceiling), is_accelerated, Limit::Never),
        bench.line("at 1.65, both", Any, "not accelerated", accelerated(1.65, Both), is_not, Limit::Never),
        bench.line(
            "at 1.65, both, states told",
            Told,
            "undecided",
            accelerated(1.65, Both),
            undecided,
            Limit::AtMost(0.1),
        ),
        bench.line(
            "at 1.35, both, states told",
            Told,
            "undecided",
            accelerated(1.35, Both),
            undecided,
            Limit::AtMost(0.1),
        ),
        bench.line(
            "at 1.65, both, states untold",
            Untold,
            "undecided",
            accelerated(1.65, Both),
            undecided,
            Limit::Shown,
        ),
        bench.line(
            "at 1.35, both, states untold",
            Untold,
            "undecided",
            accelerated(1.35, Both),
            undecided,
            Limit::Shown,
        ),
        bench.line(
            "loop at 0.50 of a product, states told",
            Told,
            "outrun",
            outrun(0.5),
            is_outrun,
            Limit::AtLeast(0.95),
        ),
        bench.line(
            "loop at 0.80 of a product, states told",
            Told,
            "outrun",
            outrun(0.8),
            is_outrun,
            Limit::AtLeast(0.95),
        ),
        bench.line("loop at 1.00 of a product", Any, "outrun", outrun(1.0), is_outrun, Limit::AtMost(0.025)),
        bench.line("at 1.10 over C", Any, "win", win(1.1), is_win, Limit::AtMost(0.025)),
        bench.line("at 0.99 over C", Any, "win", win(0.99), is_win, Limit::Never),
        bench.line("at 1.21 over C", Any, "no win", win(1.21), is_no_win, Limit::Never),
        bench.line("at 1.21 over C, states told", Told, "undecided", win(1.21), undecided, Limit::AtMost(0.1)),
        bench.line("at 0.99 over C, states told", Told, "undecided", win(0.99), undecided, Limit::AtMost(0.1)),
        bench.line("at 1.21 over C, states untold", Untold, "undecided", win(1.21), undecided, Limit::Shown),
    ];
    Table { family: Family::Verdicts, seed, lines, devices: Vec::new() }
}

struct Bench {
    seed: u64,
    n: u32,
    plan: Plan,
    provenance: Provenance,
}

impl Bench {
    fn line(
        &self,
        planted: &str,
        states: States,
        counted: &str,
        word: impl Fn(&Bench, u64) -> String + Sync,
        counts: impl Fn(&str) -> bool + Sync,
        limit: Limit,
    ) -> Line {
        let seeds: Vec<u64> =
            (0u64..).map(|i| self.seed.wrapping_add(i)).filter(|&s| states.has(s)).take(self.n as usize).collect();
        let count = seeds.par_iter().map(|&truth| u32::from(counts(&word(self, truth)))).sum();
        Line { planted: planted.to_owned(), counted: counted.to_owned(), count, of: self.n, limit }
    }

    fn acceleration(&self, seed: u64, ratio: f64, deciding: Deciding) -> String {
        let truth = Truth::draw(seed, Planted::Verdicts { ratio });
        let mut run = PlantedRun::new(&truth);
        run.ceiling("matmul2d", HALF);
        if deciding != Deciding::Product {
            run.ceiling("matmul2d", NARROW);
        }
        if deciding != Deciding::Ceiling {
            run.product("matmul2d", HALF);
            run.product("matmul2d", NARROW);
        }
        self.word(&run, NARROW, "verdict.acceleration")
    }

    fn win(&self, seed: u64, ratio: f64) -> String {
        let truth = Truth::draw(seed, Planted::Verdicts { ratio });
        let mut run = PlantedRun::new(&truth);
        run.ceiling("matmul2d", HALF);
        for path in ["tiled", "simdgroup_matrix", "matmul2d"] {
            run.product(path, HALF);
        }
        self.word(&run, HALF, "verdict.win")
    }

    /// Whether a loop that runs at `rate` of what its own path's product reaches is taken back as a ceiling.
    fn outrun(&self, seed: u64, rate: f64) -> String {
        let mut truth = Truth::draw(seed, Planted::Verdicts { ratio: 1.0 });
        let triples = truth.paths.iter_mut().flat_map(|path| &mut path.triples);
        for triple in triples.filter(|triple| triple.triple == HALF) {
            let product = triple.rate;
            triple.ceiling.iter_mut().for_each(|ceiling| ceiling.rate = product * rate);
        }
        let mut run = PlantedRun::new(&truth);
        run.ceiling("matmul2d", HALF);
        run.product("matmul2d", HALF);
        self.word(&run, HALF, "ceiling.outrun")
    }

    fn word(&self, run: &PlantedRun<'_>, triple: Triple, name: &str) -> String {
        let facts = run.facts(&self.plan, &self.provenance);
        let found = facts.into_iter().find(|f| f.path == "matmul2d" && f.triple == Some(triple) && f.name == name);
        found.map(|fact| fact.value).unwrap_or_default()
    }
}

impl States {
    /// Whether the truth that a seed draws is asked for: every third has one state, two of four a readable clock.
    fn has(self, seed: u64) -> bool {
        let truth = Truth::draw(seed, Planted::Verdicts { ratio: 1.0 });
        let told = truth.clock.readable || truth.states.mixture.len() == 1;
        match self {
            States::Any => true,
            States::Told => told,
            States::Untold => !told,
        }
    }
}
