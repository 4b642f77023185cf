//! Which devices are here, and what is missing?

use super::records::{Field, Form, Records};
use super::table::{Table, engineering};
use crate::args::DevicesArgs;
use crate::exit::Exit;
use crate::terminal::{bold, wrapped};
use rigel_device::backends::{BACKENDS, open};
use rigel_device::unit::{ConversionSpec, UnitSpec};
use rigel_device::{Device, RuleAnswer};
use std::collections::BTreeSet;
use std::io::Write;

/// Lists devices, or one in full.
pub fn devices(args: &DevicesArgs) -> anyhow::Result<Exit> {
    match &args.device {
        Some(selector) => one(selector, args),
        None => all(args),
    }
}

/// What one line says of a device, or of a backend without one.
struct Line {
    selector: String,
    kind: String,
    name: String,
    cores: Option<u32>,
    /// Paths, type triples, units and conversions; offers that are absent, meters that are missing.
    counts: Option<[usize; 5]>,
    why: String,
}

fn all(args: &DevicesArgs) -> anyhow::Result<Exit> {
    let mut lines = Vec::new();
    for backend in BACKENDS {
        match (backend.find)() {
            Ok(selectors) => lines.extend(selectors.into_iter().map(line)),
            Err(why) => lines.push(nothing(backend.name.to_owned(), "none found", why)),
        }
    }
    match Form::of(args.format) {
        None => table(lines)?,
        Some(form) => records(lines, form)?,
    }
    Ok(Exit::Fine)
}

fn nothing(selector: String, kind: &str, why: String) -> Line {
    Line { selector, kind: kind.to_owned(), name: String::new(), cores: None, counts: None, why }
}

fn line(selector: String) -> Line {
    let mut device = match open(&selector) {
        Ok(device) => device,
        Err(why) => return nothing(selector, "does not open", why),
    };
    let d = device.describe();
    let offers = device.offers();
    let present: Vec<_> = offers.iter().filter(|o| o.absent.is_empty()).collect();
    let paths: BTreeSet<&str> = present.iter().map(|o| o.path.as_str()).collect();
    let units = device.units().len() + device.conversions().len();
    let counts = [paths.len(), present.len(), units, offers.len() - present.len(), device.meters().1.len()];
    let kind = rigel_ledger::rows::name_of(&d.kind);
    Line { selector, kind, name: d.name, cores: Some(d.cores), counts: Some(counts), why: String::new() }
}

fn table(lines: Vec<Line>) -> anyhow::Result<()> {
    let mut table = Table::new(&["device", "kind", "name", "cores", "paths", "types", "units", "missing"]);
    // A sentence in a column would be a column of single words: it stands below.
    let mut reasons = Vec::new();
    for line in lines {
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let [paths, types, units, missing] = match line.counts {
            None => {
                reasons.push(format!("{} {}: {}", line.selector, line.kind, line.why));
                [String::new(), String::new(), String::new(), "see below".to_owned()]
            }
            Some([paths, types, units, absent, meters]) => {
                let absent = count(absent, "offer").map(|text| format!("{text} absent"));
                let meters = count(meters, "meter").map(|text| format!("{text} unavailable"));
                let missing: Vec<String> = [absent, meters].into_iter().flatten().collect();
                [paths.to_string(), types.to_string(), units.to_string(), missing.join(", ")]
            }
        };
        let cores = line.cores.map(|n| n.to_string()).unwrap_or_default();
        table.row([line.selector, line.kind, line.name, cores, paths, types, units, missing]);
    }
    table.print()?;
    let mut out = crate::terminal::output();
    reasons.iter().try_for_each(|why| writeln!(out, "\n{}", wrapped(why, 2)))?;
    Ok(())
}

fn records(lines: Vec<Line>, form: Form) -> anyhow::Result<()> {
    let mut records = Records::new([
        "device",
        "kind",
        "name",
        "cores",
        "paths",
        "triples",
        "units",
        "absent_offers",
        "missing_meters",
        "reason",
    ]);
    for line in lines {
        let [paths, triples, units, absent, meters] =
            line.counts.map_or([None; 5], |counts| counts.map(Some)).map(Field::from);
        let Line { selector, kind, name, cores, why, .. } = line;
        records.row([
            selector.into(),
            kind.into(),
            name.into(),
            cores.into(),
            paths,
            triples,
            units,
            absent,
            meters,
            why.into(),
        ]);
    }
    records.print(form)
}

