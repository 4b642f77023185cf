//! How do rows of words become columns that fit a terminal, with nothing lost?
//!
//! Widths count characters that are seen: colour escapes take none. Where the columns are wider than the terminal the widest
//! give way, a cell takes several lines, and words stay whole as long as there is room for one.

/// Characters between two columns.
const GAP: usize = 2;
/// What a column keeps however narrow the terminal is, where its texts are that long.
const LEAST: usize = 8;

/// Rows under a head, with headings between them.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    head: Vec<String>,
    lines: Vec<Line>,
    /// Characters before every row.
    indent: usize,
}

#[derive(Debug, Clone)]
enum Line {
    Heading(String),
    Row(Vec<String>),
}

impl Columns {
    /// No rows yet.
    pub fn new<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Self {
        Columns { head: head.into_iter().map(Into::into).collect(), lines: Vec::new(), indent: 0 }
    }

    /// Adds a row; it is filled up or cut to the length of the head.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut row: Vec<String> = cells.into_iter().collect();
        row.resize(self.head.len(), String::new());
        self.lines.push(Line::Row(row));
    }

    /// Adds a line of its own above the rows that follow, which stand two characters further right.
    pub fn heading(&mut self, text: impl Into<String>) {
        self.indent = GAP;
        self.lines.push(Line::Heading(text.into()));
    }

    /// The text, each line ended. `width` are the characters of a line; `None` gives every row one line. `strong` paints the head
    /// and headings.
    pub fn text(&self, width: Option<usize>, strong: impl Fn(&str) -> String) -> String {
        let widths = self.widths(width);
        let mut out = String::new();
        for line in self.printed(&self.head, &widths) {
            out.push_str(&strong(&line));
            out.push('\n');
        }
        for line in &self.lines {
            match line {
                Line::Heading(text) => {
                    out.push_str(&strong(text));
                    out.push('\n');
                }
                Line::Row(cells) => {
                    for line in self.printed(cells, &widths) {
                        out.push_str(&line);
                        out.push('\n');
                    }
                }
            }
        }
        out
    }

    fn rows(&self) -> impl Iterator<Item = &Vec<String>> {
        let row = |line: &'_ Line| matches!(line, Line::Row(_));
        std::iter::once(&self.head).chain(self.lines.iter().filter(move |line| row(line)).filter_map(
            |line| match line {
                Line::Row(cells) => Some(cells),
                Line::Heading(_) => None,
            },
        ))
    }

    /// The widest column gives way, character by character, until the line fits or every word stands alone; only then words
    /// break.
    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let of = |measure: fn(&str) -> usize| {
            let mut widths = vec![0; self.head.len()];
            for row in self.rows() {
                row.iter().zip(&mut widths).for_each(|(cell, w)| *w = (*w).max(measure(cell)));
            }
            widths
        };
        let mut widths = of(seen);
        let Some(width) = width else { return widths };
        let room = width.saturating_sub(self.indent + GAP * self.head.len().saturating_sub(1));
        for least in [of(longest_word), of(longest_piece)] {
            while widths.iter().sum::<usize>() > room {
                let gives = (0..widths.len()).filter(|&i| widths[i] > least[i].max(LEAST)).max_by_key(|&i| widths[i]);
                match gives {
                    Some(widest) => widths[widest] -= 1,
                    None => break,
                }
            }
        }
        widths
    }

    fn printed(&self, cells: &[String], widths: &[usize]) -> Vec<String> {
        let wrapped: Vec<Vec<String>> = cells.iter().zip(widths).map(|(cell, w)| wrap(cell, *w)).collect();
        let lines = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let line = |i: usize| {
            let mut line = " ".repeat(self.indent);
            for (cell, w) in wrapped.iter().zip(widths) {
                let text = cell.get(i).map_or("", String::as_str);
                line.push_str(text);
                line.push_str(&" ".repeat((w + GAP).saturating_sub(seen(text))));
            }
            line.trim_end().to_owned()
        };
        (0..lines).map(line).collect()
    }
}

