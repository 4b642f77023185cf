//! What does a run say to what the study published, and does it agree?
//!
//! Fixed rules over facts of the run. A number agrees where its 95 % interval overlaps the published range, and differs where
//! it lies apart; without an interval, or with several modes, nothing is decided. Only a run of an Apple GPU answers at all, and
//! only a measured one of an M4 Max agrees or differs: the study speaks of that chip, and what was planted is no evidence.

use crate::headlines::Headline;
use crate::numbers::{percent, rate, ratio, significant, times_shown};
use crate::reading::{Measure, Reading, Subject, shape_words};
use crate::verdicts::rate_words;
use crate::{study_evidence, study_rails, study_xcodes};
use rigel_ledger::FactRow;
use rigel_ledger::facts::phase_powers;
use rigel_ledger::verdict::word::head;
use rigel_numerics::{Shape, Triple};
use std::fmt;

/// The study's sizes.
const SIZES: [usize; 3] = [512, 1024, 2048];
/// Its repetitions of a cell.
const REPETITIONS: u32 = 300;
/// Its matrix path.
const PATH: &str = "matmul2d";

/// How a run stands to something published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It says the same.
    Agree,
    /// It says something else.
    Differ,
    /// It says something that decides neither, and why.
    Undecided(String),
    /// It says nothing about it, and why.
    NotMeasured(String),
    /// The published row itself is put together from other texts: nothing may agree or differ with it.
    Reconstruction,
}

impl Answer {
    /// The word: `agree`, `differ`, `undecided`, `not measured`, `reconstruction`.
    pub const fn word(&self) -> &'static str {
        match self {
            Answer::Agree => "agree",
            Answer::Differ => "differ",
            Answer::Undecided(_) => "undecided",
            Answer::NotMeasured(_) => "not measured",
            Answer::Reconstruction => "reconstruction",
        }
    }

    /// Why, where a reason belongs to the word.
    pub fn why(&self) -> &str {
        match self {
            Answer::Undecided(why) | Answer::NotMeasured(why) => why,
            _ => "",
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            "" => f.write_str(self.word()),
            why => write!(f, "{}: {why}", self.word()),
        }
    }
}

/// A value of ours in words, empty where there is none, and the answer.
pub(crate) type Ours = (String, Answer);

/// What a run says to a headline.
pub(crate) fn to_headline(headline: &Headline, reading: Option<&Reading<'_>>) -> Ours {
    let Some(reading) = reading else { return not("no run was named") };
    let devices = reading.source.devices();
    if !is_apple(reading) {
        return not("the run is not of an Apple GPU");
    }
    let (ours, answer) = rule(headline, reading);
    match answer {
        Answer::Agree | Answer::Differ if reading.source.simulated() => {
            (ours, Answer::Undecided(format!("the run is simulated; what is planted would {}", answer.word())))
        }
        Answer::Agree | Answer::Differ if !devices.starts_with("Apple M4 Max") => {
            (ours, Answer::Undecided("another chip than the study's M4 Max".to_owned()))
        }
        answer => (ours, answer),
    }
}

/// Whether a run is of an Apple GPU, measured or planted, or of the kernels for one in software.
fn is_apple(reading: &Reading<'_>) -> bool {
    reading.source.devices().starts_with("Apple ")
        || reading.source.provenance.iter().any(|record| record.device.backend.starts_with("metal"))
}

/// What a run has beside a finding of Table 1, by its number here.
pub(crate) fn to_finding(number: u32, headlines: &[Headline], reading: Option<&Reading<'_>>) -> Ours {
    let keys: &[&str] = match number {
        1 => &["fp8", "fp8-word"],
        2 => &["place", "over-simdgroup"],
        3 => &["neural-engine"],
        4 => &["accumulator"],
        6 => &["xcode"],
        _ => &[],
    };
    let of = |key: &&str| headlines.iter().find(|h| h.key == **key).map(|h| to_headline(h, reading).0);
    let more =
        reading.filter(|reading| is_apple(reading)).map(|reading| study_evidence::finding(number, reading, PATH));
    let ours: Vec<String> = keys.iter().filter_map(of).chain(more).filter(|ours| !ours.is_empty()).collect();
    (ours.join("; "), Answer::Reconstruction)
}

