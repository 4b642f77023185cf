//! Does the device still compute?

use super::driver::{Context, DriverError};
use super::kernel::Kernel;
use super::memory::Memory;
use super::target::Target;
use super::text;
use crate::contract::POISON;
use std::rc::Rc;

/// Words that the kernel writes.
const WORDS: u32 = 4096;

/// Runs a kernel that counts, and compares what it wrote.
///
/// # Errors
/// What the driver says, or the first word that came back wrong.
pub(super) fn check(context: &Rc<Context>, target: Target) -> Result<(), String> {
    let kernel = Kernel::load(context, &text::health(target), text::HEALTH_ENTRY);
    let kernel = kernel.map_err(|e| e.to_string())?;
    let answer = || {
        let mut bytes = vec![0; 4 * WORDS as usize];
        let memory = Memory::filled(context, bytes.len(), POISON)?;
        // SAFETY: the kernel takes one address and the number of threads, and thread t writes word t.
        unsafe { kernel.run(&[memory.address()], WORDS)? };
        memory.read(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = answer().map_err(|e: DriverError| e.to_string())?;
    let written = |i: u32| 0x9E37_79B9_u32.wrapping_mul(i).wrapping_add(1).to_le_bytes();
    let wrong = bytes.chunks(4).zip(0..).position(|(word, i)| word != written(i));
    wrong.map_or(Ok(()), |i| Err(format!("word {i} of {WORDS} came back wrong from a kernel that only counts")))
}
