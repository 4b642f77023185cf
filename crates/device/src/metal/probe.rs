//! What do the small kernels answer: the scalar ceiling, the language version that took effect, and what a slice is?

use super::element::Element;
use super::gpu::{Binding, Buffer, Gpu, Launch, Pipeline};
use super::level::Language;
use super::product::whole;
use super::text::Kernel;
use super::triples::Types;
use crate::contract::{Ceiling, Fault, Refusal, Rung, Sample};
use rigel_numerics::{Format, Matrix};
use std::cell::RefCell;
use std::rc::Rc;

/// Variants of the scalar ceiling: independent sums a thread, all with the same threads.
pub const VARIANTS: [&str; 6] = ["ilp1", "ilp2", "ilp4", "ilp8", "ilp12", "ilp16"];

/// Threads of a threadgroup, and threadgroups a core: enough that every ALU has several SIMD-groups to turn to.
const THREADS: u32 = 256;
const GROUPS_A_CORE: u32 = 16;

/// Steps of one launch: even, so that every sum is back where it began.
const STEPS: u32 = 8192;

/// The element type whose multiply-adds bound a triple, where the loop exists.
pub fn roofline_element(types: Types) -> Option<Element> {
    let plain = |e| types == Types::new(e, e, e);
    [Element::Float, Element::Half].into_iter().find(|e| plain(*e))
}

/// The scalar ALUs' ceiling.
pub struct Roofline<G: Gpu> {
    gpu: Rc<RefCell<G>>,
    pipeline: Pipeline,
    element: Element,
    chains: u32,
    groups: u32,
    steps: u32,
    out: Option<Buffer>,
}

impl<G: Gpu> Roofline<G> {
    /// Compiles a variant, `ilpN`.
    ///
    /// # Errors
    /// An unknown variant, or what the compiler says.
    pub fn new(gpu: &Rc<RefCell<G>>, element: Element, variant: &str) -> Result<Roofline<G>, Refusal> {
        let unknown = || Refusal {
            rung: Rung::Compile,
            diagnostic: format!("no variant `{variant}`; there are {}", VARIANTS.join(", ")),
        };
        let known = VARIANTS.contains(&variant).then_some(variant).ok_or_else(unknown)?;
        let chains = known.trim_start_matches("ilp").parse().map_err(|_| unknown())?;
        let kernel = Kernel::Roofline { element, chains };
        let mut device = gpu.borrow_mut();
        let library = device.compile(&kernel.source(kernel.language()))?;
        let pipeline = device.pipeline(library, "roofline")?;
        let description = device.describe();
        // A device in software has one core and no ALUs to fill.
        let is_real = description.kind == crate::contract::Kind::Measured;
        let groups = if is_real { description.cores.max(1) * GROUPS_A_CORE } else { 1 };
        let steps = if is_real { STEPS } else { 2 };
        Ok(Roofline { gpu: Rc::clone(gpu), pipeline, element, chains, groups, steps, out: None })
    }

    fn format(&self) -> Format {
        if self.element == Element::Half { Format::F16 } else { Format::F32 }
    }

    fn sums(&self) -> u64 {
        u64::from(self.groups * THREADS) * u64::from(self.chains)
    }

    /// Steps, factor −1 and addend 1 as the kernel's parameters.
    fn words(&self) -> Vec<u8> {
        let mut words = self.steps.to_le_bytes().to_vec();
        for value in [-1.0, 1.0] {
            let code =
                self.format().encode(value, rigel_numerics::Rounding::NearestEven, rigel_numerics::Overflow::Ieee);
            words.extend(&code.to_le_bytes()[..self.element.bits() as usize / 8]);
        }
        words
    }
}

impl<G: Gpu> Drop for Roofline<G> {
    fn drop(&mut self) {
        let mut gpu = self.gpu.borrow_mut();
        self.out.take().into_iter().for_each(|out| gpu.free(out));
    }
}

impl<G: Gpu> Ceiling for Roofline<G> {
    fn operations(&self) -> u64 {
        2 * self.sums() * u64::from(self.steps)
    }

    fn run(&mut self, repetitions: usize) -> Result<Vec<Sample>, Fault> {
        let bytes = self.sums() as usize * self.element.bits() as usize / 8;
        let mut gpu = self.gpu.borrow_mut();
        let out = match self.out {
            Some(out) => out,
            None => gpu.buffer(&vec![0xFF; bytes])?,
        };
        self.out = Some(out);
        let bindings = vec![(0, whole(out)), (1, Binding::Bytes(self.words()))];
        let launch = Launch { pipeline: self.pipeline, groups: [self.groups, 1, 1], threads: THREADS, bindings };
        (0..repetitions).map(|_| Ok(Sample { time: gpu.launch(&launch, 1)?, clock: None })).collect()
    }

    fn check(&self) -> Result<(), String> {
        let out = self.out.ok_or("the loop has not run")?;
        let bytes = self.gpu.borrow_mut().read(out).map_err(|e| e.to_string())?;
        let (threads, chains) = ((self.groups * THREADS) as usize, self.chains as usize);
        let sums = Matrix { bytes, ..Matrix::zeroed(self.format(), threads, chains) };
        for thread in 0..threads {
            for chain in 0..chains {
                let (found, began) = (sums.value(thread, chain), (chain + thread % 4) as f64);
                if found != began {
                    return Err(format!("thread {thread}, sum {chain} is {found} and must be {began}"));
                }
            }
        }
        Ok(())
    }
}

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
    let words = words_of(gpu, &Kernel::Versions, language, "versions", &[], 4)?;
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
    let mut data = Matrix::zeroed(Format::F16, 1, (columns * rows) as usize);
    for i in 0..data.cols {
        let code = Format::F16.encode(
            (i as u32 % SLICE_MODULUS).into(),
            rigel_numerics::Rounding::NearestEven,
            rigel_numerics::Overflow::Ieee,
        );
        data.set(0, i, code);
    }
    let cut: Vec<u8> = [columns, rows, column, row].iter().flat_map(|w| w.to_le_bytes()).collect();
    let answer = (|| {
        let kernel = Kernel::Slices(Element::Half);
        let library = gpu.compile(&kernel.source(kernel.language())).map_err(|e| e.to_string())?;
        let pipeline = gpu.pipeline(library, "slices").map_err(|e| e.to_string())?;
        let text = |e: Fault| e.to_string();
        let buffers = [
            gpu.buffer(&data.bytes).map_err(text)?,
            gpu.buffer(&[0; 8]).map_err(text)?,
            gpu.buffer(&[0; 2]).map_err(text)?,
        ];
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

/// The words that a kernel of one thread writes into buffer 0.
fn words_of(
    gpu: &mut dyn Gpu,
    kernel: &Kernel,
    language: Language,
    entry: &str,
    more: &[(u32, Binding)],
    words: usize,
) -> Result<Vec<u32>, String> {
    let library = gpu.compile(&kernel.source(language)).map_err(|e| e.to_string())?;
    let pipeline = gpu.pipeline(library, entry).map_err(|e| e.to_string())?;
    let buffer = gpu.buffer(&vec![0xFF; 4 * words]).map_err(|e| e.to_string())?;
    let bindings = [&[(0, whole(buffer))], more].concat();
    let run = gpu.launch(&Launch { pipeline, groups: [1, 1, 1], threads: 1, bindings }, 1);
    let bytes = run.and_then(|_| gpu.read(buffer));
    gpu.free(buffer);
    let bytes = bytes.map_err(|e| e.to_string())?;
    Ok(bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
}