fn rule(headline: &Headline, reading: &Reading<'_>) -> Ours {
    let half = subject("f16,f16->f32");
    let fp8 = subject("e4m3,e4m3->f32");
    match headline.key.as_str() {
        "states-512" => modes(reading, half, 512, |modes| modes.parse::<u32>().is_ok_and(|n| n == 2)),
        "tail-1024" => modes(reading, half, 1024, |modes| modes.starts_with("tail ")),
        "rate-1024" => one_rate(headline, reading, half, 1024),
        "rate-2048" => one_rate(headline, reading, half, 2048),
        "roofline" => of_roofline(headline, reading, half),
        "over-tiled" => over_sizes(headline, reading, half, "ratio.baseline_b", Over::Every),
        "over-simdgroup" => over_sizes(headline, reading, half, "ratio.baseline_c", Over::Every),
        "fp8" => over_sizes(headline, reading, fp8, "ratio.match_path", Over::Any),
        "fp8-sizes" => over_sizes(headline, reading, fp8, "ratio.match_path", Over::Every),
        "fp8-word" => {
            let slow = ["emulated", "same rate", "slower", "not accelerated"];
            word(fp8.and_then(|fp8| reading.fact("verdict.acceleration", fp8)), &slow, &["accelerated", "faster"])
        }
        "place" => {
            let fact = reading.path_facts("verdict.where").into_iter().find(|fact| fact.path == PATH);
            word(fact, &["shader cores"], &["dedicated unit"])
        }
        "energy" => {
            let of_path =
                |phase: &str| reading.source.cells.iter().any(|c| c.path == PATH && c.cell.to_string() == phase);
            let all = phase_powers(reading.source.power);
            let gpu = |wanted: &dyn Fn(&str) -> bool| {
                let power = all.iter().find(|p| p.meter.starts_with("GPU") && wanted(&p.phase));
                power.and_then(|power| power.watts)
            };
            match (gpu(&|phase| phase == "idle"), gpu(&of_path)) {
                (Some(idle), Some(load)) => {
                    let ours = format!("{} to {} W", significant(idle, 3), significant(load, 3));
                    (ours, Answer::Undecided("no interval".to_owned()))
                }
                (None, Some(load)) => {
                    let ours = format!("{} W; it stands still at idle", significant(load, 3));
                    (ours, Answer::Undecided("no power at idle, and no interval".to_owned()))
                }
                _ => not("no meter of the GPU was read at idle and under matmul2d (probe dispatch)"),
            }
        }
        "neural-engine" => study_rails::neural_engine(reading, PATH),
        "xcode" => study_xcodes::needed(reading),
        "accumulator" => study_evidence::accumulator(reading, PATH, fp8.map(|fp8| fp8.triple)),
        "fused-1024" => gain(headline, reading, 1024),
        "fused-2048" => gain(headline, reading, 2048),
        "attention" => study_evidence::attention(headline, reading, PATH, half.map(|half| half.triple)),
        _ => not("no rule"),
    }
}

pub(crate) fn not(why: &str) -> Ours {
    (String::new(), Answer::NotMeasured(why.to_owned()))
}

fn subject(triple: &str) -> Option<Subject<'static>> {
    triple.parse::<Triple>().ok().map(|triple| Subject { path: PATH, triple })
}

/// The fact of a name at one of the study's sizes.
fn at<'a>(reading: &Reading<'a>, name: &str, subject: Option<Subject<'_>>, size: usize) -> Option<&'a FactRow> {
    let subject = subject?;
    reading.lead_facts(name, subject).find(|fact| fact.shape == Some(Shape::cube(size)))
}

