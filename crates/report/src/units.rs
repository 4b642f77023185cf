//! What does a run say of single units: which belong together, which pictures and which table do they have?

use crate::figure::Figure;
use crate::figures::layout::{LayoutPicture, layout_picture};
use crate::kind::Kind;
use crate::source::Source;
use crate::table::Table;
use crate::text::markdown;
use rigel_ledger::rows::{FactRow, Outcome, name_of};
use rigel_ledger::units::{
    ArithmeticRecord, Claim, ConversionRecord, LayoutRecord, Question, UnitIdentity, UnitRecord, stem,
};
use rigel_ledger::{CellRow, Probe};
use rigel_numerics::layout::{Fragment, FragmentOperand, Layout};
use std::fmt::Write as _;

/// One unit with everything that was found of it.
#[derive(Clone)]
pub(crate) struct UnitView<'a> {
    pub unit: &'a UnitIdentity,
    pub arithmetic: Option<&'a ArithmeticRecord>,
    pub layout: Option<(&'a LayoutRecord, &'a str)>,
    /// Its operands asked as conversions.
    pub operands: Vec<&'a ConversionRecord>,
}

/// The units of a run in the order of the device's list, as far as rows tell: by path and name.
pub(crate) fn views<'a>(source: Source<'a>) -> Vec<UnitView<'a>> {
    let mut views: Vec<UnitView<'a>> = Vec::new();
    for record in source.units {
        let (unit, name) = match record {
            UnitRecord::Conversion(conversion) => match owner(conversion) {
                Some(name) => (&conversion.unit, name),
                None => continue,
            },
            UnitRecord::Order(_) => continue,
            other => (other.unit(), other.unit().name.as_str()),
        };
        let known = views.iter().position(|view| view.unit.path == unit.path && named(view) == name);
        let at = known.unwrap_or_else(|| {
            views.push(UnitView { unit, arithmetic: None, layout: None, operands: Vec::new() });
            views.len() - 1
        });
        let view = &mut views[at];
        match record {
            UnitRecord::Arithmetic(record) => (view.unit, view.arithmetic) = (&record.unit, Some(&**record)),
            UnitRecord::Layout { record, table } => {
                (view.unit, view.layout) = (&record.unit, Some((&**record, table.as_str())))
            }
            UnitRecord::Conversion(record) => view.operands.push(record),
            UnitRecord::Order(_) => {}
        }
    }
    for view in &mut views {
        view.operands.sort_by(|x, y| x.unit.name.cmp(&y.unit.name));
    }
    views.sort_by(|x, y| (&x.unit.path, named(x)).cmp(&(&y.unit.path, named(y))));
    views
}

/// Conversions that are no operand of a unit, by name.
pub(crate) fn conversions<'a>(source: Source<'a>) -> Vec<&'a ConversionRecord> {
    let of = |record: &'a UnitRecord| match record {
        UnitRecord::Conversion(conversion) if owner(conversion).is_none() => Some(&**conversion),
        _ => None,
    };
    let mut all: Vec<&ConversionRecord> = source.units.iter().filter_map(of).collect();
    all.sort_by(|x, y| x.unit.name.cmp(&y.unit.name));
    all
}

/// The unit whose operand a conversion is: it has more than one element, or carries an operand's ending.
fn owner(conversion: &ConversionRecord) -> Option<&str> {
    let name = &conversion.unit.name;
    let ending = name.strip_suffix(".a").or_else(|| name.strip_suffix(".b"));
    ending.filter(|_| conversion.unit.path != "conversions")
}

fn named<'a>(view: &UnitView<'a>) -> &'a str {
    let name = view.unit.name.as_str();
    match view.arithmetic.is_none() && view.layout.is_none() {
        true => name.strip_suffix(".a").or_else(|| name.strip_suffix(".b")).unwrap_or(name),
        false => name,
    }
}

impl<'a> UnitView<'a> {
    /// Its name.
    pub fn name(&self) -> &'a str {
        named(self)
    }

    /// Its facts of one probe, in the order of the file.
    pub fn facts(&self, source: Source<'a>, probe: Probe) -> Vec<&'a FactRow> {
        let subject = format!("{}/{}", self.unit.path, self.name());
        source.facts.iter().filter(|fact| fact.probe == probe && fact.path == subject).collect()
    }

    /// Its layouts of A, B, C and D; D's only where C's is another one.
    pub fn layouts(&self) -> Vec<(&'static str, FragmentOperand, Layout)> {
        let Some((record, table)) = self.layout else { return Vec::new() };
        let Ok((fragment, addend)) = record.layouts(table) else { return Vec::new() };
        let Fragment { a, b, c: d } = fragment;
        let same = d == addend;
        let mut all =
            vec![("a", FragmentOperand::A, a), ("b", FragmentOperand::B, b), ("c", FragmentOperand::C, addend)];
        if !same {
            all.push(("d", FragmentOperand::C, d));
        }
        all
    }
}

