//! Which devices are here, and what is missing?

use super::table::{Table, engineering};
use crate::args::DevicesArgs;
use crate::exit::{Exit, failure};
use crate::terminal::bold;
use rigel_device::backends::{BACKENDS, open};
use std::io::Write;

/// Lists devices, or one in full.
pub fn devices(args: &DevicesArgs) -> anyhow::Result<Exit> {
    match &args.device {
        Some(selector) => one(selector, args),
        None => all(args),
    }
}

fn all(args: &DevicesArgs) -> anyhow::Result<Exit> {
    let mut table = Table::new(&["device", "kind", "name", "cores", "paths", "types", "missing"]);
    for backend in BACKENDS {
        match (backend.find)() {
            Err(why) => table.row([
                backend.name.into(),
                "none found".into(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                why,
            ]),
            Ok(selectors) => {
                for selector in selectors {
                    match open(&selector) {
                        Err(why) => table.row([selector, "does not open".into(), why]),
                        Ok(mut device) => {
                            let d = device.describe();
                            let offers = device.offers();
                            let present: Vec<_> = offers.iter().filter(|o| o.absent.is_empty()).collect();
                            let paths: std::collections::BTreeSet<&str> =
                                present.iter().map(|o| o.path.as_str()).collect();
                            let absent = offers.len() - present.len();
                            let meters = device.meters().1.len();
                            let mut missing = Vec::new();
                            if absent > 0 {
                                missing.push(format!("{absent} offers absent"));
                            }
                            if meters > 0 {
                                missing.push(format!("{meters} meters unavailable"));
                            }
                            table.row([
                                selector,
                                rigel_ledger::rows::name_of(&d.kind),
                                d.name,
                                d.cores.to_string(),
                                paths.len().to_string(),
                                present.len().to_string(),
                                missing.join(", "),
                            ]);
                        }
                    }
                }
            }
        }
    }
    table.print(args.format)?;
    Ok(Exit::Fine)
}

fn one(selector: &str, args: &DevicesArgs) -> anyhow::Result<Exit> {
    let mut device = open(selector).map_err(|why| failure(Exit::NoDevice, why))?;
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
    table.print(args.format)?;
    Ok(Exit::Fine)
}
