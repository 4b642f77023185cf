//! How does a kernel for one register tile become a whole product on all cores?
//!
//! Slab by slab of k, all cores first pack the slab's panels of A and B (converting the elements on the way),
//! then multiply pieces of C: for each panel of A, which stays in the first-level cache, all panels of B of the piece,
//! which stay in the second. A repetition is the whole product, packing included, as a call of a BLAS
//! library would be: a user who multiplies fresh operands pays for packing every time. Pieces are handed out one by
//! one, so a core that is held up elsewhere gets fewer; every element's sum has the same order
//! whoever computes it, so results do not depend on timing.

use super::blocking::{Blocking, slab_depth};
use super::buffer::{Buffer, NoMemory, Shared};
use super::clock::ClockProbe;
use super::decode::Decode;
use super::detect::memory_bytes;
use super::kernel::{Kernel, MAX_TILE, Output};
use super::pack::{pack_a, pack_b, panel_elements};
use super::pool::Pool;
use super::ring::{Ring, Rows};
use crate::contract::{Cache, Epilogue, Fault, Gemm, POISON, Refusal, Rung, Sample};
use rigel_numerics::epilogue::Activation;
use rigel_numerics::placement::Placement;
use rigel_numerics::{Format, Matrix, Shape, Time};
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

/// Rows or columns that are packed at once; bounds the memory of packed panels.
const OUTER: usize = 8192;

/// Products with fewer multiplications stay on the calling thread.
const WORTH_SHARING: usize = 48 * 48 * 48;

/// A product of one shape on one kernel, with the conversions of its operands.
pub struct CpuGemm<K: Kernel, DA, DB> {
    shape: Shape,
    blocking: Blocking,
    output_format: Format,
    epilogue: Option<Epilogue>,
    placement: Option<Placement>,
    /// Codes from one row of A, and of B, to the next.
    pitch: [usize; 2],
    bias: Vec<K::C>,
    pool: Rc<Pool>,
    last_level_cache: usize,
    operands: Option<Ring>,
    memory: Option<Memory<K>>,
    conversions: PhantomData<(DA, DB)>,
}

struct Memory<K: Kernel> {
    c: Buffer<K::C>,
    packed_a: Buffer<K::A>,
    packed_b: Buffer<K::B>,
}

impl<K: Kernel, DA: Decode<Packed = K::A>, DB: Decode<Packed = K::B>> CpuGemm<K, DA, DB> {
    /// A product that still needs [`Gemm::load`].
    ///
    /// # Safety
    /// The processor has the features of the kernel's path.
    pub unsafe fn new(
        shape: Shape,
        blocking: Blocking,
        output_format: Format,
        epilogue: Option<Epilogue>,
        placement: Option<Placement>,
        pool: Rc<Pool>,
        last_level_cache: usize,
    ) -> Self {
        const { assert!(K::ROWS * K::COLUMNS <= MAX_TILE) };
        let pitch = [(shape.k, size_of::<DA::Code>()), (shape.n, size_of::<DB::Code>())]
            .map(|(codes, each)| placement.map_or(codes, |place| place.stride.bytes(codes * each) / each));
        CpuGemm {
            shape,
            blocking,
            output_format,
            epilogue,
            placement,
            pitch,
            bias: Vec::new(),
            pool,
            last_level_cache,
            operands: None,
            memory: None,
            conversions: PhantomData,
        }
    }

    fn threads(&self) -> usize {
        let Shape { m, n, k } = self.shape;
        if m.saturating_mul(n).saturating_mul(k) < WORTH_SHARING { 1 } else { self.pool.threads() }
    }

    /// Hands out `pieces` pieces of work to the threads, one by one.
    fn share(&self, pieces: usize, work: impl Fn(usize) + Sync) {
        let next = AtomicUsize::new(0);
        self.pool.run(self.threads().min(pieces), &|_| {
            // SAFETY: `new` demands the features.
            unsafe {
                K::with_features(|| {
                    loop {
                        let piece = next.fetch_add(1, Relaxed);
                        if piece >= pieces {
                            break;
                        }
                        work(piece);
                    }
                });
            }
        });
    }

