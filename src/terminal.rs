//! May the terminal have colour, and how is a word set apart without it?

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU8, Ordering};

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is `dumb`.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Standard output. When nobody reads it any more the rest is dropped in silence, and the command goes on: what it finds
/// stands in its exit code, which a closed pipe must not turn into success.
pub fn output() -> Output {
    Output(std::io::stdout().lock())
}

/// See [`output`].
pub struct Output(std::io::StdoutLock<'static>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self.0.write(bytes) {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            done => done,
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self.0.flush() {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }
}

/// Narrowest and widest terminal that text is fitted to.
const WIDTHS: std::ops::RangeInclusive<usize> = 40..=1000;

/// Characters of a line on standard output: those of the terminal, or of the variable COLUMNS. `None` where neither is known, as in
/// a pipe: then every row of a table is one line.
pub fn width() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let there = || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    named.or_else(there).map(|width: usize| width.clamp(*WIDTHS.start(), *WIDTHS.end()))
}

/// A text in lines of the terminal's width, all but the first set in by `indent` characters; one line in a pipe.
pub fn wrapped(text: &str, indent: usize) -> String {
    let room = width().map_or(usize::MAX, |width| width.saturating_sub(indent).max(20));
    rigel_report::columns::wrap(&rigel_report::seen(text), room).join(&format!("\n{}", " ".repeat(indent)))
}

static CHOICE: AtomicU8 = AtomicU8::new(0);

/// Fixes the choice for the process.
pub fn set_color(color: Color) {
    CHOICE.store(color as u8 + 1, Ordering::Relaxed);
}

fn colored(terminal: bool) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    match CHOICE.load(Ordering::Relaxed) {
        2 => true,
        3 => false,
        _ if set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|t| t == "dumb") => false,
        _ if set("FORCE_COLOR") || set("CLICOLOR_FORCE") => true,
        _ => terminal,
    }
}

fn paint(text: &str, code: &str, terminal: bool) -> String {
    if colored(terminal) { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// A bold red word on standard error.
pub fn strong_error(text: &str) -> String {
    paint(text, "1;31", std::io::stderr().is_terminal())
}

/// The word before a warning on standard error.
pub fn warning() -> String {
    paint("warning:", "1;33", std::io::stderr().is_terminal())
}

/// Bold on standard output.
pub fn bold(text: &str) -> String {
    paint(text, "1", std::io::stdout().is_terminal())
}

/// Faint on standard output.
pub fn faint(text: &str) -> String {
    paint(text, "2", std::io::stdout().is_terminal())
}

/// A good word on standard output.
pub fn good(text: &str) -> String {
    paint(text, "32", std::io::stdout().is_terminal())
}

/// A bad word on standard output.
pub fn bad(text: &str) -> String {
    paint(text, "31", std::io::stdout().is_terminal())
}

/// Says a line on standard error. Nobody has to listen: a command does not end because its progress is not read.
macro_rules! tell {
    ($($text:tt)*) => {
        $crate::terminal::write_error(format_args!($($text)*))
    };
}
pub(crate) use tell;

/// What [`tell`] does with its text.
pub fn write_error(text: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{}", harmless(&text.to_string()));
}

/// Lines of text in which names of files or arguments can stand, so that none of them steers the terminal: what is not seen is
/// spelled out, but for line feeds and the colours that this program paints with.
fn harmless(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let mut out = String::new();
        let mut rest = line;
        while let Some(at) = rest.find('\x1b') {
            out.push_str(&rigel_report::seen(&rest[..at]));
            let code = PAINTED.into_iter().find(|code| rest[at..].starts_with(code));
            out.push_str(code.unwrap_or("[U+001B]"));
            rest = &rest[at + code.map_or(1, str::len)..];
        }
        out + &rigel_report::seen(rest)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What [`paint`] writes.
const PAINTED: [&str; 7] = ["\x1b[1;31m", "\x1b[1;33m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[31m", "\x1b[0m"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_do_not_steer_the_terminal() {
        let text = format!("{} a\x1b[2Jb\x1b]0;c\x07\n  d\u{202e}", "\x1b[1;33mwarning:\x1b[0m");
        let expected = format!("{}[0m a[U+001B][2Jb[U+001B]]0;c[U+0007]\n  d[U+202E]", "\x1b[1;33mwarning:\x1b");
        assert_eq!(harmless(&text), expected);
        for line in ["", "plain", "two\nlines\n", "\x1b[0m"] {
            assert_eq!(harmless(line), line);
        }
    }
}
