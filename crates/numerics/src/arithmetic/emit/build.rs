//! How is the program of one model put together, function by function?

use super::codes::Role;
use super::needs::Needs;
use super::read::{fill, items};
use super::syntax::{Item, Type};
use crate::arithmetic::intake::{Intake, ScaledPart};
use crate::arithmetic::model::{Model, NanRule};
use crate::arithmetic::node::Node;
use crate::arithmetic::output::Rounded;
use std::collections::HashSet;

/// A program in the making: its text in the small language, and what is in it.
pub(super) struct Build<'a> {
    pub model: &'a Model,
    pub needs: &'a Needs<'a>,
    text: String,
    names: HashSet<String>,
    forms: Vec<Rounded>,
}

/// A structure of a program.
pub(super) struct Record {
    pub name: &'static str,
    pub about: &'static str,
    pub fields: Vec<(&'static str, Type, &'static str)>,
}

/// A finished program.
pub(super) struct Program {
    pub records: Vec<Record>,
    pub items: Vec<Item>,
}

impl<'a> Build<'a> {
    /// The program of a model. `fills`: whether the language writes what an array is filled with.
    pub(super) fn program(model: &'a Model, needs: &'a Needs<'a>, fills: bool) -> Program {
        let (text, names, forms) = (String::new(), HashSet::new(), Vec::new());
        let mut build = Build { model, needs, text, names, forms };
        build.constants();
        build.elements();
        let root = build.node(&model.body, needs.most_k).name;
        build.encoder();
        build.compute(&root);
        Program { records: build.records(), items: super::used::by("compute", items(&build.text), fills) }
    }

    /// Adds items.
    pub(super) fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Whether a name is there already; it is from now on.
    pub(super) fn made(&mut self, name: &str) -> bool {
        !self.names.insert(name.to_owned())
    }

    /// A name that is not there yet.
    pub(super) fn fresh(&mut self, name: &str) -> String {
        let mut number = 1;
        loop {
            let fresh = if number == 1 { name.to_owned() } else { format!("{name}_{number}") };
            if !self.made(&fresh) {
                return fresh;
            }
            number += 1;
        }
    }

    /// What tells a form from others of its format.
    pub(super) fn number_of_form(&mut self, form: &Rounded) -> String {
        if !self.forms.contains(form) {
            self.forms.push(*form);
        }
        let alike = self.forms.iter().filter(|other| other.format == form.format);
        match alike.take_while(|other| *other != form).count() {
            0 => String::new(),
            before => format!("_{}", before + 1),
        }
    }

    /// Whether sums can be a little more than their magnitude says.
    pub(super) fn sticky(&self) -> bool {
        self.needs.limbs > 0
    }

    /// A value.
    pub(super) fn value(&self, kind: &str, negative: &str, magnitude: &str, place: &str, exponent: &str) -> String {
        self.any_value(kind, negative, magnitude, place, exponent, "false")
    }

    /// A value that is a sum as it was.
    pub(super) fn unrounded(&self, negative: &str, magnitude: &str, place: &str, exponent: &str) -> String {
        self.any_value("A_FINITE", negative, magnitude, place, exponent, "true")
    }

    fn any_value(
        &self,
        kind: &str,
        negative: &str,
        magnitude: &str,
        place: &str,
        exponent: &str,
        unrounded: &str,
    ) -> String {
        let mut fields = Vec::new();
        if self.needs.special {
            fields.push(format!("kind: {kind}"));
        }
        let named = |name: &str, value: &str| if name == value { name.to_owned() } else { format!("{name}: {value}") };
        fields.extend([
            named("negative", negative),
            named("magnitude", magnitude),
            named("place", place),
            named("exponent", exponent),
        ]);
        if self.needs.unrounded {
            fields.push(named("unrounded", unrounded));
        }
        format!("Value {{ {} }}", fields.join(", "))
    }

    /// A sum that waits to be rounded.
    pub(super) fn total(&self, negative: &str, magnitude: &str, place: &str, sticky: &str) -> String {
        let named = |name: &str, value: &str| if name == value { name.to_owned() } else { format!("{name}: {value}") };
        let mut fields = vec![named("negative", negative), named("magnitude", magnitude), named("place", place)];
        if self.sticky() {
            fields.push(named("sticky", sticky));
        }
        format!("Total {{ {} }}", fields.join(", "))
    }

