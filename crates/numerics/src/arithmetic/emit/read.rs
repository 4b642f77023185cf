//! How is a text in the small language read?
//!
//! The texts are this program's own, filled with numbers and names of one model; they do not come from users. A text that
//! cannot be read is a mistake in this crate, and every model of the library is emitted by a test.

use super::syntax::{Expr, Item, Stmt, Type};

/// A text with `$names` replaced, longest names first.
pub(super) fn fill(text: &str, with: &[(&str, &str)]) -> String {
    let mut sorted = with.to_vec();
    sorted.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    sorted.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), value))
}

/// Constants and functions of a text.
pub(super) fn items(text: &str) -> Vec<Item> {
    let mut reader = Reader { tokens: tokens(text), at: 0 };
    let mut items = Vec::new();
    while reader.at < reader.tokens.len() {
        items.push(reader.item());
    }
    items
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Word(String),
    Number(String),
    Mark(&'static str),
    Comment(String),
    About(String),
}

const MARKS: [&str; 36] = [
    "<<=", ">>=", "..", "->", "<<", ">>", "&&", "||", "==", "!=", "<=", ">=", "+=", "-=", "*=", "{", "}", "(", ")",
    "[", "]", ",", ";", ":", ".", "=", "<", ">", "+", "-", "*", "/", "%", "&", "|", "!",
];

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = |fits: fn(char) -> bool| rest.find(|c| !fits(c)).unwrap_or(rest.len());
        let taken;
        if rest.starts_with("//") {
            taken = rest.find('\n').unwrap_or(rest.len());
            let line = &rest[..taken];
            tokens.push(match line.strip_prefix("///") {
                Some(about) => Token::About(about.trim().to_owned()),
                None => Token::Comment(line[2..].trim().to_owned()),
            });
        } else if first.is_ascii_digit() {
            taken = length(|c| c.is_ascii_alphanumeric());
            tokens.push(Token::Number(rest[..taken].to_owned()));
        } else if first.is_ascii_alphabetic() || first == '_' {
            taken = length(|c| c.is_ascii_alphanumeric() || c == '_');
            tokens.push(Token::Word(rest[..taken].to_owned()));
        } else {
            let mark = MARKS.into_iter().find(|mark| rest.starts_with(mark));
            let mark = mark.unwrap_or_else(|| panic!("no token starts with {rest:.20}"));
            taken = mark.len();
            tokens.push(Token::Mark(mark));
        }
        rest = rest[taken..].trim_start();
    }
    tokens
}

