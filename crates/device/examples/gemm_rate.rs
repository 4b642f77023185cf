//! How long does one product take, asked for line by line, so that another program can alternate with its own?
//!
//! ```text
//! gemm_rate [DEVICE]
//!
//! product PATH TRIPLE EXTENT [warm|cold [COUNT]]    COUNT products of EXTENT³ on a path of DEVICE (`cpu`), into an output that exists
//! reference TRIPLE EXTENT                           both float64 sums of EXTENT³, decoding and the allocation of the outputs included
//! ```
//!
//! Every line of input is answered by one line: the median in whole nanoseconds, or `absent: REASON`. The first request for a
//! product also makes its operands, compiles it by the device's first launch tile and runs it once before the timed run. Askers
//! are `against_openblas.py` and `against_do_bench.py` in `integrations/python`.

use rigel_device::{Cache, Device, Gemm, GemmSpec, backends};
use rigel_numerics::reference::reference;
use rigel_numerics::{Matrix, Operand, Recipe, Shape, Triple};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

/// What a request names, ready to run.
enum Ready {
    Product { gemm: Box<dyn Gemm>, cache: Cache, count: usize },
    Reference(Triple, Box<[Matrix; 2]>),
}

impl Ready {
    fn nanoseconds(&mut self) -> Result<u128, String> {
        match self {
            Ready::Product { gemm, cache, count } => {
                let samples = gemm.run(*count, *cache).map_err(|fault| fault.to_string())?;
                let mut times: Vec<_> = samples.iter().map(|sample| sample.time).collect();
                times.sort_unstable();
                let middle = |at: usize| times.get(at).map(|time| time.seconds());
                let (low, high) = (middle(times.len().saturating_sub(1) / 2), middle(times.len() / 2));
                let (low, high) = low.zip(high).ok_or("the device returned no sample")?;
                Ok(((low + high) / 2.0 * 1e9).round() as u128)
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

fn prepare(device: &mut dyn Device, request: &str) -> Result<Ready, String> {
    let words: Vec<&str> = request.split_whitespace().collect();
    let (path, triple, extent, how) = match words[..] {
        ["product", path, triple, extent, ref how @ ..] if how.len() <= 2 => (Some(path), triple, extent, how),
        ["reference", triple, extent] => (None, triple, extent, &[][..]),
        _ => {
            let forms = "`product PATH TRIPLE EXTENT [warm|cold [COUNT]]` nor `reference TRIPLE EXTENT`";
            return Err(format!("`{request}` is neither {forms}"));
        }
    };
    let cache = match how.first() {
        None | Some(&"warm") => Cache::Warm,
        Some(&"cold") => Cache::Cold,
        Some(other) => return Err(format!("`{other}` is no cache state: warm, cold")),
    };
    let count = how.get(1).map_or(Ok(1), |count| count.parse());
    let count = count.ok().filter(|count| (1..=10_000).contains(count));
    let count = count.ok_or_else(|| format!("`{request}`: a count lies in 1..=10000"))?;
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
            let offers = device.offers();
            let offer = offers.iter().find(|offer| offer.path == path && offer.triple == triple);
            let offer = offer.ok_or_else(|| format!("no path `{path}` of {triple} is offered"))?;
            if !offer.absent.is_empty() {
                return Err(offer.absent.clone());
            }
            let tile = device.tiles(path, triple).into_iter().next().ok_or("the path has no launch tile")?;
            let spec = GemmSpec { path: path.to_owned(), triple, shape, tile };
            let mut gemm = device.compile(&spec).map_err(|refusal| refusal.to_string())?;
            gemm.load().map_err(|refusal| refusal.to_string())?;
            let [a, b] = operands();
            gemm.bind(&a, &b).map_err(|fault| fault.to_string())?;
            Ready::Product { gemm, cache, count }
        }
    };
    ready.nanoseconds()?;
    Ok(ready)
}

fn main() -> std::io::Result<()> {
    let selector = std::env::args().nth(1).unwrap_or_else(|| "cpu".into());
    let mut device = backends::open(&selector).map_err(std::io::Error::other)?;
    let mut known: HashMap<String, Result<Ready, String>> = HashMap::new();
    let mut output = std::io::stdout().lock();
    for request in std::io::stdin().lock().lines() {
        let request = request?;
        let ready = known.entry(request.clone()).or_insert_with(|| prepare(&mut *device, &request));
        match ready.as_mut().map_err(|reason| reason.clone()).and_then(Ready::nanoseconds) {
            Ok(time) => writeln!(output, "{time}")?,
            Err(reason) => writeln!(output, "absent: {}", reason.replace('\n', " "))?,
        }
        output.flush()?;
    }
    Ok(())
}
