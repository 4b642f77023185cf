//! On which line of a truth's text does what is wrong with it stand?

use super::check::BadTruth;
use super::truth::Truth;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads and checks a truth; an error comes with its line, from 1. Files that it names are looked for from `folder` on.
pub(super) fn read(text: &str, folder: &Path) -> Result<Truth, (BadTruth, usize)> {
    let mut truth: Truth = toml::from_str(text).map_err(|error| {
        let line = line(text, error.span().map_or(0, |span| span.start));
        let written = text.lines().nth(line - 1).unwrap_or_default();
        let key =
            written.split_once('=').map(|(key, _)| key.trim()).filter(|key| !key.is_empty() && !key.contains('{'));
        let message = error.message().replace('\n', "; ");
        let fault = key.map_or(message.clone(), |key| format!("`{key}`: {message}"));
        (BadTruth::Form(fault), line)
    })?;
    match truth.read_files(folder).and_then(|()| truth.check()) {
        Ok(()) => Ok(truth),
        Err(error) => {
            let line = match &error {
                BadTruth::Value { key, .. } => line_of(text, key),
                _ => 1,
            };
            Err((error, line))
        }
    }
}

/// The line of an offset, from 1.
fn line(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&byte| byte == b'\n').count()
}

/// The line of a dotted key such as `path[0].triple[1].rate`; that of the innermost table or value on the way that the text
/// has, where the key itself is left out.
fn line_of(text: &str, key: &str) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 1 };
    let mut offset = 0;
    let mut value: Option<&Spanned<DeValue<'_>>> = None;
    for part in key.split('.') {
        let (name, indices) = part.split_once('[').unwrap_or((part, ""));
        let within = match value {
            None => Some(table.get_ref()),
            Some(node) => node.get_ref().as_table(),
        };
        let Some((written, node)) = within.and_then(|table| table.iter().find(|(k, _)| k.get_ref() == name)) else {
            break;
        };
        offset = written.span().start;
        value = Some(node);
        for index in indices.split('[').filter_map(|index| index.trim_end_matches(']').parse::<usize>().ok()) {
            let element = value.and_then(|node| node.get_ref().as_array()).and_then(|array| array.get(index));
            let Some(element) = element else { break };
            offset = element.span().start;
            value = Some(element);
        }
    }
    line(text, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_way_and_a_missing_one_by_how_far_the_text_goes() {
        let text = "name = \"x\"\n\n[[path]]\nname = \"a\"\n[[path]]\nname = \"b\"\n[[path.triple]]\nrate = 1.0\n";
        assert_eq!(line_of(text, "name"), 1);
        assert_eq!(line_of(text, "path[1].name"), 6);
        assert_eq!(line_of(text, "path[1].triple[0].rate"), 8);
        assert_eq!(line_of(text, "path[1].triple[0].noise.sigma"), 7);
        assert_eq!(line_of(text, "path[7].name"), 3);
        assert_eq!(line_of("not toml [", "name"), 1);
    }
}
