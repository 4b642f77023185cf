//! Did a rail of the neural engine move while products of the matrix path ran, and can it be seen to move at all?
//!
//! From the windows of `power.csv` (meters whose names begin with ANE, at idle and under each cell), from the meters that `run.json`
//! misses, and from the fact `signal.ceiling` of the path, which is the indirect half.

use crate::answers::{Answer, Ours, not};
use crate::numbers::significant;
use crate::reading::Reading;
use rigel_ledger::facts::{MOVED, PhasePower, phase_powers};
use std::collections::BTreeMap;

/// What meters of the neural engine are called at their beginning.
const METER: &str = "ANE";

/// What its rails say of a path.
pub(crate) fn neural_engine(reading: &Reading<'_>, path: &str) -> Ours {
    let powers = phase_powers(reading.source.power);
    let mut rails: BTreeMap<&str, Vec<&PhasePower>> = BTreeMap::new();
    for power in powers.iter().filter(|power| power.meter.starts_with(METER)) {
        rails.entry(&power.meter).or_default().push(power);
    }
    let paths: BTreeMap<String, &str> =
        reading.source.cells.iter().map(|row| (row.cell.to_string(), row.path.as_str())).collect();
    let (mut words, mut moved) = (Vec::new(), (false, false));
    for (meter, powers) in rails {
        let idle = powers.iter().find(|power| power.phase == "idle").and_then(|power| power.watts);
        let most = |is_it: &dyn Fn(&str) -> bool| {
            let loads = powers.iter().filter(|power| paths.get(&power.phase).is_some_and(|of| is_it(of)));
            loads.filter_map(|power| power.watts).max_by(f64::total_cmp)
        };
        let (ours, others) = (most(&|of| of == path), most(&|of| of != path));
        let moves = |load: Option<f64>| load.is_some_and(|load| load > 0.0 && load >= MOVED * idle.unwrap_or(0.0));
        moved = (moved.0 || moves(ours), moved.1 || moves(others));
        let watts =
            |watts: Option<f64>| watts.map_or("stands still".to_owned(), |w| format!("{} W", significant(w, 3)));
        words.push(format!(
            "{meter}: {} at idle, {} under {path}, {} under others",
            watts(idle),
            watts(ours),
            watts(others)
        ));
    }
    if words.is_empty() {
        let missing = reading.source.provenance.iter().flat_map(|record| &record.device.missing_meters);
        let mut reasons: Vec<String> = missing
            .filter(|meter| meter.name.starts_with(METER))
            .map(|meter| format!("{}: {}", meter.name, meter.reason))
            .collect();
        reasons.dedup();
        if reasons.is_empty() {
            return not("no meter was asked for (probes dispatch and power)");
        }
        let answer = Answer::Undecided("no rail of the neural engine was read".to_owned());
        return ([reasons.join("; "), ceiling(reading, path)].join("; "), answer);
    }
    words.push(ceiling(reading, path));
    let answer = match moved {
        (true, _) => Answer::Differ,
        (false, true) => Answer::Agree,
        (false, false) => Answer::Undecided("blind: no load moved the rail".to_owned()),
    };
    (words.join("; "), answer)
}

/// What an engine beside the ALUs would add, by the path's ceiling.
fn ceiling(reading: &Reading<'_>, path: &str) -> String {
    let fact = reading.path_facts("signal.ceiling").into_iter().find(|fact| fact.path == path);
    fact.map_or("no ceiling".to_owned(), |fact| format!("by the ceiling {}", fact.value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted_source::with;
    use rigel_ledger::PowerRow;
    use rigel_ledger::provenance::MissingMeterRecord;
    use rigel_numerics::Time;

    /// Half a second of a meter in W in one window.
    fn window(meter: &str, phase: &str, watts: f64) -> PowerRow {
        PowerRow { meter: meter.into(), time_ns: Time(0), value: watts, unit: "W".into(), phase: phase.into() }
    }

    #[test]
    fn a_rail_counts_only_after_a_load_moved_it() {
        let answer = |idle: f64, ours: f64, others: Option<f64>| {
            with(&["matmul2d", "scalar"], |source, cells| {
                let mut power = vec![window("ANE Power", "idle", idle), window("ANE Power", &cells[0], ours)];
                power.extend(others.map(|watts| window("ANE Power", &cells[1], watts)));
                let source = crate::Source { power: &power, ..source };
                neural_engine(&Reading::new(source), "matmul2d")
            })
        };
        let (words, blind) = answer(0.0, 0.0, Some(0.0));
        assert!(words.contains("0 W at idle, 0 W under matmul2d") && blind.why().contains("blind"), "{words}");
        assert_eq!(answer(0.1, 0.1, None).1.word(), "undecided");
        assert_eq!(answer(0.1, 0.1, Some(2.0)).1, Answer::Agree);
        assert_eq!(answer(0.1, 2.0, Some(0.1)).1, Answer::Differ);
    }

    #[test]
    fn a_rail_that_is_not_there_is_undecided_with_the_systems_reason_and_an_unasked_one_not_measured() {
        with(&["matmul2d"], |source, _| {
            assert_eq!(neural_engine(&Reading::new(source), "matmul2d").1.word(), "not measured");
            let mut provenance = source.provenance.to_vec();
            provenance[0].device.missing_meters =
                vec![MissingMeterRecord { name: "ANE".into(), reason: "has not moved for 8 s".into() }];
            let source = crate::Source { provenance: &provenance, ..source };
            let (words, answer) = neural_engine(&Reading::new(source), "matmul2d");
            assert!(
                words.starts_with("ANE: has not moved for 8 s") && answer.word() == "undecided",
                "{words} {answer}"
            );
        });
    }
}
