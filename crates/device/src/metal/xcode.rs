//! Which Xcodes are on this Mac, and what does the Metal compiler of each make of a text?
//!
//! Ahead of time a library has three parents: the Xcode, the language version asked for and the oldest system. Each combination is
//! tried; a library is kept, a refusal is kept word for word with its class. Nothing here needs a framework of the vendor's, so
//! tests run it with programs of their own in place of `xcrun`.

use super::answered::answer;
use super::diagnostic::Meaning;
use super::level::Language;
use super::metallib::Metallib;
use super::text::{Kernel, Source};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Oldest systems that libraries are made for: those that brought a language or a gate.
pub const MINIMUM_OS: [&str; 5] = ["14.0", "15.0", "26.0", "26.5", "27.0"];

/// How long a tool may take to say its version, and to make one library.
const VERSION_WITHIN: Duration = Duration::from_secs(20);
const LIBRARY_WITHIN: Duration = Duration::from_secs(60);

/// Where Xcodes are kept when nobody says otherwise.
const APPLICATIONS: &str = "/Applications";

/// An Xcode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Xcode {
    /// What DEVELOPER_DIR must be for it.
    pub developer_dir: PathBuf,
    /// Its version in its own words; empty where it does not say.
    pub version: String,
    /// Its Metal compiler's version in its own words; empty where it has none.
    pub compiler: String,
    /// Why nothing is asked of it: its tools hang. Empty where they do not.
    pub silent: String,
}

/// What became of one combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    /// A library, in a file of this name, and what it says of itself.
    Library {
        /// Name of the file.
        file: String,
        /// What it says; why it cannot be read.
        says: Result<Metallib, String>,
    },
    /// A refusal: its class and its words.
    Refused(Meaning, String),
}

/// One combination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// By whom.
    pub xcode: Xcode,
    /// Language version asked for.
    pub language: Language,
    /// Oldest system asked for.
    pub minimum_os: &'static str,
    /// What became of it.
    pub made: Made,
}

/// The program that finds a developer tool: `xcrun`, or what a test has in its place.
#[derive(Debug, Clone)]
pub struct Xcrun(pub PathBuf);

impl Default for Xcrun {
    fn default() -> Xcrun {
        Xcrun("xcrun".into())
    }
}

impl Xcrun {
    fn command(&self, developer_dir: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.env("DEVELOPER_DIR", developer_dir);
        command
    }

    /// First line of what a tool says; nothing where it fails.
    ///
    /// # Errors
    /// That it hangs.
    fn line(&self, developer_dir: &Path, arguments: &[&str]) -> Result<String, String> {
        match answer(self.command(developer_dir).args(arguments), VERSION_WITHIN) {
            Ok(answer) if answer.status.success() => Ok(answer.stdout.lines().next().unwrap_or_default().to_owned()),
            Err(error) if error.kind() == ErrorKind::TimedOut => Err(error.to_string()),
            _ => Ok(String::new()),
        }
    }

    /// The Xcodes of these folders (`DEVELOPER_DIR` each, or an Xcode.app); those of the system where none is named.
    pub fn xcodes(&self, named: &[PathBuf]) -> Vec<Xcode> {
        let mut folders: Vec<PathBuf> = named.iter().map(|folder| developer_dir(folder)).collect();
        if folders.is_empty() {
            let set = std::env::var_os("DEVELOPER_DIR").filter(|set| !set.is_empty()).map(PathBuf::from);
            let installed = fs::read_dir(APPLICATIONS).into_iter().flatten().flatten().map(|entry| entry.path());
            let is_xcode = |path: &PathBuf| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("Xcode") && name.ends_with(".app")
            };
            folders = set.into_iter().chain(installed.filter(is_xcode).map(|app| developer_dir(&app))).collect();
        }
        folders.sort();
        folders.dedup();
        let xcode = |developer_dir: PathBuf| {
            let version = self.line(&developer_dir, &["xcodebuild", "-version"]);
            let compiler = version
                .as_ref()
                .map_or(Ok(String::new()), |_| self.line(&developer_dir, &["--sdk", "macosx", "metal", "--version"]));
            let silent = version.as_ref().err().or(compiler.as_ref().err()).cloned().unwrap_or_default();
            let (version, compiler) = (version.unwrap_or_default(), compiler.unwrap_or_default());
            Xcode { developer_dir, version, compiler, silent }
        };
        folders.into_iter().map(xcode).collect()
    }

    /// Makes one library of the kernel that says as what it was compiled.
    ///
    /// # Errors
    /// What the system says of the files in `folder`.
    pub fn make(
        &self,
        xcode: &Xcode,
        number: usize,
        language: Language,
        minimum_os: &'static str,
        folder: &Path,
    ) -> std::io::Result<Attempt> {
        if !xcode.silent.is_empty() {
            let made = Made::Refused(Meaning::Other, xcode.silent.clone());
            return Ok(Attempt { xcode: xcode.clone(), language, minimum_os, made });
        }
        let Source { name, text, .. } = Kernel::Versions.source(language);
        let source = folder.join(name);
        fs::write(&source, text)?;
        let file = format!("xcode{number}-metal{language}-macos{minimum_os}.metallib");
        let library = folder.join(&file);
        let mut command = self.command(&xcode.developer_dir);
        command
            .args(["--sdk", "macosx", "metal"])
            .arg(format!("-std=metal{language}"))
            .arg(format!("-mmacosx-version-min={minimum_os}"))
            .arg("-o")
            .args([&library, &source]);
        let made = match answer(&mut command, LIBRARY_WITHIN) {
            Err(error) if error.kind() == ErrorKind::TimedOut => Made::Refused(Meaning::Other, error.to_string()),
            Err(error) => Made::Refused(Meaning::NoToolchain, format!("{}: {error}", self.0.display())),
            Ok(answer) if answer.status.success() && library.exists() => {
                Made::Library { file, says: Metallib::read(&fs::read(&library)?) }
            }
            Ok(answer) => {
                let words = answer.stderr.trim().to_owned();
                let words =
                    if words.is_empty() { format!("it ended with {} and said nothing", answer.status) } else { words };
                Made::Refused(Meaning::of(&words), words)
            }
        };
        Ok(Attempt { xcode: xcode.clone(), language, minimum_os, made })
    }
}

/// The developer folder of an Xcode.app, or the folder itself.
fn developer_dir(folder: &Path) -> PathBuf {
    if folder.extension().is_some_and(|e| e == "app") { folder.join("Contents/Developer") } else { folder.to_owned() }
}
