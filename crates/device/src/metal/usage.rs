//! For which uses does the host make a tensor?
//!
//! The vendor's rules on rows depend on them: tensors for machine learning have rules that others have not. A launch tile of a placed
//! product names the uses beside computing: `64x64s4+machine-learning`.

use super::gpu::{Binding, Launch};

/// Uses that a tensor of the host is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Usage {
    /// Compute kernels.
    Compute,
    /// Compute kernels and render stages: what the framework's descriptor begins with.
    Render,
    /// Compute kernels and machine learning.
    MachineLearning,
}

impl Usage {
    /// Every choice, the plainest first.
    pub const ALL: [Usage; 3] = [Usage::Compute, Usage::Render, Usage::MachineLearning];

    /// Raw value of `MTLTensorUsage`.
    pub const fn raw(self) -> usize {
        match self {
            Usage::Compute => 1,
            Usage::Render => 1 | 2,
            Usage::MachineLearning => 1 | 4,
        }
    }

    /// What a launch tile's name ends with.
    pub const fn suffix(self) -> &'static str {
        match self {
            Usage::Compute => "",
            Usage::Render => "+render",
            Usage::MachineLearning => "+machine-learning",
        }
    }

    /// What stands behind `tensors made by the host`.
    pub const fn words(self) -> &'static str {
        match self {
            Usage::Compute => "",
            Usage::Render => ", for render stages too",
            Usage::MachineLearning => ", for machine learning too",
        }
    }

    /// A launch tile without the uses that its name ends with, and these.
    pub fn split(tile: &str) -> (&str, Usage) {
        let named = Usage::ALL.into_iter().filter(|usage| *usage != Usage::Compute);
        let split = |usage: Usage| Some((tile.strip_suffix(usage.suffix())?, usage));
        named.into_iter().find_map(split).unwrap_or((tile, Usage::Compute))
    }

    /// A launch whose tensors are made for it.
    pub fn of(self, mut launch: Launch) -> Launch {
        for (_, binding) in &mut launch.bindings {
            if let Binding::Tensor(tensor) = binding {
                tensor.usage = self;
            }
        }
        launch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tiles_come_back() {
        for usage in Usage::ALL {
            assert_eq!(Usage::split(&format!("64x64k32s4{}", usage.suffix())), ("64x64k32s4", usage));
        }
        assert_eq!(Usage::split("64x64s4+other"), ("64x64s4+other", Usage::Compute));
    }
}
