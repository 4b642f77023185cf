//! How are the documented rules and their small texts read, and what stands around a text?

use rigel_device::metal::level::Sdk;

/// A rule with a text that breaks it and one that does not.
#[derive(Debug, Default)]
pub struct Rule {
    pub name: &'static str,
    pub sdk: &'static str,
    pub refused: &'static str,
    pub accepted: &'static str,
    pub words: &'static str,
}

impl Rule {
    /// The header under which it holds.
    pub fn header(&self) -> Sdk {
        Sdk::ALL
            .into_iter()
            .find(|sdk| sdk.to_string() == self.sdk)
            .unwrap_or_else(|| panic!("{}: sdk {}", self.name, self.sdk))
    }
}

/// Every rule of `rules.txt`.
pub fn rules() -> Vec<Rule> {
    let blocks = include_str!("rules.txt").split("\n\n").filter(|block| block.contains("rule: "));
    let read = |block: &'static str| {
        let mut rule = Rule::default();
        for line in block.lines() {
            match line.split_once(": ").unwrap_or_else(|| panic!("no key: {line}")) {
                ("rule", x) => rule.name = x,
                ("sdk", x) => rule.sdk = x,
                ("refused", x) => rule.refused = x,
                ("accepted", x) => rule.accepted = x,
                ("words", x) => rule.words = x,
                (key, _) => panic!("a rule has no `{key}`"),
            }
        }
        rule
    };
    blocks.map(read).collect()
}

/// What stands around a body: tensors A and B of half and C of float, 64 × 64 each, and bytes.
pub fn text(body: &str) -> String {
    format!(
        "#include <metal_stdlib>\n#include <metal_tensor>\n#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>\n\
         using namespace metal;\nusing namespace mpp::tensor_ops;\nusing P = dextents<int, 2>;\n\
         using Mode = matmul2d_descriptor::mode;\ntemplate <class T> using In = tensor<device T, P, tensor_inline>;\n\
         constant constexpr int ANY = dynamic_length_v<int>;\n#define D(...) matmul2d_descriptor(__VA_ARGS__)\n\
         [[kernel]] void k(device half *a [[buffer(0)]], device half *b [[buffer(1)]], device float *c [[buffer(2)]], \
         device uchar *bytes [[buffer(3)]], device int8_t *i [[buffer(4)]], constant half *fixed [[buffer(5)]]) {{\n\
         In<half> A(a, P(64, 64)), B(b, P(64, 64));\nIn<float> C(c, P(64, 64));\nIn<int8_t> I(i, P(64, 64));\n{body}\n}}\n"
    )
}
