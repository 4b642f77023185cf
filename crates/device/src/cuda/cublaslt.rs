//! How does NVIDIA's library multiply, and which of its algorithms?
//!
//! The library works column by column, so it is asked for Cᵀ = Bᵀ · Aᵀ: packed B (k × n, transposed), A as it lies (k × m). It may use
//! [`WORKSPACE`] bytes of workspace. Its heuristics name up to [`ALGORITHMS`] algorithms; each runs on the bound operands when these
//! are bound, and the fastest stays. 8-bit floats have a second launch tile, `searched+fast-accumulation`, which allows the library
//! to keep partial sums in the tensor unit's own narrow accumulator.

use super::driver::Context;
use super::memory::Memory;
use super::operands::Extents;
use super::timer::Timer;
use crate::contract::{Fault, Refusal, Rung};
use cudarc::cublaslt::sys::{self, cublasStatus_t};
use rigel_numerics::{Format, Shape, Time, Triple};
use std::ffi::{CStr, c_void};
use std::rc::Rc;

/// Bytes of workspace that the library may use.
pub const WORKSPACE: usize = 64 << 20;
/// Algorithms that are asked for.
pub const ALGORITHMS: usize = 16;
/// Repetitions of each when the fastest is looked for, the first of which does not count.
const TRIALS: usize = 4;

/// Launch tile of every triple: the heuristics' algorithms, searched.
pub const SEARCHED: &str = "searched";
/// Launch tile of 8-bit floats: the same, with fast accumulation.
pub const FAST: &str = "searched+fast-accumulation";

/// The launch tiles of a triple, best guess first.
pub fn tiles(triple: Triple) -> Vec<String> {
    let narrow = matches!(triple.a, Format::E4m3 | Format::E5m2);
    if narrow { vec![FAST.into(), SEARCHED.into()] } else { vec![SEARCHED.into()] }
}

/// The library's version as it counts: major · 10000 + minor · 100 + patch.
///
/// # Errors
/// What is missing, what that costs and what helps.
pub fn version() -> Result<usize, String> {
    super::libraries::cublaslt()?;
    // SAFETY: the library is there; the call takes nothing.
    Ok(unsafe { sys::cublasLtGetVersion() })
}

/// The library, started.
pub struct Library {
    context: Rc<Context>,
    handle: sys::cublasLtHandle_t,
    workspace: Memory,
}

impl Library {
    /// Starts it on a device.
    ///
    /// # Errors
    /// What is missing, or what the library or the driver says.
    pub fn start(context: &Rc<Context>) -> Result<Rc<Library>, String> {
        super::libraries::cublaslt()?;
        let workspace = Memory::filled(context, WORKSPACE, 0).map_err(|e| e.to_string())?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: `handle` outlives the call; it is destroyed once, on drop.
        check("cublasLtCreate", unsafe { sys::cublasLtCreate(&mut handle) })?;
        Ok(Rc::new(Library { context: Rc::clone(context), handle, workspace }))
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once. An error here has no reader.
        let _ = unsafe { sys::cublasLtDestroy(self.handle) };
    }
}

/// A product of one shape and triple, with the algorithms that may do it.
pub struct Multiplication {
    library: Rc<Library>,
    description: Description,
    a: Layout,
    b: Layout,
    c: Layout,
    one: Scalar,
    zero: Scalar,
    algorithms: Vec<sys::cublasLtMatmulAlgo_t>,
    chosen: usize,
}

impl Multiplication {
    /// Asks the heuristics for algorithms.
    ///
    /// # Errors
    /// A refusal at [`Rung::Compile`]: the library has no algorithm, or does not know the combination of types.
    pub fn new(
        library: &Rc<Library>,
        shape: Shape,
        triple: Triple,
        fast: bool,
        epilogue: Option<Epilogue>,
    ) -> Result<Multiplication, Refusal> {
        let refused = |diagnostic| Refusal { rung: Rung::Compile, diagnostic };
        let rows = Rows { apart: Extents::of(shape, triple).pitch, told: None };
        Multiplication::asked(library, shape, triple, fast, epilogue, rows)
            .map_err(|said| refused(format!("cuBLASLt for {triple}, {shape}: {said}")))
    }

