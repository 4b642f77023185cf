//! How does text that others wrote stand in a comment or a docstring without ending it?

use std::fmt::Write;

/// The text on one line, with every character that could end or continue a comment, a docstring or a line, or that a terminal
/// or reader would obey, as `<U+XXXX>`: control and bidi characters, line separators, `\`, `"`, the `/` of `*/` and the second
/// `?` of `??`, which C reads as a part of a trigraph. No backslash is written, since Python and C give it a meaning.
pub(crate) fn foreign(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let unsafe_here = matches!((before, c), (_, '\\' | '"') | ('*', '/') | ('?', '?'));
        if unsafe_here || c.is_control() || is_directing(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "<U+{:04X}>", u32::from(c));
        } else {
            shown.push(c);
        }
        before = c;
    }
    shown
}

/// Whether a character changes the direction or the lines of the text around it.
fn is_directing(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
