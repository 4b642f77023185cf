//! Which tolerance should a test of a product have, from the arithmetic that computes it?

use super::models;
use super::records::{Form, Records};
use super::table::Table;
use crate::args::ExplainArgs;
use crate::exit::{Exit, failure};
use crate::terminal::tell;
use rigel_numerics::arithmetic::tolerance::{Bound, Measured, bound, measure};
use rigel_numerics::arithmetic::{Distribution, library};

/// Dot products on which the error is measured.
const MEASURED: u64 = 20_000;
/// Products in all: long rows get fewer dot products.
const PRODUCTS: u64 = 20_000_000;
/// Seed of the inputs.
const SEED: u64 = 1;

/// Prints bound and error for every K.
pub fn tolerance(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let what = args.run.display().to_string();
    let named = models::find(&what)?;
    let distribution = distribution(&args.inputs)?;
    let plain = plain_chain(&named.model.triple);
    let mut lines = Vec::new();
    for &k in &args.k {
        let refused = |e| failure(Exit::Usage, format!("{what} at K = {k}: {e}"));
        let count = MEASURED.min(PRODUCTS / k.max(1) as u64).max(100);
        let limit = bound(&named.model, k).map_err(refused)?;
        let own = measure(&named.model, k, distribution, SEED, count).map_err(refused)?;
        let chain = plain.as_ref().and_then(|model| measure(model, k, distribution, SEED, count).ok().flatten());
        lines.push((k, limit, own, chain));
    }
    match Form::of(args.format) {
        None => table(&lines)?,
        Some(form) => records(&named.about.name, &args.inputs, &lines, form)?,
    }
    tell!("model: {} ({})", named.about.name, named.about.validation);
    tell!("bound: |d - sum| is at most this times the sum of |a·b| (derived), unless:");
    for unless in lines.first().map(|(_, limit, ..)| limit.unless.as_slice()).unwrap_or_default() {
        tell!("  {unless}");
    }
    tell!("largest and rms error: of the model itself on inputs drawn {}, c = 0, seed {SEED} (simulated)", args.inputs);
    Ok(Exit::Fine)
}

type Line = (usize, Bound, Option<Measured>, Option<Measured>);

fn distribution(name: &str) -> anyhow::Result<Distribution> {
    let known = |d: &Distribution| rigel_ledger::rows::name_of(d);
    Distribution::ALL.into_iter().find(|d| known(d) == name).ok_or_else(|| {
        let all = Distribution::ALL.iter().map(known).collect::<Vec<_>>().join(", ");
        failure(Exit::Usage, format!("--inputs {name}; allowed: {all}"))
    })
}

/// The chain of f32 multiply-adds over the same operands, which a user would compare with.
fn plain_chain(triple: &rigel_numerics::Triple) -> Option<rigel_numerics::arithmetic::Model> {
    let chain = &library().iter().find(|p| p.name == "f32 fma ascending")?.model;
    let mut model = chain.clone();
    (model.triple.a, model.triple.b) = (triple.a, triple.b);
    (!triple.is_integer()).then_some(model).filter(|model| model.check().is_ok())
}

fn table(lines: &[Line]) -> anyhow::Result<()> {
    let mut table =
        Table::new(&["K", "bound", "largest error", "rms error", "f32 chain's rms", "error ratio", "dot products"]);
    for (k, limit, own, chain) in lines {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |v| format!("{v:.2e}"));
        table.row([
            k.to_string(),
            format!("{:.2e}", limit.relative),
            number(own.map(|m| m.most)),
            number(own.map(|m| m.rms)),
            number(chain.map(|m| m.rms)),
            ratio(own, chain).map_or("-".to_owned(), |r| format!("{r:.1}")),
            own.map_or("0".to_owned(), |m| m.count.to_string()),
        ]);
    }
    table.print()
}

fn ratio(own: &Option<Measured>, chain: &Option<Measured>) -> Option<f64> {
    own.zip(*chain).filter(|(_, chain)| chain.rms > 0.0).map(|(own, chain)| own.rms / chain.rms)
}

fn records(name: &str, inputs: &str, lines: &[Line], form: Form) -> anyhow::Result<()> {
    let mut records = Records::new([
        "kind",
        "model",
        "inputs",
        "k",
        "bound",
        "error_most",
        "error_rms",
        "chain_error_rms",
        "error_ratio",
        "count",
    ]);
    for (k, limit, own, chain) in lines {
        records.row([
            "simulated".into(),
            name.into(),
            inputs.into(),
            (*k).into(),
            limit.relative.into(),
            own.map(|m| m.most).into(),
            own.map(|m| m.rms).into(),
            chain.map(|m| m.rms).into(),
            ratio(own, chain).into(),
            own.map(|m| m.count).into(),
        ]);
    }
    records.print(form)
}
