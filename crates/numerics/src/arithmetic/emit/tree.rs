//! How does a program follow the tree of steps over k?

use super::build::Build;
use super::sums::Terms;
use crate::arithmetic::node::{CPlace, Chain, Join, JoinOrder, Node};
use crate::arithmetic::split::Split;

/// The function of a node.
pub(super) struct Written {
    pub name: String,
    is_step: bool,
    takes_c: bool,
}

/// How a program goes over the parts of a split.
struct Parts {
    /// Before the loop, and its head; `start` and `length` are known inside.
    head: String,
    tail: String,
    /// How many parts there are at most, and the longest one.
    most: usize,
    longest: usize,
}

impl Build<'_> {
    /// Writes the functions of a node over at most `length` indices.
    pub(super) fn node(&mut self, node: &Node, length: usize) -> Written {
        match node {
            Node::Step(step) => {
                let name = self.sum(&step.sum, Terms::Products { c: step.c, limit: step.product_limit });
                Written { name, is_step: true, takes_c: step.c }
            }
            Node::Chain(chain) => self.chain(chain, length),
            Node::Join(join) => self.join(join, length),
        }
    }

    fn chain(&mut self, chain: &Chain, length: usize) -> Written {
        let parts = self.parts(&chain.split, length);
        let each = self.node(&chain.each, parts.longest);
        let call = self.call(&each, "value");
        let split = crate::arithmetic::describe::split(&chain.split);
        let name = self.fresh("chain");
        let body = match &chain.late_c {
            None => format!("let mut value: Value = c;\n{}value = {call};\n{}return value;\n", parts.head, parts.tail),
            Some(late) => {
                let add = self.sum(&late.sum, Terms::Pair);
                let marks = if Self::marks_c(&late.sum) { ", false, true" } else { "" };
                let joins = format!("value = {add}(value, c{marks});");
                let after = late.after;
                format!(
                    "let mut value: Value = ZERO;\nlet mut done: usize = 0;\n{}if done == {after} {{ {joins} }}\nvalue = {call};\ndone += 1;\n{}if done <= {after} {{ {joins} }}\nreturn value;\n",
                    parts.head, parts.tail
                )
            }
        };
        let late = if chain.late_c.is_some() { "; c comes later" } else { "" };
        let about = format!("/// {}, one after another, what one leaves being the next one's c{late}.", upper(&split));
        self.add(&format!("{about}\nfn {name}({}, c: Value) -> Value {{\n{body}}}\n", self.takes_rows()));
        Written { name, is_step: false, takes_c: true }
    }

    fn join(&mut self, join: &Join, length: usize) -> Written {
        let parts = self.parts(&join.split, length);
        let each = self.node(&join.each, parts.longest);
        let call = self.call(&each, "ZERO");
        let split = crate::arithmetic::describe::split(&join.split);
        let most = parts.most + 1;
        let place = match join.order {
            JoinOrder::Together { .. } => CPlace::Nowhere,
            JoinOrder::InTurn { c } | JoinOrder::Pairwise { c } => c,
        };
        let push = |value: &str| format!("leaves[held] = {value};\nheld += 1;\n");
        let mut body = format!("let mut leaves: Values = [ZERO; {most}];\nlet mut held: usize = 0;\n");
        let marks = Self::marks_c(&join.sum);
        let (before, inside, after) = match place {
            CPlace::First => (push("c"), String::new(), String::new()),
            CPlace::After(n) => (
                String::new(),
                format!("if held == {n} {{\n{}}}\n", push("c")),
                format!("if held <= {n} {{\n{}}}\n", push("c")),
            ),
            _ => (String::new(), String::new(), String::new()),
        };
        body += &format!("{before}{}{inside}{}{}{after}", parts.head, push(&call), parts.tail);
        // Where c is among the leaves, for sums that treat it otherwise.
        let at = match place {
            CPlace::First => "0".to_owned(),
            CPlace::After(n) => format!("if held - 1 < {n} {{ held - 1 }} else {{ {n} }}"),
            _ => "held".to_owned(),
        };
        let takes_c = match join.order {
            JoinOrder::Together { c } => {
                let add = self.sum(&join.sum, Terms::List { c });
                body += &format!("return {add}(&leaves, held{});\n", if c { ", c" } else { "" });
                c
            }
            JoinOrder::InTurn { c } => {
                let add = self.sum(&join.sum, Terms::Pair);
                let last = c == CPlace::Last;
                if last {
                    body += &push("c");
                }
                let mut flags = "";
                if marks {
                    let at = if last { "held - 1".to_owned() } else { at };
                    body += &format!("let at: usize = {at};\n");
                    flags = ", i == 1 && at == 0, i == at";
                }
                body += &format!(
                    "let mut value: Value = leaves[0];\nfor i in 1..held {{ value = {add}(value, leaves[i]{flags}); }}\nreturn value;\n"
                );
                c != CPlace::Nowhere
            }
            JoinOrder::Pairwise { c } => {
                let add = self.sum(&join.sum, Terms::Pair);
                let (mut flags, mut moves, mut gone) = ("", "", "");
                if marks {
                    body += &format!("let mut at: usize = {at};\n");
                    flags = ", 2 * i == at, 2 * i + 1 == at";
                    moves = "if at == held - 1 { at = held / 2; } else { at = MOST_K + 1; }\n";
                    gone = "at = MOST_K + 1;\n";
                }
                let gone = if gone.is_empty() { String::new() } else { format!(" else {{\n{gone}}}") };
                body += &format!(
                    "while held > 1 {{\nfor i in 0..held / 2 {{ leaves[i] = {add}(leaves[2 * i], leaves[2 * i + 1]{flags}); }}\nif held % 2 == 1 {{\nleaves[held / 2] = leaves[held - 1];\n{moves}}}{gone}\nheld = (held + 1) / 2;\n}}\n"
                );
                body += &match c {
                    CPlace::Last => {
                        format!("return {add}(leaves[0], c{});\n", if marks { ", false, true" } else { "" })
                    }
                    _ => "return leaves[0];\n".to_owned(),
                };
                c != CPlace::Nowhere
            }
        };
        let name = self.fresh("join");
        let how = match join.order {
            JoinOrder::Together { .. } => "added together",
            JoinOrder::InTurn { .. } => "added one after another",
            JoinOrder::Pairwise { .. } => "added in pairs, an odd one moving up",
        };
        let c = if takes_c { ", c: Value" } else { "" };
        let about = format!("/// {}, each from zero, then {how}.", upper(&split));
        self.add(&format!("{about}\nfn {name}({}{c}) -> Value {{\n{body}}}\n", self.takes_rows()));
        Written { name, is_step: false, takes_c }
    }

    /// A call of a node's function for one part.
    fn call(&self, each: &Written, c: &str) -> String {
        let order = match (self.needs.order, each.is_step) {
            (false, _) => "",
            (true, true) => ", order",
            (true, false) => ", order, spare",
        };
        let c = if each.takes_c { format!(", {c}") } else { String::new() };
        format!("{}(inputs{order}, first + start, length{c})", each.name)
    }

    fn takes_rows(&self) -> &'static str {
        match self.needs.order {
            true => "inputs: Inputs, order: OrderMut, spare: OrderMut, first: usize, count: usize",
            false => "inputs: Inputs, first: usize, count: usize",
        }
    }

    fn parts(&mut self, split: &Split, length: usize) -> Parts {
        let blocks = |of: &str, descending: bool| {
            let at = if descending { "parts - 1 - part" } else { "part" };
            let start = if descending { format!("({at}) * {of}") } else { format!("{at} * {of}") };
            format!(
                "let parts: usize = (count + {of} - 1) / {of};\nfor part in 0..parts {{\nlet start: usize = {start};\nlet length: usize = if count - start < {of} {{ count - start }} else {{ {of} }};\n"
            )
        };
        let close = "}\n".to_owned();
        match split {
            Split::Whole => Parts {
                head: "let start: usize = 0;\nlet length: usize = count;\n".to_owned(),
                tail: String::new(),
                most: 1,
                longest: length,
            },
            Split::Blocks { of, descending } => {
                let head = blocks(&of.to_string(), *descending);
                Parts { head, tail: close, most: length.div_ceil(*of), longest: length.min(*of) }
            }
            Split::Parts { count } => {
                let head = format!("let each: usize = (count + {count} - 1) / {count};\n{}", blocks("each", false));
                Parts { head, tail: close, most: length.min(*count), longest: length.div_ceil(*count) }
            }
            Split::Strided { count } => {
                let parts = (0..*count.min(&length)).map(|j| vec![j]).collect::<Vec<_>>();
                let (gather, of) = (self.strided(*count), self.length_of_strided(*count));
                let longest = length.div_ceil(*count);
                Parts {
                    head: reordered(&gather, &of, parts.len()),
                    tail: "start += length;\n}\n}\n".to_owned(),
                    most: parts.len(),
                    longest,
                }
            }
            Split::Pattern { parts } => {
                let (gather, of) = (self.pattern(parts), self.length_of_pattern(parts));
                let period: usize = parts.iter().map(Vec::len).sum();
                let largest = parts.iter().map(Vec::len).max().unwrap_or(1);
                let longest = length.min(length.div_ceil(period.max(1)) * largest);
                Parts {
                    head: reordered(&gather, &of, parts.len()),
                    tail: "start += length;\n}\n}\n".to_owned(),
                    most: parts.len(),
                    longest,
                }
            }
        }
    }

    /// The function that puts every `count`-th index beside each other.
    fn strided(&mut self, count: usize) -> String {
        let name = self.fresh("gather");
        self.add(&format!(
            "/// Brings the indices that are 0, 1, … modulo {count} together.\nfn {name}(order: OrderMut, spare: OrderMut, first: usize, count: usize) {{\nlet mut next: usize = 0;\nfor part in 0..{count} {{\nlet mut i: usize = part;\nwhile i < count {{\nspare[next] = order[first + i];\nnext += 1;\ni += {count};\n}}\n}}\nfor i in 0..count {{ order[first + i] = spare[i]; }}\n}}\n"
        ));
        name
    }

    fn length_of_strided(&mut self, count: usize) -> String {
        let name = self.fresh("length_of_part");
        self.add(&format!(
            "/// How many of `count` indices are `part` modulo {count}.\nfn {name}(part: usize, count: usize) -> usize {{\nreturn if count > part {{ (count - part + {count} - 1) / {count} }} else {{ 0 }};\n}}\n"
        ));
        name
    }

    /// The function that brings the indices of each part of a pattern together.
    fn pattern(&mut self, parts: &[Vec<usize>]) -> String {
        let name = self.fresh("gather");
        let period: usize = parts.iter().map(Vec::len).sum();
        let mut body = "let mut next: usize = 0;\n".to_owned();
        for part in parts {
            body += &format!("for period in 0..(count + {period} - 1) / {period} {{\n");
            for position in part {
                body += &format!(
                    "if period * {period} + {position} < count {{\nspare[next] = order[first + period * {period} + {position}];\nnext += 1;\n}}\n"
                );
            }
            body += "}\n";
        }
        let words = crate::arithmetic::describe::split(&Split::Pattern { parts: parts.to_vec() });
        self.add(&format!(
            "/// Brings the indices of each part together: {words}.\nfn {name}(order: OrderMut, spare: OrderMut, first: usize, count: usize) {{\n{body}for i in 0..count {{ order[first + i] = spare[i]; }}\n}}\n"
        ));
        name
    }

    fn length_of_pattern(&mut self, parts: &[Vec<usize>]) -> String {
        let name = self.fresh("length_of_part");
        let period: usize = parts.iter().map(Vec::len).sum();
        let mut body = format!("let rest: usize = count % {period};\nlet mut length: usize = 0;\n");
        for (j, part) in parts.iter().enumerate() {
            body += &format!("if part == {j} {{\nlength = count / {period} * {};\n", part.len());
            for position in part {
                body += &format!("if rest > {position} {{ length += 1; }}\n");
            }
            body += "}\n";
        }
        self.add(&format!(
            "/// How many of `count` indices are in a part.\nfn {name}(part: usize, count: usize) -> usize {{\n{body}return length;\n}}\n"
        ));
        name
    }
}

/// A loop over parts that have to be brought together first.
fn reordered(gather: &str, length: &str, parts: usize) -> String {
    format!(
        "{gather}(order, spare, first, count);\nlet mut start: usize = 0;\nfor part in 0..{parts} {{\nlet length: usize = {length}(part, count);\nif length != 0 {{\n"
    )
}

/// A text with a capital at its beginning.
fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
