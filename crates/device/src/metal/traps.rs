//! Which small mistakes does a device's compiler refuse, in which words, and what is the smallest edit that compiles?
//!
//! Each trap is a kernel that ships (`traps.metal`), once with the mistake and once mended. What is expected is read off the vendor's
//! headers and field reports; what is seen is kept word for word.

use super::diagnostic::Meaning;
use super::gpu::Gpu;
use super::level::{Language, Sdk};
use super::text::Kernel;

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trap {
    /// A kernel of half in which only the type is renamed to fp8.
    Renamed,
    /// A pointer to fp8 as the memory of a tensor.
    Handle,
    /// The type of a local variable, which carries its address space.
    Local,
    /// Operands in another order than the destination was made for.
    Order,
    /// Types that no row of the vendor's table lists.
    Unlisted,
    /// A tile of 8 × 8.
    Tile,
}

impl Trap {
    /// Every trap.
    pub const ALL: [Trap; 6] = [Trap::Renamed, Trap::Handle, Trap::Local, Trap::Order, Trap::Unlisted, Trap::Tile];

    /// The macro that switches it on.
    pub const fn constant(self) -> &'static str {
        match self {
            Trap::Renamed => "RENAMED",
            Trap::Handle => "HANDLE",
            Trap::Local => "LOCAL",
            Trap::Order => "ORDER",
            Trap::Unlisted => "UNLISTED",
            Trap::Tile => "TILE",
        }
    }

    /// The mistake in words.
    pub const fn mistake(self) -> &'static str {
        match self {
            Trap::Renamed => "a kernel of half with only the type renamed to fp8",
            Trap::Handle => "a pointer to fp8 as a tensor's memory",
            Trap::Local => "decltype of a local tensor as a template argument",
            Trap::Order => "operands swapped against their destination",
            Trap::Unlisted => "bfloat times fp8, which no table lists",
            Trap::Tile => "a tile of 8 x 8",
        }
    }

    /// The smallest edit that mends it, in words.
    pub const fn edit(self) -> &'static str {
        match self {
            Trap::Renamed | Trap::Handle => "pointers to uchar",
            Trap::Local => "remove_addrspace_t around it",
            Trap::Order => "the order of the destination",
            Trap::Unlisted => "half times fp8",
            Trap::Tile => "8 x 16",
        }
    }

    /// The oldest language that has its names.
    pub const fn language(self) -> Language {
        match self {
            Trap::Renamed | Trap::Handle | Trap::Unlisted => Language::V4_1,
            Trap::Local | Trap::Order | Trap::Tile => Language::V4_0,
        }
    }

    /// The refusal that a header's rules lead one to expect; `None`: it compiles.
    pub fn expected(self, sdk: Sdk) -> Option<Meaning> {
        match self {
            Trap::Renamed | Trap::Handle => Some(Meaning::NoCandidate),
            Trap::Local => (sdk >= Sdk::V27_0).then_some(Meaning::NoCandidate),
            Trap::Order => (sdk >= Sdk::V26_5).then_some(Meaning::Operands),
            Trap::Unlisted => Some(Meaning::UnlistedTypes),
            Trap::Tile => (sdk >= Sdk::V26_5).then_some(Meaning::Shape),
        }
    }
}

/// What became of a trap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sprung {
    /// The compiler's words; empty where it compiled.
    pub words: String,
    /// The compiler's words on the mended kernel; empty where it compiled.
    pub mended: String,
    /// What was expected.
    pub expected: Option<Meaning>,
}

impl std::fmt::Display for Sprung {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let expected = self.expected.map_or("that it compiles".to_owned(), |meaning| format!("refused: {meaning}"));
        let seen = match self.words.as_str() {
            "" => None,
            words => Some(Meaning::of(words)),
        };
        match seen {
            None => f.write_str("compiles")?,
            Some(meaning) => write!(f, "refused: {meaning}")?,
        }
        match seen == self.expected {
            true => f.write_str(", as expected")?,
            false => write!(f, "; expected {expected}")?,
        }
        if seen.is_some() {
            f.write_str(if self.mended.is_empty() { "; the edit compiles" } else { "; so is the edit" })?;
        }
        Ok(())
    }
}

/// Compiles a trap and its mended form.
///
/// # Errors
/// Why it is not tried here.
pub fn spring(gpu: &mut dyn Gpu, trap: Trap) -> Result<Sprung, String> {
    let sdk = gpu.sdk().ok_or("this system has no matmul2d")?;
    if sdk.language() < trap.language() {
        return Err(format!("its names need language {}, and header {sdk} has {}", trap.language(), sdk.language()));
    }
    let mut said = |is_mended| {
        let source = Kernel::Trap(trap, is_mended).source(sdk.language());
        gpu.compile(&source).map_or_else(|refusal| refusal.diagnostic, |_| String::new())
    };
    Ok(Sprung { words: said(false), mended: said(true), expected: trap.expected(sdk) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_stands_beside_what_was_expected() {
        let sprung = |words: &str, mended: &str, expected| {
            Sprung { words: words.into(), mended: mended.into(), expected }.to_string()
        };
        let shape = "static assertion failed: M and N must be a multiple of 8";
        assert_eq!(sprung(shape, "", Some(Meaning::Shape)), "refused: shape, as expected; the edit compiles");
        assert_eq!(sprung("", "", None), "compiles, as expected");
        assert_eq!(sprung("", "", Some(Meaning::Shape)), "compiles; expected refused: shape");
        assert_eq!(
            sprung("odd", shape, Some(Meaning::Shape)),
            "refused: other; expected refused: shape; so is the edit"
        );
        assert_eq!(sprung(shape, "", None), "refused: shape; expected that it compiles; the edit compiles");
    }
}
