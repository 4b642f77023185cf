//! What may be typed after `rigel calibrate`?

use super::{Format, devices, seed};
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// `rigel calibrate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel calibrate                              every family, 200 devices of each kind
  rigel calibrate clocks --devices 1000        one family, larger
  rigel calibrate arithmetic --devices 20      some minutes: how often is an `exact` model wrong?
  rigel calibrate --devices 1000 --out data/sim/calibration
  rigel calibrate --from data/sim/calibration --readme README.md
                                               renew a README's table from the files alone

Devices are simulated: software with a planted truth. Ctrl-C finishes the devices in hand and keeps what is there.

A limit is kept (yes) or not (no) when the whole 95 % interval of the share says so, else undecided: with 60 devices not \
even 0 of 60 shows a rate below 2.5 %. Exit code 1 when a limit is not kept, 130 when interrupted.")]
pub struct CalibrateArgs {
    /// What to check: clocks (clock states), verdicts, arithmetic (models of units), layout (which lane holds what),
    /// conversions (of single codes) [default: all].
    pub families: Vec<String>,
    /// Planted devices: of each kind for clocks and verdicts, in all for the others.
    #[arg(long, default_value_t = 200, env = "RIGEL_DEVICES", value_parser = devices)]
    pub devices: u32,
    /// Fresh dot products on which a recovered arithmetic is validated. With fewer than a run asks (1000000) more wrong models pass.
    #[arg(long, default_value_t = 1_000_000, env = "RIGEL_VALIDATION", value_name = "N")]
    pub validation: u64,
    /// Seed of the planted facts.
    #[arg(long, default_value_t = 1, env = "RIGEL_SEED", value_parser = seed)]
    pub seed: u64,
    /// Also keep the lines and every device in this directory; one that holds a calibration is left as it is.
    #[arg(short, long, env = "RIGEL_OUT", value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Fail only where something happened that must never happen; shares of recovered devices below their limit are shown.
    #[arg(long)]
    pub allow_misses: bool,
    /// Plant nothing: read a directory that `--out` made.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["families", "out"])]
    pub from: Option<PathBuf>,
    /// With --from: renew the table of this Markdown file, between `<!-- rigel calibration: begin -->` and
    /// `<!-- rigel calibration: end -->`. Without it the table is printed.
    #[arg(long, value_name = "FILE", requires = "from")]
    pub readme: Option<PathBuf>,
    /// With --readme: write nothing; end with code 1 if a byte would change.
    #[arg(long, requires = "readme")]
    pub check: bool,
    /// How to print.
    #[arg(long, value_enum, default_value = "table", env = "RIGEL_FORMAT")]
    pub format: Format,
}
