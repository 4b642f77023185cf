//! How does kernel text become a library for this processor, and in which words is it refused?

use super::glue::glue;
use rigel_device::metal::level::Sdk;
use rigel_device::metal::text::Source;
use rigel_device::metal::triples::Types;
use std::collections::hash_map::DefaultHasher;
use std::fmt::Write;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../device/tests/metal_host");

/// A clang that is new enough.
pub struct Clang {
    program: PathBuf,
    version: String,
    cache: PathBuf,
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
    /// Found once: RIGEL_CLANG, else the newest `clang++-N` of PATH from 19 on.
    pub fn find() -> Option<&'static Clang> {
        static FOUND: OnceLock<Option<Clang>> = OnceLock::new();
        FOUND.get_or_init(Clang::look).as_ref()
    }

    fn look() -> Option<Clang> {
        let asked = std::env::var_os("RIGEL_CLANG").map(PathBuf::from);
        let names = ["clang++-22", "clang++-21", "clang++-20", "clang++-19"].map(PathBuf::from);
        let program = asked.into_iter().chain(names).find_map(|program| {
            let output = Command::new(&program).arg("--version").output().ok()?;
            let version = String::from_utf8_lossy(&output.stdout).lines().next()?.to_owned();
            output.status.success().then_some((program, version))
        });
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("metal");
        fs::create_dir_all(&cache).ok()?;
        program.map(|(program, version)| Clang { program, version, cache })
    }

    /// Whether a text compiles with every address space a type of its own; the compiler's errors when not.
    pub fn check(&self, text: &str, target: Target) -> Result<(), String> {
        self.syntax(text, target, &["-DMSL_CHECK_SPACES"])?;
        self.syntax(text, target, &[])
    }

    fn syntax(&self, text: &str, target: Target, more: &[&str]) -> Result<(), String> {
        let file = self.write(text, "metal");
        let mut command = self.command(target);
        self.run(command.args(more).arg("-fsyntax-only").arg(&file))
    }

    /// A library with all kernels of these texts; kernel `k` of text i is `ti_k`. Built once, then taken from the cache.
    pub fn library(&self, sources: &[&Source], target: Target) -> Result<PathBuf, String> {
        let mut text = String::from("#include <metal_stdlib>\n#include <metal_simdgroup_matrix>\n");
        if target.language >= 400 {
            text.push_str("#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n");
        }
        text.push_str("#include \"../runtime/call.h\"\n");
        for (i, source) in sources.iter().enumerate() {
            let _ = writeln!(
                text,
                "namespace t{i} {{\n# 1 \"{}\"\n{}}}\n{}",
                source.name,
                source.text,
                glue(&source.text, &format!("t{i}"))
            );
        }
        let library = self.cache.join(format!("{:016x}.so", self.digest(&text, target)));
        if !library.exists() {
            let file = self.write(&text, "cpp");
            let fresh = fresh(&library);
            let mut command = self.command(target);
            command.args(["-O1", "-fPIC", "-shared", "-o"]).arg(&fresh).arg(&file);
            self.run(&mut command)?;
            fs::rename(&fresh, &library).map_err(|e| format!("{}: {e}", library.display()))?;
        }
        Ok(library)
    }

    /// The host process that loads libraries, built once.
    pub fn host(&self) -> Result<PathBuf, String> {
        static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        BUILT.get_or_init(|| self.build_host()).clone()
    }

    fn build_host(&self) -> Result<PathBuf, String> {
        let runtime = Path::new(HERE).join("runtime");
        let texts: String = ["fibers.h", "fibers.cpp", "host.cpp"]
            .map(|f| fs::read_to_string(runtime.join(f)).unwrap_or_default())
            .concat();
        let program = self.cache.join(format!("host-{:016x}", self.digest(&texts, Target::of(Sdk::V27_0))));
        if !program.exists() {
            let fresh = fresh(&program);
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
        command.arg("-I").arg(Path::new(HERE).join("include")).arg("-I").arg(self.triples()).args(target.flags());
        command
    }

    fn run(&self, command: &mut Command) -> Result<(), String> {
        let output = command.output().map_err(|e| format!("{}: {e}", self.program.display()))?;
        if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
    }

    /// The folder with the header's table of triples, written from the project's.
    fn triples(&self) -> &Path {
        static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
        WRITTEN.get_or_init(|| {
            let mut rows = String::from("// Which triples are listed? Written from the project's table.\n");
            for (since, Types { left, right, dest }) in Types::listed() {
                let spelled = |e: rigel_device::metal::element::Element| {
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
            let folder = self.cache.join("generated");
            fs::create_dir_all(&folder).unwrap();
            put(&folder.join("mpp_triples.inc"), &rows);
            folder
        })
    }

    fn write(&self, text: &str, extension: &str) -> PathBuf {
        let file = self.cache.join(format!("{:016x}.{extension}", self.digest(text, Target::of(Sdk::V27_0))));
        put(&file, text);
        file
    }

    fn digest(&self, text: &str, target: Target) -> u64 {
        static HEADERS: OnceLock<Vec<(PathBuf, Vec<u8>)>> = OnceLock::new();
        let headers = HEADERS.get_or_init(|| {
            let folders = ["include", "include/MetalPerformancePrimitives", "runtime"].map(|f| Path::new(HERE).join(f));
            let entries = folders.iter().flat_map(|f| fs::read_dir(f).into_iter().flatten().flatten());
            let mut files: Vec<PathBuf> = entries.map(|e| e.path()).filter(|p| p.is_file()).collect();
            files.push(self.triples().join("mpp_triples.inc"));
            files.sort();
            files.into_iter().map(|f| (f.clone(), fs::read(f).unwrap_or_default())).collect()
        });
        let mut hasher = DefaultHasher::new();
        (text, target, &self.version, headers).hash(&mut hasher);
        hasher.finish()
    }
}

/// A name beside a file that nobody else uses.
fn fresh(file: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    file.with_extension(format!("{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// Writes a file whole or not at all: tests of several processes share the folder.
fn put(file: &Path, text: &str) {
    let fresh = fresh(file);
    fs::write(&fresh, text)
        .and_then(|()| fs::rename(&fresh, file))
        .unwrap_or_else(|e| panic!("{}: {e}", file.display()));
}
