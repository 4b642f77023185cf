//! Which formats do names from elsewhere mean?

use crate::format::Format;

/// Names that frameworks and vendors use, and the formats of this project that each may mean.
const SYNONYMS: &[(&[&str], &[Format])] = &[
    (&["fp64", "float64", "double"], &[Format::F64]),
    (&["fp32", "float32", "float", "single"], &[Format::F32]),
    (&["fp16", "float16", "half"], &[Format::F16]),
    (&["bfloat16", "bfloat", "brain"], &[Format::Bf16]),
    (&["fp8", "float8", "f8"], &[Format::E4m3, Format::E5m2]),
    (&["fp6", "float6", "f6"], &[Format::E2m3, Format::E3m2]),
    (&["fp4", "float4", "f4"], &[Format::E2m1]),
    (&["mxfp8", "mxf8"], &[Format::Mxe4m3]),
    (&["mxfp4", "mxf4"], &[Format::Mxe2m1]),
    (&["nvfp4", "nvf4"], &[Format::Nve2m1]),
    (&["int32", "s32"], &[Format::I32]),
    (&["int16", "s16"], &[Format::I16]),
    (&["int8", "s8"], &[Format::I8]),
    (&["uint8"], &[Format::U8]),
    (&["int4", "s4"], &[Format::I4]),
    (&["uint4"], &[Format::U4]),
    (&["int2", "s2"], &[Format::I2]),
];

/// The formats that `name` may mean; none when it is no known synonym. Case does not matter.
pub fn formats_meant(name: &str) -> &'static [Format] {
    let name = name.to_lowercase();
    SYNONYMS.iter().find(|(names, _)| names.contains(&name.as_str())).map_or(&[], |(_, formats)| formats)
}

/// ``; `fp8` is written e4m3 or e5m2 here``, for the end of an error; empty when `name` is no known synonym.
pub fn hint(name: &str) -> String {
    let formats: Vec<&str> = formats_meant(name).iter().map(|format| format.name()).collect();
    if formats.is_empty() { String::new() } else { format!("; `{name}` is written {} here", formats.join(" or ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_synonym_is_told_once_and_is_no_name_of_a_format() {
        let names: Vec<&str> = SYNONYMS.iter().flat_map(|(names, _)| names.iter().copied()).collect();
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
        assert!(names.iter().all(|name| name.parse::<Format>().is_err() && *name == name.to_lowercase()));
        assert_eq!(formats_meant("FP8"), [Format::E4m3, Format::E5m2]);
        assert_eq!(hint("half"), "; `half` is written f16 here");
        assert_eq!((formats_meant("f16"), hint("noise")), (&[][..], String::new()));
    }
}