fn modes(reading: &Reading<'_>, subject: Option<Subject<'_>>, size: usize, says: impl Fn(&str) -> bool) -> Ours {
    match at(reading, "modes", subject, size) {
        None => not(&format!("no product of {size} cubed")),
        Some(fact) => {
            let ours = if fact.value == "1" { "one mode".to_owned() } else { with_rates(&fact.words, size) };
            let answer = match says(&fact.value) {
                true => Answer::Agree,
                // A tail of 8 in 300 may not show in fewer.
                false if repetitions(reading, fact) < REPETITIONS => {
                    Answer::Undecided(format!("fewer repetitions than the study's {REPETITIONS}"))
                }
                false => Answer::Differ,
            };
            (ours, answer)
        }
    }
}

/// Repetitions behind a fact, warm-up included.
fn repetitions(reading: &Reading<'_>, fact: &FactRow) -> u32 {
    let rows = reading.source.cells.iter().filter(|row| fact.evidence.contains(&row.cell.to_string()));
    rows.filter_map(|row| row.repetitions).sum()
}

/// The words of modes with the rates of a product of `size`³ instead of its times: `140 at 48271 ns` becomes `140 at 5.56 Top/s`.
fn with_rates(words: &str, size: usize) -> String {
    let operations = Shape::cube(size).operations() as f64;
    times_shown(words, |ns| rate(operations / (ns * 1e-9)))
}

fn one_rate(headline: &Headline, reading: &Reading<'_>, subject: Option<Subject<'_>>, size: usize) -> Ours {
    let Some(measure) = at(reading, "rate", subject, size).and_then(Measure::of) else {
        return not(&format!("no product of {size} cubed"));
    };
    // A tail leaves the median standing; several modes do not.
    let several = at(reading, "modes", subject, size).is_some_and(|f| f.value.parse::<u32>().is_ok_and(|n| n > 1));
    let answer = match several {
        true => Answer::Undecided("clock states".to_owned()),
        false => overlap(headline, measure),
    };
    (rate_words(measure), answer)
}

/// What bias and GELU gain in the registers of a `matmul2d`, whatever its destination, over the fastest decomposed product.
fn gain(headline: &Headline, reading: &Reading<'_>, size: usize) -> Ours {
    let is_it = |fact: &&FactRow| {
        fact.name.starts_with("fusion.gain.")
            && fact.path.starts_with(PATH)
            && fact.shape == Some(Shape::cube(size))
            && fact.triple == subject("f16,f16->f32").map(|half| half.triple)
    };
    let measures: Vec<Measure> = reading.source.facts.iter().filter(is_it).filter_map(Measure::of).collect();
    let Some(best) = measures.into_iter().max_by(|x, y| x.value.total_cmp(&y.value)) else {
        return not(&format!("no fused product of {size} cubed beside a decomposed one (preset fusion)"));
    };
    (best.words(ratio), overlap(headline, best))
}

/// The rate at 2048³ over the stated limit of the scalar roofline: measured ceiling ÷ its share of what is stated.
fn of_roofline(headline: &Headline, reading: &Reading<'_>, subject: Option<Subject<'_>>) -> Ours {
    let roof = subject.map(|s| Subject { path: &reading.source.plan.baselines.a, ..s });
    let number = |name| roof.and_then(|roof| reading.fact(name, roof)).and_then(Measure::of).map(|m| m.value);
    let rate = at(reading, "rate", subject, 2048).and_then(Measure::of);
    let (Some(rate), Some(ceiling), Some(share)) = (rate, number("ceiling"), number("ceiling.of_stated")) else {
        return not("no product of 2048 cubed, or no clock by which a stated roofline is known");
    };
    let over = |x: f64| x * share / ceiling;
    let measure = Measure { value: over(rate.value), low: rate.low.map(over), high: rate.high.map(over) };
    (measure.words(percent), overlap(headline, measure))
}

/// Whether every size must agree, or one of them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    Every,
    Any,
}

