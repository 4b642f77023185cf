//! What does a text of the compiler or the system mean?
//!
//! Texts are kept word for word; a class is read off words that were seen. Sources: field reports (the study's readers, llama.cpp 21048, mlx 4533,
//! drjit-core 200) and the vendor's headers. A text without any of them is `other`, never guessed.

use std::fmt;

/// A class of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// The compiler does not know the language version.
    UnknownLanguage,
    /// The system does not take the language version, though its compiler made it.
    LanguageNotHere,
    /// A header is not there.
    NoHeader,
    /// The types are in no row of the vendor's table.
    UnlistedTypes,
    /// The shape breaks a rule of the vendor's header.
    Shape,
    /// Operands of other types than the destination was made for.
    Operands,
    /// A name of a type is not there.
    UnknownType,
    /// No overload is left: a candidate was ignored.
    NoCandidate,
    /// The developer tools lack the Metal toolchain.
    NoToolchain,
    /// The compiler died over the text.
    CompilerDied,
    /// Something else.
    Other,
}

/// Words that were seen, and what they mean; the first that stands in a text decides.
const WORDS: [(&str, Meaning); 15] = [
    ("the compiler ended", Meaning::CompilerDied),
    ("XPC_ERROR_CONNECTION_INTERRUPTED", Meaning::CompilerDied),
    ("Compiler encountered an internal error", Meaning::CompilerDied),
    ("is not supported on this OS", Meaning::LanguageNotHere),
    ("missing Metal Toolchain", Meaning::NoToolchain),
    ("unable to find utility \"metal\"", Meaning::NoToolchain),
    ("invalid value 'metal", Meaning::UnknownLanguage),
    ("file not found", Meaning::NoHeader),
    ("Unsupported type", Meaning::UnlistedTypes),
    ("must be a multiple of", Meaning::Shape),
    ("must be dynamic", Meaning::Shape),
    ("must match cooperative tensor types", Meaning::Operands),
    ("unknown type name", Meaning::UnknownType),
    ("candidate template ignored", Meaning::NoCandidate),
    ("no matching", Meaning::NoCandidate),
];

impl Meaning {
    /// What a text means.
    pub fn of(text: &str) -> Meaning {
        WORDS.iter().find(|(words, _)| text.contains(words)).map_or(Meaning::Other, |(_, meaning)| *meaning)
    }

    /// Its word in files.
    pub const fn word(self) -> &'static str {
        match self {
            Meaning::UnknownLanguage => "unknown language",
            Meaning::LanguageNotHere => "language not on this system",
            Meaning::NoHeader => "no header",
            Meaning::UnlistedTypes => "unlisted types",
            Meaning::Shape => "shape",
            Meaning::Operands => "operand types",
            Meaning::UnknownType => "unknown type",
            Meaning::NoCandidate => "no candidate",
            Meaning::NoToolchain => "no toolchain",
            Meaning::CompilerDied => "compiler died",
            Meaning::Other => "other",
        }
    }
}

impl fmt::Display for Meaning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_were_seen_have_their_class_and_others_none() {
        let seen = [
            ("MTLLibraryErrorDomain 3: language version 4.1 is not supported on this OS", Meaning::LanguageNotHere),
            ("error: invalid value 'metal4.1' in '-std=metal4.1'", Meaning::UnknownLanguage),
            ("static_assert failed: At least one of M or N must be a multiple of 16", Meaning::Shape),
            ("static assertion failed due to requirement: \"Unsupported type\"", Meaning::UnlistedTypes),
            ("note: candidate template ignored: requirement 'false' was not satisfied", Meaning::NoCandidate),
            ("error: cannot execute tool 'metal' due to missing Metal Toolchain", Meaning::NoToolchain),
            ("fatal error: 'MetalPerformancePrimitives/x.h' file not found", Meaning::NoHeader),
            ("Compilation failed: XPC_ERROR_CONNECTION_INTERRUPTED", Meaning::CompilerDied),
            ("the compiler ended and refused nothing: clang++, signal: 11 (SIGSEGV)", Meaning::CompilerDied),
            ("the moon is in the wrong place", Meaning::Other),
        ];
        for (text, meaning) in seen {
            assert_eq!(Meaning::of(text), meaning, "{text}");
        }
    }
}
