//! Does the kernel that makes bf16 of block-scaled operands give every element times every scale?
//!
//! Its text is compiled for this processor, with what CUDA C++ adds defined away; without a C++ compiler the test says that it was skipped.

use rigel_device::cuda::source::dequantise;
use rigel_numerics::Format;
use std::process::Command;

const BEFORE: &str = r"
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>
#define __device__
#define __global__
#define __forceinline__ inline
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static float __uint_as_float(unsigned bits) { float x; std::memcpy(&x, &bits, 4); return x; }
static unsigned __float_as_uint(float x) { unsigned bits; std::memcpy(&bits, &x, 4); return bits; }
static struct { int x; } blockIdx{0}, blockDim{1}, threadIdx{0}, gridDim{1};
";

/// Prints, for each scale, what every element becomes under it.
const AFTER: &str = r#"
int main() {
  const int count = 1 << ELEMENT_BITS, rows = 256, depth = 256;
  std::vector<uint8_t> elements(rows * depth * ELEMENT_BITS / 8), scales(rows * depth / GROUP);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < depth; ++i) {
      const int at = row * depth + i;
      elements[at * ELEMENT_BITS / 8] |= (i % count) << (at * ELEMENT_BITS % 8);
      scales[at / GROUP] = row;
    }
  std::vector<uint16_t> out(rows * depth);
  dequantise(reinterpret_cast<const Eight*>(elements.data()), scales.data(), reinterpret_cast<uint4*>(out.data()), rows * depth / 8);
  for (int row = 0; row < rows; ++row)
    for (int i = 0; i < count; ++i) std::printf("%u\n", out[row * depth + i]);
}
"#;

#[test]
fn every_element_under_every_scale_is_exact_where_bf16_is() {
    let dir = tempfile::tempdir().unwrap();
    for format in Format::SCALED {
        let (text, program) = (dir.path().join("kernel.cpp"), dir.path().join("kernel"));
        std::fs::write(&text, [BEFORE, &dequantise(format).unwrap().text, AFTER].concat()).unwrap();
        let compiler = Command::new("c++").arg("-w").arg("-o").arg(&program).arg(&text).output();
        let Ok(said) = compiler else {
            println!("skipped: there is no C++ compiler here");
            return;
        };
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        let groups = format.scale_groups().unwrap();
        let codes =
            (0..256).flat_map(|scale| (0..=groups.element.code_mask()).map(move |element| groups.code(element, scale)));
        let mut compared = 0;
        for (code, line) in codes.zip(printed.lines()) {
            let (value, found) = (format.decode(code), Format::Bf16.decode(line.parse().unwrap()));
            let held = value == 0.0 || (2f64.powi(-126)..2f64.powi(128)).contains(&value.abs());
            assert!(
                found.to_bits() == value.to_bits() || value.is_nan() && found.is_nan() || !held,
                "{format} {code:#06x}: {found}"
            );
            compared += 1;
        }
        assert_eq!(compared, 256 << groups.element.bits(), "{format}");
    }
}
