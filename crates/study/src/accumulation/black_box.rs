//! What computes dot products of one length, whatever is behind it?

use rigel_device::contract::{Cache, Device, Fault, GemmSpec};
use rigel_numerics::{Matrix, Shape, Triple};

/// Something that computes dot products of one length, from raw codes to raw codes.
pub trait DotProducts {
    /// Element types.
    fn triple(&self) -> Triple;

    /// Products of one dot product.
    fn k(&self) -> usize;

    /// The codes of the dot products of row i and column i, each of length k.
    ///
    /// # Errors
    /// The fault of what computes them.
    fn dots(&mut self, rows: &[Vec<u64>], columns: &[Vec<u64>]) -> Result<Vec<u64>, Fault>;
}

/// Rows of one product where all dot products share a column.
const ROWS: usize = 128;
/// Columns that it then has, all alike.
const COLUMNS: usize = 16;
/// Rows and columns of one product where each row has a column of its own: only the diagonal is used.
const DIAGONAL: usize = 32;

/// A device's product as dot products: those of one shape, so that one kernel answers everything.
pub struct GemmDots<'a> {
    device: &'a mut dyn Device,
    path: String,
    triple: Triple,
    k: usize,
    tile: String,
    ask: &'a mut dyn FnMut(),
}

impl<'a> GemmDots<'a> {
    /// The product of a path with a launch tile, for rows of `k`; `ask` is told before each product, which may kill or hang the
    /// process.
    pub fn new(
        device: &'a mut dyn Device,
        path: &str,
        triple: Triple,
        k: usize,
        tile: &str,
        ask: &'a mut dyn FnMut(),
    ) -> GemmDots<'a> {
        GemmDots { device, path: path.to_owned(), triple, k, tile: tile.to_owned(), ask }
    }

    /// D of one product.
    ///
    /// # Errors
    /// A refused kernel, as [`Fault::Failed`], and the kernel's own faults.
    pub fn product(&mut self, a: &Matrix, b: &Matrix) -> Result<Matrix, Fault> {
        (self.ask)();
        let shape = Shape::new(a.rows, b.cols, self.k);
        let spec = GemmSpec { path: self.path.clone(), triple: self.triple, shape, tile: self.tile.clone() };
        let refused = |e: rigel_device::contract::Refusal| Fault::Failed(e.to_string());
        let mut gemm = self.device.compile(&spec).map_err(refused)?;
        gemm.load().map_err(refused)?;
        gemm.bind(a, b)?;
        gemm.poison()?;
        gemm.run(1, Cache::Warm)?;
        gemm.output()
    }
}

impl DotProducts for GemmDots<'_> {
    fn triple(&self) -> Triple {
        self.triple
    }

    fn k(&self) -> usize {
        self.k
    }

    fn dots(&mut self, rows: &[Vec<u64>], columns: &[Vec<u64>]) -> Result<Vec<u64>, Fault> {
        let shared = columns.windows(2).all(|pair| pair[0] == pair[1]);
        let (m, n) = if shared { (ROWS, COLUMNS) } else { (DIAGONAL, DIAGONAL) };
        let mut results = Vec::with_capacity(rows.len());
        for (rows, columns) in rows.chunks(m).zip(columns.chunks(m)) {
            let mut a = Matrix::zeroed(self.triple.a, m, self.k);
            let mut b = Matrix::zeroed(self.triple.b, self.k, n);
            for (i, row) in rows.iter().enumerate() {
                row.iter().enumerate().for_each(|(k, &code)| a.set(i, k, code));
            }
            for j in 0..n {
                let Some(column) = (if shared { columns.first() } else { columns.get(j) }) else { continue };
                column.iter().enumerate().for_each(|(k, &code)| b.set(k, j, code));
            }
            let d = self.product(&a, &b)?;
            results.extend((0..rows.len()).map(|i| d.get(i, if shared { 0 } else { i })));
        }
        Ok(results)
    }
}
