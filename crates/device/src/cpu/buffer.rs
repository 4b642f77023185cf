//! How is memory held that kernels read with aligned vector loads?

use std::alloc::{Layout, alloc, dealloc};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Start of every buffer: one cache line, and one 512-bit vector.
pub const ALIGNMENT: usize = 64;

/// Buffers of this size and more start on a huge page and ask the kernel for huge pages: the rows of a large C
/// lie on more small pages than the processor's translation cache holds.
const HUGE: usize = 2 << 20;

/// Where a buffer of so many bytes starts.
fn alignment(bytes: usize) -> usize {
    if bytes >= HUGE { HUGE } else { ALIGNMENT }
}

/// Start of a buffer that [`Buffer::on_a_page`] gives.
const PAGE: usize = 4096;

/// Asks for huge pages; without them everything works, only slower.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(start: *mut u8, bytes: usize) {
    unsafe extern "C" {
        fn madvise(start: *mut std::ffi::c_void, length: usize, advice: std::ffi::c_int) -> std::ffi::c_int;
    }
    const MADV_HUGEPAGE: std::ffi::c_int = 14;
    // SAFETY: the range is an allocation of ours, and this advice changes no content.
    unsafe { madvise(start.cast(), bytes, MADV_HUGEPAGE) };
}

/// Asks for huge pages; without them everything works, only slower.
#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_start: *mut u8, _bytes: usize) {}

/// A fixed array of plain numbers that starts on a cache line and is zero at birth.
pub struct Buffer<T: Plain> {
    start: NonNull<u8>,
    len: usize,
    alignment: usize,
    element: PhantomData<T>,
}

/// Numbers for which every bit pattern, all zeros included, is a value.
///
/// # Safety
/// Only types without padding, pointers or forbidden bit patterns may implement this.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}
// SAFETY: integers and floats of the machine have neither padding nor forbidden patterns.
unsafe impl Plain for u8 {}
// SAFETY: as above.
unsafe impl Plain for i8 {}
// SAFETY: as above.
unsafe impl Plain for u16 {}
// SAFETY: as above.
unsafe impl Plain for i16 {}
// SAFETY: as above.
unsafe impl Plain for i32 {}
// SAFETY: as above.
unsafe impl Plain for f32 {}
// SAFETY: as above.
unsafe impl Plain for f64 {}

/// The allocator did not give the bytes that were asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMemory {
    /// Bytes asked for.
    pub bytes: usize,
}

impl<T: Plain> Buffer<T> {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Result<Self, NoMemory> {
        Self::aligned(len, ALIGNMENT)
    }

    /// `len` zeros that begin on a page.
    pub fn on_a_page(len: usize) -> Result<Self, NoMemory> {
        Self::aligned(len, PAGE)
    }

    fn aligned(len: usize, least: usize) -> Result<Self, NoMemory> {
        let bytes = len.max(1).saturating_mul(size_of::<T>());
        let alignment = alignment(bytes).max(least);
        let layout = Layout::from_size_align(bytes, alignment).map_err(|_| NoMemory { bytes })?;
        // SAFETY: the layout's size is at least one byte.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or(NoMemory { bytes })?;
        if bytes >= HUGE {
            ask_for_huge_pages(start.as_ptr(), bytes);
        }
        // SAFETY: the allocation has this many bytes.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        Ok(Buffer { start, len, alignment, element: PhantomData })
    }

    /// First element, for reading.
    pub fn start(&self) -> *const T {
        self.start.as_ptr().cast()
    }

    /// First element, for writing.
    pub fn start_mut(&mut self) -> *mut T {
        self.start.as_ptr().cast()
    }

    /// The elements' bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the allocation holds `len` initialised elements without padding.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len * size_of::<T>()) }
    }

    /// The elements' bytes, for writing; every pattern is a value.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`, and `self` is borrowed uniquely.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len * size_of::<T>()) }
    }
}

impl<T: Plain> Drop for Buffer<T> {
    fn drop(&mut self) {
        let bytes = self.len.max(1) * size_of::<T>();
        // SAFETY: size and alignment are those of `aligned`, which succeeded with them.
        unsafe { dealloc(self.start.as_ptr(), Layout::from_size_align_unchecked(bytes, self.alignment)) }
    }
}

// SAFETY: the buffer owns its memory, and `T` is `Send`.
unsafe impl<T: Plain> Send for Buffer<T> {}
// SAFETY: shared references only read, and `T` is `Sync`.
unsafe impl<T: Plain> Sync for Buffer<T> {}

/// A pointer that several threads use at once, each on elements that no other touches.
#[derive(Clone, Copy)]
pub struct Shared<T>(*mut T);

impl<T> Shared<T> {
    /// Wraps the pointer; who dereferences it answers for disjointness.
    pub fn new(pointer: *mut T) -> Self {
        Shared(pointer)
    }

    /// The pointer.
    pub fn get(self) -> *mut T {
        self.0
    }
}

// SAFETY: sending the address is harmless; each dereference carries its own reason.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}
