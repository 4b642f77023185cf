//! How are the figures of a run redrawn?

use super::writing::put;
use crate::args::FiguresArgs;
use crate::exit::Exit;

/// Writes every figure, or checks that every file there is what would be written.
pub fn figures(args: &FiguresArgs) -> anyhow::Result<Exit> {
    let run = super::opening::open(&args.run)?;
    let out = args.out.clone().unwrap_or_else(|| args.run.join("figures"));
    let mut same = true;
    super::report::with_source(&run, |source| {
        for figure in rigel_report::figures(source) {
            same &= put(&out.join(figure.name), figure.svg.as_bytes(), args.check)?;
        }
        Ok(())
    })?;
    Ok(if same { Exit::Fine } else { Exit::CheckFailed })
}
