//! How is a program spelled in C?

use super::needs::Needs;
use super::syntax::{Expr, Item, Stmt, Type};
use super::write::{Language, comment, expression, indent};

/// C11, for one program's widths.
pub(super) struct C<'a>(pub &'a Needs<'a>);

impl C<'_> {
    /// What stands above the functions.
    pub(super) fn head(&self) -> String {
        let needs = self.0;
        let mut text =
            "#include <assert.h>\n#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n\n".to_owned();
        let (word, sum) = if needs.double { ("unsigned __int128", "__int128") } else { ("uint64_t", "int64_t") };
        if needs.double {
            text += "/* 128-bit integers, as GCC and Clang have them on 64-bit machines. */\n";
        }
        if !needs.integer {
            text += &format!("typedef {word} Word; /* magnitudes of products and sums */\n");
        }
        text += &format!("typedef {sum} Sum; /* sums, with their sign */\n");
        if needs.integer {
            text += "typedef Sum Value; /* what passes from one step to the next */\n";
        } else {
            text += "\nstatic inline int32_t max(int32_t x, int32_t y) { return x > y ? x : y; }\n";
            text += "static inline int32_t min(int32_t x, int32_t y) { return x < y ? x : y; }\n";
        }
        text.push('\n');
        text
    }

    /// A structure and what its fields are.
    pub(super) fn record(&self, name: &str, about: &str, fields: &[(&str, Type, &str)]) -> String {
        let mut text = format!("/* {about} */\ntypedef struct {{\n");
        for (field, of, about) in fields {
            let declared =
                if *of == Type::Order { format!("const uint64_t *{field}") } else { self.declared(*of, field) };
            text += &format!("    {declared}; /* {about} */\n");
        }
        text + &format!("}} {name};\n\n")
    }

    fn declared(&self, of: Type, name: &str) -> String {
        match of {
            Type::Values => format!("const Value *{name}"),
            Type::Order => format!("const size_t *{name}"),
            Type::OrderMut => format!("size_t *{name}"),
            Type::Wide => format!("const Sum {name}[LIMBS]"),
            Type::WideMut => format!("Sum {name}[LIMBS]"),
            plain => format!("{} {name}", self.of(plain)),
        }
    }

    fn of(&self, of: Type) -> &'static str {
        match of {
            Type::Bool => "bool",
            Type::I32 => "int32_t",
            Type::Usize => "size_t",
            Type::U64 => "uint64_t",
            Type::Word => "Word",
            Type::Sum => "Sum",
            Type::Value => "Value",
            Type::Total => "Total",
            Type::Inputs => "Inputs",
            Type::Values => "const Value *",
            Type::Order => "const size_t *",
            Type::OrderMut => "size_t *",
            Type::Wide | Type::WideMut => "Sum *",
        }
    }

    fn block(&self, body: &[Stmt], depth: usize, out: &mut String) {
        body.iter().for_each(|statement| self.statement(statement, depth, out));
    }

    /// An array: all of it zero, or left to be filled.
    fn array(&self, of: Type, name: &str, length: &Expr, tab: &str) -> String {
        let length = expression(self, length);
        match of {
            Type::WideMut => format!("{tab}Sum {name}[{length}] = {{0}};\n"),
            Type::OrderMut => format!("{tab}size_t {name}[{length}];\n"),
            _ => format!("{tab}Value {name}[{length}];\n"),
        }
    }
}

impl Language for C<'_> {
    fn number(&self, text: &str) -> String {
        let value = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => text.parse(),
        };
        match value {
            Ok(value) if value > i32::MAX as u64 => format!("{text}ull"),
            _ => text.to_owned(),
        }
    }

    fn cast(&self, inner: &str, to: Type) -> String {
        format!("({}){inner}", self.of(to))
    }

    fn reference(&self, _: &str, inner: &str) -> String {
        inner.to_owned()
    }

    fn choice(&self, condition: &str, yes: &str, no: &str) -> String {
        format!("{condition} ? {yes} : {no}")
    }

    fn structure(&self, name: &str, fields: &[(String, String)]) -> String {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!(".{name} = {value}")).collect();
        format!("({name}){{{}}}", fields.join(", "))
    }

    fn statement(&self, statement: &Stmt, depth: usize, out: &mut String) {
        let write = |e: &Expr| expression(self, e);
        let tab = indent(depth);
        match statement {
            Stmt::Comment(text) => *out += &comment("//", text, depth),
            Stmt::Let { name, of, value: Expr::Array(_, length), .. } => *out += &self.array(*of, name, length, &tab),
            Stmt::Let { mutable, name, of, value } => {
                let constant = if *mutable { "" } else { "const " };
                *out += &format!("{tab}{constant}{} = {};\n", self.declared(*of, name), write(value));
            }
            Stmt::Assign { target, operator, value } => {
                *out += &format!("{tab}{} {operator} {};\n", write(target), write(value));
            }
            Stmt::If { arms, otherwise } => {
                for (i, (condition, body)) in arms.iter().enumerate() {
                    *out += &if i == 0 { format!("{tab}if (") } else { format!("{tab}}} else if (") };
                    *out += &format!("{}) {{\n", write(condition));
                    self.block(body, depth + 1, out);
                }
                if !otherwise.is_empty() {
                    *out += &format!("{tab}}} else {{\n");
                    self.block(otherwise, depth + 1, out);
                }
                *out += &format!("{tab}}}\n");
            }
            Stmt::For { name, from, to, body } => {
                *out += &format!("{tab}for (size_t {name} = {}; {name} < {}; {name}++) {{\n", write(from), write(to));
                self.block(body, depth + 1, out);
                *out += &format!("{tab}}}\n");
            }
            Stmt::While { condition, body } => {
                *out += &format!("{tab}while ({}) {{\n", write(condition));
                self.block(body, depth + 1, out);
                *out += &format!("{tab}}}\n");
            }
            Stmt::Return(value) => *out += &format!("{tab}return {};\n", write(value)),
            Stmt::Call(call) => *out += &format!("{tab}{};\n", write(call)),
        }
    }

    fn item(&self, item: &Item) -> String {
        match item {
            // Constants of whole numbers size arrays, so they are enumerators.
            Item::Constant { about, name, of: Type::I32 | Type::Usize, value } => {
                format!("{}enum {{ {name} = {} }};\n\n", comment("//", &about.join(" "), 0), expression(self, value))
            }
            Item::Constant { about, name, of, value } => {
                let value = match value {
                    Expr::Struct(..) => {
                        let text = expression(self, value);
                        text.split_once(')').map_or(text.clone(), |(_, fields)| fields.to_owned())
                    }
                    other => expression(self, other),
                };
                format!("{}static const {} {name} = {value};\n\n", comment("//", &about.join(" "), 0), self.of(*of))
            }
            Item::Function { about, name, takes, gives, body } => {
                let takes: Vec<String> = takes.iter().map(|(name, of)| self.declared(*of, name)).collect();
                let gives = gives.map_or("void", |of| self.of(of));
                let mut text = comment("//", &about.join(" "), 0);
                text += &format!("static {gives} {name}({}) {{\n", takes.join(", "));
                self.block(body, 1, &mut text);
                text + "}\n\n"
            }
        }
    }
}
