//! How does a plan become text, and text a plan?
//!
//! Reading checks everything that can be known without a device: keys, kinds, ranges, and the few pairs that must agree.
//! Writing is deterministic and independent of any library's taste, because its bytes are hashed.

use crate::plan::*;
use crate::plan_axes::{alignment, attention, fusion, order, power, units, versions};
use crate::plan_error::{PlanError, PlanFault};
use crate::plan_section::{Section, Source};
use crate::rows::{CacheState, Probe, name_of};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::Stride;
use rigel_numerics::{Recipe, Shape, Triple};
use std::fmt::Write;

const DAY_S: f64 = 86_400.0;
const MANY: u64 = 1_000_000;
/// TOML integers are signed 64-bit numbers.
const TOML_MAX: u64 = i64::MAX as u64;

impl Plan {
    /// Probes that a plan may name.
    pub const OFFERED: [Probe; 13] = [
        Probe::Types,
        Probe::Throughput,
        Probe::Clocks,
        Probe::Dispatch,
        Probe::Arithmetic,
        Probe::Layout,
        Probe::Specials,
        Probe::Order,
        Probe::Fusion,
        Probe::Power,
        Probe::Attention,
        Probe::Alignment,
        Probe::Versions,
    ];

    /// Reads a whole plan: every key must be there. `file` is its name in messages.
    pub fn parse(text: &str, file: &str) -> Result<Plan, PlanError> {
        read(text, file, None)
    }

    /// Reads a plan in which a missing key means what `base` says.
    pub fn parse_over(text: &str, file: &str, base: &Plan) -> Result<Plan, PlanError> {
        read(text, file, Some(base))
    }

    /// Checks a plan that was changed in memory, as [`Plan::parse`] checks one in a file; lines are those of [`Plan::to_toml`].
    pub fn check(&self) -> Result<(), PlanError> {
        Plan::parse(&self.to_toml(), "resolved plan").map(|_| ())
    }

    /// The resolved plan as text: every key, in declaration order. Equal plans give equal bytes.
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        write_plan(self, &mut out).map(|()| out).unwrap_or_default()
    }

    /// BLAKE3 (lower-case hex) of [`Plan::to_toml`]: the run's configuration hash.
    pub fn hash(&self) -> String {
        blake3::hash(self.to_toml().as_bytes()).to_hex().to_string()
    }
}

