//! How does text from a file become harmless text in SVG, HTML, Markdown and on a terminal?

use std::fmt::Write as _;

/// Characters kept of one text; the rest is counted, so that a diagnostic of a megabyte cannot swell a page.
pub const LONGEST: usize = 400;

/// Text without anything that a reader cannot see.
///
/// Control characters, direction marks, zero-width characters and code points that XML forbids become their
/// name in brackets (`[U+202E]`), line breaks and tabs become one space, and what exceeds [`LONGEST`]
/// characters is replaced by a count. The result is safe on a terminal: no escape sequence survives.
pub fn visible(text: &str) -> String {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
    let (kept, rest) = text.split_at(end);
    let mut out = seen(kept);
    if !rest.is_empty() {
        write!(out, " … ({} more characters)", rest.chars().count()).unwrap_or(());
    }
    out
}

/// The same with nothing left out.
pub fn seen(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if hidden(c) => write!(out, "[U+{:04X}]", u32::from(c)).unwrap_or(()),
            c => out.push(c),
        }
    }
    out
}

/// Whether a character changes how its neighbours look without being seen, or may not stand in XML.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFFE}' | '\u{FFFF}' | '\u{00AD}')
}

/// Text for an XML or HTML text node or a quoted attribute: [`visible`], then the five markup characters escaped.
pub fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Text for one cell of a Markdown table: [`visible`], then everything that Markdown or HTML would read as markup escaped.
pub fn markdown(text: &str) -> String {
    escaped(&visible(text))
}

/// The same of a text that is not cut, however long: where a page is about it.
pub fn whole(text: &str) -> String {
    escaped(&seen(text))
}

fn escaped(seen: &str) -> String {
    let mut out = String::with_capacity(seen.len() + 8);
    let mut rest = seen.chars();
    while let Some(c) = rest.next() {
        let link = c == ']' && matches!(rest.clone().next(), Some('(' | '[' | ':'));
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '|' | '\\' | '`' | '*' | '_' | '~' => {
                out.push('\\');
                out.push(c);
            }
            ']' if link => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unseen_survives() {
        assert_eq!(visible("a\u{1b}[31mb"), "a[U+001B][31mb");
        assert_eq!(visible("a\u{202e}b\u{200f}"), "a[U+202E]b[U+200F]");
        assert_eq!(visible("one\r\ntwo\tthree"), "one  two three");
        assert_eq!(visible("\0"), "[U+0000]");
    }

    #[test]
    fn markup_leaves_no_markup() {
        assert_eq!(markup("<script>\"&'</script>]]>"), "&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;]]&gt;");
        assert_eq!(markdown("a|b`<i>`"), "a\\|b\\`&lt;i&gt;\\`");
        assert_eq!(markdown("[a](b) [1, 2]"), "[a\\](b) [1, 2]");
    }

    proptest::proptest! {
        #[test]
        fn every_text_reads_back_as_what_is_visible(text in proptest::arbitrary::any::<String>()) {
            let seen = visible(&text);
            proptest::prop_assert_eq!(&visible(&seen), &seen);
            let xml = format!("<a b=\"{0}\">{0}</a>", markup(&text));
            let document = roxmltree::Document::parse(&xml).expect("well-formed");
            proptest::prop_assert_eq!(document.root_element().text().unwrap_or_default(), &seen);
            proptest::prop_assert_eq!(document.root_element().attribute("b"), Some(seen.as_str()));
        }
    }

    #[test]
    fn long_text_is_cut_with_a_count() {
        let text = "x".repeat(LONGEST + 7);
        assert!(visible(&text).ends_with("x … (7 more characters)"));
        assert_eq!(visible(&"ä".repeat(LONGEST)), "ä".repeat(LONGEST));
    }
}