fn over_sizes(
    headline: &Headline,
    reading: &Reading<'_>,
    subject: Option<Subject<'_>>,
    name: &str,
    over: Over,
) -> Ours {
    let of = |size: &usize| {
        let fact = at(reading, name, subject, *size)?;
        Some((fact.shape.map(shape_words).unwrap_or_default(), Measure::of(fact)?))
    };
    let measures: Vec<(String, Measure)> = SIZES.iter().filter_map(of).collect();
    if measures.is_empty() {
        return not("no product of 512, 1024 or 2048 cubed beside its rival");
    }
    let ours: Vec<String> =
        measures.iter().map(|(size, measure)| format!("{} at {size}", measure.words(ratio))).collect();
    let answers: Vec<Answer> = measures.iter().map(|(_, measure)| overlap(headline, *measure)).collect();
    let (first, last) = match over {
        Over::Every => (Answer::Differ, Answer::Agree),
        Over::Any => (Answer::Agree, Answer::Differ),
    };
    let open = answers.iter().find(|answer| matches!(answer, Answer::Undecided(_)));
    let answer = match (answers.contains(&first), open) {
        (true, _) => first,
        (false, Some(open)) => open.clone(),
        (false, None) if measures.len() == SIZES.len() => last,
        (false, None) => Answer::Undecided("512, 1024 and 2048 cubed were not all run".to_owned()),
    };
    (ours.join(", "), answer)
}

pub(crate) fn overlap(headline: &Headline, measure: Measure) -> Answer {
    match (headline.range, measure.low, measure.high) {
        (Some((low, high)), Some(ours_low), Some(ours_high)) => {
            if ours_low <= high && low <= ours_high {
                Answer::Agree
            } else {
                Answer::Differ
            }
        }
        _ => Answer::Undecided("no interval".to_owned()),
    }
}

fn word(fact: Option<&FactRow>, agree: &[&str], differ: &[&str]) -> Ours {
    let Some(fact) = fact else { return not("no verdict of it in this run") };
    let answer = match head(&fact.value) {
        word if agree.contains(&word) => Answer::Agree,
        word if differ.contains(&word) => Answer::Differ,
        word => Answer::Undecided(format!("our word is `{word}`")),
    };
    (fact.value.clone(), answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_agree_where_they_overlap_and_differ_where_they_lie_apart() {
        let headline = crate::headlines::headlines().unwrap().into_iter().find(|h| h.key == "rate-2048").unwrap();
        let of = |low: f64, high: f64| {
            let ends = Measure { value: low, low: Some(low * 1e12), high: Some(high * 1e12) };
            overlap(&headline, ends)
        };
        assert_eq!([of(14.7, 14.79), of(14.80, 15.0), of(14.0, 16.0)], [Answer::Agree, Answer::Agree, Answer::Agree]);
        assert_eq!([of(14.7, 14.789), of(14.801, 15.0)], [Answer::Differ, Answer::Differ]);
        let bare = Measure { value: 14.795e12, low: None, high: None };
        assert_eq!(overlap(&headline, bare).word(), "undecided");
    }

    #[test]
    fn times_of_modes_become_rates() {
        let words = "2 modes: 140 at 48271.2195 ns (1560 MHz), 158 at 67271 ns";
        assert_eq!(with_rates(words, 512), "2 modes: 140 at 5.56 Top/s (1560 MHz), 158 at 3.99 Top/s");
        assert_eq!(with_rates("tail 4 of 271", 512), "tail 4 of 271");
    }

    #[test]
    fn every_headline_has_a_rule() {
        crate::planted_source::with(&[], |source, _| {
            let reading = Reading::new(source);
            for headline in crate::headlines::headlines().unwrap() {
                let (ours, answer) = to_headline(&headline, Some(&reading));
                assert!(ours.is_empty() && answer.word() == "not measured", "{}: {ours} {answer}", headline.key);
                assert_ne!(answer.why(), "no rule", "{}", headline.key);
            }
        });
    }
}