fn write_plan(plan: &Plan, out: &mut String) -> std::fmt::Result {
    let Plan { name, seed, probes, sampling, thresholds, limits, matches, baselines, select, types, .. } = plan;
    let Plan { throughput, units, order, fusion, power, attention, alignment, versions, .. } = plan;
    writeln!(out, "name = {}\nseed = {seed}\nprobes = {}", quoted(name), list(probes.iter().map(name_of)))?;
    let Sampling { processes, repetitions, minimum_repetitions, budget_s, precision, burst, pilot, .. } = sampling;
    let Sampling { bootstrap_resamples, meter_window_s, .. } = sampling;
    writeln!(out, "\n[sampling]\nprocesses = {processes}\nrepetitions = {repetitions}")?;
    writeln!(out, "minimum_repetitions = {minimum_repetitions}\nbudget_s = {budget_s:?}\nprecision = {precision:?}")?;
    writeln!(out, "burst = {burst}\npilot = {pilot}")?;
    writeln!(out, "bootstrap_resamples = {bootstrap_resamples}\nmeter_window_s = {meter_window_s:?}")?;
    let Thresholds { accelerated, win, same: [low, high], ceiling_share, plateau, coarse_cap, full_check } = thresholds;
    writeln!(out, "\n[thresholds]\naccelerated = {accelerated:?}\nwin = {win:?}\nsame = [{low:?}, {high:?}]")?;
    writeln!(out, "ceiling_share = {ceiling_share:?}\nplateau = {plateau:?}\ncoarse_cap = {coarse_cap:?}")?;
    writeln!(out, "full_check = {full_check}")?;
    let Limits { timeout_s, memory_mib } = limits;
    writeln!(out, "\n[limits]\ntimeout_s = {timeout_s:?}\nmemory_mib = {memory_mib}")?;
    let Match { triple, judged } = matches;
    let judged = list(judged.iter().map(Triple::to_string));
    writeln!(out, "\n[match]\ntriple = {}\njudged = {judged}", quoted(&triple.to_string()))?;
    let Baselines { a, b, c, d } = baselines;
    writeln!(out, "\n[baselines]\na = {}\nb = {}\nc = {}\nd = {}", quoted(a), quoted(b), quoted(c), quoted(d))?;
    let Select { paths, triples, filter } = select;
    let triples = list(triples.iter().map(Triple::to_string));
    writeln!(out, "\n[select]\npaths = {}\ntriples = {triples}", list(paths.iter().cloned()))?;
    writeln!(out, "filter = {}", quoted(filter))?;
    let TypesAxes { shapes, recipes } = types;
    writeln!(out, "\n[types]\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
    writeln!(out, "recipes = {}", list(recipes.iter().map(|recipe| recipe.name().to_owned())))?;
    let ThroughputAxes { shapes, recipes, caches, ceilings } = throughput;
    writeln!(out, "\n[throughput]\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
    writeln!(out, "recipes = {}", list(recipes.iter().map(|recipe| recipe.name().to_owned())))?;
    writeln!(out, "caches = {}\nceilings = {ceilings}", list(caches.iter().map(name_of)))?;
    if let Some(UnitsAxes { validation }) = units {
        writeln!(out, "\n[units]\nvalidation = {validation}")?;
    }
    if let Some(OrderAxes { shapes }) = order {
        writeln!(out, "\n[order]\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
    }
    if let Some(FusionAxes { shapes, recipes, activations }) = fusion {
        writeln!(out, "\n[fusion]\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
        writeln!(out, "recipes = {}", list(recipes.iter().map(|recipe| recipe.name().to_owned())))?;
        writeln!(out, "activations = {}", list(activations.iter().map(Activation::to_string)))?;
    }
    if let Some(PowerAxes { window_s, shapes, recipes, ceilings }) = power {
        writeln!(out, "\n[power]\nwindow_s = {window_s:?}\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
        writeln!(out, "recipes = {}", list(recipes.iter().map(|recipe| recipe.name().to_owned())))?;
        writeln!(out, "ceilings = {ceilings}")?;
    }
    if let Some(AttentionAxes { shapes, recipes }) = attention {
        writeln!(out, "\n[attention]\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
        writeln!(out, "recipes = {}", list(recipes.iter().map(|recipe| recipe.name().to_owned())))?;
    }
    if let Some(AlignmentAxes { shapes, offsets, strides, recipes, slow }) = alignment {
        writeln!(out, "\n[alignment]\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
        let offsets: Vec<String> = offsets.iter().map(usize::to_string).collect();
        writeln!(out, "offsets = [{}]\nstrides = {}", offsets.join(", "), list(strides.iter().map(Stride::to_string)))?;
        writeln!(out, "recipes = {}", list(recipes.iter().map(|recipe| recipe.name().to_owned())))?;
        writeln!(out, "slow = {slow:?}")?;
    }
    if let Some(VersionsAxes { shapes, recipes }) = versions {
        writeln!(out, "\n[versions]\nshapes = {}", list(shapes.iter().map(Shape::to_string)))?;
        writeln!(out, "recipes = {}", list(recipes.iter().map(|recipe| recipe.name().to_owned())))?;
    }
    Ok(())
}

fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.map(|value| quoted(&value)).collect::<Vec<_>>().join(", "))
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn read(text: &str, file: &str, base: Option<&Plan>) -> Result<Plan, PlanError> {
    let source = Source { file, text };
    let table = toml::de::DeTable::parse(text).map_err(|error| {
        source.error(error.span().map_or(0, |span| span.start), PlanFault::Syntax(error.message().to_owned()))
    })?;
    let sections = [
        "sampling",
        "thresholds",
        "limits",
        "match",
        "baselines",
        "select",
        "types",
        "throughput",
        "units",
        "order",
        "fusion",
        "power",
        "attention",
        "alignment",
        "versions",
    ];
    let keys: Vec<&'static str> = ["name", "seed", "probes"].into_iter().chain(sections).collect();
    let root = Section::root(source, &table, &keys)?;
    let named = "1 to 64 letters, digits, `.`, `_` or `-`, the first no `.`";
    let name = root.text("name", named, base.map(|b| b.name.clone()), |text| {
        let fits = (1..=64).contains(&text.len()) && !text.starts_with('.');
        if fits { word(text, named) } else { Err(named.to_owned()) }
    })?;
    let seed = root.whole("seed", 0..=TOML_MAX, base.map(|b| b.seed))?;
    let probes = root.axis("probes", &names(&Plan::OFFERED), base.map(|b| b.probes.clone()), probe)?;
    let limits = limits(&root, base.map(|b| &b.limits))?;
    let timeout_s = limits.timeout_s;
    let asks_units = asks_units(&probes);
    let asks_order = probes.contains(&Probe::Order);
    let fuses = probes.contains(&Probe::Fusion);
    let meters = probes.contains(&Probe::Power);
    let attends = probes.contains(&Probe::Attention);
    let (places, compiles) = (probes.contains(&Probe::Alignment), probes.contains(&Probe::Versions));
    Ok(Plan {
        name,
        seed,
        probes,
        sampling: sampling(&root, base.map(|b| &b.sampling), timeout_s)?,
        thresholds: thresholds(&root, base.map(|b| &b.thresholds))?,
        limits,
        matches: matches(&root, base.map(|b| &b.matches))?,
        baselines: baselines(&root, base.map(|b| &b.baselines))?,
        select: select(&root, base.map(|b| &b.select))?,
        types: types(&root, base.map(|b| &b.types))?,
        throughput: throughput(&root, base.map(|b| &b.throughput))?,
        units: units(&root, base.and_then(|b| b.units.as_ref()), asks_units)?,
        order: order(&root, base.and_then(|b| b.order.as_ref()), asks_order)?,
        fusion: fusion(&root, base.and_then(|b| b.fusion.as_ref()), fuses)?,
        power: power(&root, base.and_then(|b| b.power.as_ref()), meters, timeout_s)?,
        attention: attention(&root, base.and_then(|b| b.attention.as_ref()), attends)?,
        alignment: alignment(&root, base.and_then(|b| b.alignment.as_ref()), places)?,
        versions: versions(&root, base.and_then(|b| b.versions.as_ref()), compiles)?,
    })
}

fn sampling(root: &Section<'_>, base: Option<&Sampling>, timeout_s: f64) -> Result<Sampling, PlanError> {
    let keys = [
        "processes",
        "repetitions",
        "minimum_repetitions",
        "budget_s",
        "precision",
        "burst",
        "pilot",
        "bootstrap_resamples",
        "meter_window_s",
    ];
    let s = root.open("sampling", &keys)?;
    let count = |key, low, fallback: Option<u32>| Ok(s.whole(key, low..=MANY, fallback.map(u64::from))? as u32);
    let sampling = Sampling {
        processes: s.whole("processes", 1..=1000, base.map(|b| b.processes.into()))? as u32,
        repetitions: count("repetitions", 30, base.map(|b| b.repetitions))?,
        minimum_repetitions: count("minimum_repetitions", 30, base.map(|b| b.minimum_repetitions))?,
        budget_s: s.real("budget_s", 0.001..=DAY_S, base.map(|b| b.budget_s))?,
        precision: s.real("precision", 0.0..=0.5, base.map(|b| b.precision))?,
        burst: count("burst", 1, base.map(|b| b.burst))?,
        pilot: count("pilot", 1, base.map(|b| b.pilot))?,
        bootstrap_resamples: s.whole(
            "bootstrap_resamples",
            0..=1_000_000,
            base.map(|b| b.bootstrap_resamples.into()),
        )? as u32,
        meter_window_s: s.real("meter_window_s", 0.0..=600.0, base.map(|b| b.meter_window_s))?,
    };
    if sampling.minimum_repetitions > sampling.repetitions {
        let allowed = format!("from 30 to `sampling.repetitions`, {}", sampling.repetitions);
        return Err(s.contradiction("minimum_repetitions", &allowed));
    }
    fits_timeout(&s, "meter_window_s", sampling.meter_window_s, timeout_s)?;
    if sampling.processes > sampling.repetitions {
        let allowed = format!("from 1 to `sampling.repetitions`, {}", sampling.repetitions);
        return Err(s.contradiction("processes", &allowed));
    }
    Ok(sampling)
}

fn thresholds(root: &Section<'_>, base: Option<&Thresholds>) -> Result<Thresholds, PlanError> {
    let keys = ["accelerated", "win", "same", "ceiling_share", "plateau", "coarse_cap", "full_check"];
    let s = root.open("thresholds", &keys)?;
    let same = "two numbers [low, high] with 0 < low <= 1 <= high <= `thresholds.accelerated`";
    let thresholds = Thresholds {
        accelerated: s.real("accelerated", 1.0..=100.0, base.map(|b| b.accelerated))?,
        win: s.real("win", 1.0..=100.0, base.map(|b| b.win))?,
        same: s.pair("same", same, base.map(|b| b.same))?,
        ceiling_share: s.real("ceiling_share", 0.0..=1.0, base.map(|b| b.ceiling_share))?,
        plateau: s.real("plateau", 0.0..=0.5, base.map(|b| b.plateau))?,
        coarse_cap: s.real("coarse_cap", 0.0..=0.5, base.map(|b| b.coarse_cap))?,
        full_check: s.whole("full_check", 0..=TOML_MAX, base.map(|b| b.full_check))?,
    };
    let [low, high] = thresholds.same;
    let ordered = 0.0 < low && low <= 1.0 && 1.0 <= high && high <= thresholds.accelerated;
    if ordered { Ok(thresholds) } else { Err(s.contradiction("same", same)) }
}

fn limits(root: &Section<'_>, base: Option<&Limits>) -> Result<Limits, PlanError> {
    let s = root.open("limits", &["timeout_s", "memory_mib"])?;
    Ok(Limits {
        timeout_s: s.real("timeout_s", 0.1..=DAY_S, base.map(|b| b.timeout_s))?,
        memory_mib: s.whole_or_none("memory_mib", Limits::LEAST_MEMORY_MIB..=1 << 30, base.map(|b| b.memory_mib))?,
    })
}

fn matches(root: &Section<'_>, base: Option<&Match>) -> Result<Match, PlanError> {
    let s = root.open("match", &["triple", "judged"])?;
    Ok(Match {
        triple: s.text("triple", TRIPLE, base.map(|b| b.triple), triple)?,
        judged: s.list("judged", &format!("a list of: {TRIPLE}"), base.map(|b| b.judged.clone()), triple)?,
    })
}

fn baselines(root: &Section<'_>, base: Option<&Baselines>) -> Result<Baselines, PlanError> {
    let s = root.open("baselines", &["a", "b", "c", "d"])?;
    let path_or_none = |text: &str| if text.is_empty() { Ok(String::new()) } else { path(text) };
    let baseline = |key, fallback| s.text(key, &format!("{PATH}, or empty"), fallback, path_or_none);
    Ok(Baselines {
        a: baseline("a", base.map(|b| b.a.clone()))?,
        b: baseline("b", base.map(|b| b.b.clone()))?,
        c: baseline("c", base.map(|b| b.c.clone()))?,
        d: baseline("d", base.map(|b| b.d.clone()))?,
    })
}

fn select(root: &Section<'_>, base: Option<&Select>) -> Result<Select, PlanError> {
    let s = root.open("select", &["paths", "triples", "filter"])?;
    let filter = Some(base.map(|b| b.filter.clone()).unwrap_or_default());
    Ok(Select {
        paths: s.list("paths", &format!("a list of: {PATH}"), base.map(|b| b.paths.clone()), path)?,
        triples: s.list("triples", &format!("a list of: {TRIPLE}"), base.map(|b| b.triples.clone()), triple)?,
        filter: s.text(
            "filter",
            "words of path and triple, separated by spaces",
            filter,
            |text| Ok(text.to_owned()),
        )?,
    })
}

fn types(root: &Section<'_>, base: Option<&TypesAxes>) -> Result<TypesAxes, PlanError> {
    let s = root.open("types", &["shapes", "recipes"])?;
    Ok(TypesAxes {
        shapes: s.axis("shapes", SHAPE, base.map(|b| b.shapes.clone()), shape)?,
        recipes: recipes(&s, base.map(|b| b.recipes.clone()))?,
    })
}

fn throughput(root: &Section<'_>, base: Option<&ThroughputAxes>) -> Result<ThroughputAxes, PlanError> {
    let s = root.open("throughput", &["shapes", "recipes", "caches", "ceilings"])?;
    Ok(ThroughputAxes {
        shapes: s.axis("shapes", SHAPE, base.map(|b| b.shapes.clone()), shape)?,
        recipes: recipes(&s, base.map(|b| b.recipes.clone()))?,
        caches: s.axis("caches", "warm, cold, replayed", base.map(|b| b.caches.clone()), |text| match text {
            "warm" => Ok(CacheState::Warm),
            "cold" => Ok(CacheState::Cold),
            "replayed" => Ok(CacheState::Replayed),
            _ => Err("warm, cold, replayed".to_owned()),
        })?,
        ceilings: s.flag("ceilings", base.map(|b| b.ceilings))?,
    })
}

/// A worker says nothing for a tenth of a window.
pub(crate) fn fits_timeout(s: &Section<'_>, key: &'static str, window_s: f64, timeout_s: f64) -> Result<(), PlanError> {
    if window_s > 5.0 * timeout_s {
        let allowed = format!("at most 5 times `limits.timeout_s`, {}", 5.0 * timeout_s);
        return Err(s.contradiction(key, &allowed));
    }
    Ok(())
}

/// Recipes of which at least one can fail its gate: zeros and constants inherit theirs from such a sibling.
pub(crate) fn recipes(s: &Section<'_>, fallback: Option<Vec<Recipe>>) -> Result<Vec<Recipe>, PlanError> {
    let known = Recipe::ALL.map(Recipe::name).join(", ");
    let parse = |text: &str| Recipe::ALL.into_iter().find(|r| r.name() == text).ok_or_else(|| known.clone());
    let recipes = s.axis("recipes", &known, fallback, parse)?;
    if recipes.iter().all(|recipe| recipe.is_blind()) {
        let allowed = "at least one recipe besides zeros and constant, which cannot fail a gate by themselves";
        return Err(s.contradiction("recipes", allowed));
    }
    Ok(recipes)
}

pub(crate) const SHAPE: &str = "MxNxK or one number for a cube, each extent from 1 to 1048576";
const TRIPLE: &str = "a type triple such as `f16,f16->f32`";
const PATH: &str = "a path name of 1 to 64 letters, digits, `.`, `_` or `-`";

pub(crate) fn shape(text: &str) -> Result<Shape, String> {
    text.parse().map_err(|_| SHAPE.to_owned())
}

fn triple(text: &str) -> Result<Triple, String> {
    text.parse().map_err(|error: rigel_numerics::triple::BadTriple| error.to_string())
}

fn path(text: &str) -> Result<String, String> {
    if (1..=64).contains(&text.len()) { word(text, PATH) } else { Err(PATH.to_owned()) }
}

fn probe(text: &str) -> Result<Probe, String> {
    let named = Plan::OFFERED.into_iter().find(|probe| name_of(probe) == text);
    named.ok_or_else(|| names(&Plan::OFFERED))
}

fn names(probes: &[Probe]) -> String {
    probes.iter().map(name_of).collect::<Vec<_>>().join(", ")
}

fn word(text: &str, allowed: &str) -> Result<String, String> {
    let fine = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    if text.bytes().all(fine) { Ok(text.to_owned()) } else { Err(allowed.to_owned()) }
}
