//! Which kernels does a text hold, and how is each called from the host?

/// A kernel and the attributes of its parameters, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// Its name.
    pub kernel: String,
    /// What stands in `[[…]]` behind each parameter.
    pub attributes: Vec<String>,
}

/// The kernels of a text that was preprocessed by eye: every `[[kernel]] void name(… [[attribute]], …)`.
///
/// Attributes inside a branch that the constants switch off count as well, so a branch is looked at with `defines`.
pub fn signatures(text: &str, is_on: impl Fn(&str) -> bool) -> Vec<Signature> {
    let kept = keep(text, is_on);
    let mut found = Vec::new();
    for part in kept.split("[[kernel]] void ").skip(1) {
        let Some((kernel, rest)) = part.split_once('(') else { continue };
        let parameters = rest.split_once(") {").map_or(rest, |(parameters, _)| parameters);
        let attributes = parameters.split("[[").skip(1).filter_map(|a| a.split_once("]]"));
        found.push(Signature {
            kernel: kernel.trim().to_owned(),
            attributes: attributes.map(|(a, _)| a.trim().to_owned()).collect(),
        });
    }
    found
}

/// The lines that `#if NAME`, `#if !NAME`, `#else` and `#endif` leave.
fn keep(text: &str, is_on: impl Fn(&str) -> bool) -> String {
    let mut on = vec![true];
    let mut kept = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["#if", name] => on.push(name.strip_prefix('!').map_or_else(|| is_on(name), |name| !is_on(name))),
            ["#ifdef" | "#ifndef", ..] => on.push(true),
            ["#else"] => on.last_mut().into_iter().for_each(|on| *on = !*on),
            ["#endif"] => drop(on.pop()),
            _ if on.iter().all(|x| *x) => kept.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    kept
}

/// The macros that a text begins with.
pub fn constants(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("#define "));
    lines.map(|line| line.split_once(' ').unwrap_or((line, ""))).collect()
}

/// C++ that defines `extern "C" PREFIX_kernel(const call *)` for each kernel of a text in namespace PREFIX.
///
/// # Errors
/// A parameter that the host knows no value for.
pub fn glue(text: &str, prefix: &str) -> Result<String, String> {
    let constants = constants(text);
    let value = |name: &str| constants.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    let is_on = |name: &str| !matches!(value(name), None | Some("0" | "false"));
    let mut out = String::new();
    for Signature { kernel, attributes } in signatures(text, is_on) {
        let attributes = attributes.iter().map(|a| attribute(a)).collect::<Result<Vec<String>, String>>()?;
        out.push_str(&format!(
            "extern \"C\" void {prefix}_{kernel}(const rigel::call *c) {{\n  const rigel::attribute attributes[] = {{{}}};\n  \
             rigel::invoke({prefix}::{kernel}, *c, attributes);\n}}\n",
            attributes.join(", ")
        ));
    }
    for (name, _) in constants {
        let name = name.split_once('(').map_or(name, |(name, _)| name);
        if name != "THREADGROUP_ARRAY" {
            out.push_str(&format!("#undef {name}\n"));
        }
    }
    Ok(out)
}

fn attribute(words: &str) -> Result<String, String> {
    if let Some(index) = words.strip_prefix("buffer(").and_then(|w| w.strip_suffix(')')) {
        return Ok(format!("{{rigel::kind::buffer, {index}}}"));
    }
    let kind = match words {
        "thread_position_in_grid" => "thread_in_grid",
        "threadgroup_position_in_grid" => "group_in_grid",
        "thread_position_in_threadgroup" => "thread_in_group",
        "thread_index_in_threadgroup" => "index_in_group",
        "simdgroup_index_in_threadgroup" => "simdgroup",
        "thread_index_in_simdgroup" => "lane",
        other => return Err(format!("the host knows no kernel parameter `{other}`")),
    };
    Ok(format!("{{rigel::kind::{kind}, 0}}"))
}
