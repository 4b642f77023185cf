//! How does a model become a program that others can read and run?
//!
//! A program is made for one model: constants are folded, rules that the model does not have leave no branch, and names and
//! comments say what happens. It needs nothing but its language. The three languages are spellings of one program, and every
//! program carries a few inputs with the model's results, so that it can be tried where it is:
//!
//! ```text
//! rustc --edition 2021 --test model.rs && ./model
//! cc -std=c11 -DCHECK model.c && ./a.out
//! python3 model.py
//! ```
//!
//! Programs are made to be read, not to be fast: elements are decoded anew for every look at them.

mod build;
mod c;
mod checks;
mod codes;
mod needs;
mod python;
mod read;
mod rounding;
mod rust;
mod sums;
mod syntax;
mod totals;
mod tree;
mod used;
mod wide;
mod write;

use super::error::ModelError;
use super::evaluator::Evaluator;
use super::model::Model;
use crate::foreign::foreign;
use build::{Build, Program};
use needs::Needs;
use std::fmt;
use std::str::FromStr;
use write::{Language, comment};

/// What a model is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// The model itself, as data.
    Json,
    /// A Rust file.
    Rust,
    /// A C11 file.
    C,
    /// A Python file.
    Python,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 4] = [Target::Json, Target::Rust, Target::C, Target::Python];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Json => "json",
            Target::Rust => "rust",
            Target::C => "c",
            Target::Python => "python",
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no [`Target`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is nothing that a model is written as; known: json rust c python")]
pub struct UnknownTarget(pub String);

impl FromStr for Target {
    type Err = UnknownTarget;
    fn from_str(text: &str) -> Result<Target, UnknownTarget> {
        Target::ALL.into_iter().find(|target| target.name() == text).ok_or_else(|| UnknownTarget(text.to_owned()))
    }
}

/// What a program says of its model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Name of the model.
    pub name: String,
    /// Where it comes from: a publication, a run, a file.
    pub source: String,
    /// How sure one may be of it: what it was validated on, or that it was not.
    pub validation: String,
}

/// The longest row that a program is made for, unless another is asked for.
pub const MOST_K: usize = 4096;

/// A model as text.
///
/// `most_k` is the longest row that a program takes; the JSON of a model has none. Widths of integers and lengths of arrays
/// follow from it.
///
/// # Errors
/// What [`Model::check`] says, and [`ModelError::TooWide`] where the model cannot be evaluated at `most_k`.
pub fn model(model: &Model, target: Target, about: &About, most_k: usize) -> Result<String, ModelError> {
    model.check()?;
    if target == Target::Json {
        return Ok(model.to_json() + "\n");
    }
    Evaluator::new(model, most_k)?;
    let needs = Needs::of(model, model.padded(most_k), target == Target::Python);
    let program = Build::program(model, &needs, target != Target::C);
    Ok(match target {
        Target::Json => String::new(),
        Target::Rust => in_rust(model, about, &needs, &program),
        Target::C => in_c(model, about, &needs, &program),
        Target::Python => in_python(model, about, &needs, &program),
    })
}

/// What stands at the top of every program.
fn top(model: &Model, about: &About) -> [String; 4] {
    [
        format!("What {} computes, bit by bit: d = c + a·b over k.", foreign(&about.name)),
        format!("{model}."),
        format!("Source: {}.", foreign(about.source.trim_end_matches('.'))),
        format!("Validation: {}.", foreign(about.validation.trim_end_matches('.'))),
    ]
}

/// What the caller must give, in words.
fn given(model: &Model) -> String {
    let t = model.triple;
    let scales = model.scales.map_or(String::new(), |s| {
        format!("; `a_scales` and `b_scales` hold one code ({} and {}) for every {} of k", s.a, s.b, s.group)
    });
    format!(
        "The code of d ({}) for the codes of a row of A ({}), of a column of B ({}) and of c{scales}. A code lies in the low \
         bits of its word. Rows are 1 to MOST_K long.",
        t.c, t.a, t.b
    )
}

fn items(language: &dyn Language, program: &Program) -> String {
    program.items.iter().map(|item| language.item(item)).collect()
}

fn in_rust(model: &Model, about: &About, needs: &Needs<'_>, program: &Program) -> String {
    let rust = rust::Rust(needs);
    let mut text: String =
        top(model, about).iter().map(|line| comment("//!", line, 0)).collect::<Vec<_>>().join("//!\n");
    text.push('\n');
    text += &rust.head();
    for record in &program.records {
        text += &rust.record(record.name, record.about, &record.fields);
    }
    if !needs.integer {
        text += "/// Bits up to the highest that is set.\nfn bit_length(magnitude: Word) -> i32 {\n    (Word::BITS - magnitude.leading_zeros()) as i32\n}\n\n";
    }
    text += &items(&rust, program);
    let (takes, fields, more) = match model.scales {
        None => ("", "", String::new()),
        Some(s) => (
            ", a_scales: &[u64], b_scales: &[u64]",
            ", a_scales, b_scales, groups: a_scales.len()",
            format!(
                "    let groups = a.len().div_ceil({});\n    assert!(a_scales.len() == groups && b_scales.len() == groups, \"{{groups}} scales of each operand\");\n",
                s.group
            ),
        ),
    };
    text += &comment("///", &given(model), 0);
    text += "///\n/// # Panics\n/// When rows or scales have other lengths.\n";
    text += &format!(
        "pub fn dot(a: &[u64], b: &[u64]{takes}, c: u64) -> u64 {{\n    assert!(a.len() == b.len() && (1..=MOST_K).contains(&a.len()), \"rows of one length, 1 to {{MOST_K}}\");\n{more}    compute(Inputs {{ a, b, k: a.len(){fields} }}, c)\n}}\n"
    );
    text += "\n#[cfg(test)]\n#[test]\nfn gives_what_the_model_gives() {\n";
    for (x, d) in checks::checks(model) {
        let scales = match model.scales {
            None => String::new(),
            Some(_) => format!(", &[{}], &[{}]", checks::list(&x.a_scales, ""), checks::list(&x.b_scales, "")),
        };
        text += &format!(
            "    assert_eq!(dot(&[{}], &[{}]{scales}, 0x{:x}), 0x{d:x});\n",
            checks::list(&x.a, ""),
            checks::list(&x.b, ""),
            x.c
        );
    }
    text + "}\n"
}

