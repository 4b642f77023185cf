//! Where, with what and from which files was this made?

use crate::numbers::{count, counted};
use crate::source::Source;
use crate::table::Table;
use crate::text::markup;
use rigel_ledger::Provenance;

/// Run records on a page before the rest is only counted.
const MOST: usize = 12;

pub(super) fn section(source: Source<'_>) -> String {
    let mut out = String::from("<footer id=\"provenance\">\n<h2>Provenance</h2>\n");
    if source.provenance.is_empty() {
        out.push_str("<p>This run has no run.json: nothing is known of where its rows come from.</p>\n");
    }
    for record in source.provenance.iter().take(MOST) {
        out.push_str(&record_html(record));
    }
    if source.provenance.len() > MOST {
        let (shown, all) = (count(MOST), counted(source.provenance.len(), "run record"));
        out.push_str(&format!(
            "<p class=\"note\">The first {shown} of {all}; all of them stand in the run directory.</p>\n"
        ));
    }
    if source.files.files.is_empty() {
        out.push_str(
            "<p class=\"note\">This run is not sealed: it has no MANIFEST, so its files carry no digests.</p>\n",
        );
    } else {
        let mut table = Table::new(&["file", "#rows", "BLAKE3"]);
        for file in &source.files.files {
            let rows = file.rows.map(|n| count(usize::try_from(n).unwrap_or(usize::MAX))).unwrap_or_default();
            table.push(|| vec![file.name.clone(), rows, file.digest.clone()]);
        }
        let n = counted(table.total(), "file");
        out.push_str(&format!(
            "<h3>Files</h3>\n<details><summary>{n} and their digests</summary>\n{}</details>\n",
            table.html("MANIFEST")
        ));
    }
    out.push_str(&format!(
        "<p class=\"note\">Digests show that files belong together, not who wrote them. This page again: <code>{}</code>; check it: <code>rigel verify {}</code></p>\n</footer>\n",
        markup(&source.report_command()),
        markup(&source.directory())
    ));
    out
}

fn record_html(record: &Provenance) -> String {
    let device = &record.device;
    let dirty = match record.dirty {
        Some(true) => " with changes",
        Some(false) => "",
        None => " (whether changed is unknown)",
    };
    let load = record.host.load.map(|l| format!(", load {l} at the start")).unwrap_or_default();
    let gib = |bytes: u64| format!("{} GiB", crate::numbers::fixed(bytes as f64 / 1_073_741_824.0, 1));
    let entries = [
        ("kind", rigel_ledger::rows::name_of(&record.kind)),
        ("started", record.started.clone()),
        ("command", record.command.join(" ")),
        ("plan", format!("{}, BLAKE3 {}", record.plan, record.plan_hash)),
        ("seed", record.seed.to_string()),
        ("code", format!("{}{dirty}", record.commit)),
        ("binary", format!("BLAKE3 {}", record.binary_hash)),
        ("input recipes", format!("BLAKE3 {}", record.recipe_hash)),
        ("partition", record.partition.clone()),
        ("cells at a time", record.concurrent_cells.to_string()),
        (
            "device",
            format!(
                "{} ({}), {}, {}",
                device.name,
                device.id,
                counted(device.cores as usize, "core"),
                gib(device.memory_bytes)
            ),
        ),
        ("clocks", device.clocks.clone()),
        ("features", device.features.join(" ")),
        ("driver", device.driver.clone()),
        ("firmware", device.firmware.clone()),
        ("toolchain", device.toolchain.clone()),
        ("kernels", device.kernels.clone()),
        ("system", device.os.clone()),
        (
            "host",
            format!("{}, {}{load}", record.host.cpu, counted(record.host.logical_cpus as usize, "logical processor")),
        ),
        ("environment", record.host.environment.clone()),
    ];
    let mut out = format!("<h3>Run {}</h3>\n<dl>\n", markup(&record.run));
    for (name, value) in entries.iter().filter(|(_, v)| !v.trim().is_empty()) {
        out.push_str(&format!("<dt>{name}</dt><dd>{}</dd>\n", markup(value)));
    }
    out.push_str("</dl>\n");
    out
}
