//! Do the times jump between two modes, or walk?

use super::shape::Valley;

/// Whether a series, in the order taken, changes between the two modes in jumps.
///
/// Repetitions in different clock states follow each other without anything between. A drift or an autocorrelated noise
/// whose values happen to pile up at two places passes through what lies between them. So the series is followed from
/// one mode's core to the other's (within a quarter of the distance on the inside, a half on the outside, which keeps
/// outliers out): at most one repetition between them is a jump, more is a walk, and jumps must not be fewer. Modes that
/// last are judged after a running median of five, which keeps edges (two values may lie on one) and removes the noise
/// that would look like jumps during a drift; where that shows only one mode, the series itself is judged. A series that
/// changes to the other mode once and stays is judged by that one change.
pub(super) fn jumps(series: &[f64], valley: Valley) -> bool {
    let smooth: Vec<f64> = series.windows(5).map(median_of_five).collect();
    let (jumps, walks) = transitions(&smooth, valley, 3);
    let (jumps, walks) = if jumps + walks > 0 { (jumps, walks) } else { transitions(series, valley, 2) };
    jumps >= walks
}

fn median_of_five(window: &[f64]) -> f64 {
    let mut sorted = [0.0; 5];
    sorted.copy_from_slice(window);
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[2]
}

/// Transitions between cores: over at most `within` places, and over more.
fn transitions(series: &[f64], Valley { low, high, .. }: Valley, within: usize) -> (usize, usize) {
    let distance = high - low;
    let core = |v: f64| {
        if (low - distance / 2.0..=low + distance / 4.0).contains(&v) {
            Some(false)
        } else if (high - distance / 4.0..=high + distance / 2.0).contains(&v) {
            Some(true)
        } else {
            None
        }
    };
    let (mut jumps, mut walks) = (0, 0);
    let mut last: Option<(bool, usize)> = None;
    for (index, side) in series.iter().enumerate().filter_map(|(i, &v)| Some((i, core(v)?))) {
        match last {
            Some((before, at)) if before != side && index - at <= within => jumps += 1,
            Some((before, _)) if before != side => walks += 1,
            _ => {}
        }
        last = Some((side, index));
    }
    (jumps, walks)
}
