//! By which compiler and for which features was a path of this binary compiled, and what does the processor have of them?

use super::detect::features;
use super::path::Path;

/// The name of a path's toolchain: the compiler and the features that the path's functions are compiled for beyond the target's own.
pub fn name(path: Path) -> String {
    let compiler: Vec<&str> = env!("RIGEL_RUSTC").split_whitespace().take(2).collect();
    let needs = if path.needs().is_empty() { "baseline".to_owned() } else { path.needs().join("+") };
    format!("{}:{}:{needs}", compiler.join("-"), env!("RIGEL_TARGET"))
}

/// What takes effect: features compiled in, features enabled for this path, features detected.
pub fn took(path: Path) -> String {
    let or_none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
    format!(
        "compiled in: {}; enabled for this path: {}; detected: {}",
        or_none(env!("RIGEL_TARGET_FEATURES").replace(',', " ")),
        or_none(path.needs().join(" ")),
        or_none(features().join(" "))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_paths_of_different_needs_apart_and_have_no_spaces() {
        let names = Path::ALL.map(name);
        assert!(names.iter().all(|name| !name.contains(' ') && name.starts_with("rustc-")), "{names:?}");
        assert_eq!(names[0], names[1]);
        assert!(names[2..].iter().enumerate().all(|(i, name)| !names[2 + i + 1..].contains(name)));
        assert!(took(Path::Avx512Bf16).contains("avx512bf16"));
    }
}
