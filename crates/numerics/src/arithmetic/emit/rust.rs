//! How is a program spelled in Rust?

use super::needs::Needs;
use super::syntax::{Expr, Item, Stmt, Type};
use super::write::{Language, comment, expression, indent};

/// Rust, for one program's widths.
pub(super) struct Rust<'a>(pub &'a Needs<'a>);

impl Rust<'_> {
    /// What stands above the functions.
    pub(super) fn head(&self) -> String {
        let needs = self.0;
        let mut text = "use std::cmp::{max, min};\n\n".to_owned();
        if needs.integer {
            text = String::new();
        }
        let (word, sum) = if needs.double { ("u128", "i128") } else { ("u64", "i64") };
        if !needs.integer {
            text += &format!("/// Magnitudes of products and sums.\ntype Word = {word};\n");
        }
        text += &format!("/// Sums, with their sign.\ntype Sum = {sum};\n");
        if needs.integer {
            text += "/// What passes from one step to the next.\ntype Value = Sum;\n";
        }
        text.push('\n');
        text
    }

    /// A structure and what its fields are.
    pub(super) fn record(&self, name: &str, about: &str, fields: &[(&str, Type, &str)]) -> String {
        let rows = name == "Inputs";
        let life = if rows { "<'a>" } else { "" };
        let mut text = format!("/// {about}\n#[derive(Clone, Copy)]\nstruct {name}{life} {{\n");
        for (field, of, about) in fields {
            let of = if *of == Type::Order { "&'a [u64]" } else { self.of(*of) };
            text += &format!("    /// {about}\n    {field}: {of},\n");
        }
        text + "}\n\n"
    }

    fn of(&self, of: Type) -> &'static str {
        match of {
            Type::Bool => "bool",
            Type::I32 => "i32",
            Type::Usize => "usize",
            Type::U64 => "u64",
            Type::Word => "Word",
            Type::Sum => "Sum",
            Type::Value => "Value",
            Type::Total => "Total",
            Type::Inputs => "Inputs",
            Type::Values => "&[Value]",
            Type::Order => "&[usize]",
            Type::OrderMut => "&mut [usize]",
            Type::Wide => "&[Sum; LIMBS]",
            Type::WideMut => "&mut [Sum; LIMBS]",
        }
    }

    fn block(&self, body: &[Stmt], depth: usize, out: &mut String) {
        body.iter().for_each(|statement| self.statement(statement, depth, out));
    }
}

impl Language for Rust<'_> {
    fn number(&self, text: &str) -> String {
        text.to_owned()
    }

    fn cast(&self, inner: &str, to: Type) -> String {
        // A number with its type is shorter than a conversion.
        format!("{inner} as {}", self.of(to))
    }

    fn reference(&self, operator: &str, inner: &str) -> String {
        if operator == "&mut" { format!("&mut {inner}") } else { format!("&{inner}") }
    }

    fn choice(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("if {condition} {{ {yes} }} else {{ {no} }}")
    }

    fn structure(&self, name: &str, fields: &[(String, String)]) -> String {
        let field = |(name, value): &(String, String)| {
            if name == value { name.clone() } else { format!("{name}: {value}") }
        };
        format!("{name} {{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "))
    }

    fn statement(&self, statement: &Stmt, depth: usize, out: &mut String) {
        let write = |e: &Expr| expression(self, e);
        let tab = indent(depth);
        match statement {
            Stmt::Comment(text) => *out += &comment("//", text, depth),
            Stmt::Let { mutable, name, of, value } => {
                let mutable = if *mutable { "mut " } else { "" };
                let typed =
                    if matches!(value, Expr::Number(_)) { format!(": {}", self.of(*of)) } else { String::new() };
                *out += &format!("{tab}let {mutable}{name}{typed} = {};\n", write(value));
            }
            Stmt::Assign { target, operator, value } => {
                *out += &format!("{tab}{} {operator} {};\n", write(target), write(value));
            }
            Stmt::If { arms, otherwise } => {
                for (i, (condition, body)) in arms.iter().enumerate() {
                    *out += &if i == 0 { format!("{tab}if ") } else { format!("{tab}}} else if ") };
                    *out += &format!("{} {{\n", write(condition));
                    self.block(body, depth + 1, out);
                }
                if !otherwise.is_empty() {
                    *out += &format!("{tab}}} else {{\n");
                    self.block(otherwise, depth + 1, out);
                }
                *out += &format!("{tab}}}\n");
            }
            Stmt::For { name, from, to, body } => {
                let to = match to {
                    Expr::Binary(..) | Expr::Number(_) | Expr::Name(_) => write(to),
                    _ => format!("({})", write(to)),
                };
                *out += &format!("{tab}for {name} in {}..{to} {{\n", write(from));
                self.block(body, depth + 1, out);
                *out += &format!("{tab}}}\n");
            }
            Stmt::While { condition, body } => {
                *out += &format!("{tab}while {} {{\n", write(condition));
                self.block(body, depth + 1, out);
                *out += &format!("{tab}}}\n");
            }
            Stmt::Return(value) => *out += &format!("{tab}return {};\n", write(value)),
            Stmt::Call(call) => *out += &format!("{tab}{};\n", write(call)),
        }
    }

    fn item(&self, item: &Item) -> String {
        match item {
            Item::Constant { about, name, of, value } => {
                format!(
                    "{}const {name}: {} = {};\n\n",
                    comment("///", &about.join(" "), 0),
                    self.of(*of),
                    expression(self, value)
                )
            }
            Item::Function { about, name, takes, gives, body } => {
                let takes: Vec<String> = takes.iter().map(|(name, of)| format!("{name}: {}", self.of(*of))).collect();
                let gives = gives.map_or(String::new(), |of| format!(" -> {}", self.of(of)));
                let mut text = comment("///", &about.join(" "), 0);
                text += &format!("fn {name}({}){gives} {{\n", takes.join(", "));
                // The last value of a function needs no `return`.
                match body.split_last() {
                    Some((Stmt::Return(value), before)) => {
                        self.block(before, 1, &mut text);
                        text += &format!("    {}\n", expression(self, value));
                    }
                    _ => self.block(body, 1, &mut text),
                }
                text + "}\n\n"
            }
        }
    }
}