    /// The same for operands whose rows lie apart.
    ///
    /// # Errors
    /// As [`Multiplication::new`].
    pub fn placed(library: &Rc<Library>, shape: Shape, triple: Triple, rows: Rows) -> Result<Multiplication, Refusal> {
        let said = |said| format!("cuBLASLt for {triple}, {shape}, {rows:?}: {said}");
        Multiplication::asked(library, shape, triple, false, None, rows)
            .map_err(|why| Refusal { rung: Rung::Compile, diagnostic: said(why) })
    }

    fn asked(
        library: &Rc<Library>,
        shape: Shape,
        triple: Triple,
        fast: bool,
        epilogue: Option<Epilogue>,
        rows: Rows,
    ) -> Result<Multiplication, String> {
        let each = triple.a.bits() as usize / 8;
        if !rows.apart.is_multiple_of(each) {
            let apart = rows.apart;
            return Err(format!(
                "its leading dimension counts elements, of {each} bytes each; rows are {apart} bytes apart"
            ));
        }
        let apart = (rows.apart / each) as u64;
        let types = Types::of(triple)?;
        let description = Description::new(&types, fast, true)?;
        if let Some(epilogue) = epilogue {
            description.add(&epilogue)?;
        }
        let extents = Extents::of(shape, triple);
        let (m, n, k) = (extents.rows_c as u64, extents.pitch_c as u64, extents.depth(triple) as u64);
        let a = Layout::new(types.a, k, m, apart)?;
        let b = Layout::new(types.b, k, n, apart)?;
        let c = Layout::new(types.c, n, m, n)?;
        Multiplication::described(library, types, description, [a, b, c], rows.told)
    }

    /// Products of all heads at once.
    ///
    /// # Errors
    /// As [`Multiplication::new`].
    pub fn strided(library: &Rc<Library>, triple: Triple, strided: Strided) -> Result<Multiplication, Refusal> {
        let asked = || {
            let Strided { shape: Shape { m, n, k }, packed, heads } = strided;
            let (types, [m, n, k]) = (Types::of(triple)?, [m, n, k].map(|extent| extent as u64));
            let description = Description::new(&types, false, packed)?;
            let a = Layout::new(types.a, k, m, k)?;
            let b = if packed { Layout::new(types.b, k, n, k)? } else { Layout::new(types.b, n, k, n)? };
            let c = Layout::new(types.c, n, m, n)?;
            for (layout, elements) in [(&a, m * k), (&b, n * k), (&c, m * n)] {
                layout.repeat(heads, elements)?;
            }
            Multiplication::described(library, types, description, [a, b, c], None)
        };
        let refused =
            |said| Refusal { rung: Rung::Compile, diagnostic: format!("cuBLASLt for {triple}, {strided:?}: {said}") };
        asked().map_err(refused)
    }

    fn described(
        library: &Rc<Library>,
        types: Types,
        description: Description,
        [a, b, c]: [Layout; 3],
        told: Option<u32>,
    ) -> Result<Multiplication, String> {
        let preference = Preference::new(told)?;
        // SAFETY: an all-zero result is one that the library may overwrite.
        let mut found = [unsafe { std::mem::zeroed::<sys::cublasLtMatmulHeuristicResult_t>() }; ALGORITHMS];
        let mut count = 0;
        // SAFETY: every handle exists; there is room for as many results as are asked for.
        let code = unsafe {
            sys::cublasLtMatmulAlgoGetHeuristic(
                library.handle,
                description.0,
                b.0,
                a.0,
                c.0,
                c.0,
                preference.0,
                ALGORITHMS as i32,
                found.as_mut_ptr(),
                &mut count,
            )
        };
        check("cublasLtMatmulAlgoGetHeuristic", code)?;
        let count = usize::try_from(count).unwrap_or_default().min(ALGORITHMS);
        let usable = found[..count].iter().filter(|one| one.state == cublasStatus_t::CUBLAS_STATUS_SUCCESS);
        let algorithms: Vec<_> = usable.map(|one| one.algo).collect();
        if algorithms.is_empty() {
            return Err("its heuristics name no algorithm".into());
        }
        let (one, zero) = (types.scalar(1), types.scalar(0));
        Ok(Multiplication { library: Rc::clone(library), description, a, b, c, one, zero, algorithms, chosen: 0 })
    }

