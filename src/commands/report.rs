//! How does a run become a page, a terminal table and the findings of a README?

use super::records::Form;
use super::table::Table;
use super::writing::put;
use crate::args::{Format, ReportArgs};
use crate::exit::{Exit, failure};
use rigel_ledger::Probe;
use rigel_ledger::rows::name_of;
use rigel_ledger::store::Run;
use rigel_report::{Files, Source, VerdictTable};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// What stands before the table in a README.
const BEGIN: &str = "<!-- rigel findings: begin -->";
/// What stands behind it.
const END: &str = "<!-- rigel findings: end -->";

/// Bytes of a README, at most.
const LONGEST: u64 = 16 << 20;

/// Writes or checks the page, renews a table of a README where one is named, and prints a published study where one is.
pub fn report(args: &ReportArgs) -> anyhow::Result<Exit> {
    let Some(dir) = &args.run else {
        if args.check && args.readme.is_none() {
            let why = "--check compares files: name a run directory, or a Markdown file with --readme";
            return Err(failure(Exit::Usage, why));
        }
        return super::published::print(args, None);
    };
    let run = super::opening::open(dir)?;
    // A study that is printed beside a run goes onto a page only where one is asked for: the run's own page stays its own.
    let out = match (&args.out, args.published) {
        (Some(out), _) => Some(out.clone()),
        (None, None) => Some(dir.join("report.html")),
        (None, Some(_)) => None,
    };
    let mut same = true;
    if let Some(out) = out {
        let write = if args.published.is_some() { rigel_report::page_with_study } else { rigel_report::page };
        let page = with_source(&run, |source| Ok(write(source)))?;
        same &= put(&out, page.as_bytes(), args.check)?;
    }
    if let Some(pages) = &args.units {
        same &= book(&run, pages, args)?;
    }
    if args.published.is_some() {
        let exit = with_source(&run, |source| super::published::print(args, Some(source)))?;
        same &= exit == Exit::Fine;
    } else if let Some(readme) = &args.readme {
        let table = with_source(&run, |source| Ok(rigel_report::findings_markdown(source)))?;
        let [begin, end] = markers(&text_of(readme)?, &directory(run.dir()));
        same &= renew(readme, &table, [&begin, &end], args.check)?;
    }
    Ok(if same { Exit::Fine } else { Exit::CheckFailed })
}

/// Writes a page a unit of a run, or checks them; whether they were so already, or are written now. Other pages in their directory fail a
/// check: they are of units that the run no longer has.
fn book(run: &Run, pages: &Path, args: &ReportArgs) -> anyhow::Result<bool> {
    let beside: Vec<Run> = args.beside.iter().map(|dir| super::opening::open(dir)).collect::<anyhow::Result<_>>()?;
    let device = |run: &Run| run.provenance().first().map(|record| record.device.name.clone());
    if let Some(other) = beside.iter().find(|other| device(other) != device(run)) {
        let [here, there] = [run, other].map(|run| device(run).unwrap_or_default());
        let why = format!(
            "--beside {} is of {there}, the units are of {here}: name a run of that device",
            other.dir().display()
        );
        return Err(failure(Exit::Usage, why));
    }
    let samples: Vec<_> =
        beside.iter().map(Run::samples).collect::<Result<_, _>>().map_err(|e| failure(Exit::Usage, e))?;
    let files: Vec<Files> = beside.iter().map(|run| Files::of(run, &directory(run.dir()))).collect();
    let beside: Vec<Source> = beside
        .iter()
        .zip(&samples)
        .zip(&files)
        .map(|((run, samples), files)| Source::open(run, samples, files))
        .collect();
    let way = way(pages, run.dir());
    let book = with_source(run, |source| Ok(rigel_report::book(source, &beside, &way)))?;
    if book.is_empty() {
        let why =
            format!("{} asked no unit, so there is no page to write; preset `units` asks them", run.dir().display());
        return Err(failure(Exit::NothingSelected, why));
    }
    let mut same = true;
    for page in &book {
        same &= put(&pages.join(&page.file), page.text.as_bytes(), args.check)?;
    }
    let strays = std::fs::read_dir(pages).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let strays = strays.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "md"));
    for stray in strays.filter(|name| !book.iter().any(|page| name.to_str() == Some(&page.file))) {
        let stray = pages.join(stray);
        crate::terminal::tell!("{} is of no unit of {}: delete it", stray.display(), run.dir().display());
        same = false;
    }
    Ok(same)
}

/// The way from one directory to another, both below the working directory where they are; else the other's own name.
fn way(from: &Path, to: &Path) -> String {
    let (from, to) = (directory(from), directory(to));
    let ups = Path::new(&from).components().count();
    if Path::new(&from).is_absolute() || Path::new(&to).is_absolute() || from.starts_with("..") || to.starts_with("..")
    {
        return to;
    }
    format!("{}{to}", "../".repeat(ups))
}

/// The markers of a run in a page: those that name its directory where the page has them, for a page may hold several runs.
fn markers(page: &str, directory: &str) -> [String; 2] {
    let own = ["begin", "end"].map(|which| format!("<!-- rigel findings of {directory}: {which} -->"));
    if page.contains(&own[0]) { own } else { [BEGIN, END].map(str::to_owned) }
}

