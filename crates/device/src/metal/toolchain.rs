//! In which languages can a product be compiled, and which version takes effect?
//!
//! A toolchain is a language version that is asked for by name: `metal-4.1`. What takes effect is what the kernel `versions` tells of a text
//! compiled with the same request: `__METAL_VERSION__`, the oldest system, and whether tensors and planes of scales exist.

use super::gpu::Gpu;
use super::level::Language;
use super::probe;

/// The name of a language as a toolchain.
pub fn name(language: Language) -> String {
    format!("metal-{language}")
}

/// Every one, the newest first.
pub fn all() -> Vec<String> {
    Language::LADDER.map(name).to_vec()
}

/// The language of a name.
///
/// # Errors
/// That there is none, and which there are.
pub fn named(text: &str) -> Result<Language, String> {
    let known = || format!("backend metal has no toolchain `{text}`; it has {}", all().join(", "));
    Language::LADDER.into_iter().find(|language| name(*language) == text).ok_or_else(known)
}

/// What takes effect when a language is asked for, in words.
pub fn took(gpu: &mut dyn Gpu, language: Language) -> String {
    match probe::versions(gpu, language) {
        Err(words) => format!("not told: {words}"),
        Ok(told) => {
            let os = if told.minimum_os == 0 { "not told".to_owned() } else { told.minimum_os.to_string() };
            let has = |yes: bool, what: &str| format!("{} {what}", if yes { "with" } else { "without" });
            format!(
                "__METAL_VERSION__ {}, oldest system {os}, {}, {}",
                told.language,
                has(told.tensor, "tensors"),
                has(told.planes, "planes of scales")
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for language in Language::LADDER {
            assert_eq!(named(&name(language)), Ok(language));
        }
        assert!(named("metal-5.0").unwrap_err().contains("metal-3.1"));
    }
}
