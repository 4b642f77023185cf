//! What must a GPU that speaks Metal do for this backend?
//!
//! The seam between what can be proven anywhere and what needs Apple's frameworks. Above it: kernels, offers, products, units,
//! probes. Below it: [`super::apple`] on a Mac; in tests a device in software that runs the very same kernel text.
//!
//! Handles are small numbers. A buffer is never touched by a kernel outside its bytes; where a GPU can see that one was, it says
//! so as a [`Fault`].

use crate::contract::{Description, Fault, Meter, MissingMeter, Refusal};
use rigel_numerics::Time;
use std::path::Path;

use super::level::Sdk;
use super::text::Source;

/// A compiled library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Library(pub u32);

/// A kernel that is ready to launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pipeline(pub u32);

/// Memory of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Buffer(pub u32);

/// What a kernel's parameter `[[buffer(index)]]` gets.
#[derive(Debug, Clone, PartialEq)]
pub enum Binding {
    /// A buffer from a byte on.
    Buffer {
        /// Which.
        buffer: Buffer,
        /// First byte.
        offset: u64,
    },
    /// Bytes by value, at most 4 KiB.
    Bytes(Vec<u8>),
    /// A tensor that the host makes over a buffer.
    Tensor(HostTensor),
}

/// A tensor of rank 2 over a buffer, innermost dimension first.
#[derive(Debug, Clone, PartialEq)]
pub struct HostTensor {
    /// Its memory.
    pub buffer: Buffer,
    /// First byte.
    pub offset: u64,
    /// Element type.
    pub element: super::element::Element,
    /// Elements of each dimension.
    pub extents: [i64; 2],
    /// Elements from one to the next of each dimension; the first is 1.
    pub strides: [i64; 2],
    /// What it is made for.
    pub usage: super::usage::Usage,
}

/// One launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The kernel.
    pub pipeline: Pipeline,
    /// Threadgroups in x, y and z.
    pub groups: [u32; 3],
    /// Threads of a threadgroup.
    pub threads: u32,
    /// Parameters by index.
    pub bindings: Vec<(u32, Binding)>,
}

/// A GPU that speaks Metal.
pub trait Gpu {
    /// Who it is.
    fn describe(&self) -> Description;
    /// The newest known header of the vendor that it compiles with; `None` when its system has no `matmul2d`.
    fn sdk(&self) -> Option<Sdk>;
    /// Bytes of its last-level cache, for cold operands; an upper bound where unknown.
    fn last_level_bytes(&self) -> u64;
    /// Compiles a text.
    ///
    /// # Errors
    /// The compiler's words.
    fn compile(&mut self, source: &Source) -> Result<Library, Refusal>;
    /// Loads a library that was compiled elsewhere.
    ///
    /// # Errors
    /// Why it does not load here, in the system's words.
    fn load(&mut self, file: &Path) -> Result<Library, Refusal>;
    /// Makes a kernel of a library ready.
    ///
    /// # Errors
    /// Why the library does not load, or has no such kernel.
    fn pipeline(&mut self, library: Library, kernel: &str) -> Result<Pipeline, Refusal>;
    /// Memory that holds these bytes.
    ///
    /// # Errors
    /// Too little memory.
    fn buffer(&mut self, bytes: &[u8]) -> Result<Buffer, Fault>;
    /// All bytes of a buffer.
    ///
    /// # Errors
    /// That a kernel wrote outside it, where that can be seen.
    fn read(&mut self, buffer: Buffer) -> Result<Vec<u8>, Fault>;
    /// Gives memory back.
    fn free(&mut self, buffer: Buffer);
    /// Tells it which of a block's fresh processes this is, before anything else. A physical GPU ignores it.
    fn enter_process(&mut self, _process: u32) {}
    /// Launches a chain `repeats` times, each launch after the end of the one before it and without a pause, and waits; the device's
    /// time of all together.
    ///
    /// # Errors
    /// What the device reports.
    fn chain(&mut self, launches: &[Launch], repeats: u32) -> Result<Time, Fault>;
    /// A chain of one launch.
    ///
    /// # Errors
    /// What the device reports.
    fn launch(&mut self, launch: &Launch, repeats: u32) -> Result<Time, Fault> {
        self.chain(std::slice::from_ref(launch), repeats)
    }
    /// Lets time pass while nothing runs. A virtual clock is set forward instead.
    fn idle(&mut self, time: Time) {
        std::thread::sleep(std::time::Duration::from_nanos(time.0 / 1000));
    }
    /// Meters that exist, and those that do not.
    fn meters(&mut self) -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>);
}
