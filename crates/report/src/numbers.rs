//! How are numbers printed, so that every machine prints the same bytes?
//!
//! Only IEEE basic operations are used: `log10`, `powf` and their kind differ between platforms in the last place.

use rigel_numerics::random::{GOLDEN, mix};

/// Base-2 logarithm from basic operations only; accurate to about 1e-15 for normal positive numbers.
///
/// Misleads for zero, negative and non-finite values: the result is then a large negative number or 0, so callers
/// filter first.
pub fn log2(x: f64) -> f64 {
    if x <= 0.0 || x.is_nan() {
        return -1074.0;
    }
    let scaled = if x < f64::MIN_POSITIVE { x * 18_014_398_509_481_984.0 } else { x };
    let bits = scaled.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1023 - if x < f64::MIN_POSITIVE { 54 } else { 0 };
    let mut mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | 0x3ff0_0000_0000_0000);
    let mut whole = f64::from(exponent);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        whole += 1.0;
    }
    let z = (mantissa - 1.0) / (mantissa + 1.0);
    let square = z * z;
    let (mut term, mut sum, mut n) = (z, 0.0, 1.0);
    while n < 40.0 {
        sum += term / n;
        term *= square;
        n += 2.0;
    }
    whole + 2.0 * sum * std::f64::consts::LOG2_E
}

/// 10 to a whole power, correctly rounded.
pub fn power_of_ten(n: i32) -> f64 {
    format!("1e{n}").parse().unwrap_or(f64::NAN)
}

/// The largest whole d with 10^d ≤ |x|, for finite x ≠ 0.
pub fn decade(x: f64) -> i32 {
    let x = x.abs();
    let mut d = (log2(x) * std::f64::consts::LOG10_2) as i32 - 1;
    while d < 308 && power_of_ten(d + 1) <= x {
        d += 1;
    }
    while d > -323 && power_of_ten(d) > x {
        d -= 1;
    }
    d
}

/// The words of modes with each time as `show` says it: `177 at 2626729 ns (3691 MHz)` becomes `177 at 2.63 ms (3691 MHz)`.
pub fn times_shown(words: &str, show: impl Fn(f64) -> String) -> String {
    let mut out: Vec<String> = Vec::new();
    for word in words.split(' ') {
        let end = word.strip_prefix("ns");
        let ns = out.last().filter(|_| end.is_some()).and_then(|number| number.parse::<f64>().ok());
        match (ns, end) {
            (Some(ns), Some(end)) if ns > 0.0 => {
                out.pop();
                out.push(format!("{}{end}", show(ns)));
            }
            _ => out.push(word.to_owned()),
        }
    }
    out.join(" ")
}

/// With exactly `decimals` decimals, never `-0`.
pub fn fixed(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$}");
    if text.starts_with('-') && text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.')) {
        text[1..].to_owned()
    } else {
        text
    }
}

/// A coordinate of a drawing: at most two decimals, no trailing zeros.
pub fn coordinate(x: f64) -> String {
    let text = fixed(if x.is_finite() { x } else { 0.0 }, 2);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// With `digits` significant digits, trailing zeros kept; whole numbers are not rounded away (`1234`, not `1230`).
/// Below 0.001 and from 10^7 in scientific form (`2.38e-7`).
pub fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".to_owned() } else { x.to_string() };
    }
    let d = decade(x);
    if !(-3..7).contains(&d) {
        return format!("{x:.*e}", digits.saturating_sub(1));
    }
    let decimals = |d: i32| (digits as i32 - 1 - d).max(0) as usize;
    let text = fixed(x, decimals(d));
    let rounded: f64 = text.parse().unwrap_or(x);
    if decade(rounded) > d { fixed(x, decimals(d + 1)) } else { text }
}

/// A count with its thousands set apart by narrow no-break spaces.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

/// A count and its noun: `1 cell`, `2 cells`.
pub fn counted(n: usize, noun: &str) -> String {
    counted_as(n, noun, &format!("{noun}s"))
}

/// A count with the noun that goes with one, or with several: `2 processes`.
pub fn counted_as(n: usize, one: &str, several: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { several })
}

