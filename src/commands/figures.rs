//! How are the figures of a run redrawn?

use crate::args::FiguresArgs;
use crate::exit::Exit;
use anyhow::Context;
use std::path::Path;

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

/// Writes a file, or says whether it holds these bytes already.
pub fn put(path: &Path, bytes: &[u8], check: bool) -> anyhow::Result<bool> {
    if check {
        let there = std::fs::read(path).ok();
        let same = there.as_deref() == Some(bytes);
        if !same {
            let what = if there.is_some() { "differs from what its rows give" } else { "is missing" };
            crate::terminal::tell!("{} {what}; write it again without --check", path.display());
        }
        return Ok(same);
    }
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).with_context(|| format!("cannot make the directory {}", parent.display()))?;
    }
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    crate::terminal::tell!("wrote {}", path.display());
    Ok(true)
}
