//! Which function of raw bits does a matrix unit compute, down to the last output bit?
//!
//! A [`Model`] says it as data. One output element of a unit is d = c + Σ a·b, computed by a tree of *steps* over k. A
//! step is a fused sum: its terms are aligned to the largest exponent among them, cut there, added exactly, and what
//! leaves the step is rounded once ([`Sum`]). That one form covers the units whose arithmetic has been published:
//!
//! | hardware | as steps |
//! | --- | --- |
//! | NVIDIA tensor cores | n products and c, aligned to F fraction bits, cut toward zero; a chain of them over k |
//! | AMD CDNA3 | a step over products whose unrounded sum is aligned again, with c, by a second one |
//! | AMD CDNA2 | products rounded one by one, a tree of rounded adds, c added last |
//! | IEEE fused multiply-add chains | steps of one product and c, aligned exactly |
//! | integer units | exact steps, wrapped or saturated where the hardware does |
//! | an instruction emulated by others | its operands' conversion ([`Intake`]), steps over a split of k, c added apart |
//!
//! In symbols, for terms t with exponents e(t), F fraction bits and a floor η₀:
//!
//! > η = max(η₀, max e(t)), S = Σ cut(t, 2^(η − F)), out = round(S).
//!
//! `cut` gives a multiple of its second argument, by any rounding; S is exact. So a step of n terms that cuts toward zero and
//! rounds toward zero is off by less than n · 2^(η − F) plus one unit in the last place of `out`, and by nothing where all
//! terms are multiples of 2^(η − F) and S is a value of the output.
//!
//! How steps are put together is a [`Node`]: a [`Step`], a chain of a node over blocks of k, or a join of independent
//! parts. Whatever its tree, a model has one step that takes products, done over and over. A node is defined for every K,
//! so one model describes the instruction and the product of any length that a kernel makes of it.
//!
//! ```
//! use rigel_numerics::arithmetic::{Evaluator, Inputs, library};
//! let published = library().iter().find(|p| p.name == "hopper wgmma e4m3 to f32").unwrap();
//! let evaluator = Evaluator::new(&published.model, 3).unwrap();
//! let one_minus_one_plus = |tiny| {
//!     // E4M3: 0x38 is 1, 0xB8 is −1, 0x01 is 2^−9.
//!     let codes = evaluator.dot(&mut evaluator.scratch(), Inputs::new(&[0x38, 0x38, 0x01], &[0x38, 0xB8, tiny], 0));
//!     f32::from_bits(codes as u32)
//! };
//! assert_eq!(one_minus_one_plus(0x18), 2f32.powi(-13)); // 2^−9 · 2^−4 lies on the grid
//! assert_eq!(one_minus_one_plus(0x10), 0.0); // 2^−9 · 2^−5 lies below it and is cut
//! ```
//!
//! **Two evaluators.** [`Evaluator`] is compiled for one K and works in 64- and 128-bit integers; sums that need more go
//! through a long accumulator. [`slow`] walks the tree with exact binary fractions of any length and rounds by
//! comparing distances. They share the model's data, its splits of k and the value of a code, and no arithmetic; tests hold
//! them equal on random models and inputs.
//!
//! **Equality.** Two models that are equal as data are equal as functions. The reverse is false: parameters that no
//! input reaches (a carry width that never overflows, the exponent of zeros under a floor above it) differ as data
//! only. Whether two models are one function is a question for inputs ([`first_difference`]), not for `==`; what inputs
//! cannot show is a class of models.
//!
//! **What the family cannot express.** Units whose result depends on anything but one row of A, one column of B, c and
//! their scales; steps chosen by data, or that differ along k; stochastic rounding; operands split into pieces of several
//! precisions; sums that normalise between the additions of one step other than as a tree of steps.
//!
//! Sources of the form: Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores" (PeerJ CS 7:e330,
//! 2021); Khattak and Mikaitis, arXiv 2512.07004; MMA-Sim, arXiv 2511.10909; FPRev, arXiv 2411.00442.

mod aligned;
mod analysis;
mod check;
mod decoder;
mod describe;
mod difference;
mod distribution;
mod draw;
mod draw_rules;
mod dyadic;
pub mod emit;
mod error;
mod evaluator;
mod exactly;
mod fingerprint;
mod intake;
mod lay_out;
mod library;
mod lines;
mod model;
mod node;
mod operand;
mod output;
mod program;
mod round;
mod run;
pub mod slow;
mod slow_operand;
mod slow_round;
mod slow_step;
mod special;
mod split;
mod sum;
mod tile;
pub mod tolerance;
mod value;

pub use difference::{Difference, first_difference};
pub use distribution::{Distribution, DotInputs};
pub use draw::draw_model;
pub use error::ModelError;
pub use evaluator::{Evaluator, Inputs, Scratch};
pub use fingerprint::{Composition, Part, compositions};
pub use intake::{Flush, Intake, ScaledPart, Scales};
pub use library::{Confidence, Published, library};
pub use lines::Line;
pub use model::{Model, NanRule, NanSource};
pub use node::{CPlace, Chain, Join, JoinOrder, LateC, Node, Step};
pub use output::{IntegerOutput, IntegerOverflow, Output, OverflowTo, Rounded, Subnormals, Vanished};
pub use split::Split;
pub use sum::{Align, Alignment, CAlignment, ProductExponent, Sum, ValueExponent, ZeroProducts, ZeroSign};
pub use tile::TileError;