/// Single instructions and conversions, the latter without tile and registers.
fn units(device: &dyn Device, args: &DevicesArgs) -> anyhow::Result<Exit> {
    let unit = |spec: UnitSpec| {
        let registers = spec.fragments.map(|f| format!("{} lanes of {}, {} and {}", f.lanes, f.a, f.b, f.c));
        (spec.name, spec.path, spec.triple.to_string(), Some(spec.shape.to_string()), registers, spec.source)
    };
    let conversion = |spec: ConversionSpec| {
        (spec.name, "conversions".to_owned(), format!("{}->{}", spec.from, spec.to), None, None, spec.source)
    };
    let all = device.units().into_iter().map(unit).chain(device.conversions().into_iter().map(conversion));
    let Some(form) = Form::of(args.format) else {
        let mut table = Table::new(&["unit", "path", "types", "tile", "registers of A, B and C", "source"]);
        for (name, path, types, tile, registers, source) in all {
            table.row([name, path, types, tile.unwrap_or_default(), registers.unwrap_or_default(), source]);
        }
        table.print()?;
        return Ok(Exit::Fine);
    };
    let mut records = Records::new(["unit", "path", "types", "tile", "registers", "source"]);
    for (name, path, types, tile, registers, source) in all {
        records.row([name.into(), path.into(), types.into(), tile.into(), registers.into(), source.into()]);
    }
    records.print(form)?;
    Ok(Exit::Fine)
}

/// What the device answers about rules, word for word.
fn rules(device: &mut dyn Device, args: &DevicesArgs) -> anyhow::Result<Exit> {
    let questions = 0..device.rules(&args.libraries).len();
    let answers: Vec<RuleAnswer> = questions.flat_map(|number| device.rule(&args.libraries, number)).collect();
    let columns = ["rule", "asked", "answer", "words"];
    match Form::of(args.format) {
        None => {
            let mut table = Table::new(&columns);
            for RuleAnswer { rule, asked, answer, words } in answers {
                table.row([rule, asked, answer, words.lines().next().unwrap_or_default().to_owned()]);
            }
            table.print()?;
        }
        Some(form) => {
            let kind = rigel_ledger::rows::name_of(&device.describe().kind);
            let mut records = Records::new(["rule", "asked", "answer", "words", "kind"]);
            for RuleAnswer { rule, asked, answer, words } in answers {
                records.row([rule.into(), asked.into(), answer.into(), words.into(), kind.clone().into()]);
            }
            records.print(form)?;
        }
    }
    Ok(Exit::Fine)
}

fn one(selector: &str, args: &DevicesArgs) -> anyhow::Result<Exit> {
    let mut device = super::planning::open(selector)?;
    if args.units {
        return units(device.as_ref(), args);
    }
    if args.rules {
        return rules(device.as_mut(), args);
    }
    let d = device.describe();
    if args.format == crate::args::Format::Table {
        let mut out = crate::terminal::output();
        writeln!(out, "{}  {}", bold(&d.name), d.id)?;
        let memory = format!("{}B", engineering(d.memory_bytes as f64));
        let cores = d.cores.to_string();
        let lines = [
            ("cores", cores.as_str()),
            ("memory", memory.as_str()),
            ("driver", &d.driver),
            ("firmware", &d.firmware),
            ("system", &d.os),
            ("toolchain", &d.toolchain),
            ("clocks", &d.clocks),
        ];
        for (name, text) in lines {
            writeln!(out, "  {name:<10} {}", if text.is_empty() { "unknown" } else { text })?;
        }
        writeln!(out, "  {:<10} {}", "features", d.features.join(" "))?;
        let (units, conversions) = (device.units().len(), device.conversions().len());
        if units + conversions > 0 {
            let list = format!("rigel devices --device {selector} --units");
            writeln!(out, "  {:<10} {units}, and {conversions} conversions: {list}", "units")?;
        }
        let (meters, missing) = device.meters();
        for meter in meters {
            writeln!(out, "  {:<10} {} in {}: {}", "meter", meter.name(), meter.unit(), meter.coverage())?;
        }
        for meter in missing {
            writeln!(out, "  {:<10} {} unavailable: {}", "meter", meter.name, meter.reason)?;
        }
        writeln!(out)?;
    }
    match Form::of(args.format) {
        None => {
            let mut table = Table::new(&["path", "types", "advertised", "stated op/cycle/core", "here"]);
            for offer in device.offers() {
                let advertised = if offer.advertised.yes { "yes" } else { "no" };
                table.row([
                    offer.path,
                    offer.triple.to_string(),
                    format!("{advertised}: {}", offer.advertised.source),
                    offer.stated.map(|s| s.operations_per_cycle_per_core.to_string()).unwrap_or_default(),
                    if offer.absent.is_empty() { "yes".into() } else { format!("no: {}", offer.absent) },
                ]);
            }
            table.print()?;
        }
        Some(form) => {
            let mut records = Records::new([
                "path",
                "triple",
                "advertised",
                "advertised_source",
                "stated_op_per_cycle_per_core",
                "stated_source",
                "has_ceiling",
                "conversion",
                "here",
                "absent_reason",
            ]);
            for offer in device.offers() {
                let stated = offer.stated.as_ref();
                records.row([
                    offer.path.into(),
                    offer.triple.to_string().into(),
                    Field::yes_or_no(offer.advertised.yes),
                    offer.advertised.source.into(),
                    stated.map(|s| s.operations_per_cycle_per_core).into(),
                    stated.map(|s| s.source.as_str()).into(),
                    Field::yes_or_no(offer.has_ceiling),
                    offer.conversion.into(),
                    Field::yes_or_no(offer.absent.is_empty()),
                    offer.absent.into(),
                ]);
            }
            records.print(form)?;
        }
    }
    Ok(Exit::Fine)
}