    /// Runs every algorithm on these operands and keeps the fastest; those that fail are left out.
    ///
    /// # Errors
    /// What the last one says when none runs, or a lost device.
    pub fn choose(&mut self, timer: &Timer, a: &Memory, b: &Memory, c: &Memory) -> Result<(), Fault> {
        let mut best: Option<(Time, usize)> = None;
        let mut last = Fault::Failed("the library named no algorithm".into());
        for index in 0..self.algorithms.len() {
            self.chosen = index;
            match timer.time(TRIALS, |_| self.multiply(a, b, c)) {
                Ok(samples) => {
                    let mut times: Vec<Time> = samples[1..].iter().map(|sample| sample.time).collect();
                    times.sort_unstable();
                    let median = times[times.len() / 2];
                    if best.is_none_or(|(fastest, _)| median < fastest) {
                        best = Some((median, index));
                    }
                }
                Err(fault @ Fault::DeviceLost(_)) => return Err(fault),
                Err(fault) => last = fault,
            }
        }
        self.chosen = best.ok_or(last)?.1;
        Ok(())
    }

    /// Queues one product.
    ///
    /// # Errors
    /// What the library says.
    pub fn multiply(&self, a: &Memory, b: &Memory, c: &Memory) -> Result<(), Fault> {
        let at = |memory: &Memory| std::ptr::with_exposed_provenance_mut::<c_void>(memory.address() as usize);
        // SAFETY: the layouts describe what lies at the addresses, the algorithm is for them, the workspace is as long as
        // stated; the stream is the context's.
        let code = unsafe {
            sys::cublasLtMatmul(
                self.library.handle,
                self.description.0,
                self.one.as_ptr().cast(),
                at(b),
                self.b.0,
                at(a),
                self.a.0,
                self.zero.as_ptr().cast(),
                at(c),
                self.c.0,
                at(c),
                self.c.0,
                &self.algorithms[self.chosen],
                at(&self.library.workspace),
                WORKSPACE,
                self.library.context.stream().cast(),
            )
        };
        check("cublasLtMatmul", code).map_err(Fault::Failed)
    }
}

/// How rows of both operands lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Bytes from one to the next.
    pub apart: usize,
    /// Bytes that every row's address is a multiple of, where the heuristics are told; else they take 256.
    pub told: Option<u32>,
}

/// Products of equal shape that lie one behind the other, row by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strided {
    /// Extents of each.
    pub shape: Shape,
    /// Whether B lies column by column.
    pub packed: bool,
    /// How many there are.
    pub heads: usize,
}

/// A bias that the library adds, and what it does behind that.
#[derive(Debug, Clone, Copy)]
pub struct Epilogue {
    /// Where the bias lies, one number a column of C.
    pub bias: u64,
    /// Its format.
    pub format: Format,
    /// Whether GELU follows, which the library computes by tanh.
    pub gelu: bool,
}

impl Epilogue {
    /// The format that the library takes a bias in: that of C, but bf16 beside 8-bit floats (documentation of cuBLAS 13, table of
    /// `cublasLtMatmul` for FP8).
    pub fn bias_format(triple: Triple) -> Format {
        if matches!(triple.a, Format::E4m3 | Format::E5m2) { Format::Bf16 } else { triple.c }
    }
}

/// A factor in the library's scale type.
type Scalar = [u8; 8];

/// The library's names of a triple's types.
struct Types {
    a: sys::cudaDataType,
    b: sys::cudaDataType,
    c: sys::cudaDataType,
    compute: sys::cublasComputeType_t,
    scale: sys::cudaDataType,
}