    /// One product of the operands at `a` and `b`.
    ///
    /// # Safety
    /// `a` and `b` point to m × k and k × n codes, at any address, their rows as far apart as `pitch` says; `memory` was made for this shape and blocking.
    unsafe fn product(&self, memory: &mut Memory<K>, a: *const u8, b: *const u8) {
        let Shape { m, n, k } = self.shape;
        let depth = slab_depth(k, self.blocking.kc, K::GROUP);
        for column in (0..n).step_by(outer(K::COLUMNS)) {
            let columns = outer(K::COLUMNS).min(n - column);
            for from in (0..k).step_by(depth) {
                for row in (0..m).step_by(outer(K::ROWS)) {
                    let part = Part {
                        row,
                        rows: outer(K::ROWS).min(m - row),
                        column,
                        columns,
                        from,
                        depth: depth.min(k - from),
                    };
                    // SAFETY: the part lies inside the shape.
                    unsafe {
                        self.pack(memory, &part, a, b);
                        self.multiply(memory, &part);
                    }
                }
            }
        }
        if let Some(Epilogue { activation, fused: false }) = self.epilogue {
            self.activate(memory, activation);
        }
    }

    /// Goes over C once more.
    fn activate(&self, memory: &mut Memory<K>, activation: Activation) {
        let Shape { m, n, .. } = self.shape;
        // A piece is about 32 KiB.
        let rows = (8192 / n).clamp(1, m);
        let c = Shared::new(memory.c.start_mut());
        self.share(m.div_ceil(rows), |piece| {
            let first = piece * rows;
            // SAFETY: pieces are disjoint rows of C.
            let part = unsafe { std::slice::from_raw_parts_mut(c.get().add(first * n), rows.min(m - first) * n) };
            K::C::activate(part, activation);
        });
    }

    /// Packs the part's panels of A, and of B when this is the first part of its slab.
    ///
    /// # Safety
    /// As `product`; the part lies inside the shape.
    unsafe fn pack(&self, memory: &mut Memory<K>, part: &Part, a: *const u8, b: *const u8) {
        let [pitch_a, pitch_b] = self.pitch;
        let groups = part.depth.div_ceil(K::GROUP);
        let (a, b) = (Shared::new(a.cast::<DA::Code>().cast_mut()), Shared::new(b.cast::<DB::Code>().cast_mut()));
        let packed_a = Shared::new(memory.packed_a.start_mut());
        let packed_b = Shared::new(memory.packed_b.start_mut());
        // A piece is about 64 rows of A or 256 columns of B.
        let (rows_each, columns_each) = (64_usize.next_multiple_of(K::ROWS), 256_usize.next_multiple_of(K::COLUMNS));
        let pieces_b = if part.row == 0 { part.columns.div_ceil(columns_each) } else { 0 };
        let pieces_a = part.rows.div_ceil(rows_each);
        self.share(pieces_b + pieces_a, |piece| {
            // SAFETY: pieces are disjoint ranges of panels, and the buffers hold the panels of a whole part.
            unsafe {
                if piece < pieces_b {
                    let first = piece * columns_each;
                    let source = b.get().add(part.from * pitch_b + part.column + first);
                    let panels = packed_b.get().add(first / K::COLUMNS * panel_elements::<K>(groups));
                    let columns = columns_each.min(part.columns - first);
                    pack_b::<K, DB>(source, pitch_b, columns, part.depth, groups, panels);
                } else {
                    let first = (piece - pieces_b) * rows_each;
                    for row in (first..part.rows.min(first + rows_each)).step_by(K::ROWS) {
                        let source = a.get().add((part.row + row) * pitch_a + part.from);
                        let panel = packed_a.get().add(row * groups * K::GROUP);
                        pack_a::<K, DA>(source, pitch_a, K::ROWS.min(part.rows - row), part.depth, groups, panel);
                    }
                }
            }
        });
    }

