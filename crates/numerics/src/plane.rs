//! Where do the large outputs of a reference lie, so that touching them first is cheap?
//!
//! The kernel clears memory page by page when it is touched first. For two outputs of 32 MiB in pages of 4 KiB that is a
//! tenth of the time of a product; in pages of 2 MiB, where the system grants them on advice (Linux), far less. Without that
//! advice, or below 4 MiB, a plane is an ordinary vector.

use bytemuck::Pod;
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Bytes from which pages of 2 MiB are asked for.
#[cfg(target_os = "linux")]
const LARGE: usize = 4 << 20;

/// The elements of a row-major matrix of 8-byte numbers (f64, i64, u64), all zero at first; read and written as a slice.
pub struct Plane<T> {
    words: Words,
    numbers: PhantomData<T>,
}

enum Words {
    Heap(Vec<u64>),
    #[cfg(target_os = "linux")]
    Mapped(memmap2::MmapMut),
}

/// A number of 8 bytes that any bit pattern is a value of.
pub trait Number: Pod + Send + Sync {}
impl Number for f64 {}
impl Number for i64 {}
impl Number for u64 {}

impl<T: Number> Plane<T> {
    /// A plane of `length` zeros; its memory is touched when it is first written or read.
    pub(crate) fn zeroed(length: usize) -> Self {
        let words = large(length * size_of::<u64>()).unwrap_or_else(|| Words::Heap(vec![0; length]));
        Plane { words, numbers: PhantomData }
    }

    /// The plane of f(x) for every x, in the same memory, on all threads of the current pool.
    pub(crate) fn convert<U: Number>(mut self, f: impl Fn(T) -> U + Sync) -> Plane<U> {
        let part = |part: &mut [T]| part.iter_mut().for_each(|x| *x = bytemuck::cast(f(*x)));
        self.par_chunks_mut(1 << 14).for_each(part);
        Plane { words: self.words, numbers: PhantomData }
    }
}

/// Zeroed memory in large pages, when that is worth it and can be had.
#[cfg(target_os = "linux")]
fn large(bytes: usize) -> Option<Words> {
    if bytes < LARGE {
        return None;
    }
    let map = memmap2::MmapMut::map_anon(bytes).ok()?;
    // Refused where the kernel is built without huge pages; ordinary ones serve then.
    let _ = map.advise(memmap2::Advice::HugePage);
    Some(Words::Mapped(map))
}

#[cfg(not(target_os = "linux"))]
fn large(_bytes: usize) -> Option<Words> {
    None
}

impl<T: Number> Deref for Plane<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.words {
            Words::Heap(words) => bytemuck::cast_slice(words),
            #[cfg(target_os = "linux")]
            Words::Mapped(bytes) => bytemuck::cast_slice(bytes),
        }
    }
}

impl<T: Number> DerefMut for Plane<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.words {
            Words::Heap(words) => bytemuck::cast_slice_mut(words),
            #[cfg(target_os = "linux")]
            Words::Mapped(bytes) => bytemuck::cast_slice_mut(bytes),
        }
    }
}

impl<T: Number> Clone for Plane<T> {
    fn clone(&self) -> Self {
        let mut copy = Plane::zeroed(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Number + PartialEq> PartialEq for Plane<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Number + std::fmt::Debug> std::fmt::Debug for Plane<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
