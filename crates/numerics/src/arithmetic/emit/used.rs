//! Which constants and functions does a program use?

use super::syntax::{Expr, Item, Stmt};
use std::collections::HashSet;

/// The items that a root uses, itself among them, in their order. `fills`: whether the language writes what an array is
/// filled with.
pub(super) fn by(root: &str, items: Vec<Item>, fills: bool) -> Vec<Item> {
    let mut used: HashSet<String> = HashSet::from([root.to_owned()]);
    // An item uses only what stands before it.
    for item in items.iter().rev() {
        match item {
            Item::Constant { name, value, .. } if used.contains(name) => of_expression(value, &mut used),
            Item::Function { name, body, .. } if used.contains(name) => of_block(body, fills, &mut used),
            _ => {}
        }
    }
    let kept = |item: &Item| match item {
        Item::Constant { name, .. } => used.contains(name) || name == "MOST_K",
        Item::Function { name, .. } => used.contains(name),
    };
    items.into_iter().filter(kept).collect()
}

fn of_block(body: &[Stmt], fills: bool, used: &mut HashSet<String>) {
    for statement in body {
        match statement {
            Stmt::Comment(_) => {}
            Stmt::Let { value: Expr::Array(_, length), .. } if !fills => of_expression(length, used),
            Stmt::Let { value, .. } | Stmt::Return(value) | Stmt::Call(value) => of_expression(value, used),
            Stmt::Assign { target, value, .. } => {
                of_expression(target, used);
                of_expression(value, used);
            }
            Stmt::If { arms, otherwise } => {
                for (condition, body) in arms {
                    of_expression(condition, used);
                    of_block(body, fills, used);
                }
                of_block(otherwise, fills, used);
            }
            Stmt::For { from, to, body, .. } => {
                of_expression(from, used);
                of_expression(to, used);
                of_block(body, fills, used);
            }
            Stmt::While { condition, body } => {
                of_expression(condition, used);
                of_block(body, fills, used);
            }
        }
    }
}

fn of_expression(e: &Expr, used: &mut HashSet<String>) {
    match e {
        Expr::Number(_) => {}
        Expr::Name(name) => {
            used.insert(name.clone());
        }
        Expr::Unary(_, inner) | Expr::Cast(inner, _) | Expr::Field(inner, _) => of_expression(inner, used),
        Expr::Binary(_, x, y) | Expr::Index(x, y) | Expr::Array(x, y) => {
            of_expression(x, used);
            of_expression(y, used);
        }
        Expr::Call(name, given) => {
            used.insert(name.clone());
            given.iter().for_each(|e| of_expression(e, used));
        }
        Expr::If(x, y, z) => [x, y, z].into_iter().for_each(|e| of_expression(e, used)),
        Expr::Struct(_, fields) => fields.iter().for_each(|(_, e)| of_expression(e, used)),
    }
}
