//! Figures and pages from ledger files: what can be seen of a run, redrawn byte for byte without a device.
//!
//! Everything here is a pure function of a [`Source`]: [`figures`] draws SVG, [`page`] writes one HTML file,
//! [`findings_markdown`] the table of a README, [`VerdictTable`] the same table for a terminal. Texts from files are
//! escaped; missing data gives a figure that says what is missing; long tables are cut with a count.
#![forbid(unsafe_code)]

mod answers;
mod book;
mod catalogue;
pub mod columns;
mod costs;
mod demands;
mod figure;
mod figures;
mod headlines;
mod kind;
mod markdown;
mod numbers;
mod orders;
mod page;
#[cfg(test)]
mod planted_source;
pub mod published;
mod published_file;
mod reading;
mod rules;
mod scale;
mod source;
mod study;
mod study_codes;
mod study_evidence;
mod study_rails;
mod study_xcodes;
mod svg;
mod table;
mod text;
mod theme;
mod units;
mod verdicts;

pub use answers::Answer;
pub use book::{BookPage, INDEX, book};
pub use catalogue::{CatalogueRow, findings};
pub use columns::Columns;
pub use demands::demands_text;
pub use figure::Figure;
pub use figures::layout::{LayoutPicture, layout_picture};
pub use headlines::{Headline, headlines};
pub use kind::Kind;
pub use markdown::findings_markdown;
pub use numbers::times_shown;
pub use orders::orders_text;
pub use page::{page, page_with_study};
pub use published::Published;
pub use published_file::PublishedError;
pub use source::{FileRecord, Files, Source};
pub use study::{StudyRow, StudyTable};
pub use table::Table;
pub use text::seen;
pub use verdicts::{HEADS, VerdictRow, VerdictTable};

/// Every figure of a run, each a whole SVG document, in the order of the page.
///
/// Empty sources give figures that say what is missing. The bytes depend on the source alone.
pub fn figures(source: Source<'_>) -> Vec<Figure> {
    let reading = reading::Reading::new(source);
    let products = figures::drawings(&reading).into_iter().map(|drawing| drawing.finish(&reading));
    products.chain(units::figures(source)).collect()
}
