//! What do epilogues and fused attentions gain, and what do operations cost in energy? Tables that page and README share.

use crate::numbers::fixed;
use crate::source::Source;
use crate::table::Table;
use crate::text::markdown;
use rigel_ledger::{FactRow, Probe};
use rigel_numerics::Calculation;

/// A table with its title and a sentence on how to read it.
pub(crate) struct Costs {
    /// Anchor on the page.
    pub id: &'static str,
    /// Title.
    pub title: &'static str,
    /// How to read it.
    pub note: &'static str,
    /// The rows.
    pub table: Table,
}

/// The tables of a run that has such facts, in order.
pub(crate) fn all(source: Source<'_>) -> Vec<Costs> {
    let fusion = Costs {
        id: "fusion",
        title: "Epilogues",
        note: "Times of one product with what follows it; gain is the time of the fastest decomposed product, whatever its path, over that of the fused one. win: the whole interval at or above the plan's threshold; gain: above 1.",
        table: fusion(source),
    };
    let crossings = Costs {
        id: "crossings",
        title: "Where gains end",
        note: "The extent of a cube at which the gain falls below 1, between the sizes that are certain.",
        table: crossings(source),
    };
    let attention = Costs {
        id: "attention",
        title: "Attention",
        note: "M×N×K: queries of all heads, columns of a head, keys of a head. Times of one attention. Over decomposed and over fused: the time of the fastest decomposed attention, and of the fastest fused one of another path, over that of this fused one. win: the whole interval at or above the plan's threshold; gain: above 1; no gain: below 1.",
        table: attention(source),
    };
    let energy = Costs {
        id: "energy",
        title: "Energy of an operation",
        note: "What a steady load took above idle over the operations it did, by the meter that is named; the interval is that of slices of the window.",
        table: energy(source),
    };
    let meters = Costs {
        id: "meters",
        title: "Meters",
        note: "Power while nothing ran, and the time between updates of what a meter reads.",
        table: meters(source),
    };
    let all = [fusion, crossings, attention, energy, meters].into_iter().filter(|costs| !costs.table.rows.is_empty());
    all.chain(crate::demands::all(source)).collect()
}

/// The tables as Markdown; empty for a run without them.
pub(crate) fn markdown_tables(source: Source<'_>) -> String {
    let one = |Costs { title, note, table, .. }: Costs| {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut out = format!("{title}. {}\n\n", markdown(note));
        out.push_str(&line(table.columns.iter().map(|name| markdown(name)).collect()));
        let rule = |numeric: &bool| if *numeric { "---:" } else { "---" }.to_owned();
        out.push_str(&line(table.numeric.iter().map(rule).collect()));
        table.rows.iter().for_each(|row| out.push_str(&line(row.iter().map(|text| markdown(text)).collect())));
        if table.left_out > 0 {
            out.push_str(&format!("\n{} further lines follow from facts.csv.\n", table.left_out));
        }
        out
    };
    all(source).into_iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The rows as HTML sections.
pub(crate) fn sections(source: Source<'_>) -> String {
    let one = |Costs { id, title, note, table }: Costs| {
        let note = crate::text::markup(note);
        format!(
            "<section id=\"{id}\">\n<h2>{title}</h2>\n<p class=\"note\">{note}</p>\n{}</section>\n",
            table.html("facts.csv")
        )
    };
    all(source).into_iter().map(one).collect()
}

fn of<'a>(source: Source<'a>, probe: Probe, prefix: &'a str) -> impl Iterator<Item = (&'a FactRow, &'a str)> {
    let facts = source.facts.iter().filter(move |fact| fact.probe == probe);
    facts.filter_map(move |fact| Some((fact, fact.name.strip_prefix(prefix)?)))
}

fn types(fact: &FactRow) -> String {
    fact.triple.map_or_else(String::new, |triple| triple.pretty())
}

/// A number with its interval.
fn measure(fact: &FactRow, decimals: usize) -> String {
    let Ok(value) = fact.value.parse::<f64>() else { return fact.value.clone() };
    match (fact.low, fact.high) {
        (Some(low), Some(high)) => {
            format!("{} [{}, {}]", fixed(value, decimals), fixed(low, decimals), fixed(high, decimals))
        }
        _ => fixed(value, decimals),
    }
}

/// The word of a gain with its reason, `undecided: clock states`: what stands before the path that it is over.
pub(crate) fn word_of(gain: &FactRow) -> &str {
    gain.words.split_once(": over ").map_or(gain.words.as_str(), |(word, _)| word)
}