/// Breaks a text into lines of at most `width` characters, at spaces outside brackets; a word that is longer breaks behind
/// `/`, `,`, `;` or `=` where it has one, else stands alone. An empty text is one empty line.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in words(text) {
        for (i, piece) in pieces(word, width).into_iter().enumerate() {
            let space = usize::from(i == 0);
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(piece),
                Some(line) if seen(line) + space + seen(piece) <= width => {
                    line.push_str(&" "[..space]);
                    line.push_str(piece);
                }
                _ => lines.push(piece.to_owned()),
            }
        }
    }
    lines
}

/// The clauses of a sentence that the ledger wrote: parted by `; ` outside parentheses.
pub fn clauses(words: &str) -> Vec<&str> {
    let mut clauses = Vec::new();
    let (mut start, mut depth) = (0, 0_usize);
    for (at, c) in words.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ';' if depth == 0 && words[at..].starts_with("; ") => {
                clauses.push(&words[start..at]);
                start = at + 2;
            }
            _ => {}
        }
    }
    clauses.push(&words[start..]);
    clauses.retain(|clause| !clause.is_empty());
    clauses
}

/// Texts between spaces; what stands in `[…]` is one of them, for an interval is read at once.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    let split = text.split(move |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ' ' && depth == 0
    });
    split.filter(|word| !word.is_empty())
}

/// A word, or where it is longer than a line its parts.
fn pieces(word: &str, width: usize) -> Vec<&str> {
    if seen(word) <= width { vec![word] } else { word.split_inclusive(['/', ',', ';', '=']).collect() }
}

fn longest_word(text: &str) -> usize {
    words(text).map(seen).max().unwrap_or(0)
}

fn longest_piece(text: &str) -> usize {
    words(text).flat_map(|word| pieces(word, LEAST)).map(seen).max().unwrap_or(0)
}

/// Characters that take a place: escapes that colour (`ESC [ … m`) take none.
fn seen(text: &str) -> usize {
    let mut chars = text.chars();
    let mut count = 0;
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                chars.by_ref().find(|c| *c == 'm');
            }
            _ => count += 1,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn intervals_stay_whole_and_long_names_break_behind_a_sign() {
        assert_eq!(wrap("214 Gop/s [213, 219] at 2048³", 12), ["214 Gop/s", "[213, 219]", "at 2048³"]);
        assert_eq!(wrap("gemm/512x512x512/near-normal/warm", 14), ["gemm/", "512x512x512/", "near-normal/", "warm"]);
        assert_eq!(wrap("", 9), [""]);
        assert_eq!(wrap("\u{1b}[32myes\u{1b}[0m no", 6), ["\u{1b}[32myes\u{1b}[0m no"]);
    }

    #[test]
    fn clauses_part_outside_parentheses() {
        assert_eq!(
            clauses("energy: none (no counter; no module); a 1.0"),
            ["energy: none (no counter; no module)", "a 1.0"]
        );
        assert_eq!(clauses(""), [""; 0]);
        assert_eq!(clauses("odd) (a; b"), ["odd) (a; b"]);
    }

    #[test]
    fn rows_stand_under_their_head_and_headings_over_their_rows() {
        let mut columns = Columns::new(["type triple", "verdict"]);
        columns.heading("tiled");
        columns.row(["f16 → f32".to_owned(), "emulated; no win".to_owned()]);
        let text = |width| columns.text(width, str::to_owned);
        assert_eq!(text(None), "  type triple  verdict\ntiled\n  f16 → f32    emulated; no win\n");
        assert_eq!(text(Some(25)), "  type triple  verdict\ntiled\n  f16 → f32    emulated;\n               no win\n");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_lines_fit_where_words_do(
            cells in proptest::collection::vec(proptest::collection::vec("([a-z0-9]{1,7} ){0,6}", 3), 1..6),
            width in 34_usize..120,
        ) {
            let mut columns = Columns::new(["one", "two", "three"]);
            cells.iter().for_each(|row| columns.row(row.clone()));
            let text = columns.text(Some(width), str::to_owned);
            prop_assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
            let mut found: Vec<&str> = text.split_whitespace().skip(3).collect();
            let mut wanted: Vec<&str> = cells.iter().flatten().flat_map(|cell| cell.split_whitespace()).collect();
            found.sort_unstable();
            wanted.sort_unstable();
            prop_assert_eq!(found, wanted);
        }
    }
}
