//! Where is kept what a device compiled, so that fresh processes need not compile it again?

use std::path::PathBuf;

/// A folder of this name in `rigel` under RIGEL_CACHE, XDG_CACHE_HOME or `~/.cache`; `None` where none of them is set.
pub fn folder(name: &str) -> Option<PathBuf> {
    let of = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base =
        of("RIGEL_CACHE").or_else(|| of("XDG_CACHE_HOME")).or_else(|| of("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("rigel").join(name))
}