/// Where a picture of a record comes from, in words.
pub(crate) fn origin(record: &LayoutRecord) -> String {
    let driver = if record.origin.driver.is_empty() { "unknown".to_owned() } else { record.origin.driver.clone() };
    format!("{}, driver {driver}; {}", record.origin.device, record.convention)
}

/// A layout that has a picture among a run's figures.
pub(crate) struct Pictured<'a> {
    /// The first unit that has it.
    pub view: UnitView<'a>,
    /// How it was seen.
    pub record: &'a LayoutRecord,
    /// Of which operand, as in the file's name.
    pub name: &'static str,
    pub operand: FragmentOperand,
    pub layout: Layout,
}

impl Pictured<'_> {
    /// The picture's file among the figures.
    pub fn file(&self) -> String {
        format!("layout-{}-{}.svg", stem(self.view.name(), self.record.cell), self.name)
    }
}

/// Every layout once, under the first unit that has it: instructions of one shape share theirs.
pub(crate) fn pictured<'a>(source: Source<'a>) -> Vec<Pictured<'a>> {
    let mut all: Vec<Pictured<'a>> = Vec::new();
    for view in views(source) {
        let Some((record, _)) = view.layout else { continue };
        for (name, operand, layout) in view.layouts() {
            if !all.iter().any(|known| known.operand == operand && known.layout == layout) {
                all.push(Pictured { view: view.clone(), record, name, operand, layout });
            }
        }
    }
    all
}

/// A picture of every layout.
pub(crate) fn figures(source: Source<'_>) -> Vec<Figure> {
    let kind = Kind::of_run(source.simulated());
    let drawn = |pictured: Pictured<'_>| {
        let Pictured { view, record, name, operand, layout } = &pictured;
        let title = match *name {
            "d" => format!("{} (D)", view.name()),
            _ => view.name().to_owned(),
        };
        let origin = origin(record);
        let svg = layout_picture(LayoutPicture { layout, operand: *operand, name: &title, kind, origin: &origin });
        let mut rows = Table::new(&["#lane", "#slot", "#row", "#column"]);
        for (lane, slot, element) in layout.entries() {
            let (row, column) =
                element.map_or_else(Default::default, |(row, column)| (row.to_string(), column.to_string()));
            rows.push(|| vec![lane.to_string(), slot.to_string(), row, column]);
        }
        Figure {
            name: pictured.file(),
            title: format!("{title}: layout of {operand}"),
            svg,
            rows,
            command: source.figures_command(),
        }
    };
    pictured(source).into_iter().map(drawn).collect()
}

/// What facts say of a unit beside its model and validation: what each is about, and its words.
pub(crate) fn lines(source: Source<'_>, view: &UnitView<'_>) -> Vec<(String, String)> {
    let facts = view.facts(source, Probe::Arithmetic).into_iter().chain(view.facts(source, Probe::Layout));
    let told = ["arithmetic", "arithmetic.model", "layout"];
    let rest = facts.filter(|f| !told.contains(&f.name.as_str()) && !f.name.starts_with("arithmetic.deviation"));
    let (composed, rest): (Vec<_>, Vec<_>) = rest.partition(|fact| fact.name == "arithmetic.composed");
    // Units of one function compose it alike: the first is told in full.
    let mut lines: Vec<(String, String)> = composed.first().into_iter().map(|fact| line(fact)).collect();
    let others: Vec<&str> = composed.iter().skip(1).map(|fact| fact.value.as_str()).collect();
    if !others.is_empty() {
        lines.push(("composed as well of".into(), others.join(", ")));
    }
    lines.extend(rest.into_iter().map(line));
    lines
}

fn line(fact: &FactRow) -> (String, String) {
    let operand = fact.name.rsplit('.').next().unwrap_or_default().to_uppercase();
    match fact.name.as_str() {
        "arithmetic.tiles" => ("tiles asked".into(), format!("{} before validation: {}", fact.value, fact.words)),
        "arithmetic.undetermined" => ("not separated".into(), fact.words.clone()),
        "arithmetic.composed" => (format!("composed of {}", fact.value), fact.words.clone()),
        "arithmetic.published" => ("agrees with".into(), format!("{}: {}", fact.value, fact.words)),
        "layout.launches" => ("launches".into(), format!("{} in all: {}", fact.value, fact.words)),
        "layout.published" => ("published as".into(), format!("{}: {}", fact.value, fact.words)),
        name if name.starts_with("operand.") => (format!("bits of {operand}"), fact.words.clone()),
        name if name.starts_with("layout.") => {
            (format!("layout of {operand}"), format!("{}: {}", fact.value, fact.words))
        }
        other => (other.to_owned(), format!("{}: {}", fact.value, fact.words)),
    }
}

