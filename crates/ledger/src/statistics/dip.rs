//! How far is a sample from having one mode?

use rigel_numerics::random::{draw, stream};

/// Hartigan's dip of `sorted` (ascending): the smallest possible greatest distance between the empirical distribution
/// function and any unimodal one (Hartigan & Hartigan, *Ann. Statist.* 13, 1985, doi 10.1214/aos/1176346577).
///
/// Between 1/(2n) (nothing speaks against one mode) and 1/4 (two equal atoms); 0 for no values. Invariant under shift and
/// positive scale. Weak when a mode is small: one that holds a share w cannot raise it above w/2. Ties raise it, so a
/// lattice of timer ticks must be spread first.
///
/// The algorithm narrows a modal interval: inside it the greatest convex minorant and the least concave majorant of the
/// empirical distribution function are drawn, the pair of touch points at which they lie furthest apart bounds the next
/// interval, and what the parts cut off deviate from their convex or concave hull is a lower bound of twice the dip.
pub fn dip(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    if n == 0 {
        return 0.0;
    }
    let spread = sorted[n - 1] - sorted[0];
    if n < 4 || !(spread > 0.0 && spread.is_finite()) {
        return 0.5 / n as f64;
    }
    let hulls = Hulls::new(sorted);
    let (mut low, mut high) = (0, n - 1);
    // In units of 1/n, and of twice the dip.
    let mut deviation = 1.0f64;
    let (mut convex, mut concave) = (Vec::new(), Vec::new());
    loop {
        hulls.convex(low, high, &mut convex);
        hulls.concave(low, high, &mut concave);
        let widest = widest(sorted, &convex, &concave);
        if widest.distance < deviation {
            break;
        }
        let left = convex.windows(2).take_while(|s| s[1] <= widest.low).map(|s| below_data(sorted, s[0], s[1]));
        let right = concave.windows(2).filter(|s| s[0] >= widest.high).map(|s| above_data(sorted, s[0], s[1]));
        deviation = left.chain(right).fold(deviation, f64::max);
        if (low, high) == (widest.low, widest.high) {
            break;
        }
        (low, high) = (widest.low, widest.high);
    }
    deviation / (2 * n) as f64
}

/// For each point, its neighbour on the hull of the points before it (convex) or after it (concave).
struct Hulls {
    before: Vec<usize>,
    after: Vec<usize>,
}

impl Hulls {
    fn new(x: &[f64]) -> Hulls {
        let n = x.len();
        let mut before = vec![0; n];
        for j in 1..n {
            let mut i = j - 1;
            while i > 0 && (x[j] - x[i]) * (i - before[i]) as f64 >= (x[i] - x[before[i]]) * (j - i) as f64 {
                i = before[i];
            }
            before[j] = i;
        }
        let mut after = vec![n - 1; n];
        for j in (0..n - 1).rev() {
            let mut i = j + 1;
            while i < n - 1 && (x[i] - x[j]) * (after[i] - i) as f64 >= (x[after[i]] - x[i]) * (i - j) as f64 {
                i = after[i];
            }
            after[j] = i;
        }
        Hulls { before, after }
    }

    /// Touch points of the greatest convex minorant over low ..= high, ascending.
    fn convex(&self, low: usize, high: usize, out: &mut Vec<usize>) {
        out.clear();
        let mut at = high;
        while at > low {
            out.push(at);
            at = self.before[at];
        }
        out.push(low);
        out.reverse();
    }

    /// Touch points of the least concave majorant over low ..= high, ascending.
    fn concave(&self, low: usize, high: usize, out: &mut Vec<usize>) {
        out.clear();
        let mut at = low;
        while at < high {
            out.push(at);
            at = self.after[at];
        }
        out.push(high);
    }
}

/// Where the two hulls lie furthest apart.
struct Widest {
    distance: f64,
    low: usize,
    high: usize,
}

