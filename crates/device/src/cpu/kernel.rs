//! What does a register-tile kernel promise, and what may it assume?

use super::buffer::Plain;
use rigel_numerics::epilogue::Activation;

/// An output element: how a partial sum joins the one of the k-slabs before.
pub trait Output: Plain + Default {
    /// One addition in the accumulate type; integers wrap.
    fn plus(self, other: Self) -> Self;
    /// The element nearest to a number, where epilogues exist for this type.
    fn of(x: f64) -> Self;
    /// Adds the bias to a row of C and applies the activation where there is one; nothing where no epilogue exists for this type.
    fn finish(_row: &mut [Self], _bias: &[Self], _activation: Option<Activation>) {}
    /// Applies the activation to a row of C; nothing where no epilogue exists for this type.
    fn activate(_row: &mut [Self], _activation: Activation) {}
}

impl Output for f32 {
    #[inline(always)]
    fn plus(self, other: f32) -> f32 {
        self + other
    }
    fn of(x: f64) -> f32 {
        x as f32
    }
    #[inline(always)]
    fn finish(row: &mut [f32], bias: &[f32], activation: Option<Activation>) {
        super::activation::finish(row, bias, activation);
    }
    #[inline(always)]
    fn activate(row: &mut [f32], activation: Activation) {
        super::activation::activate(row, activation);
    }
}
impl Output for f64 {
    #[inline(always)]
    fn plus(self, other: f64) -> f64 {
        self + other
    }
    fn of(x: f64) -> f64 {
        x
    }
}
impl Output for i32 {
    #[inline(always)]
    fn plus(self, other: i32) -> i32 {
        self.wrapping_add(other)
    }
    fn of(x: f64) -> i32 {
        x as i32
    }
}

/// The most elements that the register tile of any kernel may have.
pub const MAX_TILE: usize = 512;

/// A kernel that multiplies one packed panel of A by one of B, its accumulators in registers.
///
/// A panel of A holds `ROWS` rows in groups of `GROUP` consecutive k: element (i, k) lies at
/// `(k / GROUP · ROWS + i) · GROUP + k mod GROUP`; a panel of B likewise with its `COLUMNS` columns, followed
/// by `TRAILER` groups of the kernel's own. Elements beyond the matrix are zero codes.
pub trait Kernel: 'static {
    /// Packed element of A.
    type A: Plain;
    /// Packed element of B.
    type B: Plain;
    /// Element of C, and accumulate type.
    type C: Output;
    /// Rows of the register tile.
    const ROWS: usize;
    /// Columns of the register tile.
    const COLUMNS: usize;
    /// Consecutive k that one instruction takes together.
    const GROUP: usize;
    /// Groups that follow a panel of B for [`Kernel::finish_panel`].
    const TRAILER: usize = 0;

    /// C = A·B when `first`, else C = C + A·B, over `groups` groups of k.
    ///
    /// # Safety
    /// The path's features are present; the panels start on 64 bytes and hold `groups` groups (and B's trailer);
    /// `c` points to `ROWS` rows of `COLUMNS` elements, `stride` elements apart, that no other thread touches.
    unsafe fn multiply(
        groups: usize,
        a: *const Self::A,
        b: *const Self::B,
        c: *mut Self::C,
        stride: usize,
        first: bool,
    );

    /// Writes the trailer of a packed panel of B.
    ///
    /// # Safety
    /// The path's features are present; `panel` holds `groups` groups and room for the trailer.
    unsafe fn finish_panel(_groups: usize, _panel: *mut Self::B) {}

    /// Calls `work` compiled with the path's features, so that packing is vectorised as the path allows.
    ///
    /// # Safety
    /// The path's features are present.
    unsafe fn with_features(work: impl FnOnce()) {
        work();
    }
}
