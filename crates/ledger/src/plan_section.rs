//! How is one section of a plan read, key by key, with the line of every complaint?

use crate::plan_error::{PlanError, PlanFault};
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A text with its name, for messages.
#[derive(Clone, Copy)]
pub(crate) struct Source<'t> {
    pub(crate) file: &'t str,
    pub(crate) text: &'t str,
}

impl Source<'_> {
    pub(crate) fn error(&self, offset: usize, fault: PlanFault) -> PlanError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        PlanError { file: self.file.to_owned(), line, fault }
    }
}

/// One table of a plan; every key that it may hold is named when it is opened.
pub(crate) struct Section<'t> {
    source: Source<'t>,
    name: &'static str,
    table: Option<&'t DeTable<'t>>,
    offset: usize,
}

type Node<'t> = Spanned<DeValue<'t>>;

impl<'t> Section<'t> {
    /// The top of the file.
    pub(crate) fn root(
        source: Source<'t>,
        table: &'t Spanned<DeTable<'t>>,
        keys: &[&'static str],
    ) -> Result<Self, PlanError> {
        let root = Section { source, name: "", table: Some(table.get_ref()), offset: 0 };
        root.refuse_unknown(keys)?;
        Ok(root)
    }

    /// The table `[name]` below the root.
    pub(crate) fn open(&self, name: &'static str, keys: &[&'static str]) -> Result<Section<'t>, PlanError> {
        let (table, offset) = match self.find(name) {
            None => (None, self.source.text.len()),
            Some(node) => match node.get_ref() {
                DeValue::Table(table) => (Some(table), node.span().start),
                _ => return Err(self.refuse(name, node, &format!("a table, `[{name}]`"))),
            },
        };
        let section = Section { source: self.source, name, table, offset };
        section.refuse_unknown(keys)?;
        Ok(section)
    }

    /// Whether the table stands in the file.
    pub(crate) fn is_there(&self) -> bool {
        self.table.is_some()
    }

    fn refuse_unknown(&self, keys: &[&'static str]) -> Result<(), PlanError> {
        let written = self.table.into_iter().flatten().map(|(key, _)| key);
        match written.filter(|key| !keys.contains(&key.get_ref().as_ref())).min_by_key(|key| key.span().start) {
            None => Ok(()),
            Some(key) => Err(self.source.error(
                key.span().start,
                PlanFault::UnknownKey { key: self.dotted(key.get_ref()), allowed: keys.to_vec() },
            )),
        }
    }

    fn find(&self, key: &str) -> Option<&'t Node<'t>> {
        self.table.and_then(|table| table.iter().find(|(k, _)| k.get_ref() == key)).map(|(_, node)| node)
    }

    fn dotted(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// The error for a value that is not allowed.
    fn refuse(&self, key: &str, node: &Node<'_>, allowed: &str) -> PlanError {
        let span = node.span();
        let mut found = self.source.text.get(span.clone()).unwrap_or_default().trim().replace('\n', " ");
        if found.chars().count() > 60 {
            found = found.chars().take(57).chain("...".chars()).collect();
        }
        let fault = PlanFault::Value { key: self.dotted(key), found, allowed: allowed.to_owned() };
        self.source.error(span.start, fault)
    }

    /// The error for a key whose value contradicts another one.
    pub(crate) fn contradiction(&self, key: &str, allowed: &str) -> PlanError {
        match self.find(key) {
            Some(node) => self.refuse(key, node, allowed),
            None => {
                let fault = PlanFault::MissingKey { key: self.dotted(key), allowed: allowed.to_owned() };
                self.source.error(self.offset, fault)
            }
        }
    }

    fn value<T>(
        &self,
        key: &str,
        allowed: &str,
        fallback: Option<T>,
        read: impl FnOnce(&'t Node<'t>) -> Option<T>,
    ) -> Result<T, PlanError> {
        match (self.find(key), fallback) {
            (Some(node), _) => read(node).ok_or_else(|| self.refuse(key, node, allowed)),
            (None, Some(value)) => Ok(value),
            (None, None) => Err(self.contradiction(key, allowed)),
        }
    }

    pub(crate) fn whole(&self, key: &str, range: RangeInclusive<u64>, fallback: Option<u64>) -> Result<u64, PlanError> {
        let allowed = format!("a whole number from {} to {}", range.start(), range.end());
        self.value(key, &allowed, fallback, |node| whole(node).filter(|value| range.contains(value)))
    }

    /// A whole number of a range, or 0, which stands for none.
    pub(crate) fn whole_or_none(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        fallback: Option<u64>,
    ) -> Result<u64, PlanError> {
        let allowed = format!("a whole number from {} to {}, or 0 for none", range.start(), range.end());
        self.value(key, &allowed, fallback, |node| whole(node).filter(|&value| value == 0 || range.contains(&value)))
    }

    pub(crate) fn real(&self, key: &str, range: RangeInclusive<f64>, fallback: Option<f64>) -> Result<f64, PlanError> {
        let allowed = format!("a number from {:?} to {:?}", range.start(), range.end());
        self.value(key, &allowed, fallback, |node| real(node.get_ref()).filter(|value| range.contains(value)))
    }

    pub(crate) fn flag(&self, key: &str, fallback: Option<bool>) -> Result<bool, PlanError> {
        self.value(key, "true or false", fallback, |node| node.get_ref().as_bool())
    }

    pub(crate) fn pair(&self, key: &str, allowed: &str, fallback: Option<[f64; 2]>) -> Result<[f64; 2], PlanError> {
        self.value(key, allowed, fallback, |node| match node.get_ref().as_array()?.iter().collect::<Vec<_>>()[..] {
            [low, high] => Some([real(low.get_ref())?, real(high.get_ref())?]),
            _ => None,
        })
    }

    /// A text that `parse` reads; its error says what is allowed.
    pub(crate) fn text<T>(
        &self,
        key: &str,
        allowed: &str,
        fallback: Option<T>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, PlanError> {
        match (self.find(key), fallback) {
            (Some(node), _) => self.element(key, allowed, node, &parse),
            (None, fallback) => fallback.ok_or_else(|| self.contradiction(key, allowed)),
        }
    }

    /// A list of texts that `parse` reads, each at most once.
    pub(crate) fn list<T: PartialEq>(
        &self,
        key: &str,
        allowed: &str,
        fallback: Option<Vec<T>>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, PlanError> {
        let Some(node) = self.find(key) else {
            return fallback.ok_or_else(|| self.contradiction(key, allowed));
        };
        let array = node.get_ref().as_array().ok_or_else(|| self.refuse(key, node, allowed))?;
        let mut values = Vec::new();
        for node in array.iter() {
            let value = self.element(key, allowed, node, &parse)?;
            if values.contains(&value) {
                return Err(self.refuse(key, node, "each value once"));
            }
            values.push(value);
        }
        Ok(values)
    }

    /// A list of whole numbers of a range, each at most once and at least one.
    pub(crate) fn wholes(
        &self,
        key: &str,
        range: RangeInclusive<u64>,
        fallback: Option<Vec<u64>>,
    ) -> Result<Vec<u64>, PlanError> {
        let allowed = format!("a list of whole numbers from {} to {}, each once", range.start(), range.end());
        self.value(key, &allowed, fallback, |node| {
            let mut values = Vec::new();
            for node in node.get_ref().as_array()?.iter() {
                let value = whole(node).filter(|value| range.contains(value) && !values.contains(value))?;
                values.push(value);
            }
            Some(values).filter(|values| !values.is_empty())
        })
    }

    /// A list that must not be empty.
    pub(crate) fn axis<T: PartialEq>(
        &self,
        key: &str,
        allowed: &str,
        fallback: Option<Vec<T>>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Vec<T>, PlanError> {
        let allowed = format!("at least one of: {allowed}");
        let values = self.list(key, &allowed, fallback, parse)?;
        if values.is_empty() { Err(self.contradiction(key, &allowed)) } else { Ok(values) }
    }

    fn element<T>(
        &self,
        key: &str,
        allowed: &str,
        node: &Node<'_>,
        parse: &impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, PlanError> {
        let text = node.get_ref().as_str().ok_or_else(|| self.refuse(key, node, allowed))?;
        parse(text).map_err(|why| self.refuse(key, node, &why))
    }
}

fn whole(node: &Node<'_>) -> Option<u64> {
    let integer = node.get_ref().as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn real(value: &DeValue<'_>) -> Option<f64> {
    let text = match value {
        DeValue::Float(float) => float.as_str(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str(),
        _ => return None,
    };
    text.parse().ok().filter(|value: &f64| value.is_finite())
}
