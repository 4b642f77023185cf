//! How does the study of the M4 Max stand beside a run: its Table 1 and its headlines, with both columns?

use crate::answers::{Answer, Ours, to_finding, to_headline};
use crate::catalogue::{CatalogueRow, PUBLISHED_COUNTS, findings};
use crate::columns::{Columns, wrap};
use crate::headlines::{Headline, headlines};
use crate::reading::Reading;
use crate::source::Source;
use crate::text::{markdown, visible};

/// One line: what the study says, what a run says, and whether they agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyRow {
    /// Name: the number of a finding here, or the key of a headline.
    pub key: String,
    /// The claim, a finding's with its mark.
    pub claim: String,
    /// A finding's class with its mark: `hidden (inferred)`; empty for a headline.
    pub class: String,
    /// What the vendor's document says of a finding, and the rule that decides; of a headline what is disputed or not known.
    pub note: String,
    /// The study's value and where it was read: `0.94 (paper)`; `not known`.
    pub theirs: String,
    /// Ours in words; empty where there is none.
    pub ours: String,
    /// Whether they agree.
    pub answer: Answer,
}

/// Both tables of the study, filled from a run or from none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyTable {
    /// The eleven findings, every one a reconstruction.
    pub findings: Vec<StudyRow>,
    /// Numbers and words that were read as they were printed.
    pub headlines: Vec<StudyRow>,
    /// The run behind the column of ours in words: `simulated: Apple M4 Max (simulated), run …`; `None` without a run.
    pub run: Option<String>,
    /// Whether the run is of a software device.
    pub simulated: bool,
}

impl StudyTable {
    /// The tables, with what `source` says beside each line.
    pub fn new(source: Option<Source<'_>>) -> Self {
        let reading = source.map(Reading::new);
        Self::of(reading.as_ref())
    }

    pub(crate) fn of(reading: Option<&Reading<'_>>) -> Self {
        // Tests read both files, so neither fails here.
        let (findings, headlines) = (findings().unwrap_or_default(), headlines().unwrap_or_default());
        let source = reading.map(|reading| reading.source);
        StudyTable {
            findings: findings.iter().map(|row| of_finding(row, to_finding(row.number, &headlines, reading))).collect(),
            headlines: headlines.iter().map(|row| of_headline(row, to_headline(row, reading))).collect(),
            run: source.map(|source| format!("{}: {}, run {}", source.kind(), source.devices(), source.runs())),
            simulated: source.is_some_and(|source| source.simulated()),
        }
    }

    /// What the study says of itself and what a reader must know of the lines.
    pub fn intro(&self) -> String {
        let (hidden, contradicted) = PUBLISHED_COUNTS;
        format!(
            "Published (arXiv 2606.12765): {} findings, {hidden} hidden and {contradicted} contradicted. Which they are is a reconstruction: \
             its Table 1 was never seen in full, so no row of it agrees or differs with ours. The headlines were read as they were \
             printed.",
            hidden + contradicted
        )
    }

    /// What the column of ours holds.
    pub fn about_ours(&self) -> String {
        match (&self.run, self.simulated) {
            (None, _) => "No run was named, so nothing stands in our column.".to_owned(),
            (Some(run), false) => format!("Ours is {run}."),
            (Some(run), true) => {
                format!(
                    "Ours is {run}. It says nothing about any Apple GPU: the device is software with planted facts."
                )
            }
        }
    }

    /// For a terminal of so many characters a line; `None`: one line a row.
    pub fn text(&self, width: Option<usize>, strong: impl Fn(&str) -> String) -> String {
        let lines = |text: String| match width {
            None => format!("{text}\n"),
            Some(width) => wrap(&text, width).iter().map(|line| format!("{line}\n")).collect(),
        };
        let mut columns = Columns::new(["claim", "the study", self.ours_head(), "answer"]);
        for (heading, rows) in [("Findings", &self.findings), ("Headlines", &self.headlines)] {
            columns.heading(heading);
            for row in rows {
                let claim = [row.claim.as_str(), row.class.as_str()].join(", ");
                let claim = claim.trim_end_matches(", ").to_owned();
                columns.row([claim, row.theirs.clone(), row.ours.clone(), row.answer.to_string()].map(|c| visible(&c)));
            }
        }
        format!("{}{}{}", lines(self.intro()), lines(visible(&self.about_ours())), columns.text(width, strong))
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut out = format!("{}\n\n{}\n\n", self.intro(), markdown(&self.about_ours()));
        let ours = self.ours_head();
        out.push_str(&format!("| | claim | class | the document; the rule | the study | {ours} | answer |\n| ---: | --- | --- | --- | --- | --- | --- |\n"));
        let line = |cells: &[&str]| {
            let cells: Vec<String> = cells.iter().map(|cell| markdown(cell)).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        for row in &self.findings {
            let answer = row.answer.to_string();
            out.push_str(&line(&[&row.key, &row.claim, &row.class, &row.note, &row.theirs, &row.ours, &answer]));
        }
        out.push_str(&format!(
            "\n| headline | the study | {ours} | answer | note |\n| --- | --- | --- | --- | --- |\n"
        ));
        for row in &self.headlines {
            let answer = row.answer.to_string();
            out.push_str(&line(&[&row.claim, &row.theirs, &row.ours, &answer, &row.note]));
        }
        out
    }

    /// The head of our column: a simulated one says so.
    pub fn ours_head(&self) -> &'static str {
        if self.simulated { "ours (simulated)" } else { "ours" }
    }
}

fn of_finding(row: &CatalogueRow, (ours, answer): Ours) -> StudyRow {
    let marked = |(text, mark): &(String, String)| format!("{text} ({mark})");
    StudyRow {
        key: row.number.to_string(),
        claim: marked(&row.claim),
        class: marked(&row.class),
        note: format!("{}; {}", row.specification, row.rule),
        theirs: row.value.as_ref().map_or("not known".to_owned(), marked),
        ours,
        answer,
    }
}

fn of_headline(row: &Headline, (ours, answer): Ours) -> StudyRow {
    StudyRow {
        key: row.key.clone(),
        claim: row.claim.clone(),
        class: String::new(),
        note: row.note.clone(),
        theirs: format!("{} ({})", row.value, row.mark),
        ours,
        answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_stands_alone_and_reconstructions_never_agree() {
        let table = StudyTable::new(None);
        assert_eq!(table.findings.len(), 11);
        assert!(table.findings.iter().all(|row| row.answer == Answer::Reconstruction && row.ours.is_empty()));
        assert!(table.headlines.iter().all(|row| row.answer.word() == "not measured"));
        assert!(table.intro().contains("11 findings, 8 hidden and 3 contradicted"));
        let text = table.text(Some(90), str::to_owned);
        assert!(text.lines().all(|line| line.chars().count() <= 90), "{text}");
    }

    #[test]
    fn the_page_of_the_device_shows_it() {
        let page = include_str!("../../../docs/devices/apple.md");
        let table = StudyTable::new(None).markdown();
        assert!(
            page.contains(table.trim_end()),
            "run: rigel report --published rigel-m4max --readme docs/devices/apple.md"
        );
    }
}
