//! How does kernel text become a library for this processor, and in which words is it refused?

use super::child::ending_with_parent;
use super::files::{self, FILES};
use super::glue::glue;
use crate::metal::answered::answer;
use crate::metal::element::Element;
use crate::metal::level::Sdk;
use crate::metal::text::Source;
use crate::metal::triples::Types;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Names under which a new enough compiler is looked for, newest first.
const PROGRAMS: [&str; 4] = ["clang++-22", "clang++-21", "clang++-20", "clang++-19"];

/// A clang that is new enough, and the folder in which it works.
pub struct Clang {
    program: PathBuf,
    version: String,
    cache: PathBuf,
    /// Headers and runtime, for this very text of theirs.
    home: PathBuf,
}

/// What a text is compiled as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Target {
    /// Version of the vendor's header.
    pub sdk: Sdk,
    /// Value of `__METAL_VERSION__`.
    pub language: u32,
    /// Value of the macro of the oldest system.
    pub minimum_os: u32,
}

impl Target {
    /// A header with the newest language and system that go with it.
    pub fn of(sdk: Sdk) -> Target {
        Target { sdk, language: sdk.language().macro_value(), minimum_os: sdk.minimum_os() }
    }

    fn flags(self) -> Vec<String> {
        let mut flags = vec![
            format!("-DRIGEL_SDK={}", self.sdk.number()),
            format!("-D__METAL_VERSION__={}", self.language),
            format!("-D__ENVIRONMENT_OS_VERSION_MIN_REQUIRED__={}", self.minimum_os),
        ];
        if self.language >= 400 {
            flags.push("-D__HAVE_TENSOR__=1".into());
        }
        if self.language >= 410 {
            flags.push("-D__HAVE_TENSOR_MULTIPLANE__=1".into());
        }
        flags
    }
}

impl Clang {
    /// RIGEL_CLANG, else the newest `clang++-N` of PATH from 19 on; what it makes is kept in `cache`.
    ///
    /// # Errors
    /// That there is none or that none says its version, or that the folder cannot be written.
    pub fn find(cache: PathBuf) -> Result<Clang, String> {
        let asked = std::env::var_os("RIGEL_CLANG").filter(|name| !name.is_empty()).map(PathBuf::from);
        let (program, version) = match asked {
            Some(program) => version(&program).map(|version| (program.clone(), version)).map_err(|why| {
                format!(
                    "RIGEL_CLANG names {}, which must be clang of version 19 or newer; asked for --version: {why}",
                    program.display()
                )
            })?,
            None => first(&PROGRAMS.map(PathBuf::from))?,
        };
        let triples = triples();
        let mut hasher = DefaultHasher::new();
        (FILES, &triples).hash(&mut hasher);
        let home = cache.join(format!("{:016x}", hasher.finish()));
        files::write(&home, ("include/mpp_triples.inc", &triples))?;
        Ok(Clang { program, version, cache, home })
    }

    /// The compiler's own first line.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// A number that changes with the compiler and with the headers.
    pub fn identity(&self) -> u64 {
        self.digest("identity", Target::of(Sdk::V27_0))
    }