fn widest(x: &[f64], convex: &[usize], concave: &[usize]) -> Widest {
    let (low, high) = (convex[0], convex[convex.len() - 1]);
    let mut best = Widest { distance: 1.0, low, high };
    if convex.len() == 2 && concave.len() == 2 {
        return best;
    }
    best.distance = 0.0;
    // `v` walks the convex touch points, `w` the concave ones; the smaller index is met first.
    let (mut v, mut w) = (1, 1);
    while v < convex.len() && w < concave.len() {
        let found = if convex[v] > concave[w] {
            let point = concave[w];
            let height = (convex[v - 1], line(x, convex[v - 1], convex[v], point));
            w += 1;
            Widest { distance: (point - height.0) as f64 + 1.0 - height.1, low: height.0, high: point }
        } else {
            let point = convex[v];
            let start = concave[w - 1];
            let distance = line(x, start, concave[w], point) - (point as f64 - start as f64 - 1.0);
            v += 1;
            Widest { distance, low: point, high: concave[w] }
        };
        if found.distance >= best.distance {
            best = found;
        }
    }
    best
}

/// Rise, in counts, from point a to the abscissa of point p on the chord from a to b.
fn line(x: &[f64], a: usize, b: usize, p: usize) -> f64 {
    let run = x[b] - x[a];
    if run > 0.0 { (x[p] - x[a]) * (b as f64 - a as f64) / run } else { 0.0 }
}

/// Greatest height of the distribution function over the chord of a convex hull segment.
fn below_data(x: &[f64], a: usize, b: usize) -> f64 {
    if b - a <= 1 || x[b] <= x[a] {
        return 1.0;
    }
    (a..=b).map(|j| (j - a) as f64 + 1.0 - line(x, a, b, j)).fold(1.0, f64::max)
}

/// Greatest depth of the distribution function under the chord of a concave hull segment.
fn above_data(x: &[f64], a: usize, b: usize) -> f64 {
    if b - a <= 1 || x[b] <= x[a] {
        return 1.0;
    }
    (a..=b).map(|j| line(x, a, b, j) - (j as f64 - a as f64 - 1.0)).fold(1.0, f64::max)
}

/// How rarely a uniform sample exceeds a critical dip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// By one uniform sample in 10.
    OneInTen,
    /// By one uniform sample in 200.
    OneIn200,
}

/// The dip that a uniform sample of size n exceeds as rarely as asked, interpolated over log n in a table that a test makes
/// again; below 16 and above 1024 the ends of the table scale by √n.
pub fn dip_critical(n: usize, exceeded: Exceeded) -> f64 {
    let scaled = |row: &(u32, f64, f64)| match exceeded {
        Exceeded::OneInTen => row.1,
        Exceeded::OneIn200 => row.2,
    };
    let octaves = (n.max(16) as f64 / 16.0).log2().min((CRITICAL.len() - 1) as f64);
    let at = (octaves as usize).min(CRITICAL.len() - 2);
    let (a, b) = (scaled(&CRITICAL[at]), scaled(&CRITICAL[at + 1]));
    (a + (b - a) * (octaves - at as f64)) / (n.max(1) as f64).sqrt()
}

/// n, then √n times the dip that one uniform sample in 10, and one in 200, exceeds.
///
/// Order statistics 90 000 and 99 500 of [`uniform_dips`] (n, 100 000, seed n).
const CRITICAL: [(u32, f64, f64); 7] = [
    (16, 0.4279, 0.5516),
    (32, 0.4487, 0.5882),
    (64, 0.4647, 0.6108),
    (128, 0.4749, 0.6278),
    (256, 0.4832, 0.6424),
    (512, 0.4889, 0.6499),
    (1024, 0.4927, 0.6519),
];

/// Dips of seeded uniform samples of size n, ascending.
///
/// The uniform law is the reference of the test: for large n no unimodal law makes greater dips.
pub fn uniform_dips(n: usize, samples: u32, seed: u64) -> Vec<f64> {
    let mut values = vec![0.0; n];
    let mut dips: Vec<f64> = (0..samples)
        .map(|index| {
            let source = stream(seed, u64::from(index));
            for (draw_index, value) in (0..).zip(&mut values) {
                *value = (draw(source, draw_index) >> 11) as f64;
            }
            values.sort_unstable_by(f64::total_cmp);
            dip(&values)
        })
        .collect();
    dips.sort_unstable_by(f64::total_cmp);
    dips
}