fn fusion(source: Source<'_>) -> Table {
    let columns = ["types", "M×N×K", "activation", "path", "#decomposed, us", "#fused, us", "#gain", "word"];
    let mut table = Table::new(&columns);
    let times: Vec<(&FactRow, &str)> = of(source, Probe::Fusion, "fusion.time.").collect();
    let mut gains: Vec<(&FactRow, &str)> = of(source, Probe::Fusion, "fusion.gain.").collect();
    gains.sort_by_key(|(fact, activation)| (fact.triple, fact.shape, activation.to_string(), fact.path.clone()));
    for (fact, activation) in gains {
        let short = activation.strip_prefix("gelu-").unwrap_or(activation);
        let place = |other: &FactRow| {
            (other.triple, other.shape, other.recipe, other.cache) == (fact.triple, fact.shape, fact.recipe, fact.cache)
        };
        let time = |work: &str, path: Option<&str>| {
            let here = times.iter().filter(|(t, name)| place(t) && *name == work && path.is_none_or(|p| p == t.path));
            let least = here.filter_map(|(t, _)| t.value.parse::<f64>().ok()).min_by(f64::total_cmp);
            least.map_or_else(String::new, |us| fixed(us, 2))
        };
        let words = word_of(fact).to_owned();
        table.push(|| {
            vec![
                types(fact),
                fact.shape.map_or_else(String::new, |shape| shape.to_string()),
                activation.to_owned(),
                fact.path.clone(),
                time(&format!("decomposed-{short}"), None),
                time(&format!("fused-{short}"), Some(&fact.path)),
                measure(fact, 3),
                words,
            ]
        });
    }
    table
}

fn attention(source: Source<'_>) -> Table {
    let columns = ["types", "M×N×K", "path", "form", "#us", "#10¹² op/s", "#over decomposed", "#over fused"];
    let mut table = Table::new(&columns);
    let mut times: Vec<(&FactRow, &str)> = of(source, Probe::Attention, "attention.time.").collect();
    times.sort_by_key(|(fact, work)| (fact.triple, fact.shape, work.to_string(), fact.path.clone()));
    let others: Vec<&FactRow> = source.facts.iter().filter(|fact| fact.probe == Probe::Attention).collect();
    for (fact, work) in times {
        let form = work.strip_suffix("-attention").unwrap_or(work);
        let place = |f: &FactRow| (f.path.clone(), f.triple, f.shape, f.recipe, f.cache);
        let ratio = |name: &str| {
            let found =
                others.iter().find(|other| other.name == name && place(other) == place(fact) && form == "fused");
            found.map_or_else(String::new, |f| {
                let word = word_of(f);
                if f.value == word { word.to_owned() } else { format!("{} {word}", measure(f, 3)) }
            })
        };
        let us = fact.value.parse::<f64>().ok().filter(|us| *us > 0.0);
        let rate = us.zip(fact.shape).map(|(us, shape)| Calculation::Attention.operations(shape) as f64 / us * 1e-6);
        table.push(|| {
            vec![
                types(fact),
                fact.shape.map_or_else(String::new, |shape| shape.to_string()),
                fact.path.clone(),
                form.to_owned(),
                us.map_or_else(String::new, |us| fixed(us, 2)),
                rate.map_or_else(String::new, |rate| fixed(rate, 1)),
                ratio("attention.gain"),
                ratio("attention.over_fused"),
            ]
        });
    }
    table
}

fn crossings(source: Source<'_>) -> Table {
    let mut table = Table::new(&["types", "path", "activation", "crossing", "sizes"]);
    for (fact, activation) in of(source, Probe::Fusion, "fusion.crossing.") {
        let row = || vec![types(fact), fact.path.clone(), activation.to_owned(), measure(fact, 0), fact.words.clone()];
        table.push(row);
    }
    table
}

fn energy(source: Source<'_>) -> Table {
    let mut table = Table::new(&["path", "types", "load", "meter", "#W", "#pJ an operation", "#zeros ÷ random"]);
    for (fact, meter) in of(source, Probe::Power, "energy.operation.") {
        let same = |other: &&FactRow| {
            other.probe == Probe::Power
                && (&other.path, other.triple, other.shape, other.recipe)
                    == (&fact.path, fact.triple, fact.shape, fact.recipe)
        };
        let beside = |name: String, decimals| {
            let found = source.facts.iter().filter(same).find(|other| other.name == name);
            found.map_or_else(String::new, |fact| measure(fact, decimals))
        };
        let load = match (fact.shape, fact.recipe) {
            (Some(shape), Some(recipe)) => format!("{shape} {}", recipe.name()),
            _ => "ceiling loop".to_owned(),
        };
        table.push(|| {
            vec![
                fact.path.clone(),
                types(fact),
                load,
                meter.to_owned(),
                beside(format!("power.load.{meter}"), 1),
                measure(fact, 3),
                beside(format!("energy.zeros.{meter}"), 3),
            ]
        });
    }
    table
}

fn meters(source: Source<'_>) -> Table {
    let mut table = Table::new(&["meter", "what", "#value", "unit"]);
    for (prefix, what) in [("power.idle.", "power while nothing ran"), ("meter.period.", "time between updates")] {
        for (fact, meter) in of(source, Probe::Power, prefix) {
            table.push(|| vec![meter.to_owned(), what.to_owned(), measure(fact, 2), fact.unit.clone()]);
        }
    }
    table
}