impl Types {
    fn name(format: Format) -> Result<sys::cudaDataType, String> {
        use sys::cudaDataType_t::*;
        match format {
            Format::F64 => Ok(CUDA_R_64F),
            Format::F32 | Format::Tf32 => Ok(CUDA_R_32F),
            Format::F16 => Ok(CUDA_R_16F),
            Format::Bf16 => Ok(CUDA_R_16BF),
            Format::E4m3 => Ok(CUDA_R_8F_E4M3),
            Format::E5m2 => Ok(CUDA_R_8F_E5M2),
            Format::I8 => Ok(CUDA_R_8I),
            Format::I32 => Ok(CUDA_R_32I),
            other => Err(format!("it has no type {other}")),
        }
    }

    fn of(triple: Triple) -> Result<Types, String> {
        use sys::cublasComputeType_t::*;
        use sys::cudaDataType_t::*;
        let (compute, scale) = match (triple.a, triple.c) {
            (Format::F64, _) => (CUBLAS_COMPUTE_64F, CUDA_R_64F),
            (Format::Tf32, _) => (CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F),
            (Format::F16, Format::F16) => (CUBLAS_COMPUTE_16F, CUDA_R_16F),
            (_, Format::I32) => (CUBLAS_COMPUTE_32I, CUDA_R_32I),
            _ => (CUBLAS_COMPUTE_32F, CUDA_R_32F),
        };
        let [a, b, c] = [triple.a, triple.b, triple.c].map(Types::name);
        Ok(Types { a: a?, b: b?, c: c?, compute, scale })
    }

    fn scalar(&self, value: u8) -> Scalar {
        use sys::cudaDataType_t::*;
        let mut bytes = [0; 8];
        match self.scale {
            CUDA_R_64F => bytes.copy_from_slice(&f64::from(value).to_le_bytes()),
            CUDA_R_16F => bytes[..2].copy_from_slice(&(u16::from(value) * 0x3C00).to_le_bytes()),
            CUDA_R_32I => bytes[..4].copy_from_slice(&i32::from(value).to_le_bytes()),
            _ => bytes[..4].copy_from_slice(&f32::from(value).to_le_bytes()),
        }
        bytes
    }
}

/// What is to be computed.
struct Description(sys::cublasLtMatmulDesc_t);

impl Description {
    fn new(types: &Types, fast: bool, packed: bool) -> Result<Description, String> {
        use sys::cublasLtMatmulDescAttributes_t::*;
        let mut description = Description(std::ptr::null_mut());
        // SAFETY: the handle outlives the call; it is destroyed once, on drop.
        let code = unsafe { sys::cublasLtMatmulDescCreate(&mut description.0, types.compute, types.scale) };
        check("cublasLtMatmulDescCreate", code)?;
        // CUBLAS_OP_T where B is packed, else CUBLAS_OP_N; the bindings of this library leave them out.
        let transposed = i32::from(packed);
        // SAFETY: the attribute is an enumeration of 32 bits.
        unsafe { description.set(CUBLASLT_MATMUL_DESC_TRANSA, &transposed)? };
        if fast {
            // SAFETY: the attribute is one byte.
            unsafe { description.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, &1_u8)? };
        }
        Ok(description)
    }

    fn add(&self, epilogue: &Epilogue) -> Result<(), String> {
        use sys::cublasLtEpilogue_t::*;
        use sys::cublasLtMatmulDescAttributes_t::*;
        let kind = if epilogue.gelu { CUBLASLT_EPILOGUE_GELU_BIAS } else { CUBLASLT_EPILOGUE_BIAS };
        let element = Types::name(epilogue.format)?;
        // SAFETY: an enumeration, an address and an enumeration, of 32, 64 and 32 bits.
        unsafe {
            self.set(CUBLASLT_MATMUL_DESC_EPILOGUE, &kind)?;
            self.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &epilogue.bias)?;
            self.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &element)
        }
    }

    /// # Safety
    /// `T` is the attribute's type.
    unsafe fn set<T>(&self, attribute: sys::cublasLtMatmulDescAttributes_t, value: &T) -> Result<(), String> {
        // SAFETY: the value is as long as stated.
        let code = unsafe {
            sys::cublasLtMatmulDescSetAttribute(self.0, attribute, std::ptr::from_ref(value).cast(), size_of::<T>())
        };
        check("cublasLtMatmulDescSetAttribute", code)
    }
}

