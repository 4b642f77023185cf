//! How do the tests run kernels that were written for Apple's GPUs?
//!
//! clang 19 or newer compiles the very text that ships against the headers in `include`, which implement the part of the language
//! that it uses, into a library; a host process (`runtime`) loads it and runs every GPU thread as a fiber. The device that
//! results is of kind `simulated`: its arithmetic, layouts and rules are planted and say nothing about Apple's hardware.
//!
//! Without such a clang the tests say that they were skipped.
#![allow(dead_code)]

pub mod compiler;
pub mod glue;
pub mod lint;
pub mod planted;
pub mod products;
pub mod refusals;
pub mod simulated;

/// The compiler, or a line that says what was skipped.
pub fn clang_or_skip() -> Option<&'static compiler::Clang> {
    let found = compiler::Clang::find();
    if found.is_none() {
        println!("skipped: no clang++ of version 19 or newer on PATH nor in RIGEL_CLANG, so no kernel was compiled");
    }
    found
}
