//! How do end-to-end tests run the tool and read what it leaves?
#![allow(dead_code)]

use assert_cmd::Command;
use std::path::Path;

/// A quick plan on a software device: one path, small shapes.
pub const SMALL: &[&str] =
    &["run", "--device", "sim:plain", "--filter", "matmul2d", "--axis", "shape=32,48", "--axis", "types-shape=8"];

/// The tool, with no colour and none of the caller's settings.
pub fn rigel() -> Command {
    let mut command = Command::cargo_bin("rigel").expect("the binary is built with its tests");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RIGEL_") {
            command.env_remove(name);
        }
    }
    command.env("NO_COLOR", "1").env_remove("COLUMNS");
    command
}

/// The lines of `cells.csv` without the column `run`, in order.
pub fn cells(dir: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(dir.join("cells.csv")).unwrap();
    let without = |line: &str| {
        let fields: Vec<&str> = line.split(',').enumerate().filter(|(i, _)| *i != 3).map(|(_, f)| f).collect();
        fields.join(",")
    };
    text.lines().map(without).collect()
}

/// A file of a run.
pub fn file(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap_or_else(|e| panic!("{}/{name}: {e}", dir.display()))
}

/// Standard output as text.
pub fn stdout(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
