//! How does memory of a device come and go?
//!
//! Plain allocations of the device, never managed memory. Copies wait until they are done.

use super::driver::{Context, DriverError, check};
use crate::contract::GUARD;
use cudarc::driver::sys;
use rigel_numerics::placement::ALIGNED;
use std::rc::Rc;

/// Bytes on a device, given back on drop.
#[derive(Debug)]
pub struct Memory {
    context: Rc<Context>,
    address: sys::CUdeviceptr,
    bytes: usize,
    /// Bytes from the allocation's start to what [`Memory::address`] gives.
    origin: usize,
}

impl Memory {
    /// Takes `bytes` (at least one) and sets each to `fill`.
    ///
    /// # Errors
    /// What the driver says; too little memory in particular.
    pub fn filled(context: &Rc<Context>, bytes: usize, fill: u8) -> Result<Memory, DriverError> {
        context.enter()?;
        let bytes = bytes.max(1);
        let mut address = 0;
        // SAFETY: `address` outlives the call; the allocation is freed once, on drop.
        check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut address, bytes) })?;
        let memory = Memory { context: Rc::clone(context), address, bytes, origin: 0 };
        // SAFETY: the allocation has `bytes` bytes.
        check("cuMemsetD8", unsafe { sys::cuMemsetD8_v2(address, fill, bytes) })?;
        Ok(memory)
    }

    /// Takes `bytes`, or as many as `content` has where these are more; the rest is 0.
    ///
    /// # Errors
    /// What the driver says.
    pub fn holding(context: &Rc<Context>, content: &[u8], bytes: usize) -> Result<Memory, DriverError> {
        let memory = Memory::filled(context, bytes.max(content.len()), 0)?;
        // SAFETY: the allocation is at least as long as `content`.
        let code = unsafe { sys::cuMemcpyHtoD_v2(memory.address, content.as_ptr().cast(), content.len()) };
        check("cuMemcpyHtoD", code)?;
        Ok(memory)
    }

    /// Takes memory in which `content` begins `offset` bytes past a multiple of [`ALIGNED`]; guards lie around it.
    ///
    /// # Errors
    /// What the driver says.
    pub fn placed(context: &Rc<Context>, content: &[u8], offset: usize) -> Result<Memory, DriverError> {
        let mut memory = Memory::filled(context, content.len() + offset + 3 * ALIGNED, GUARD)?;
        let first = (memory.address as usize + ALIGNED).next_multiple_of(ALIGNED) - memory.address as usize;
        memory.origin = first + offset;
        // SAFETY: the allocation reaches at least a guard beyond the content.
        let code = unsafe { sys::cuMemcpyHtoD_v2(memory.address(), content.as_ptr().cast(), content.len()) };
        check("cuMemcpyHtoD", code)?;
        Ok(memory)
    }

    /// Sets every byte to `fill`, behind everything that was queued before.
    ///
    /// # Errors
    /// What the driver says.
    pub fn fill(&self, fill: u8) -> Result<(), DriverError> {
        self.context.enter()?;
        // SAFETY: the allocation has `bytes` bytes.
        check("cuMemsetD8", unsafe { sys::cuMemsetD8_v2(self.address, fill, self.bytes) })
    }

    /// Copies `content` to the beginning.
    ///
    /// # Errors
    /// What the driver says.
    ///
    /// # Panics
    /// When `content` is longer than the memory.
    pub fn write(&self, content: &[u8]) -> Result<(), DriverError> {
        assert!(content.len() <= self.bytes, "{} bytes into {}", content.len(), self.bytes);
        self.context.enter()?;
        // SAFETY: both sides have `content.len()` bytes.
        let code = unsafe { sys::cuMemcpyHtoD_v2(self.address, content.as_ptr().cast(), content.len()) };
        check("cuMemcpyHtoD", code)
    }

    /// Another allocation with the same bytes.
    ///
    /// # Errors
    /// What the driver says.
    pub fn copy(&self) -> Result<Memory, DriverError> {
        let mut copy = Memory::filled(&self.context, self.bytes, 0)?;
        copy.origin = self.origin;
        // SAFETY: both allocations have `bytes` bytes.
        check("cuMemcpyDtoD", unsafe { sys::cuMemcpyDtoD_v2(copy.address, self.address, self.bytes) })?;
        Ok(copy)
    }

    /// Bytes that it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Where its content is, for a kernel.
    pub fn address(&self) -> u64 {
        self.address + self.origin as u64
    }

    /// Copies the first bytes back, as many as `into` holds.
    ///
    /// # Errors
    /// What the driver says: also what went wrong in kernels that ran before.
    ///
    /// # Panics
    /// When `into` is longer than the memory.
    pub fn read(&self, into: &mut [u8]) -> Result<(), DriverError> {
        assert!(into.len() <= self.bytes, "{} bytes asked of {}", into.len(), self.bytes);
        self.context.enter()?;
        // SAFETY: both sides have `into.len()` bytes.
        check("cuMemcpyDtoH", unsafe { sys::cuMemcpyDtoH_v2(into.as_mut_ptr().cast(), self.address, into.len()) })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: allocated once, freed once, in its own context. After a lost device this fails, and nobody can
            // mend it.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}
