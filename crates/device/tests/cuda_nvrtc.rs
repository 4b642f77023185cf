//! Does every kernel in CUDA C++ compile for the targets that it declares, without a warning that changes what it is, and is it refused
//! in known words for the others?
//!
//! NVRTC is found as the backend finds it: by the loader, or in a folder of RIGEL_CUDA_LIBRARIES such as `nvidia/cu13/lib` below the place
//! into which the PyPI package `nvidia-cuda-nvrtc` was installed. Without it these tests say that they were skipped.

use rayon::prelude::*;
use rigel_device::cuda::loops::variants;
use rigel_device::cuda::offers::triples;
use rigel_device::cuda::path::{Declared, Path};
use rigel_device::cuda::source::{self, Finish, Source};
use rigel_device::cuda::target::Target;
use rigel_device::cuda::tile::tiles;
use rigel_device::cuda::wgmma::Wgmma;
use rigel_device::cuda::{attention, attention_source};
use rigel_device::cuda::{libraries, nvrtc, wgmma_unit};
use rigel_numerics::Format;
use rigel_numerics::epilogue::Activation;

/// Ampere, Ada, Hopper, and two of Blackwell, with the bytes of shared memory that a block may take there.
const TARGETS: [(Target, usize); 5] = [
    (Target(80), 166_912),
    (Target(89), 101_376),
    (Target(90), 232_448),
    (Target(100), 232_448),
    (Target(120), 101_376),
];

fn here() -> bool {
    let found = libraries::nvrtc();
    if let Err(why) = &found {
        println!("skipped, so no kernel was compiled: {why}");
    }
    found.is_ok()
}

/// Kernels of every path and triple, with the shared memory of a target: for Hopper, of which there are rows, every launch tile and the
/// loop of most parallelism; for others one tile. Those that have no room there are left out.
fn sources(target: Target, shared_bytes: usize) -> Vec<Source> {
    let mut all = Vec::new();
    for path in Path::ALL.into_iter().filter(|path| *path != Path::CublasLt) {
        // Kernels of block-scaled triples have the text of bf16's.
        for &triple in triples(path).iter().filter(|triple| source::multiplied(**triple) == **triple) {
            let tiles = tiles(path, triple);
            let tiles = if target == Target(90) { tiles } else { &tiles[tiles.len() - 1..] };
            let of = |tile: &_, finish| source::gemm(path, triple, *tile, shared_bytes, finish).ok();
            all.extend(tiles.iter().filter_map(|tile| of(tile, Finish::Plain)));
            let finishes =
                [Finish::Bias, Finish::Activated(Activation::GeluTanh), Finish::Activated(Activation::GeluErf)];
            let wanted = source::finishes(path, triple) && matches!(triple.a, Format::F16 | Format::E4m3);
            let finished = finishes.into_iter().filter(|_| wanted);
            all.extend(finished.flat_map(|finish| tiles.iter().filter_map(move |tile| of(tile, finish))));
            let last = variants(path, triple).into_iter().next_back().filter(|_| target == Target(90));
            all.extend(last.map(|v| v.source(path, triple).unwrap()));
        }
    }
    if target == Target(90) {
        // Four forms a triple: every fifth has each form and types of each width.
        let some = |of: &[Wgmma]| of.iter().step_by(5).map(source::wgmma_unit).collect::<Vec<_>>();
        all.extend(some(&wgmma_unit::all()));
    }
    all.extend(Activation::ALL.map(source::activate));
    all.extend(Format::SCALED.into_iter().filter_map(source::dequantise));
    for (path, columns) in Path::ALL.into_iter().flat_map(|path| [64, 128].map(|columns| (path, columns))) {
        let of = |tile: &&str| {
            let tile = tile.parse().unwrap();
            let fits = attention_source::shared(path, tile, columns) <= shared_bytes;
            attention_source::fused(path, tile, columns).ok().filter(|_| fits)
        };
        all.extend(attention::tiles(path, attention::TRIPLE, true).iter().filter_map(of));
    }
    all.extend([256, 512, 8192].map(|keys| attention_source::weights(64, keys)));
    all
}

#[test]
fn kernels_compile_for_their_targets_and_say_nothing_that_matters() {
    if !here() {
        return;
    }
    let jobs: Vec<(Source, Target)> = TARGETS
        .iter()
        .flat_map(|&(target, shared)| sources(target, shared).into_iter().map(move |s| (s, target)))
        .collect();
    let wrong: Vec<String> = jobs
        .par_iter()
        .filter_map(|(source, target)| {
            let architecture = source.targets.compiled_for(*target).ok()?;
            match nvrtc::compile(source, &architecture) {
                Err(refusal) => Some(refusal.to_string()),
                Ok(cubin) if !cubin.log.contains("registers") => {
                    Some(format!("{} for {architecture}: the log tells no registers: {}", source.name, cubin.log))
                }
                Ok(cubin) => spills(&cubin.log)
                    .filter(|bytes| *bytes > 0 && *target == Target(90))
                    .map(|bytes| format!("{} for {architecture}: {bytes} bytes of registers spilled", source.name)),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}

/// Bytes of spilled stores in an assembler's log.
fn spills(log: &str) -> Option<u64> {
    log.split(" bytes spill stores").next()?.rsplit(' ').next()?.parse().ok()
}

#[test]
fn other_targets_refuse_in_known_words() {
    if !here() {
        return;
    }
    let mut refused = 0;
    for (target, shared) in TARGETS {
        for source in sources(target, shared) {
            let (words, known) = match (source.targets, source.targets.compiled_for(target)) {
                (_, Ok(_)) => continue,
                (Declared::Only(_), Err(why)) => (why, ("sm_90a alone", "wgmma")),
                (Declared::From(first), Err(why)) => {
                    (why, ("and later", if first == Target(89) { "sm_89" } else { "sm_90" }))
                }
            };
            assert!(words.contains(known.0), "{words}");
            let said = nvrtc::compile(&source, &target.to_string()).map(|_| ()).unwrap_err().to_string();
            assert!(said.contains(known.1), "{} for {target}: refused in other words: {said}", source.name);
            refused += 1;
        }
    }
    assert!(refused > 0);
}
