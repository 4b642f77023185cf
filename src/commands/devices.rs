//! Which devices are here, and what is missing?

use super::records::{Field, Form, Records};
use super::table::{Table, engineering};
use crate::args::DevicesArgs;
use crate::exit::Exit;
use crate::terminal::bold;
use rigel_device::backends::{BACKENDS, open};
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
    /// Paths, type triples, and offers that are absent; meters that are missing.
    counts: Option<[usize; 4]>,
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
    let counts = [paths.len(), present.len(), offers.len() - present.len(), device.meters().1.len()];
    let kind = rigel_ledger::rows::name_of(&d.kind);
    Line { selector, kind, name: d.name, cores: Some(d.cores), counts: Some(counts), why: String::new() }
}

fn table(lines: Vec<Line>) -> anyhow::Result<()> {
    let mut table = Table::new(&["device", "kind", "name", "cores", "paths", "types", "missing"]);
    for line in lines {
        let count = |n: usize, what: &str| match n {
            0 => None,
            1 => Some(format!("1 {what}")),
            n => Some(format!("{n} {what}s")),
        };
        let [paths, types, missing] = match line.counts {
            None => [String::new(), String::new(), line.why],
            Some([paths, types, absent, meters]) => {
                let absent = count(absent, "offer").map(|text| format!("{text} absent"));
                let meters = count(meters, "meter").map(|text| format!("{text} unavailable"));
                let missing: Vec<String> = [absent, meters].into_iter().flatten().collect();
                [paths.to_string(), types.to_string(), missing.join(", ")]
            }
        };
        let cores = line.cores.map(|n| n.to_string()).unwrap_or_default();
        table.row([line.selector, line.kind, line.name, cores, paths, types, missing]);
    }
    table.print()
}

fn records(lines: Vec<Line>, form: Form) -> anyhow::Result<()> {
    let mut records = Records::new([
        "device",
        "kind",
        "name",
        "cores",
        "paths",
        "triples",
        "absent_offers",
        "missing_meters",
        "reason",
    ]);
    for line in lines {
        let [paths, triples, absent, meters] =
            line.counts.map_or([None; 4], |counts| counts.map(Some)).map(Field::from);
        let Line { selector, kind, name, cores, why, .. } = line;
        records.row([
            selector.into(),
            kind.into(),
            name.into(),
            cores.into(),
            paths,
            triples,
            absent,
            meters,
            why.into(),
        ]);
    }
    records.print(form)
}

fn one(selector: &str, args: &DevicesArgs) -> anyhow::Result<Exit> {
    let mut device = super::planning::open(selector)?;
    let d = device.describe();
    if args.format == crate::args::Format::Table {
        let mut out = std::io::stdout().lock();
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