    /// Multiplies the packed panels of the part into C.
    ///
    /// # Safety
    /// The part is packed, and lies inside the shape.
    unsafe fn multiply(&self, memory: &mut Memory<K>, part: &Part) {
        let n = self.shape.n;
        let groups = part.depth.div_ceil(K::GROUP);
        let (mc, nc) = (self.blocking.mc.next_multiple_of(K::ROWS), self.blocking.nc.next_multiple_of(K::COLUMNS));
        let (down, across) = (part.rows.div_ceil(mc), part.columns.div_ceil(nc));
        let c = Shared::new(memory.c.start_mut());
        let (packed_a, packed_b) = (&memory.packed_a, &memory.packed_b);
        let first = part.from == 0;
        let last = part.from + part.depth == self.shape.k;
        let bias: &[K::C] = &self.bias;
        let finish = self.epilogue.filter(|_| last).map(|e| e.fused.then_some(e.activation));
        self.share(down * across, |piece| {
            let (rows, columns) = (piece % down * mc, piece / down * nc);
            for row in (rows..part.rows.min(rows + mc)).step_by(K::ROWS) {
                for column in (columns..part.columns.min(columns + nc)).step_by(K::COLUMNS) {
                    let extent = (K::ROWS.min(part.rows - row), K::COLUMNS.min(part.columns - column));
                    // SAFETY: panels of the part are packed; tiles of C are disjoint between pieces and lie inside it.
                    unsafe {
                        let a = packed_a.start().add(row * groups * K::GROUP);
                        let b = packed_b.start().add(column / K::COLUMNS * panel_elements::<K>(groups));
                        let to = c.get().add((part.row + row) * n + part.column + column);
                        if extent == (K::ROWS, K::COLUMNS) {
                            K::multiply(groups, a, b, to, n, first);
                        } else {
                            multiply_edge::<K>(groups, a, b, to, n, first, extent);
                        }
                        if let Some(activation) = finish {
                            let bias = &bias[part.column + column..][..extent.1];
                            for i in 0..extent.0 {
                                let row = std::slice::from_raw_parts_mut(to.add(i * n), extent.1);
                                K::C::finish(row, bias, activation);
                            }
                        }
                    }
                }
            }
        });
    }
}

/// A part of the product: a block of C and a slab of k.
struct Part {
    row: usize,
    rows: usize,
    column: usize,
    columns: usize,
    from: usize,
    depth: usize,
}

/// The outer block's extent as a multiple of the register tile's.
fn outer(tile: usize) -> usize {
    OUTER.next_multiple_of(tile)
}

/// A tile that sticks out of C: computed aside, then its inner part is stored or added.
///
/// # Safety
/// As [`Kernel::multiply`], but `c` has only `extent.0` rows of `extent.1` columns.
unsafe fn multiply_edge<K: Kernel>(
    groups: usize,
    a: *const K::A,
    b: *const K::B,
    c: *mut K::C,
    stride: usize,
    first: bool,
    extent: (usize, usize),
) {
    let mut tile = [K::C::default(); MAX_TILE];
    // SAFETY: the tile on the stack holds the whole register tile; C is touched inside its extent only.
    unsafe {
        K::multiply(groups, a, b, tile.as_mut_ptr(), K::COLUMNS, true);
        for i in 0..extent.0 {
            for j in 0..extent.1 {
                let (to, new) = (c.add(i * stride + j), tile[i * K::COLUMNS + j]);
                *to = if first { new } else { (*to).plus(new) };
            }
        }
    }
}

impl<K: Kernel> Memory<K> {
    fn new(shape: Shape, blocking: Blocking) -> Result<Self, NoMemory> {
        let groups = slab_depth(shape.k, blocking.kc, K::GROUP).div_ceil(K::GROUP);
        let rows = shape.m.min(outer(K::ROWS)).next_multiple_of(K::ROWS);
        let panels = shape.n.min(outer(K::COLUMNS)).div_ceil(K::COLUMNS);
        let lengths = [shape.m.saturating_mul(shape.n), rows * groups * K::GROUP, panels * panel_elements::<K>(groups)];
        // An allocator that promises more than there is would end the process later, when the bytes are touched.
        let bytes = lengths[0].saturating_mul(size_of::<K::C>());
        if memory_bytes() > 0 && bytes as u64 > memory_bytes() {
            return Err(NoMemory { bytes });
        }
        Ok(Memory {
            c: Buffer::zeroed(lengths[0])?,
            packed_a: Buffer::zeroed(lengths[1])?,
            packed_b: Buffer::zeroed(lengths[2])?,
        })
    }
}

