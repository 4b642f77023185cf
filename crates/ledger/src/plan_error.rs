//! What is wrong with a plan, where, and what is allowed instead?

use std::fmt;

/// A plan that cannot be used: one message that names file, line, key and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {fault}")]
pub struct PlanError {
    /// The file as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub fault: PlanFault,
}

/// What is wrong at a place of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanFault {
    /// The text is not TOML.
    Syntax(String),
    /// A key that no plan has.
    UnknownKey {
        /// Dotted key.
        key: String,
        /// Keys allowed in the same section.
        allowed: Vec<&'static str>,
    },
    /// A key that is needed.
    MissingKey {
        /// Dotted key.
        key: String,
        /// What it may hold.
        allowed: String,
    },
    /// A value of the wrong kind or out of range.
    Value {
        /// Dotted key.
        key: String,
        /// The value as written.
        found: String,
        /// What is allowed.
        allowed: String,
    },
}

impl fmt::Display for PlanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanFault::Syntax(message) => write!(f, "not TOML: {message}"),
            PlanFault::UnknownKey { key, allowed } => {
                write!(f, "unknown key `{key}`; allowed here: {}", allowed.join(", "))
            }
            PlanFault::MissingKey { key, allowed } => write!(f, "`{key}` is missing; allowed: {allowed}"),
            PlanFault::Value { key, found, allowed } => write!(f, "`{key}` is {found}; allowed: {allowed}"),
        }
    }
}