    fn records(&self) -> Vec<Record> {
        let needs = self.needs;
        let mut records = Vec::new();
        if !needs.integer {
            let mut fields = Vec::new();
            if needs.special {
                fields.push(("kind", Type::I32, "A_FINITE, AN_INFINITY or A_NAN"));
            }
            fields.push(("negative", Type::Bool, "the sign, of zeros too"));
            fields.push((
                "magnitude",
                Type::U64,
                if needs.payload { "significand; of a NaN its fraction" } else { "significand" },
            ));
            fields.push(("place", Type::I32, "exponent of the last place of the significand"));
            fields.push(("exponent", Type::I32, "exponent as the hardware counts it"));
            if needs.unrounded {
                fields.push(("unrounded", Type::Bool, "a sum as it was; its exponent counts even where it is zero"));
            }
            records.push(Record { name: "Value", about: "A value between steps: significand times 2^place.", fields });
            let mut fields = vec![
                ("negative", Type::Bool, "the sign"),
                ("magnitude", Type::Word, "without sign"),
                ("place", Type::I32, "exponent of the last place"),
            ];
            if self.sticky() {
                fields.push(("sticky", Type::Bool, "there is a little more"));
            }
            records.push(Record { name: "Total", about: "A sum before it is rounded.", fields });
        }
        let mut fields = vec![
            ("a", Type::Order, "codes of a row of A"),
            ("b", Type::Order, "codes of a column of B"),
            ("k", Type::Usize, "how many there are of each"),
        ];
        if self.model.scales.is_some() {
            fields.push(("a_scales", Type::Order, "scale codes of the row"));
            fields.push(("b_scales", Type::Order, "scale codes of the column"));
            fields.push(("groups", Type::Usize, "how many there are of each"));
        }
        records.push(Record { name: "Inputs", about: "What makes one output element, but for c.", fields });
        records
    }

    fn constants(&mut self) {
        let most = self.needs.most_k;
        self.add(&format!(
            "/// The longest row: what widths and arrays are made for.\nconst MOST_K: usize = {most};\n"
        ));
        if self.needs.integer {
            return self.add("const ZERO: Value = 0;\n");
        }
        if self.needs.special {
            self.add("const A_FINITE: i32 = 0;\nconst AN_INFINITY: i32 = 1;\nconst A_NAN: i32 = 2;\n");
        }
        self.add("/// The exponent of what takes no part in alignment.\nconst NONE: i32 = -100000;\n");
        let zero = self.value("A_FINITE", "false", "0", "0", "NONE");
        self.add(&format!("const ZERO: Value = {zero};\n"));
        if self.needs.special {
            let (negative, fraction) = match self.model.nan {
                NanRule::First { invalid, .. } => self.fraction_of(invalid),
                NanRule::Word(_) => (false, 0),
            };
            let about = if self.needs.payload {
                "The NaN that arises without a NaN operand."
            } else {
                "Every NaN becomes one word."
            };
            let nan = self.value("A_NAN", &negative.to_string(), &super::codes::hex(fraction), "0", "NONE");
            self.add(&format!("/// {about}\nconst NOT_A_NUMBER: Value = {nan};\n"));
        }
        let body = "if negative { -(magnitude as Sum) } else { magnitude as Sum }";
        self.add(&format!("/// A magnitude with its sign.\nfn with_sign(negative: bool, magnitude: Word) -> Sum {{ return {body}; }}\n"));
        if self.needs.limbs > 0 {
            self.add(&fill(super::wide::TEXT, &[("limbs", &self.needs.limbs.to_string())]));
        }
    }

    /// Sign and left-aligned fraction of the NaN that a word is; those of 0 where the format has no NaN.
    fn fraction_of(&self, word: u64) -> (bool, u64) {
        let Some(place) = super::needs::layout(self.model.triple.c) else { return (false, 0) };
        let (negative, magnitude) = place.split(word);
        let bits = place.fields.fraction_bits;
        let fraction = (magnitude & ((1 << bits) - 1)).checked_shl(64 - bits).unwrap_or(0);
        (negative, fraction | 1 << 63)
    }

