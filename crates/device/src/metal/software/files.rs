//! Which C++ stands for the Metal Shading Language, and where does it lie for the compiler?

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The headers that implement the part of the language which the kernels use, and the process that runs what is compiled with them.
pub const FILES: [(&str, &str); 22] = [
    (
        "include/MetalPerformancePrimitives/MetalPerformancePrimitives.h",
        include_str!("include/MetalPerformancePrimitives/MetalPerformancePrimitives.h"),
    ),
    ("include/metal_simdgroup_matrix", include_str!("include/metal_simdgroup_matrix")),
    ("include/metal_stdlib", include_str!("include/metal_stdlib")),
    ("include/metal_tensor", include_str!("include/metal_tensor")),
    ("include/mpp_descriptor.h", include_str!("include/mpp_descriptor.h")),
    ("include/mpp_matmul2d.h", include_str!("include/mpp_matmul2d.h")),
    ("include/mpp_operands.h", include_str!("include/mpp_operands.h")),
    ("include/mpp_rules.h", include_str!("include/mpp_rules.h")),
    ("include/msl_accumulate.h", include_str!("include/msl_accumulate.h")),
    ("include/msl_cooperative.h", include_str!("include/msl_cooperative.h")),
    ("include/msl_formats.h", include_str!("include/msl_formats.h")),
    ("include/msl_layout.h", include_str!("include/msl_layout.h")),
    ("include/msl_locals.h", include_str!("include/msl_locals.h")),
    ("include/msl_math.h", include_str!("include/msl_math.h")),
    ("include/msl_planted.h", include_str!("include/msl_planted.h")),
    ("include/msl_spaces.h", include_str!("include/msl_spaces.h")),
    ("include/msl_threads.h", include_str!("include/msl_threads.h")),
    ("include/msl_vectors.h", include_str!("include/msl_vectors.h")),
    ("runtime/call.h", include_str!("runtime/call.h")),
    ("runtime/fibers.cpp", include_str!("runtime/fibers.cpp")),
    ("runtime/fibers.h", include_str!("runtime/fibers.h")),
    ("runtime/host.cpp", include_str!("runtime/host.cpp")),
];

/// Writes every file, and one more, into a folder. Files are whole or not there: processes share the folder.
///
/// # Errors
/// What the system says, with the file.
pub fn write(folder: &Path, more: (&str, &str)) -> Result<(), String> {
    for (name, text) in FILES.iter().chain([&more]) {
        let file = folder.join(name);
        if fs::read(&file).is_ok_and(|there| there == text.as_bytes()) {
            continue;
        }
        put(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    }
    Ok(())
}

/// A name beside a file that nobody else uses.
pub fn fresh(file: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    file.with_extension(format!("{}-{}.part", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
}

/// Writes a file whole or not at all.
///
/// # Errors
/// What the system says.
pub fn put(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let fresh = fresh(file);
    fs::write(&fresh, text)?;
    fs::rename(&fresh, file)
}
