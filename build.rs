//! From which commit is this binary built, and did the tree differ from it?

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for watched in ["src", "crates", "Cargo.toml", "Cargo.lock", ".git/HEAD", ".git/index", ".cargo_vcs_info.json"] {
        if Path::new(watched).exists() {
            println!("cargo:rerun-if-changed={watched}");
        }
    }
    let (commit, dirty) = from_git().or_else(from_package).unwrap_or_default();
    println!("cargo:rustc-env=RIGEL_COMMIT={commit}");
    println!("cargo:rustc-env=RIGEL_DIRTY={dirty}");
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The checkout's commit; dirty when a source file that goes into the binary differs from it.
fn from_git() -> Option<(String, String)> {
    if !Path::new(".git").exists() {
        return None;
    }
    let commit = git(&["rev-parse", "HEAD"])?;
    let sources = ["status", "--porcelain", "--", "src", "crates", "build.rs", "Cargo.toml", "Cargo.lock"];
    let changed = git(&sources)?;
    Some((commit, (!changed.is_empty()).to_string()))
}

/// A package from a registry carries the commit that it was made from.
fn from_package() -> Option<(String, String)> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let after = text.split("\"sha1\"").nth(1)?;
    let commit = after.split('"').nth(1)?.to_owned();
    Some((commit, text.contains("\"dirty\": true").to_string()))
}