    /// Functions that give an element of A and of B, c and the scales.
    fn elements(&mut self) {
        let model = self.model;
        let t = model.triple;
        let alike = t.a == t.b && model.a == model.b;
        if alike {
            self.decoder("value_of_operand", "a code of A or B", t.a, &model.a, Role::Operand);
        } else {
            self.decoder("value_of_a", "a code of A", t.a, &model.a, Role::Operand);
            self.decoder("value_of_b", "a code of B", t.b, &model.b, Role::Operand);
        }
        let plain = Intake::default();
        if let Some(scales) = model.scales {
            self.decoder("value_of_scale_a", "a scale of A", scales.a, &plain, Role::Value);
            self.decoder("value_of_scale_b", "a scale of B", scales.b, &plain, Role::Value);
        }
        self.decoder("value_of_c", "c", t.c, &model.c, Role::Value);
        for (name, codes) in [("element_a", "a"), ("element_b", "b")] {
            let decoder = if alike { "operand" } else { codes };
            let beyond = if model.k > 1 { ", +0 beyond its end" } else { "" };
            let which = if codes == "a" { "row of A" } else { "column of B" };
            let scaled = model.scales.filter(|s| s.on == ScaledPart::Products);
            let times = if scaled.is_some() { ", times its scale" } else { "" };
            let (takes, index) = match self.needs.order {
                true => ("inputs: Inputs, order: Order, position: usize", "let i: usize = order[position];\n"),
                false => ("inputs: Inputs, i: usize", ""),
            };
            let code = match model.k {
                1 => format!("inputs.{codes}[i]"),
                _ => format!("if i < inputs.k {{ inputs.{codes}[i] }} else {{ 0 }}"),
            };
            let mut body = format!("{index}let code: u64 = {code};\n");
            match scaled {
                None => body += &format!("return value_of_{decoder}(code);\n"),
                Some(s) => body += &self.scaled(codes, decoder, s.group),
            }
            self.add(&format!(
                "/// An element of the {which}{beyond}{times}.\nfn {name}({takes}) -> Value {{\n{body}}}\n"
            ));
        }
    }

    /// The body of an element that is multiplied by its scale.
    fn scaled(&self, codes: &str, decoder: &str, group: usize) -> String {
        let zero = self.zero_exponent(Role::Operand);
        let mut text = format!(
            "let element: Value = value_of_{decoder}(code);\nlet group: usize = i / {group};\nif group >= inputs.groups {{ return element; }}\nlet scale: Value = value_of_scale_{codes}(inputs.{codes}_scales[group]);\n"
        );
        let nan = match self.needs.payload {
            true => self.value("A_NAN", "element.negative", "scale.magnitude", "0", "NONE"),
            false => "NOT_A_NUMBER".to_owned(),
        };
        let arisen = match self.needs.payload {
            true => self.value("A_NAN", "element.negative", "0x8000000000000000", "0", "NONE"),
            false => "NOT_A_NUMBER".to_owned(),
        };
        text += &format!(
            "if scale.kind == A_NAN {{ return {nan}; }}\nif scale.magnitude == 0 && element.kind == AN_INFINITY {{ return {arisen}; }}\nif element.kind != A_FINITE {{ return element; }}\n"
        );
        let exponent = format!("if scale.magnitude == 0 {{ {zero} }} else {{ element.exponent + scale.exponent }}");
        let value = self.value(
            "A_FINITE",
            "element.negative",
            "element.magnitude * scale.magnitude",
            "element.place + scale.place",
            &exponent,
        );
        text + &format!("return {value};\n")
    }

    /// The whole: from codes to the code of d.
    fn compute(&mut self, root: &str) {
        let model = self.model;
        let k = if model.k > 1 {
            format!("(inputs.k + {}) / {} * {}", model.k - 1, model.k, model.k)
        } else {
            "inputs.k".to_owned()
        };
        let mut text = format!("let count: usize = {k};\n");
        let mut given = "inputs".to_owned();
        if self.needs.order {
            text += "let mut order: OrderMut = [0; MOST_K];\nlet mut spare: OrderMut = [0; MOST_K];\nfor i in 0..count { order[i] = i; }\n";
            given += if matches!(model.body, Node::Step(_)) { ", &order" } else { ", &mut order, &mut spare" };
        }
        given += ", 0, count";
        if model.body.uses_c() {
            given += ", value_of_c(c)";
        }
        let Some(store) = &model.store else {
            text += &format!("let value: Value = {root}({given});\n");
            return self.whole(&text);
        };
        text += &format!("let mut value: Value = {root}({given});\n");
        let round = self.rounder(store);
        let infinite = self.infinite(store, "value.negative");
        let total = self.total("value.negative", "value.magnitude as Word", "value.place", "false");
        text += &match self.needs.special {
            true => format!(
                "if value.kind == AN_INFINITY {{ value = {infinite}; }} else if value.kind == A_FINITE {{ value = {round}({total}); }}\n"
            ),
            false => format!("value = {round}({total});\n"),
        };
        self.whole(&text);
    }

    fn whole(&mut self, text: &str) {
        self.add(&format!(
            "/// The code of d, from the codes of a row of A, a column of B and c.\nfn compute(inputs: Inputs, c: u64) -> u64 {{\n{text}return code_of(value);\n}}\n"
        ));
    }
}