fn not_loaded() -> Fault {
    Fault::Failed("the product is used before load and bind".into())
}

impl<K: Kernel, DA: Decode<Packed = K::A>, DB: Decode<Packed = K::B>> Gemm for CpuGemm<K, DA, DB> {
    fn load(&mut self) -> Result<(), Refusal> {
        let memory = Memory::new(self.shape, self.blocking).map_err(|e| Refusal {
            rung: Rung::Load,
            diagnostic: format!("output or packed panels need {} bytes, more than can be had", e.bytes),
        })?;
        self.memory = Some(memory);
        Ok(())
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        let Shape { m, n, k } = self.shape;
        let below = usize::from(self.epilogue.is_some());
        for (name, given, format, rows, cols) in [("A", a, DA::FORMAT, m, k), ("B", b, DB::FORMAT, k + below, n)] {
            let bytes = rows * Matrix::row_bytes(format, cols);
            if (given.format, given.rows, given.cols, given.bytes.len()) != (format, rows, cols, bytes) {
                return Err(Fault::Failed(format!(
                    "operand {name} is {} x {} of {} in {} bytes; this product takes {rows} x {cols} of {format} in {bytes}",
                    given.rows,
                    given.cols,
                    given.format,
                    given.bytes.len()
                )));
            }
        }
        if self.epilogue.is_some() {
            self.bias = (0..n).map(|column| K::C::of(b.value(k, column))).collect();
        }
        let ring = match self.placement {
            None => Ring::new(&a.bytes, &b.bytes),
            Some(place) => {
                let a = Rows { bytes: &a.bytes, count: m, apart: self.pitch[0] * size_of::<DA::Code>() };
                let b = Rows { bytes: &b.bytes, count: k, apart: self.pitch[1] * size_of::<DB::Code>() };
                Ring::placed(place.offset, a, b)
            }
        };
        self.operands = Some(ring.map_err(out_of_memory)?);
        Ok(())
    }

    fn poison(&mut self) -> Result<(), Fault> {
        self.memory.as_mut().ok_or_else(not_loaded)?.c.bytes_mut().fill(POISON);
        Ok(())
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        if self.operands.is_none() || self.memory.is_none() {
            return Err(not_loaded());
        }
        let (Some(mut operands), Some(mut memory)) = (self.operands.take(), self.memory.take()) else {
            return Err(not_loaded());
        };
        let grown = match cache {
            Cache::Warm => Ok(()),
            Cache::Replayed => {
                Err(Fault::not_replayed("a product of a processor is a call, no launch is there to record"))
            }
            Cache::Cold => operands.grow(2 * self.last_level_cache).map_err(out_of_memory),
        };
        let mut clock = ClockProbe::default();
        let mut samples = Vec::with_capacity(repetitions);
        if grown.is_ok() {
            for _ in 0..repetitions {
                let (a, b) = match cache {
                    Cache::Cold => operands.advance(),
                    Cache::Warm | Cache::Replayed => operands.current(),
                };
                let start = Instant::now();
                // SAFETY: `bind` checked the extents, `load` made the memory for them.
                unsafe { self.product(&mut memory, a, b) };
                let time = start.elapsed();
                samples.push(Sample { time: Time::from_ns(time.as_nanos() as u64), clock: clock.after(time) });
            }
        }
        self.operands = Some(operands);
        self.memory = Some(memory);
        grown.map(|()| samples)
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        let memory = self.memory.as_ref().ok_or_else(not_loaded)?;
        let (m, n) = (self.shape.m, self.shape.n);
        Ok(Matrix { format: self.output_format, rows: m, cols: n, bytes: memory.c.bytes()[..].to_vec() })
    }
}

fn out_of_memory(e: NoMemory) -> Fault {
    Fault::OutOfMemory(format!("the allocator refuses {} bytes for operands", e.bytes))
}
