//! How are expressions and statements spelled, where the languages agree, and where they do not?

use super::syntax::{Expr, Item, Stmt, Type};

/// What one language spells its own way.
pub(super) trait Language {
    /// A number; `of` is the type that is known to be wanted.
    fn number(&self, text: &str) -> String;
    /// `true` and other names.
    fn name(&self, name: &str) -> String {
        name.to_owned()
    }
    /// An operator between two operands.
    fn operator(&self, operator: &'static str) -> &'static str {
        operator
    }
    /// Not.
    fn not(&self) -> &'static str {
        "!"
    }
    /// A conversion of a written operand.
    fn cast(&self, inner: &str, to: Type) -> String;
    /// A reference to a written operand.
    fn reference(&self, operator: &str, inner: &str) -> String;
    /// A choice between written expressions.
    fn choice(&self, condition: &str, yes: &str, no: &str) -> String;
    /// A structure with written fields.
    fn structure(&self, name: &str, fields: &[(String, String)]) -> String;
    /// A statement, at a depth of nesting.
    fn statement(&self, statement: &Stmt, depth: usize, out: &mut String);
    /// A constant or a function.
    fn item(&self, item: &Item) -> String;
}

/// An expression.
pub(super) fn expression(language: &dyn Language, e: &Expr) -> String {
    let write = |e: &Expr| expression(language, e);
    match e {
        Expr::Number(text) => language.number(text),
        Expr::Name(name) => language.name(name),
        Expr::Unary(operator @ ("&" | "&mut"), inner) => language.reference(operator, &write(inner)),
        Expr::Unary(operator, inner) => {
            let sign = if *operator == "!" { language.not() } else { operator };
            format!("{sign}{}", operand(language, inner))
        }
        Expr::Binary(operator, left, right) => {
            let part = |side: &Expr, is_right| {
                let text = write(side);
                let side = seen(language, side);
                if stands_bare(operator, side, is_right) { text } else { format!("({text})") }
            };
            format!("{} {} {}", part(left, false), language.operator(operator), part(right, true))
        }
        Expr::Cast(inner, to) if language.cast("", *to).is_empty() => write(inner),
        Expr::Cast(inner, to) => language.cast(&operand(language, inner), *to),
        Expr::Call(name, given) => {
            format!("{}({})", name, given.iter().map(write).collect::<Vec<_>>().join(", "))
        }
        Expr::Field(inner, name) => format!("{}.{name}", operand(language, inner)),
        Expr::Index(inner, index) => format!("{}[{}]", operand(language, inner), write(index)),
        Expr::If(condition, yes, no) => language.choice(&write(condition), &write(yes), &write(no)),
        Expr::Struct(name, fields) => {
            let fields: Vec<_> = fields.iter().map(|(name, value)| (name.clone(), write(value))).collect();
            language.structure(name, &fields)
        }
        // Arrays stand only where they are declared; each language writes those itself.
        Expr::Array(fill, length) => format!("[{}; {}]", write(fill), write(length)),
    }
}

/// An expression without the conversions that a language does not write.
fn seen<'a>(language: &dyn Language, e: &'a Expr) -> &'a Expr {
    match e {
        Expr::Cast(inner, to) if language.cast("", *to).is_empty() => seen(language, inner),
        other => other,
    }
}

/// An expression that something binds to tightly.
fn operand(language: &dyn Language, e: &Expr) -> String {
    let text = expression(language, e);
    let e = seen(language, e);
    let is_one_word = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
    match e {
        Expr::Binary(..) | Expr::Unary(..) | Expr::Cast(..) | Expr::If(..) if !is_one_word => format!("({text})"),
        _ => text,
    }
}

/// Whether an operand of an operator needs no parentheses for a reader of any of the languages.
fn stands_bare(operator: &str, side: &Expr, is_right: bool) -> bool {
    let inner = match side {
        Expr::Binary(inner, ..) => *inner,
        Expr::If(..) => return false,
        Expr::Unary("-", _) => return !is_right,
        // Rust would take `<` for the beginning of generic arguments.
        Expr::Cast(..) => return !operator.starts_with('<'),
        _ => return true,
    };
    let compares = |o: &str| ["==", "!=", "<", ">", "<=", ">="].contains(&o);
    let adds = |o: &str| o == "+" || o == "-";
    match operator {
        "&&" | "||" => inner == operator || compares(inner),
        "+" | "-" => (adds(inner) && !is_right) || inner == "*",
        o if compares(o) => adds(inner) || inner == "*",
        _ => false,
    }
}

/// Four spaces a level.
pub(super) fn indent(depth: usize) -> String {
    "    ".repeat(depth)
}

/// Lines of a comment, wrapped at a width; none for an empty text.
pub(super) fn comment(mark: &str, text: &str, depth: usize) -> String {
    if text.is_empty() {
        return String::new();
    }
    let width = 108usize.saturating_sub(4 * depth + mark.len());
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            let space = if lines[last].is_empty() { "" } else { " " };
            lines[last] += &format!("{space}{word}");
        }
    }
    lines.iter().map(|line| format!("{}{mark} {line}\n", indent(depth))).collect()
}