impl Drop for Description {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: created once, destroyed once. An error here has no reader.
            let _ = unsafe { sys::cublasLtMatmulDescDestroy(self.0) };
        }
    }
}

/// How a matrix lies.
struct Layout(sys::cublasLtMatrixLayout_t);

impl Layout {
    fn new(element: sys::cudaDataType, rows: u64, cols: u64, pitch: u64) -> Result<Layout, String> {
        let mut layout = Layout(std::ptr::null_mut());
        // SAFETY: the handle outlives the call; it is destroyed once, on drop.
        let code = unsafe { sys::cublasLtMatrixLayoutCreate(&mut layout.0, element, rows, cols, pitch as i64) };
        check("cublasLtMatrixLayoutCreate", code)?;
        Ok(layout)
    }

    /// That there are `count` such matrices, so many elements apart.
    fn repeat(&self, count: usize, elements: u64) -> Result<(), String> {
        use sys::cublasLtMatrixLayoutAttribute_t::*;
        let (count, elements) = (count as i32, elements as i64);
        // SAFETY: the first attribute is an integer of 32 bits, the second of 64; both outlive the calls.
        let codes = unsafe {
            [
                sys::cublasLtMatrixLayoutSetAttribute(
                    self.0,
                    CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                    std::ptr::from_ref(&count).cast(),
                    4,
                ),
                sys::cublasLtMatrixLayoutSetAttribute(
                    self.0,
                    CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                    std::ptr::from_ref(&elements).cast(),
                    8,
                ),
            ]
        };
        codes.into_iter().try_for_each(|code| check("cublasLtMatrixLayoutSetAttribute", code))
    }
}

impl Drop for Layout {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: created once, destroyed once. An error here has no reader.
            let _ = unsafe { sys::cublasLtMatrixLayoutDestroy(self.0) };
        }
    }
}

/// What the heuristics may use.
struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    fn new(told: Option<u32>) -> Result<Preference, String> {
        use sys::cublasLtMatmulPreferenceAttributes_t::*;
        let mut preference = Preference(std::ptr::null_mut());
        // SAFETY: the handle outlives the call; it is destroyed once, on drop.
        check("cublasLtMatmulPreferenceCreate", unsafe { sys::cublasLtMatmulPreferenceCreate(&mut preference.0) })?;
        // SAFETY: the attribute is 64 bits.
        unsafe { preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &(WORKSPACE as u64))? };
        if let Some(bytes) = told {
            // SAFETY: both attributes are 32 bits.
            unsafe {
                preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &bytes)?;
                preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &bytes)?;
            }
        }
        Ok(preference)
    }

    /// # Safety
    /// `T` is the attribute's type.
    unsafe fn set<T>(&self, attribute: sys::cublasLtMatmulPreferenceAttributes_t, value: &T) -> Result<(), String> {
        // SAFETY: the value is as long as stated.
        let code = unsafe {
            sys::cublasLtMatmulPreferenceSetAttribute(
                self.0,
                attribute,
                std::ptr::from_ref(value).cast(),
                size_of::<T>(),
            )
        };
        check("cublasLtMatmulPreferenceSetAttribute", code)
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: created once, destroyed once. An error here has no reader.
            let _ = unsafe { sys::cublasLtMatmulPreferenceDestroy(self.0) };
        }
    }
}

fn check(call: &str, code: cublasStatus_t) -> Result<(), String> {
    if code == cublasStatus_t::CUBLAS_STATUS_SUCCESS {
        return Ok(());
    }
    // SAFETY: the function returns a string that lives as long as the library, or nothing.
    let said = unsafe { sys::cublasLtGetStatusString(code) };
    if said.is_null() {
        return Err(format!("{call}: {code:?}"));
    }
    // SAFETY: as above.
    Err(format!("{call}: {code:?} ({})", unsafe { CStr::from_ptr(said) }.to_string_lossy()))
}