    /// Whether a text compiles with every address space a type of its own; the compiler's errors when not.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn check(&self, text: &str, target: Target) -> Result<(), String> {
        self.syntax(text, target, &["-DMSL_CHECK_SPACES"])?;
        self.syntax(text, target, &[])
    }

    fn syntax(&self, text: &str, target: Target, more: &[&str]) -> Result<(), String> {
        let file = self.write(text, "metal")?;
        let mut command = self.command(target);
        self.run(command.args(more).arg("-fsyntax-only").arg(&file))
    }

    /// A library with all kernels of these texts; kernel `k` of text i is `ti_k`. Built once, then taken from the cache.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn library(&self, sources: &[&Source], target: Target) -> Result<PathBuf, String> {
        let mut text = String::from("#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\n");
        if target.language >= 400 {
            text.push_str("#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n");
        }
        text.push_str("#include \"../runtime/call.h\"\n#include \"msl_locals.h\"\n");
        for (i, source) in sources.iter().enumerate() {
            let _ = writeln!(
                text,
                "namespace t{i} {{\n# 1 \"{}\"\n{}}}\n{}",
                source.name,
                source.text,
                glue(&source.text, &format!("t{i}"))?
            );
        }
        let library = self.cache.join(format!("{:016x}.so", self.digest(&text, target)));
        if !library.exists() {
            let file = self.write(&text, "cpp")?;
            let fresh = files::fresh(&library);
            let mut command = self.command(target);
            command.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&fresh).arg(&file);
            self.run(&mut command)?;
            fs::rename(&fresh, &library).map_err(|e| format!("{}: {e}", library.display()))?;
        }
        Ok(library)
    }

    /// The host process that loads libraries, built once.
    ///
    /// # Errors
    /// The compiler's words.
    pub fn host(&self) -> Result<PathBuf, String> {
        let runtime = self.home.join("runtime");
        let program = self.cache.join(format!("host-{:016x}", self.digest("host", Target::of(Sdk::V27_0))));
        if !program.exists() {
            let fresh = files::fresh(&program);
            let mut command = Command::new(&self.program);
            command.args(["-std=c++20", "-O2", "-rdynamic", "-o"]).arg(&fresh);
            command.args(["fibers.cpp", "host.cpp"].map(|f| runtime.join(f))).arg("-ldl");
            self.run(&mut command)?;
            fs::rename(&fresh, &program).map_err(|e| format!("{}: {e}", program.display()))?;
        }
        Ok(program)
    }

    fn command(&self, target: Target) -> Command {
        let mut command = Command::new(&self.program);
        command.args([
            "-std=c++2c",
            "-x",
            "c++",
            "-include",
            "msl_spaces.h",
            "-Wall",
            "-Werror",
            "-Wno-unknown-attributes",
            "-Wno-ignored-attributes",
            "-Wno-unused",
        ]);
        command.args([
            "-ferror-limit=0",
            "-fno-caret-diagnostics",
            "-fno-exceptions",
            "-fno-rtti",
            "-ffp-contract=off",
        ]);
        if cfg!(target_arch = "x86_64") {
            command.args(["-mf16c", "-mfma"]);
        }
        command.arg("-I").arg(self.home.join("include")).args(target.flags());
        command
    }

    fn run(&self, command: &mut Command) -> Result<(), String> {
        let output = ending_with_parent(command).output().map_err(|e| format!("{}: {e}", self.program.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        // A compiler that refuses a text says why and exits by itself.
        if output.status.code().is_some() && !words.trim().is_empty() {
            return Err(words);
        }
        let ended = format!("the compiler ended and refused nothing: {}, {}", self.program.display(), output.status);
        Err(format!("{ended}\n{words}").trim_end().to_owned())
    }

    fn write(&self, text: &str, extension: &str) -> Result<PathBuf, String> {
        let file = self.cache.join(format!("{:016x}.{extension}", self.digest(text, Target::of(Sdk::V27_0))));
        files::put(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(file)
    }

    fn digest(&self, text: &str, target: Target) -> u64 {
        let mut hasher = DefaultHasher::new();
        (text, target, &self.version, &self.home).hash(&mut hasher);
        hasher.finish()
    }
}

/// How long a compiler may take to say its version.
const VERSION_WITHIN: Duration = Duration::from_secs(10);

/// The first line of what a compiler says of its version.
fn version(program: &Path) -> Result<String, Error> {
    let answer = answer(Command::new(program).arg("--version"), VERSION_WITHIN)?;
    let line = answer.stdout.lines().next().filter(|_| answer.status.success());
    line.map(str::to_owned).ok_or_else(|| Error::other(format!("it answers with {}", answer.status)))
}

/// The first compiler that says its version. One that is not there is not spoken of.
fn first(programs: &[PathBuf]) -> Result<(PathBuf, String), String> {
    let mut silent = String::new();
    for program in programs {
        match version(program) {
            Ok(version) => return Ok((program.clone(), version)),
            Err(why) if why.kind() == ErrorKind::NotFound => {}
            Err(why) => silent += &format!("; {} --version: {why}", program.display()),
        }
    }
    let needed = "it needs clang of version 19 or newer, as clang++-19 on PATH (Debian and Ubuntu: apt install clang-19) or in \
                  RIGEL_CLANG";
    Err(format!("{needed}{silent}"))
}

/// The header's table of triples, written from the project's.
fn triples() -> String {
    let mut rows = String::from("// Which triples are listed? Written from the project's table.\n");
    for (since, Types { left, right, dest }) in Types::listed() {
        let spelled = |e: Element| {
            if e.is_format() { format!("metal::{}", e.spelled()) } else { e.spelled().to_owned() }
        };
        let row = format!(
            "template <> inline constexpr int listed_since<{}, {}, {}> = {};\n",
            spelled(left),
            spelled(right),
            spelled(dest),
            since.number()
        );
        let needs_newest = since == Sdk::V27_0;
        rows += &if needs_newest { format!("#if __METAL_VERSION__ >= 410\n{row}#endif\n") } else { row };
    }
    rows
}
