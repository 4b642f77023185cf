//! What may be typed after `rigel emit`?

use clap::{Args as ClapArgs, Subcommand};
use rigel_numerics::arithmetic::emit::Target as ModelTarget;
use rigel_numerics::layout::emit::Target as LayoutTarget;
use std::path::PathBuf;

/// `rigel emit`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel emit model                                            the models that have a name
  rigel emit model \"hopper mma f16 to f32, floored\" --as python       what that unit computes, to be read and run
  rigel emit model model.json --as c -o model.c                a model of your own
  rigel emit layout                                           the layouts that have a name
  rigel emit layout mma.sync.m16n8k16.f16 --as cuda            index functions for a kernel
  rigel emit metallibs --out libraries                        on a Mac: what each Xcode makes of each language version")]
pub struct EmitArgs {
    /// What to write.
    #[command(subcommand)]
    pub what: EmitWhat,
}

/// What can be written.
#[derive(Debug, Subcommand)]
pub enum EmitWhat {
    /// Write an arithmetic model as data or as a program for it alone; without a name, list the models.
    Model(EmitModelArgs),
    /// Write which lane holds which element; without a name, list the layouts.
    Layout(EmitLayoutArgs),
    /// On a Mac, compile a small kernel ahead of time by every Xcode, in every language version, for every oldest system.
    Metallibs(EmitMetallibsArgs),
}

/// `rigel emit model`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel emit model \"vdpbf16ps\" --as rust > vdpbf16ps.rs && rustc --test vdpbf16ps.rs && ./vdpbf16ps
  rigel emit model \"hopper mma e4m3 to f16, emulated\" --as c -o mma.c && cc -std=c11 -DCHECK mma.c && ./a.out
  rigel emit model runs/mine/models/UNIT-CELL.json --as python | python3

Each program needs nothing but its language, says where its model comes from, and carries inputs with results, which the \
commands above check. Constants are folded; a rule that the model does not have leaves no branch.")]
pub struct EmitModelArgs {
    /// Name of a published model, or some words of one; or a file: a model as JSON, or one of a run's models/*.json.
    pub model: Option<String>,
    /// What to write: json (the data), rust, c (C11) or python.
    #[arg(long = "as", value_name = "LANGUAGE", default_value = "json", value_parser = |text: &str| text.parse::<ModelTarget>())]
    pub target: ModelTarget,
    /// The longest row that the program takes; widths and arrays follow from it.
    #[arg(long, value_name = "K", default_value_t = rigel_numerics::arithmetic::emit::MOST_K)]
    pub most_k: usize,
    /// File [default: standard output].
    #[arg(short, long)]
    pub out: Option<PathBuf>,
}

/// `rigel emit layout`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel emit layout wmma.rdna3.f32.16x16x16.f16 --as f2        bases, rank and kernel
  rigel emit layout runs/mine/layouts/UNIT-CELL.csv --as msl        a recovered layout for a Metal kernel
  rigel emit layout mma.sync.m16n8k16.f16 --as rust --function my_mma

An index function takes a lane and a slot and gives the row and column, or says that the slot is unused. A recovered \
layout is valid for one driver and toolchain.")]
pub struct EmitLayoutArgs {
    /// Name of a published layout, or some words of one; or a file of CSV: operand,lane,slot,row,column.
    pub layout: Option<String>,
    /// What to write: msl, cuda, rust, csv, cute or f2.
    #[arg(long = "as", value_name = "LANGUAGE", default_value = "csv", value_parser = |text: &str| text.parse::<LayoutTarget>())]
    pub target: LayoutTarget,
    /// Name of the index functions, before _a, _b and _c [default: made from the layout's].
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// File [default: standard output].
    #[arg(short, long)]
    pub out: Option<PathBuf>,
}

/// `rigel emit metallibs`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  rigel emit metallibs --out libraries
  rigel emit metallibs --xcode /Applications/Xcode-26.5.app --xcode /Applications/Xcode-27.app --out libraries
  rigel devices --device metal --rules --libraries libraries/*.metallib      on this Mac, or on one with another system

Refusals are kept word for word in libraries/metallibs.csv, beside what each library says of itself. Take the folder to a \
Mac with another system to see what loads there; rigel run --libraries keeps the answers in a run.")]
pub struct EmitMetallibsArgs {
    /// An Xcode, or its developer folder; may be given more than once [default: $DEVELOPER_DIR and /Applications/Xcode*.app].
    #[arg(long, value_name = "FOLDER")]
    pub xcode: Vec<PathBuf>,
    /// Folder for the libraries and their table.
    #[arg(short, long)]
    pub out: PathBuf,
    /// The program that finds developer tools.
    #[arg(long, default_value = "xcrun", hide = true)]
    pub xcrun: PathBuf,
}