/// Operators by how loosely they bind.
const LEVELS: [&[&str]; 8] = [
    &["||"],
    &["&&"],
    &["==", "!=", "<", ">", "<=", ">="],
    &["|"],
    &["&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

struct Reader {
    tokens: Vec<Token>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.peek(), Some(Token::Mark(m)) if *m == mark)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Token::Word(w)) if w == word)
    }

    fn accept(&mut self, mark: &str) -> bool {
        let there = self.is(mark);
        self.at += usize::from(there);
        there
    }

    fn accept_word(&mut self, word: &str) -> bool {
        let there = self.is_word(word);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, mark: &str) {
        assert!(
            self.accept(mark),
            "{mark} expected, not {:?}",
            &self.tokens[self.at.saturating_sub(8)..][..9.min(self.tokens.len() - self.at.saturating_sub(8))]
        );
    }

    fn word(&mut self) -> String {
        match self.peek().cloned() {
            Some(Token::Word(word)) => {
                self.at += 1;
                word
            }
            other => panic!("a name expected, not {other:?}"),
        }
    }

    fn of_type(&mut self) -> Type {
        let name = self.word();
        Type::of(&name).unwrap_or_else(|| panic!("no type {name}"))
    }

    fn item(&mut self) -> Item {
        let mut about = Vec::new();
        while let Some(Token::About(line)) = self.peek().cloned() {
            about.push(line);
            self.at += 1;
        }
        if self.accept_word("const") {
            let (name, of, value) = self.binding();
            return Item::Constant { about, name, of, value };
        }
        assert!(self.accept_word("fn"), "an item expected, not {:?}", self.peek());
        let name = self.word();
        self.expect("(");
        let mut takes = Vec::new();
        while !self.accept(")") {
            let name = self.word();
            self.expect(":");
            takes.push((name, self.of_type()));
            self.accept(",");
        }
        let gives = self.accept("->").then(|| self.of_type());
        let body = self.block();
        Item::Function { about, name, takes, gives, body }
    }

    /// `NAME: TYPE = VALUE;`
    fn binding(&mut self) -> (String, Type, Expr) {
        let name = self.word();
        self.expect(":");
        let of = self.of_type();
        self.expect("=");
        let value = self.expression(0);
        self.expect(";");
        (name, of, value)
    }

    fn block(&mut self) -> Vec<Stmt> {
        self.expect("{");
        let mut body = Vec::new();
        while !self.accept("}") {
            body.push(self.statement());
        }
        body
    }

    fn statement(&mut self) -> Stmt {
        if let Some(Token::Comment(line)) = self.peek().cloned() {
            self.at += 1;
            return Stmt::Comment(line);
        }
        if self.accept_word("let") {
            let mutable = self.accept_word("mut");
            let (name, of, value) = self.binding();
            return Stmt::Let { mutable, name, of, value };
        }
        if self.accept_word("return") {
            let value = self.expression(0);
            self.expect(";");
            return Stmt::Return(value);
        }
        if self.accept_word("while") {
            let condition = self.expression(0);
            return Stmt::While { condition, body: self.block() };
        }
        if self.accept_word("for") {
            let name = self.word();
            assert!(self.accept_word("in"), "`in` expected");
            let from = self.expression(0);
            self.expect("..");
            let to = self.expression(0);
            return Stmt::For { name, from, to, body: self.block() };
        }
        if self.is_word("if") {
            return self.branches();
        }
        let target = self.expression(0);
        for operator in ["=", "+=", "-=", "*=", "<<=", ">>="] {
            if self.accept(operator) {
                let value = self.expression(0);
                self.expect(";");
                return Stmt::Assign { target, operator, value };
            }
        }
        self.expect(";");
        Stmt::Call(target)
    }

    fn branches(&mut self) -> Stmt {
        let mut arms = Vec::new();
        while self.accept_word("if") {
            let condition = self.expression(0);
            arms.push((condition, self.block()));
            if !self.accept_word("else") {
                return Stmt::If { arms, otherwise: Vec::new() };
            }
        }
        Stmt::If { arms, otherwise: self.block() }
    }

    fn expression(&mut self, level: usize) -> Expr {
        let Some(operators) = LEVELS.get(level) else { return self.cast() };
        let mut left = self.expression(level + 1);
        while let Some(operator) = operators.iter().find(|o| self.is(o)) {
            self.at += 1;
            let right = self.expression(level + 1);
            left = Expr::Binary(operator, Box::new(left), Box::new(right));
        }
        left
    }

    fn cast(&mut self) -> Expr {
        let mut inner = self.unary();
        while self.accept_word("as") {
            inner = Expr::Cast(Box::new(inner), self.of_type());
        }
        inner
    }

    fn unary(&mut self) -> Expr {
        for operator in ["-", "!"] {
            if self.accept(operator) {
                return Expr::Unary(operator, Box::new(self.unary()));
            }
        }
        if self.accept("&") {
            let operator = if self.accept_word("mut") { "&mut" } else { "&" };
            return Expr::Unary(operator, Box::new(self.unary()));
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Expr {
        let mut inner = self.primary();
        loop {
            if self.accept(".") {
                inner = Expr::Field(Box::new(inner), self.word());
            } else if self.accept("[") {
                let index = self.expression(0);
                self.expect("]");
                inner = Expr::Index(Box::new(inner), Box::new(index));
            } else {
                return inner;
            }
        }
    }

    fn primary(&mut self) -> Expr {
        if self.accept("(") {
            let inner = self.expression(0);
            self.expect(")");
            return inner;
        }
        if self.accept("[") {
            let fill = self.expression(0);
            self.expect(";");
            let length = self.expression(0);
            self.expect("]");
            return Expr::Array(Box::new(fill), Box::new(length));
        }
        if self.accept_word("if") {
            let condition = self.expression(0);
            self.expect("{");
            let yes = self.expression(0);
            self.expect("}");
            assert!(self.accept_word("else"), "`else` expected");
            self.expect("{");
            let no = self.expression(0);
            self.expect("}");
            return Expr::If(Box::new(condition), Box::new(yes), Box::new(no));
        }
        if let Some(Token::Number(number)) = self.peek().cloned() {
            self.at += 1;
            return Expr::Number(number);
        }
        let name = self.word();
        if self.accept("(") {
            let mut given = Vec::new();
            while !self.accept(")") {
                given.push(self.expression(0));
                self.accept(",");
            }
            return Expr::Call(name, given);
        }
        if (name == "Value" || name == "Total" || name == "Inputs") && self.accept("{") {
            let mut fields = Vec::new();
            while !self.accept("}") {
                let field = self.word();
                let value = if self.accept(":") { self.expression(0) } else { Expr::Name(field.clone()) };
                fields.push((field, value));
                self.accept(",");
            }
            return Expr::Struct(name, fields);
        }
        Expr::Name(name)
    }
}
