//! What did others publish, and what does a run say to it?

use super::records::{Form, Records};
use crate::args::ReportArgs;
use crate::exit::Exit;
use rigel_report::{Source, StudyRow, StudyTable};
use std::io::Write;

/// What stands before the table in a Markdown file, and behind it.
const MARKERS: [&str; 2] = ["<!-- rigel published: begin -->", "<!-- rigel published: end -->"];

/// Prints the study, or renews it in a Markdown file; the exit code is 1 when a check finds another byte there.
pub fn print(args: &ReportArgs, source: Option<Source<'_>>) -> anyhow::Result<Exit> {
    let table = StudyTable::new(source);
    if let Some(readme) = &args.readme {
        let same = super::report::renew(readme, &table.markdown(), MARKERS, args.check)?;
        return Ok(if same { Exit::Fine } else { Exit::CheckFailed });
    }
    match Form::of(args.format) {
        Some(form) => records(&table, form)?,
        None => {
            let text = table.text(crate::terminal::width(), crate::terminal::bold);
            crate::terminal::output().write_all(text.as_bytes())?;
        }
    }
    Ok(Exit::Fine)
}

fn records(table: &StudyTable, form: Form) -> anyhow::Result<()> {
    let mut records =
        Records::new(["part", "key", "claim", "class", "note", "the_study", "ours", "ours_kind", "answer", "why"]);
    let parts = [("finding", &table.findings), ("headline", &table.headlines)];
    let rows = parts.into_iter().flat_map(|(part, rows)| rows.iter().map(move |row| (part, row)));
    let kind = if table.simulated { "simulated" } else { "measured" };
    for (part, row) in rows {
        let StudyRow { key, claim, class, note, theirs, ours, answer } = row;
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        records.row([
            part.into(),
            key.as_str().into(),
            claim.as_str().into(),
            given(class).into(),
            given(note).into(),
            theirs.as_str().into(),
            given(ours).into(),
            given(ours).map(|_| kind.to_owned()).into(),
            answer.word().into(),
            given(answer.why()).into(),
        ]);
    }
    records.print(form)
}