/// All codes of a question, in hexadecimal.
pub(crate) fn question(question: &Question) -> String {
    let codes = |codes: &[u64]| codes.iter().map(|code| format!("{code:x}")).collect::<Vec<_>>().join(" ");
    let scales = match question.a_scales.is_empty() {
        true => String::new(),
        false => format!(", scales [{}] and [{}]", codes(&question.a_scales.0), codes(&question.b_scales.0)),
    };
    format!("a [{}], b [{}], c {:x}{scales}", codes(&question.a.0), codes(&question.b.0), question.c.0)
}

/// What one word says of a claim; a cell without a record by its outcome.
pub(crate) fn word(claim: Option<Claim>) -> String {
    claim.map(|claim| name_of(&claim)).unwrap_or_default()
}

/// Cells of units that ended without a record.
pub(crate) fn unfinished<'a>(source: Source<'a>) -> Vec<&'a CellRow> {
    let of_unit = |row: &&CellRow| rigel_ledger::units::folder(row.probe).is_some();
    let found = |row: &&CellRow| matches!(row.outcome, Outcome::Exact | Outcome::Inexact);
    source.cells.iter().filter(of_unit).filter(|row| !found(row)).collect()
}

/// The units and conversions as Markdown tables; empty for a run without any.
pub(crate) fn markdown_tables(source: Source<'_>) -> String {
    let mut out = String::new();
    let views = views(source);
    if !views.is_empty() {
        out.push_str("| unit | types, M×N×K | arithmetic | what it computes | layout | operands |\n| --- | --- | --- | --- | --- | --- |\n");
    }
    for view in &views {
        let shape = view.unit.shape;
        let arithmetic = view.facts(source, Probe::Arithmetic);
        let claim = arithmetic.iter().find(|fact| fact.name == "arithmetic");
        let tested = view.arithmetic.and_then(|record| record.validation.as_ref());
        let tested = tested.map_or(String::new(), |v| format!(": {} of {} differ", v.mismatches(), v.asked()));
        let said = claim.map_or(String::new(), |fact| format!("{}{tested}", fact.value));
        let words = view.arithmetic.map_or(String::new(), |record| match record.claim {
            Claim::Exact => record.words.clone(),
            Claim::Inexact => format!("{}; {}", record.why, record.beyond.join(", ")),
        });
        let layout = view.facts(source, Probe::Layout);
        let forms: Vec<String> = layout
            .iter()
            .filter(|fact| fact.name.strip_prefix("layout.").is_some_and(|operand| operand.len() == 1))
            .map(|fact| format!("{} {}", fact.name[7..].to_uppercase(), fact.value))
            .collect();
        let layout = match view.layout {
            Some((record, _)) if record.claim == Claim::Exact => format!("exact: {}", forms.join(", ")),
            Some((record, _)) => format!("inexact: {}", record.why),
            None => String::new(),
        };
        let operands: Vec<String> = view
            .operands
            .iter()
            .map(|operand| format!("{}: {}", operand_name(operand), conversion_words(operand)))
            .collect();
        let cells = [
            format!("`{}` ({})", view.name(), view.unit.path),
            format!("{}, {}×{}×{}", view.unit.triple.pretty(), shape.m, shape.n, shape.k),
            said,
            words,
            layout,
            operands.join("; "),
        ];
        row(&mut out, &cells);
    }
    let conversions = conversions(source);
    if !conversions.is_empty() {
        out.push_str("\n| conversion | rule | codes | NaN words |\n| --- | --- | --- | --- |\n");
    }
    for conversion in conversions {
        let nan: Vec<String> = conversion.nan_words.0.iter().map(|word| format!("{word:x}")).collect();
        let all = if conversion.all { "all " } else { "" };
        let cells = [
            format!("`{}`", conversion.unit.name),
            conversion_words(conversion),
            format!("{} of {all}{} deviate", conversion.deviating, conversion.codes),
            nan.join(" "),
        ];
        row(&mut out, &cells);
    }
    for row in unfinished(source) {
        let (probe, outcome) = (name_of(&row.probe), name_of(&row.outcome).replace('-', " "));
        writeln!(out, "\n{} of `{}`: {outcome}: {}", probe, markdown(&row.tile), markdown(&row.reason)).unwrap_or(());
    }
    out
}

/// The operand that a conversion stands for: `a` or `b`.
pub(crate) fn operand_name(conversion: &ConversionRecord) -> &'static str {
    if conversion.unit.name.ends_with(".b") { "b" } else { "a" }
}

/// The rule, and how many codes deviate from it.
pub(crate) fn conversion_words(conversion: &ConversionRecord) -> String {
    match conversion.deviating {
        0 => conversion.words.clone(),
        n => format!("{} but for {n} of {} codes", conversion.words, conversion.codes),
    }
}

fn row(out: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| markdown_but_ticks(cell)).collect();
    writeln!(out, "| {} |", cells.join(" | ")).unwrap_or(());
}

/// Escaped, but for a leading name between backquotes.
fn markdown_but_ticks(text: &str) -> String {
    match text.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        Some((name, rest)) if !name.contains(['|', '\\', '\n']) => format!("`{name}`{}", markdown(rest)),
        _ => markdown(text),
    }
}
