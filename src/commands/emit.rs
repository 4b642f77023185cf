//! How does a model or a layout leave as code?

use super::models;
use super::table::Table;
use crate::args::{EmitArgs, EmitLayoutArgs, EmitModelArgs, EmitWhat};
use crate::exit::{Exit, failure};
use rigel_ledger::rows::name_of;
use rigel_numerics::arithmetic::{emit as model_emit, library};
use rigel_numerics::layout::{self, FragmentOperand, emit as layout_emit};
use std::io::Write;
use std::path::Path;

/// Longest layout file that is read, in bytes.
const LARGEST_LAYOUT: u64 = 16 << 20;

/// Writes what was asked for.
pub fn emit(args: &EmitArgs) -> anyhow::Result<Exit> {
    match &args.what {
        EmitWhat::Model(args) => model(args),
        EmitWhat::Layout(args) => layout(args),
        EmitWhat::Metallibs(args) => super::metallibs::emit(args),
    }
}

fn model(args: &EmitModelArgs) -> anyhow::Result<Exit> {
    let Some(what) = &args.model else {
        let mut table = Table::new(&["model", "device", "path", "confidence"]);
        for p in library() {
            table.row([p.name.clone(), p.device.clone(), p.path.clone(), name_of(&p.confidence)]);
        }
        table.print()?;
        return Ok(Exit::Fine);
    };
    let named = models::find(what)?;
    let text = model_emit::model(&named.model, args.target, &named.about, args.most_k).map_err(|e| {
        let why = format!("{what} cannot be written for rows of up to {}: {e}; try another --most-k", args.most_k);
        failure(Exit::Usage, why)
    })?;
    write(args.out.as_deref(), &text)
}

fn layout(args: &EmitLayoutArgs) -> anyhow::Result<Exit> {
    let Some(what) = &args.layout else {
        let mut table = Table::new(&["layout", "operands", "device", "instruction"]);
        for f in layout::fragments() {
            table.row([f.name.clone(), "a b c".to_owned(), String::new(), String::new()]);
        }
        for l in layout::library() {
            table.row([l.name.clone(), l.operand.to_string(), l.device.clone(), l.instruction.clone()]);
        }
        table.print()?;
        return Ok(Exit::Fine);
    };
    let refused = |why: String| failure(Exit::Usage, format!("{what}: {why}"));
    let function = args.function.clone().unwrap_or_else(|| identifier(what));
    let text = if Path::new(what).is_file() {
        let text = super::reading::text(Path::new(what), LARGEST_LAYOUT).map_err(refused)?;
        let shape = layout::csv::least_shape(&text).map_err(|e| refused(e.to_string()))?;
        let fragment = layout::csv::read(&text, shape).map_err(|e| refused(e.to_string()))?;
        layout_emit::fragment(&fragment, args.target, &function)
    } else if let Some(found) = layout::fragments().iter().find(|f| f.name == *what) {
        layout_emit::fragment(&found.fragment, args.target, &function)
    } else if let Some(found) = layout::library().iter().find(|l| l.name == *what) {
        let function = args.function.clone().unwrap_or_else(|| identifier(without_operand(what, found.operand)));
        layout_emit::layout(&found.layout, found.operand, args.target, &function)
    } else {
        return Err(refused("no file and no published layout; `rigel emit layout` lists the layouts".to_owned()));
    };
    write(args.out.as_deref(), &text.map_err(|e| refused(e.to_string()))?)
}

/// A layout's name without the operand at its end: emitted functions have it at theirs.
fn without_operand(name: &str, operand: FragmentOperand) -> &str {
    name.strip_suffix(&format!(".{}", operand.name())).unwrap_or(name)
}

/// The file's or layout's name as an identifier.
fn identifier(name: &str) -> String {
    let stem = if Path::new(name).is_file() { Path::new(name).file_stem() } else { None };
    let name = stem.map_or(name.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

fn write(out: Option<&Path>, text: &str) -> anyhow::Result<Exit> {
    match out {
        Some(path) => super::writing::put(path, text.as_bytes(), false).map(drop)?,
        None => crate::terminal::output().write_all(text.as_bytes())?,
    }
    Ok(Exit::Fine)
}
