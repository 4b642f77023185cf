//! What does a product do that a toolchain made: what any product does, and it says what took effect?

use crate::contract::{Cache, Fault, Gemm, Refusal, Sample};
use rigel_numerics::Matrix;

/// A product with words on what took effect of its toolchain.
pub struct By {
    gemm: Box<dyn Gemm>,
    took: String,
}

impl By {
    /// A product and the words.
    pub fn new(gemm: Box<dyn Gemm>, took: String) -> By {
        By { gemm, took }
    }
}

impl Gemm for By {
    fn load(&mut self) -> Result<(), Refusal> {
        self.gemm.load()
    }

    fn bind(&mut self, a: &Matrix, b: &Matrix) -> Result<(), Fault> {
        self.gemm.bind(a, b)
    }

    fn poison(&mut self) -> Result<(), Fault> {
        self.gemm.poison()
    }

    fn run(&mut self, repetitions: usize, cache: Cache) -> Result<Vec<Sample>, Fault> {
        self.gemm.run(repetitions, cache)
    }

    fn repeat(&mut self, repetitions: usize) -> Result<(), Fault> {
        self.gemm.repeat(repetitions)
    }

    fn output(&mut self) -> Result<Matrix, Fault> {
        self.gemm.output()
    }

    fn took_effect(&self) -> String {
        self.took.clone()
    }
}