/// A unit with a prefix that makes a quantity readable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prefixed {
    /// What one such unit is in base units.
    pub factor: f64,
    /// Its symbol, prefix included.
    pub symbol: &'static str,
}

impl Prefixed {
    /// For rates in operations per second whose largest is `largest`.
    pub fn rate(largest: f64) -> Self {
        let steps = [(1e15, "Pop/s"), (1e12, "Top/s"), (1e9, "Gop/s"), (1e6, "Mop/s"), (1e3, "kop/s"), (1.0, "op/s")];
        let (factor, symbol) = steps.into_iter().find(|(f, _)| largest >= *f).unwrap_or((1.0, "op/s"));
        Prefixed { factor, symbol }
    }

    /// The quantity in this unit, three significant digits, without the symbol.
    pub fn bare(self, x: f64) -> String {
        significant(x / self.factor, 3)
    }
}

/// A rate with the prefix that suits it: `48.1 Gop/s`.
pub fn rate(x: f64) -> String {
    let unit = Prefixed::rate(x.abs());
    format!("{} {}", unit.bare(x), unit.symbol)
}

/// A ratio: two decimals around 1, one from 10 on, three below 0.1.
pub fn ratio(x: f64) -> String {
    let decimals = match x.abs() {
        large if large >= 9.995 => 1,
        small if small < 0.0995 => 3,
        _ => 2,
    };
    fixed(x, decimals)
}

/// A share as per cent, without decimals from 10 % on.
pub fn percent(share: f64) -> String {
    format!("{} %", fixed(share * 100.0, if share.abs() < 0.0995 { 1 } else { 0 }))
}

/// 10^n as people write it: `10⁻⁷`.
pub fn decade_label(n: i32) -> String {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let sign = if n < 0 { "⁻" } else { "" };
    let power: String =
        n.unsigned_abs().to_string().bytes().filter_map(|b| digits.get(usize::from(b - b'0'))).collect();
    format!("10{sign}{power}")
}

/// A number from 0 up to but not including 1 that depends on nothing but the index: the jitter of a strip.
pub fn jitter(index: u64) -> f64 {
    (mix(index.wrapping_add(1).wrapping_mul(GOLDEN)) >> 11) as f64 / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_agrees_with_the_platform() {
        let mut x = 1e-320;
        while x < 1e308 {
            let (ours, platform) = (log2(x), x.log2());
            assert!((ours - platform).abs() <= 1e-12 * platform.abs().max(1.0), "{x}: {ours} against {platform}");
            x *= 1.37;
        }
        for n in -1000..1000 {
            assert_eq!(log2(f64::from(n).exp2()), f64::from(n));
        }
    }

    #[test]
    fn decades_are_exact_at_their_edges() {
        for n in -300..300 {
            let x = power_of_ten(n);
            assert_eq!(decade(x), n);
            assert_eq!(decade(f64::from_bits(x.to_bits() - 1)), n - 1);
        }
    }

    #[test]
    fn digits_are_kept() {
        let cases =
            [(0.0, "0"), (1.0, "1.00"), (9.996, "10.0"), (1234.4, "1234"), (0.01, "0.0100"), (2.38e-7, "2.38e-7")];
        for (x, text) in cases {
            assert_eq!(significant(x, 3), text);
        }
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(12.50), "12.5");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(rate(4.81e10), "48.1 Gop/s");
        assert_eq!([0.012, 0.1, 1.5, 9.996, 11.39].map(ratio), ["0.012", "0.10", "1.50", "10.0", "11.4"]);
        assert_eq!(percent(0.055), "5.5 %");
        assert_eq!(percent(0.97), "97 %");
        assert_eq!(decade_label(-12), "10⁻¹²");
    }

    #[test]
    fn jitter_never_changes() {
        let steps = [0, 1, 2].map(|i| (jitter(i) * 9_007_199_254_740_992.0) as u64);
        assert_eq!(steps, [7_956_156_453_446_585, 3_886_858_653_415_212, 238_094_247_788_840]);
    }

    #[test]
    fn jitter_fills_the_unit_interval() {
        let mut tenths = [0u32; 10];
        for i in 0..10_000 {
            tenths[(jitter(i) * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|&n| (850..1150).contains(&n)), "{tenths:?}");
    }
}
