//! What do the small kernels answer: the language version that took effect, and what a slice is?

use super::element::Element;
use super::gpu::{Binding, Gpu, Launch, Library};
use super::level::Language;
use super::product::whole;
use super::text::Kernel;
use crate::contract::Fault;
use rigel_numerics::{Format, Overflow, Rounding};

/// What a text was compiled as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effective {
    /// `__METAL_VERSION__`.
    pub language: u32,
    /// The oldest system that the text is for; 0 where the compiler does not say.
    pub minimum_os: u32,
    /// Whether tensors exist.
    pub tensor: bool,
    /// Whether tensors have planes of scales.
    pub planes: bool,
}

/// Asks with which version a text is really compiled when one is asked for.
///
/// # Errors
/// What the compiler or the device says.
pub fn versions(gpu: &mut dyn Gpu, language: Language) -> Result<Effective, String> {
    let library = gpu.compile(&Kernel::Versions.source(language)).map_err(|e| e.to_string())?;
    effective(gpu, library)
}

/// Asks with which version a library was compiled that holds this kernel.
///
/// # Errors
/// What the device says.
pub fn effective(gpu: &mut dyn Gpu, library: Library) -> Result<Effective, String> {
    let words = words_of(gpu, library, "versions", 4)?;
    Ok(Effective { language: words[0], minimum_os: words[1], tensor: words[2] == 1, planes: words[3] == 1 })
}

/// What a slice of a tensor of half elements is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceSeen {
    /// Extents that it reports: columns and rows.
    pub extents: (u32, u32),
    /// Index in the whole of the element that it begins with, modulo [`SLICE_MODULUS`].
    pub begins_at: u32,
}

/// Elements of the whole are their index modulo this prime, which half precision holds: no power of two lies on it.
pub const SLICE_MODULUS: u32 = 2039;

/// Cuts a slice out of a tensor of `columns` × `rows` and looks at it.
///
/// # Errors
/// What the compiler or the device says.
pub fn slice(gpu: &mut dyn Gpu, (columns, rows): (u32, u32), (column, row): (u32, u32)) -> Result<SliceSeen, String> {
    let data = counted(columns as usize * rows as usize);
    let cut: Vec<u8> = [columns, rows, column, row].iter().flat_map(|w| w.to_le_bytes()).collect();
    let answer = (|| {
        let kernel = Kernel::Slices(Element::Half);
        let library = gpu.compile(&kernel.source(kernel.language())).map_err(|e| e.to_string())?;
        let pipeline = gpu.pipeline(library, "slices").map_err(|e| e.to_string())?;
        let text = |e: Fault| e.to_string();
        let buffers =
            [gpu.buffer(&data).map_err(text)?, gpu.buffer(&[0; 8]).map_err(text)?, gpu.buffer(&[0; 2]).map_err(text)?];
        let mut bindings: Vec<(u32, Binding)> = (0..).zip(buffers.map(whole)).collect();
        bindings.push((3, Binding::Bytes(cut)));
        let run = gpu.launch(&Launch { pipeline, groups: [1, 1, 1], threads: 1, bindings }, 1);
        let seen = run.and_then(|_| Ok((gpu.read(buffers[1])?, gpu.read(buffers[2])?))).map_err(text);
        buffers.into_iter().for_each(|buffer| gpu.free(buffer));
        seen
    })()?;
    let word = |i: usize| u32::from_le_bytes([answer.0[i], answer.0[i + 1], answer.0[i + 2], answer.0[i + 3]]);
    let begins_at = Format::F16.decode(u64::from(u16::from_le_bytes([answer.1[0], answer.1[1]]))) as u32;
    Ok(SliceSeen { extents: (word(0), word(4)), begins_at })
}

/// So many elements of half precision that count up to the modulus again and again.
fn counted(elements: usize) -> Vec<u8> {
    let code = |i: u32| Format::F16.encode(i.into(), Rounding::NearestEven, Overflow::Ieee) as u16;
    let cycle: Vec<u8> = (0..SLICE_MODULUS).flat_map(|i| code(i).to_le_bytes()).collect();
    let mut data = cycle.repeat(2 * elements / cycle.len() + 1);
    data.truncate(2 * elements);
    data
}

/// The words that a kernel of one thread writes into buffer 0.
fn words_of(gpu: &mut dyn Gpu, library: Library, entry: &str, words: usize) -> Result<Vec<u32>, String> {
    let pipeline = gpu.pipeline(library, entry).map_err(|e| e.to_string())?;
    let buffer = gpu.buffer(&vec![0xFF; 4 * words]).map_err(|e| e.to_string())?;
    let bindings = vec![(0, whole(buffer))];
    let run = gpu.launch(&Launch { pipeline, groups: [1, 1, 1], threads: 1, bindings }, 1);
    let bytes = run.and_then(|_| gpu.read(buffer));
    gpu.free(buffer);
    let bytes = bytes.map_err(|e| e.to_string())?;
    Ok(bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
}
