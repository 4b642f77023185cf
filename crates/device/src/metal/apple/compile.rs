//! How is a text compiled on the machine that runs it, and what is recorded of it?
//!
//! The language version is always named; rounding and math modes are set because their defaults depend on it.

use super::Raw;
use crate::contract::{Refusal, Rung};
use crate::metal::text::Source;
use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::{NSError, NSString, NSURL};
use objc2_metal::{
    MTLCompileOptions, MTLComputePipelineState, MTLDevice, MTLLanguageVersion, MTLLibrary,
    MTLMathFloatingPointFunctions, MTLMathMode,
};
use std::path::Path;

/// A compiled library.
pub type AppleLibrary = Retained<ProtocolObject<dyn MTLLibrary>>;
/// A pipeline.
pub type ApplePipeline = Retained<ProtocolObject<dyn MTLComputePipelineState>>;

/// Domain, code and text of an error, word for word.
pub fn words(error: &NSError) -> String {
    format!("{} {}: {}", error.domain(), error.code(), error.localizedDescription())
}

/// Compiles a text.
///
/// # Errors
/// The compiler's diagnostic.
pub fn library(device: &Raw, source: &Source) -> Result<AppleLibrary, Refusal> {
    let options = MTLCompileOptions::new();
    options.setLanguageVersion(MTLLanguageVersion(source.language.raw()));
    options.setMathMode(MTLMathMode::Safe);
    options.setMathFloatingPointFunctions(MTLMathFloatingPointFunctions::Precise);
    device
        .newLibraryWithSource_options_error(&NSString::from_str(&source.text), Some(&options))
        .map_err(|e| Refusal { rung: Rung::Compile, diagnostic: words(&e) })
}

/// Loads a library that was compiled elsewhere.
///
/// # Errors
/// Why it does not load here.
pub fn load(device: &Raw, file: &Path) -> Result<AppleLibrary, Refusal> {
    let url = NSURL::fileURLWithPath(&NSString::from_str(&file.to_string_lossy()));
    device.newLibraryWithURL_error(&url).map_err(|e| Refusal { rung: Rung::Load, diagnostic: words(&e) })
}

/// Makes a kernel ready.
///
/// # Errors
/// That the library lacks it, or why no pipeline comes into being.
pub fn pipeline(device: &Raw, library: &AppleLibrary, kernel: &str) -> Result<ApplePipeline, Refusal> {
    let refused = |diagnostic| Refusal { rung: Rung::Load, diagnostic };
    let function = library
        .newFunctionWithName(&NSString::from_str(kernel))
        .ok_or_else(|| refused(format!("the library has no function {kernel}")))?;
    device.newComputePipelineStateWithFunction_error(&function).map_err(|e| refused(words(&e)))
}