/// Renews what stands between two markers of a Markdown file, or checks it; whether it was so already, or is written now.
pub fn renew(readme: &Path, table: &str, [begin, end]: [&str; 2], check: bool) -> anyhow::Result<bool> {
    let old = text_of(readme)?;
    let new = renewed(&old, table, [begin, end]).ok_or_else(|| {
        let name = readme.display();
        failure(Exit::Usage, format!("{name} has not the two lines `{begin}` and `{end}`, in that order, once each"))
    })?;
    put(readme, new.as_bytes(), check)
}

/// The text of a README; what is longer than [`LONGEST`] is none.
fn text_of(readme: &Path) -> anyhow::Result<String> {
    let unread = |why: String| failure(Exit::Usage, format!("cannot read {}: {why}", readme.display()));
    let named = |why| unread(format!("{why}; name one that has the two lines between which the table goes"));
    super::reading::text(readme, LONGEST).map_err(named)
}

/// The text with what stands between two markers replaced; `None` where they are not there once each, in that order.
fn renewed(old: &str, table: &str, [begin, end]: [&str; 2]) -> Option<String> {
    let once = |marker: &str| (old.matches(marker).count() == 1).then(|| old.find(marker)).flatten();
    let (begin, end) = (once(begin)? + begin.len(), once(end)?);
    (begin <= end).then(|| format!("{}\n\n{}\n\n{}", &old[..begin], table.trim_end(), &old[end..]))
}

/// Hands a run to the report as its source.
pub fn with_source<T>(run: &Run, then: impl FnOnce(Source) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let samples = run.samples().map_err(|e| failure(Exit::Usage, e))?;
    let files = Files::of(run, &directory(run.dir()));
    then(Source::open(run, &samples, &files))
}

/// A run's directory as commands on a page name it: relative to the working directory where it lies below, so that the
/// bytes do not depend on how it was typed.
fn directory(dir: &Path) -> String {
    let below = std::env::current_dir().and_then(|here| here.canonicalize()).ok().zip(dir.canonicalize().ok());
    let relative = below.as_ref().and_then(|(here, there)| there.strip_prefix(here).ok());
    let named = relative.filter(|path| !path.as_os_str().is_empty()).unwrap_or(dir);
    named.display().to_string().trim_end_matches('/').to_owned()
}

/// Writes the page of a run.
pub fn write_page(run: &Run, path: &Path) -> anyhow::Result<()> {
    let page = with_source(run, |source| Ok(rigel_report::page(source)))?;
    put(path, page.as_bytes(), false).map(drop)
}

/// Prints the verdicts on standard output: a table for people, raw values for programs.
pub fn print_verdicts(run: &Run, format: Format) -> anyhow::Result<()> {
    if let Some(form) = Form::of(format) {
        return super::verdicts::print(run, form);
    }
    let (products, verdicts) = with_source(run, |source| Ok((source.asks_products(), VerdictTable::new(source))))?;
    if products {
        let text = verdicts.text(crate::terminal::width(), crate::terminal::bold);
        crate::terminal::output().write_all(text.as_bytes())?;
    }
    units(run)?;
    if let Some(orders) = with_source(run, |source| Ok(rigel_report::orders_text(source)))? {
        Table::from(orders).print()?;
    }
    with_source(run, |source| Ok(rigel_report::demands_text(source)))?.into_iter().try_for_each(|(title, table)| {
        writeln!(crate::terminal::output(), "{}", crate::terminal::bold(title))?;
        Table::from(table).print()
    })
}

/// Prints what was found of single units, a line a unit or conversion; nothing for a run that asked none.
fn units(run: &Run) -> anyhow::Result<()> {
    let mut lines: BTreeMap<(String, String), [Vec<String>; 3]> = BTreeMap::new();
    for row in run.cells() {
        let (column, name) = match row.probe {
            Probe::Arithmetic => (0, row.tile.as_str()),
            Probe::Layout => (1, row.tile.as_str()),
            Probe::Specials => (2, row.tile.strip_suffix(".a").or(row.tile.strip_suffix(".b")).unwrap_or(&row.tile)),
            _ => continue,
        };
        let said = name_of(&row.outcome).replace('-', " ");
        let line = lines.entry((format!("{}/{name}", row.path), row.triple.pretty())).or_default();
        if !line[column].contains(&said) {
            line[column].push(said);
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let mut table = Table::new(&["unit", "types", "arithmetic", "layout", "codes"]);
    for ((unit, types), said) in lines {
        let [arithmetic, layout, codes] = said.map(|words| words.join(", "));
        table.row([unit, types, arithmetic, layout, codes]);
    }
    table.print()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_between_the_markers_changes() {
        let old = format!("# Title\n\n{BEGIN}\nold\n{END}\n\nend\n");
        let new = renewed(&old, "| a |\n", [BEGIN, END]).unwrap();
        assert_eq!(new, format!("# Title\n\n{BEGIN}\n\n| a |\n\n{END}\n\nend\n"));
        assert_eq!(renewed(&new, "| a |\n", [BEGIN, END]).unwrap(), new);
    }

    #[test]
    fn missing_doubled_or_turned_markers_are_refused() {
        for bad in [String::new(), BEGIN.into(), format!("{END}{BEGIN}"), format!("{BEGIN}{BEGIN}{END}")] {
            assert_eq!(renewed(&bad, "x", [BEGIN, END]), None, "{bad}");
        }
    }
}
