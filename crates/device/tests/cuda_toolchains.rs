//! Does every NVRTC at hand compile the kernels of `versions` and `alignment`, and are its refusals of targets in known words?
//!
//! NVRTC is found as the backend finds it; with several folders in RIGEL_CUDA_LIBRARIES several versions take part. Without one these
//! tests say that they were skipped.

use rayon::prelude::*;
use rigel_device::cuda::nvrtc;
use rigel_device::cuda::path::Path;
use rigel_device::cuda::placed::{self, Loads};
use rigel_device::cuda::source::{self, Finish, Source};
use rigel_device::cuda::target::Target;
use rigel_device::cuda::tile::tiles;
use rigel_device::cuda::toolchain::{Into, Toolchain, all, compile, compilers};
use rigel_numerics::placement::{Placement, Stride};
use rigel_numerics::{Format, Shape, Triple};

const HALF: Triple = Triple::new(Format::F16, Format::F16, Format::F32);
const NARROW: Triple = Triple::new(Format::E4m3, Format::E4m3, Format::F32);
const SHARED: usize = 232_448;

fn here() -> bool {
    let found = !compilers().is_empty();
    if !found {
        println!("skipped, so no toolchain was tried: no NVRTC is here");
    }
    found
}

fn smallest(path: Path, triple: Triple) -> Source {
    let tile = *tiles(path, triple).last().unwrap();
    source::gemm(path, triple, tile, SHARED, Finish::Plain).unwrap()
}

#[test]
fn each_compiler_takes_and_refuses_targets_as_its_version_tells() {
    if !here() {
        return;
    }
    let toolchains = all(Target(90));
    for compiler in compilers() {
        let own = toolchains.iter().filter(|toolchain| toolchain.compiler == compiler.version);
        assert!(own.count() >= 12, "{:?}", compiler.version);
    }
    let plain = toolchains.iter().filter(|toolchain| !matches!(toolchain.into, Into::Ptx(Some(_))));
    let jobs: Vec<(&Toolchain, Path)> = plain.flat_map(|t| [(t, Path::Tiled), (t, Path::Wgmma)]).collect();
    let wrong: Vec<String> = jobs
        .par_iter()
        .filter_map(|&(toolchain, path)| {
            let made = compile(&smallest(path, HALF), toolchain);
            let code = toolchain.into == Into::Code;
            // 12.8 was the first that knows sm_100a, and PTX is not assembled before the driver sees it.
            let knows = toolchain.compiler >= (12, 8) || !toolchain.target.starts_with('1');
            let fits = path == Path::Tiled || toolchain.target == "90a" || !code;
            let fine = match &made {
                Ok(made) => {
                    let (major, minor) = toolchain.compiler;
                    let head = format!("NVRTC {major}.{minor}, PTX ");
                    let form =
                        if code { made.cubin.bytes.starts_with(b"\x7fELF") } else { made.cubin.bytes.ends_with(&[0]) };
                    knows
                        && fits
                        && form
                        && made.took.starts_with(&head)
                        && made.took.contains(&format!("for sm_{}", toolchain.target))
                }
                Err(said) if !knows => said.contains("invalid value for --gpu-architecture"),
                Err(said) => !fits && said.contains("not supported on .target"),
            };
            (!fine).then(|| format!("{toolchain} {path}: {:?}", made.map(|made| made.took)))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), jobs.len(), wrong.join("\n"));
}

#[test]
fn another_version_of_ptx_stands_at_the_head_and_nowhere_else() {
    if !here() {
        return;
    }
    let source = smallest(Path::MmaSync, NARROW);
    let newest = compilers()[0].version;
    let text = |into| {
        let toolchain = Toolchain { compiler: newest, target: "90a".into(), into };
        String::from_utf8(compile(&source, &toolchain).unwrap().cubin.bytes).unwrap()
    };
    let plain = text(Into::Ptx(None));
    for toolchain in all(Target(90)) {
        if let Into::Ptx(Some(version)) = toolchain.into {
            let other = text(toolchain.into);
            assert!(other.contains(&format!("\n.version {version}\n")), "{toolchain}");
            let differ = plain.lines().zip(other.lines()).filter(|(a, b)| a != b).count();
            assert!(differ <= 1 && plain.lines().count() == other.lines().count(), "{toolchain}");
        }
    }
    let absent = Toolchain { compiler: (1, 0), target: "90".into(), into: Into::Code };
    assert!(compile(&source, &absent).unwrap_err().contains("no NVRTC 1.0 here"));
}

#[test]
fn every_way_of_loading_compiles_without_spills() {
    if !here() {
        return;
    }
    let place = Placement { offset: 8, stride: Stride::Plus(8) };
    let plain = Triple::new(Format::F32, Format::F32, Format::F32);
    let jobs: Vec<(Path, Triple, placed::Way)> = [HALF, NARROW, plain]
        .into_iter()
        .flat_map(|triple| Path::ALL.into_iter().map(move |path| (path, triple)))
        .flat_map(|(path, triple)| placed::ways(path, triple).into_iter().map(move |way| (path, triple, way)))
        .filter(|(.., way)| !matches!(way.loads, Loads::Library { .. }))
        .collect();
    assert!(jobs.len() > 10, "{}", jobs.len());
    let wrong: Vec<String> = jobs
        .par_iter()
        .filter(|(path, triple, _)| rigel_device::cuda::offers::triples(*path).contains(triple))
        .filter_map(|&(path, triple, way)| {
            let (source, _) = placed::source(path, triple, Shape::cube(256), way, place, SHARED).unwrap();
            let architecture = source.targets.compiled_for(Target(90)).unwrap();
            match nvrtc::compile(&source, &architecture) {
                Ok(cubin) if cubin.log.contains(" 0 bytes spill stores") => None,
                other => Some(format!("{}: {:?}", source.name, other.map(|cubin| cubin.log))),
            }
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