fn in_c(model: &Model, about: &About, needs: &Needs<'_>, program: &Program) -> String {
    let c = c::C(needs);
    let mut text: String = top(model, about).iter().map(|line| comment("//", line, 0)).collect::<Vec<_>>().join("//\n");
    text.push('\n');
    text += &c.head();
    for record in &program.records {
        text += &c.record(record.name, record.about, &record.fields);
    }
    if !needs.integer {
        text += "// Bits up to the highest that is set.\nstatic int32_t bit_length(Word magnitude) {\n    int32_t length = 0;\n    while (magnitude != 0) {\n        magnitude >>= 1;\n        length += 1;\n    }\n    return length;\n}\n\n";
    }
    text += &items(&c, program);
    let (takes, fields) = match model.scales {
        None => ("", String::new()),
        Some(s) => (
            "const uint64_t *a_scales, const uint64_t *b_scales, ",
            format!(", .a_scales = a_scales, .b_scales = b_scales, .groups = (k + {}) / {}", s.group - 1, s.group),
        ),
    };
    text += &comment("//", &given(model), 0);
    text += &format!(
        "uint64_t dot(const uint64_t *a, const uint64_t *b, size_t k, {takes}uint64_t c) {{\n    assert(k >= 1 && k <= MOST_K);\n    return compute((Inputs){{.a = a, .b = b, .k = k{fields}}}, c);\n}}\n"
    );
    text += "\n#ifdef CHECK\n#include <stdio.h>\n\nint main(void) {\n    int wrong = 0;\n";
    for (x, d) in checks::checks(model) {
        let array = |codes: &[u64]| format!("(const uint64_t[]){{{}}}", checks::list(codes, "ull"));
        let scales = match model.scales {
            None => String::new(),
            Some(_) => format!("{}, {}, ", array(&x.a_scales), array(&x.b_scales)),
        };
        text += &format!(
            "    wrong += dot({}, {}, {}, {scales}0x{:x}ull) != 0x{d:x}ull;\n",
            array(&x.a),
            array(&x.b),
            x.a.len(),
            x.c
        );
    }
    text + "    printf(\"%d wrong\\n\", wrong);\n    return wrong != 0;\n}\n#endif\n"
}

fn in_python(model: &Model, about: &About, needs: &Needs<'_>, program: &Program) -> String {
    let python = python::Python;
    let lines: Vec<String> =
        top(model, about).iter().map(|line| comment("", line, 0).replace("\n ", "\n").trim().to_owned()).collect();
    let mut text = format!("\"\"\"{}\n\"\"\"\n\n", lines.join("\n\n"));
    text += &python.head();
    for record in &program.records {
        text += &python.record(record.name, record.about, &record.fields);
    }
    if !needs.integer {
        text += "def bit_length(magnitude):\n    \"\"\"Bits up to the highest that is set.\"\"\"\n    return magnitude.bit_length()\n\n\n";
    }
    text += &items(&python, program);
    let (takes, fields, more) = match model.scales {
        None => ("", "", String::new()),
        Some(s) => (
            ", a_scales, b_scales",
            ", a_scales, b_scales, len(a_scales)",
            format!(
                "    groups = (len(a) + {}) // {}\n    if len(a_scales) != groups or len(b_scales) != groups:\n        raise ValueError(f\"{{groups}} scales of each operand\")\n",
                s.group - 1,
                s.group
            ),
        ),
    };
    let about = comment("", &given(model), 1);
    let about: Vec<&str> = about.lines().map(str::trim).collect();
    text += &format!(
        "\ndef dot(a, b{takes}, c):\n    \"\"\"{}\n    \"\"\"\n    if len(a) != len(b) or not 1 <= len(a) <= MOST_K:\n        raise ValueError(f\"rows of one length, 1 to {{MOST_K}}\")\n{more}    return compute(Inputs(a, b, len(a){fields}), c)\n\n\n",
        about.join("\n    ")
    );
    text += "if __name__ == \"__main__\":\n    CHECKS = [\n";
    for (x, d) in checks::checks(model) {
        let scales = match model.scales {
            None => String::new(),
            Some(_) => format!(", [{}], [{}]", checks::list(&x.a_scales, ""), checks::list(&x.b_scales, "")),
        };
        text += &format!(
            "        (([{}], [{}]{scales}, 0x{:x}), 0x{d:x}),\n",
            checks::list(&x.a, ""),
            checks::list(&x.b, ""),
            x.c
        );
    }
    text + "    ]\n    wrong = sum(dot(*given) != code for given, code in CHECKS)\n    print(f\"{wrong} wrong\")\n    raise SystemExit(wrong != 0)\n"
}
