//! What is a program made of, before it is spelled in a language?
//!
//! A specialised program is put together once, in a small language with the look of Rust ([`super::read`]), and then
//! spelled in Rust, C or Python. So all three are one program, and one set of tests with a compiler each holds them to the model.

/// A type, by its name in the small language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Bool,
    /// Exponents, places, shifts.
    I32,
    /// Positions.
    Usize,
    /// Codes and significands.
    U64,
    /// Magnitudes of terms and sums; `u64` or wider.
    Word,
    /// Signed sums.
    Sum,
    /// A value between steps.
    Value,
    /// A sum before it is rounded.
    Total,
    /// The rows that a program reads.
    Inputs,
    /// Values to be added together.
    Values,
    /// The order in which elements are taken.
    Order,
    /// The same, to be changed.
    OrderMut,
    /// A sum of many words.
    Wide,
    /// The same, to be changed.
    WideMut,
}

impl Type {
    pub(super) fn of(name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "i32" => Type::I32,
            "usize" => Type::Usize,
            "u64" => Type::U64,
            "Word" => Type::Word,
            "Sum" => Type::Sum,
            "Value" => Type::Value,
            "Total" => Type::Total,
            "Inputs" => Type::Inputs,
            "Values" => Type::Values,
            "Order" => Type::Order,
            "OrderMut" => Type::OrderMut,
            "Wide" => Type::Wide,
            "WideMut" => Type::WideMut,
            _ => return None,
        })
    }
}

/// An expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expr {
    /// A number as it was written.
    Number(String),
    Name(String),
    /// `-`, `!`, `&` or `&mut`.
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Cast(Box<Expr>, Type),
    Call(String, Vec<Expr>),
    Field(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A structure and its fields.
    Struct(String, Vec<(String, Expr)>),
    /// An array: what fills it, and how long it is.
    Array(Box<Expr>, Box<Expr>),
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stmt {
    Comment(String),
    Let {
        mutable: bool,
        name: String,
        of: Type,
        value: Expr,
    },
    /// The operator is `=`, `+=`, …
    Assign {
        target: Expr,
        operator: &'static str,
        value: Expr,
    },
    If {
        arms: Vec<(Expr, Vec<Stmt>)>,
        otherwise: Vec<Stmt>,
    },
    For {
        name: String,
        from: Expr,
        to: Expr,
        body: Vec<Stmt>,
    },
    While {
        condition: Expr,
        body: Vec<Stmt>,
    },
    Return(Expr),
    Call(Expr),
}

/// A constant or a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Constant { about: Vec<String>, name: String, of: Type, value: Expr },
    Function { about: Vec<String>, name: String, takes: Vec<(String, Type)>, gives: Option<Type>, body: Vec<Stmt> },
}
