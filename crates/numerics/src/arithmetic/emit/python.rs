//! How is a program spelled in Python?

use super::syntax::{Expr, Item, Stmt, Type};
use super::write::{Language, comment, expression, indent};

/// Python 3.8 and later, the standard library alone; its integers have any width.
pub(super) struct Python;

impl Python {
    /// What stands above the functions.
    pub(super) fn head(&self) -> String {
        "from functools import lru_cache\nfrom typing import NamedTuple\n\n\n".to_owned()
    }

    /// A structure and what its fields are.
    pub(super) fn record(&self, name: &str, about: &str, fields: &[(&str, Type, &str)]) -> String {
        let mut text = format!("class {name}(NamedTuple):\n    \"\"\"{about}\"\"\"\n\n");
        for (field, of, about) in fields {
            let of = match of {
                Type::Bool => "bool",
                Type::Order => "list",
                _ => "int",
            };
            text += &format!("    {field}: {of}  # {about}\n");
        }
        text + "\n\n"
    }

    fn block(&self, body: &[Stmt], depth: usize, out: &mut String) {
        body.iter().for_each(|statement| self.statement(statement, depth, out));
    }
}

impl Language for Python {
    fn number(&self, text: &str) -> String {
        text.to_owned()
    }

    fn name(&self, name: &str) -> String {
        match name {
            "true" => "True".to_owned(),
            "false" => "False".to_owned(),
            other => other.to_owned(),
        }
    }

    fn operator(&self, operator: &'static str) -> &'static str {
        match operator {
            "&&" => "and",
            "||" => "or",
            "/" => "//",
            other => other,
        }
    }

    fn not(&self) -> &'static str {
        "not "
    }

    fn cast(&self, inner: &str, _: Type) -> String {
        inner.to_owned()
    }

    fn reference(&self, _: &str, inner: &str) -> String {
        inner.to_owned()
    }

    fn choice(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("{yes} if {condition} else {no}")
    }

    fn structure(&self, name: &str, fields: &[(String, String)]) -> String {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{name}({})", fields.join(", "))
    }

    fn statement(&self, statement: &Stmt, depth: usize, out: &mut String) {
        let write = |e: &Expr| expression(self, e);
        let tab = indent(depth);
        match statement {
            Stmt::Comment(text) => *out += &comment("#", text, depth),
            Stmt::Let { name, value: Expr::Array(fill, length), .. } => {
                *out += &format!("{tab}{name} = [{}] * ({})\n", write(fill), write(length));
            }
            Stmt::Let { name, value, .. } => *out += &format!("{tab}{name} = {}\n", write(value)),
            Stmt::Assign { target, operator, value } => {
                *out += &format!("{tab}{} {operator} {}\n", write(target), write(value));
            }
            Stmt::If { arms, otherwise } => {
                for (i, (condition, body)) in arms.iter().enumerate() {
                    let word = if i == 0 { "if" } else { "elif" };
                    *out += &format!("{tab}{word} {}:\n", write(condition));
                    self.block(body, depth + 1, out);
                }
                if !otherwise.is_empty() {
                    *out += &format!("{tab}else:\n");
                    self.block(otherwise, depth + 1, out);
                }
            }
            Stmt::For { name, from, to, body } => {
                let range = match from {
                    Expr::Number(zero) if zero == "0" => write(to),
                    _ => format!("{}, {}", write(from), write(to)),
                };
                *out += &format!("{tab}for {name} in range({range}):\n");
                self.block(body, depth + 1, out);
            }
            Stmt::While { condition, body } => {
                *out += &format!("{tab}while {}:\n", write(condition));
                self.block(body, depth + 1, out);
            }
            Stmt::Return(value) => *out += &format!("{tab}return {}\n", write(value)),
            Stmt::Call(call) => *out += &format!("{tab}{}\n", write(call)),
        }
    }

    fn item(&self, item: &Item) -> String {
        match item {
            Item::Constant { about, name, value, .. } => {
                format!("{}{name} = {}\n\n", comment("#", &about.join(" "), 0), expression(self, value))
            }
            Item::Function { about, name, takes, body, .. } => {
                // Codes of few bits come again and again; their values are kept.
                let kept = if takes.len() == 1 && takes[0].0 == "code" { "@lru_cache(maxsize=65536)\n" } else { "" };
                let takes: Vec<&str> = takes.iter().map(|(name, _)| name.as_str()).collect();
                let mut text = format!("\n{kept}def {name}({}):\n", takes.join(", "));
                let about = comment("", &about.join(" "), 1);
                let lines: Vec<&str> = about.lines().map(str::trim).collect();
                text += &match lines.as_slice() {
                    [one] => format!("    \"\"\"{one}\"\"\"\n"),
                    [first, rest @ ..] => {
                        format!("    \"\"\"{first}\n    {}\n    \"\"\"\n", rest.join("\n    "))
                    }
                    [] => String::new(),
                };
                self.block(body, 1, &mut text);
                text + "\n"
            }
        }
    }
}
