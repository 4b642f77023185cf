//! What was this binary built with? Compiler version, target features and a hash of the cpu kernels, for provenance.

use std::{env, fs, path::PathBuf, process::Command};

fn main() {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let version = Command::new(rustc).arg("-V").output().ok().and_then(|o| String::from_utf8(o.stdout).ok());
    println!("cargo::rustc-env=RIGEL_RUSTC={}", version.as_deref().map_or("", str::trim));
    for (name, from) in [("RIGEL_TARGET", "TARGET"), ("RIGEL_TARGET_FEATURES", "CARGO_CFG_TARGET_FEATURE")] {
        println!("cargo::rustc-env={name}={}", env::var(from).unwrap_or_default());
    }
    println!("cargo::rustc-env=RIGEL_OPT_LEVEL={}", env::var("OPT_LEVEL").unwrap_or_default());
    println!("cargo::rustc-env=RIGEL_CPU_KERNELS={:016x}", hash_of_sources("src/cpu"));
    println!("cargo::rerun-if-changed=src/cpu");
    println!("cargo::rerun-if-changed=build.rs");
}

/// FNV-1a, 64 bits, over names and contents in the order of the names. Identity, not authenticity.
fn hash_of_sources(folder: &str) -> u64 {
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path()).collect();
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for file in files {
        eat(file.file_name().map(|n| n.as_encoded_bytes()).unwrap_or_default());
        eat(&[0]);
        eat(&fs::read(&file).unwrap_or_default());
        eat(&[0]);
    }
    hash
}
