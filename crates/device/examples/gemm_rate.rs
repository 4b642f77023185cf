//! How long does one product take, asked for line by line, so that another program can alternate with its own?
//!
//! ```text
//! product PATH TRIPLE EXTENT    one product of EXTENT³ on a path of the device `cpu`, into an output that exists
//! reference TRIPLE EXTENT       both float64 sums of EXTENT³, decoding and the allocation of the outputs included
//! ```
//!
//! Every line of input is answered by one line: whole nanoseconds, or `absent: REASON`. The first request for a product also
//! makes its operands, compiles it and runs it once before the timed run. The asker is
//! `integrations/python/against_openblas.py`.

use rigel_device::{Cache, Device, Gemm, GemmSpec, cpu::Cpu};
use rigel_numerics::reference::reference;
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

/// What a request names, ready to run.
enum Ready {
    Product(Box<dyn Gemm>),
    Reference(Triple, Box<[Matrix; 2]>),
}

impl Ready {
    fn nanoseconds(&mut self) -> Result<u128, String> {
        match self {
            Ready::Product(gemm) => {
                let samples = gemm.run(1, Cache::Warm).map_err(|fault| fault.to_string())?;
                let sample = samples.first().ok_or("the device returned no sample")?;
                Ok((sample.time.seconds() * 1e9).round() as u128)
            }
            Ready::Reference(triple, operands) => {
                let [a, b] = &**operands;
                let start = Instant::now();
                let sums = reference(*triple, a, b).map_err(|error| error.to_string())?;
                let time = start.elapsed().as_nanos();
                black_box(sums);
                Ok(time)
            }
        }
    }
}

fn prepare(cpu: &mut Cpu, request: &str) -> Result<Ready, String> {
    let words: Vec<&str> = request.split_whitespace().collect();
    let (path, triple, extent) = match words[..] {
        ["product", path, triple, extent] => (Some(path), triple, extent),
        ["reference", triple, extent] => (None, triple, extent),
        _ => return Err(format!("`{request}` is neither `product PATH TRIPLE EXTENT` nor `reference TRIPLE EXTENT`")),
    };
    let triple: Triple = triple.parse().map_err(|error| format!("{error}"))?;
    let extent = extent.parse().ok().filter(|extent| (1..=Shape::MAX).contains(extent));
    let shape = Shape::cube(extent.ok_or_else(|| format!("`{request}`: an extent lies in 1..={}", Shape::MAX))?);
    let operands = || {
        let a = Recipe::NearNormal.matrix(triple.a, 1, Operand::A, shape.m, shape.k);
        [a, Recipe::NearNormal.matrix(triple.b, 1, Operand::B, shape.k, shape.n)]
    };
    let mut ready = match path {
        None => Ready::Reference(triple, Box::new(operands())),
        Some(path) => {
            let offers = cpu.offers();
            let offer = offers.iter().find(|offer| offer.path == path && offer.triple == triple);
            let offer = offer.ok_or_else(|| format!("no path `{path}` of {triple} is offered"))?;
            if !offer.absent.is_empty() {
                return Err(offer.absent.clone());
            }
            let tile = cpu.tiles(path, triple).into_iter().next().ok_or("the path has no launch tile")?;
            let spec = GemmSpec { path: path.to_owned(), triple, shape, tile };
            let mut gemm = cpu.compile(&spec).map_err(|refusal| refusal.to_string())?;
            gemm.load().map_err(|refusal| refusal.to_string())?;
            let [a, b] = operands();
            gemm.bind(&a, &b).map_err(|fault| fault.to_string())?;
            Ready::Product(gemm)
        }
    };
    ready.nanoseconds()?;
    Ok(ready)
}

fn main() -> std::io::Result<()> {
    let mut cpu = Cpu::new();
    let mut known: HashMap<String, Result<Ready, String>> = HashMap::new();
    let mut output = std::io::stdout().lock();
    for request in std::io::stdin().lock().lines() {
        let request = request?;
        let ready = known.entry(request.clone()).or_insert_with(|| prepare(&mut cpu, &request));
        match ready.as_mut().map_err(|reason| reason.clone()).and_then(Ready::nanoseconds) {
            Ok(time) => writeln!(output, "{time}")?,
            Err(reason) => writeln!(output, "absent: {}", reason.replace('\n', " "))?,
        }
        output.flush()?;
    }
    Ok(())
}
