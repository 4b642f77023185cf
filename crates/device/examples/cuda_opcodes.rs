//! Which machine instructions does each kernel of a path and triple hold?
//!
//! Kernels are compiled by NVRTC for the target, no GPU is needed, and disassembled by NVIDIA's `nvdisasm` (PyPI package
//! `nvidia-cuda-nvdisasm`). Written are, for the ceiling loop of most parallelism, the product with its first launch tile and every fused attention, the
//! instructions that multiply, convert or go with that, with how often they stand in the text: evidence of what a path really issues, not of how
//! often it runs.
//!
//!     cargo run --release -p rigel-device --example cuda_opcodes -- NVDISASM [sm_90 [chains]] > opcodes.csv

use rigel_device::cuda::loops::{Variant, variants};
use rigel_device::cuda::nvrtc;
use rigel_device::cuda::offers::triples;
use rigel_device::cuda::path::Path;
use rigel_device::cuda::source::{self, Finish, Source};
use rigel_device::cuda::target::Target;
use rigel_device::cuda::tile::tiles;
use rigel_device::cuda::{attention, attention_source};
use rigel_numerics::Triple;
use std::collections::BTreeMap;
use std::process::Command;

/// Beginnings of the instructions that multiply, of those that convert, and of those that an emulated product takes besides.
const TOLD: [&str; 18] = [
    "HGMMA", "QGMMA", "IGMMA", "HMMA", "QMMA", "IMMA", "DMMA", "FFMA", "DFMA", "HFMA2", "IMAD", "F2FP", "F2F", "HADD2",
    "I2F", "FADD", "MOV", "NOP",
];

/// Bytes of shared memory that a block may take on sm_90.
const SHARED: usize = 232_448;

fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let nvdisasm = arguments.next().ok_or("usage: cuda_opcodes NVDISASM [sm_90 [chains]]")?;
    let number = arguments.next().unwrap_or_else(|| "sm_90".into());
    let target: u32 = number.trim_start_matches("sm_").parse().map_err(|e| format!("{number}: {e}"))?;
    let target = Target(target);
    let only_chains = match arguments.next().as_deref() {
        None => false,
        Some("chains") => true,
        Some(other) => return Err(format!("`{other}` is no third argument: `chains`, or none for all kernels")),
    };
    println!("path,triple,kernel,architecture,opcode,count");
    chains(target, &nvdisasm)?;
    if only_chains {
        return Ok(());
    }
    for path in Path::ALL {
        for &triple in triples(path) {
            let product = tiles(path, triple)
                .first()
                .and_then(|tile| source::gemm(path, triple, *tile, SHARED, Finish::Plain).ok());
            let ceiling = variants(path, triple).pop().and_then(|variant| variant.source(path, triple).ok());
            for (kernel, source) in [("ceiling", ceiling), ("product", product)] {
                let Some(source) = source else { continue };
                let Ok(architecture) = source.targets.compiled_for(target) else { continue };
                for (opcode, count) in opcodes(&source, &architecture, &nvdisasm)? {
                    println!("{path},\"{triple}\",{kernel},{architecture},{opcode},{count}");
                }
            }
        }
    }
    for (path, columns) in Path::ALL.into_iter().flat_map(|path| [64, 128].map(|columns| (path, columns))) {
        for tile in attention::tiles(path, attention::TRIPLE, true) {
            let of = |tile| attention_source::fused(path, tile, columns).ok();
            let Some(source) = tile.parse().ok().and_then(of) else { continue };
            let Ok(architecture) = source.targets.compiled_for(target) else { continue };
            for (opcode, count) in opcodes(&source, &architecture, &nvdisasm)? {
                let triple = attention::TRIPLE;
                println!("{path},\"{triple}\",attention {tile} of {columns} columns,{architecture},{opcode},{count}");
            }
        }
    }
    Ok(())
}

/// Why a loop of emulated products moves with the number of its chains.
fn chains(target: Target, nvdisasm: &str) -> Result<(), String> {
    for triple in ["e4m3,e4m3->f32", "e5m2,e5m2->f32"] {
        let triple: Triple = triple.parse().map_err(|e| format!("{triple}: {e}"))?;
        for chains in 4..=8 {
            let source = Variant { chains, warps: 16 }.source(Path::MmaSync, triple)?;
            let Ok(architecture) = source.targets.compiled_for(target) else { continue };
            for (opcode, count) in opcodes(&source, &architecture, nvdisasm)? {
                println!("{},\"{triple}\",ceiling of {chains} chains,{architecture},{opcode},{count}", Path::MmaSync);
            }
        }
    }
    Ok(())
}

/// The instructions of a kernel by name.
fn opcodes(source: &Source, architecture: &str, nvdisasm: &str) -> Result<BTreeMap<String, usize>, String> {
    let cubin = nvrtc::compile(source, architecture).map_err(|e| e.to_string())?;
    let file = std::env::temp_dir().join(format!("rigel-opcodes-{}.cubin", std::process::id()));
    std::fs::write(&file, &cubin.bytes).map_err(|e| e.to_string())?;
    let output = Command::new(nvdisasm).args(["-c", "-hex"]).arg(&file).output();
    let _ = std::fs::remove_file(&file);
    let output = output.map_err(|e| format!("{nvdisasm}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{nvdisasm}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut counts = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // `        /*0a30*/                   HGMMA.64x128x16.F32 R24, …`, a predicate such as `@!P0` may stand before the name.
        let Some((_, rest)) = line.split_once("*/") else { continue };
        let name = rest.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or_default();
        let name = name.trim_end_matches(';');
        if TOLD.iter().any(|told| name.starts_with(told)) {
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    Ok(counts)
}
