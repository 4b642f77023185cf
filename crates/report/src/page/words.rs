//! What do the words of a report mean? The tables of `docs/words.md`, so that page and book say the same.

use crate::text::markup;

/// The book's page of words: Markdown tables of two columns under headings.
const TEXT: &str = include_str!("../../../../docs/words.md");

pub(super) fn section() -> String {
    let mut out = String::from("<section id=\"words\">\n<h2>Words</h2>\n");
    let mut open = false;
    for line in TEXT.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            out.push_str(if open { "</dl>\n" } else { "" });
            open = false;
            out.push_str(&format!("<h3>{}</h3>\n", markup(heading)));
        } else if let Some((word, meaning)) = entry(line) {
            out.push_str(if open { "" } else { "<dl class=\"words\">\n" });
            open = true;
            let [word, meaning] = [word, meaning].map(|text| super::ticks_to_code(&markup(text)));
            out.push_str(&format!("<dt>{word}</dt><dd>{meaning}</dd>\n"));
        }
    }
    out.push_str(if open { "</dl>\n" } else { "" });
    out.push_str("</section>\n");
    out
}

/// The two cells of a table's row; its head and the rule below are none.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (word, meaning) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
    (word != "word" && !word.starts_with("---")).then_some((word, meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_book_stands_on_the_page_whole() {
        let page = section();
        assert!(TEXT.lines().filter_map(entry).count() > 30);
        for (word, meaning) in TEXT.lines().filter_map(entry) {
            for text in [word, meaning] {
                assert!(text.chars().count() <= crate::text::LONGEST, "too long for a page: {text}");
                assert!(!text.contains("](") && text.matches('`').count() % 2 == 0, "no links, closed code: {text}");
                assert!(page.contains(&super::super::ticks_to_code(&markup(text))), "{text}");
            }
        }
        assert_eq!(page.matches("<dl").count(), page.matches("</dl>").count());
    }
}
