//! Does this element of D deviate, and what becomes of it?

use super::check::{BadTruth, refused};
use super::unit::Spot;
use super::unit_deviation::{Chosen, Deviation, Effect, Place};
use super::unit_engine::Engine;
use super::unit_truth::{PlantedModel, PlantedUnit};
use crate::contract::Fault;
use rigel_numerics::arithmetic::{DotInputs, Model};
use rigel_numerics::random::{draw, mix};
use rigel_numerics::{Format, Shape};

/// A deviation made ready.
#[derive(Debug, Clone)]
pub(super) struct Deviating {
    deviation: Deviation,
    act: Act,
    /// Key of its choices.
    stream: u64,
    /// Key of its choices by chance.
    chance: u64,
}

/// An effect made ready.
#[derive(Debug, Clone)]
enum Act {
    Flip(u64),
    LowBits { format: Format, ignored: u32, table: Vec<u64> },
    Model(Engine),
    Beyond { k: usize, groups: usize, head: Engine, tail: Engine },
}

impl Deviating {
    /// `keys` are its place in the truth, the key of its choices and what is added to it for those by chance.
    pub(super) fn new(
        (key, stream, opening): (String, u64, u64),
        deviation: &Deviation,
        unit: &PlantedUnit,
        model: &Model,
        lanes: Option<usize>,
    ) -> Result<Deviating, BadTruth> {
        let Shape { m, n, .. } = unit.shape;
        if !(deviation.rate > 0.0 && deviation.rate <= 1.0) {
            return Err(refused(format!("{key}.rate"), deviation.rate, "above 0 to 1"));
        }
        match (deviation.at, lanes) {
            (Place::Lane(_), None) => {
                return Err(refused(format!("{key}.at"), "a lane", "a lane of a unit that has a layout"));
            }
            (Place::Lane(lane), Some(lanes)) if lane >= lanes => {
                return Err(refused(format!("{key}.at.lane"), lane, format!("0 to {}", lanes - 1)));
            }
            (Place::Element { row, column }, _) if row >= m || column >= n => {
                let allowed = format!("an element of {m} × {n}");
                return Err(refused(format!("{key}.at.element"), format!("({row}, {column})"), allowed));
            }
            _ => {}
        }
        let act = act(&format!("{key}.effect"), &deviation.effect, unit, model)?;
        Ok(Deviating { deviation: deviation.clone(), act, stream, chance: mix(stream ^ opening) })
    }

    pub(super) fn chosen(&self) -> Chosen {
        self.deviation.by
    }

    /// The code of an element after this deviation.
    pub(super) fn element(&self, code: u64, spot: Spot, inputs: &dyn Fn() -> DotInputs) -> Result<u64, Fault> {
        let here = match self.deviation.at {
            Place::Everywhere => true,
            Place::Lane(lane) => spot.lane == Some(lane),
            Place::Element { row, column } => (spot.row, spot.column) == (row, column),
        };
        if !here {
            return Ok(code);
        }
        let word = match self.deviation.by {
            Chosen::Chance => draw(self.chance, spot.number),
            Chosen::Data => mix(self.stream ^ spot.data),
            Chosen::Neighbour => match spot.neighbour {
                Some(neighbour) => draw(self.stream ^ neighbour, (spot.row as u64) << 32 | spot.column as u64),
                None => return Ok(code),
            },
        };
        if self.deviation.hits(word) { self.act.on(code, inputs) } else { Ok(code) }
    }
}

fn act(key: &str, effect: &Effect, unit: &PlantedUnit, own: &Model) -> Result<Act, BadTruth> {
    let format = own.triple.c;
    let other = |key: String, planted: &PlantedModel, k: usize| {
        let model = planted.find(&key)?;
        let formats = |m: &Model| (m.triple.a, m.triple.b, m.triple.c);
        if formats(&model) != formats(own) || model.scales != own.scales {
            let allowed = format!("a model of {} with the scales of the unit's own", own.triple);
            return Err(refused(key, format!("a model of {}", model.triple), allowed));
        }
        Engine::new(&model, k, unit.evaluator)
            .map_err(|e| refused(key, format!("flawed at k = {k}: {e}"), "a model for this k"))
    };
    match effect {
        Effect::Flip { bit } if *bit >= format.bits() => {
            Err(refused(format!("{key}.flip.bit"), bit, format!("0 to {}", format.bits() - 1)))
        }
        Effect::Flip { bit } => Ok(Act::Flip(1 << bit)),
        Effect::LowBits { table } => {
            let ignored = if format == Format::Tf32 { 13 } else { 0 };
            let most = 1 << format.floating().map_or(format.bits(), |f| f.fraction_bits).min(8);
            let size = table.len();
            let fits = size.is_power_of_two() && (2..=most).contains(&size) && table.iter().all(|&x| x < size as u64);
            if !fits || table.iter().enumerate().all(|(i, &x)| x == i as u64) {
                let allowed = format!("2, 4, … {most} entries below their number, not all in their own place");
                return Err(refused(format!("{key}.low-bits.table"), format!("{table:?}"), allowed));
            }
            Ok(Act::LowBits { format, ignored, table: table.clone() })
        }
        Effect::Model(model) => Ok(Act::Model(other(format!("{key}.model"), model, unit.shape.k)?)),
        Effect::Beyond { k, model } => {
            let group = own.scales.map_or(1, |scales| scales.group);
            if *k == 0 || *k >= unit.shape.k || k % group != 0 {
                let allowed = format!("1 to {}, in whole scale groups of {group}", unit.shape.k - 1);
                return Err(refused(format!("{key}.beyond.k"), k, allowed));
            }
            let short =
                |e| refused(format!("{key}.beyond.k"), format!("{k}, at which {e}"), "a k for the unit's own model");
            let head = Engine::new(own, *k, unit.evaluator).map_err(short)?;
            let tail = other(format!("{key}.beyond.model"), model, unit.shape.k - k)?;
            let groups = if own.scales.is_some() { k / group } else { 0 };
            Ok(Act::Beyond { k: *k, groups, head, tail })
        }
    }
}

impl Act {
    fn on(&self, code: u64, inputs: &dyn Fn() -> DotInputs) -> Result<u64, Fault> {
        match self {
            Act::Flip(mask) => Ok(code ^ mask),
            Act::LowBits { format, .. } if !format.is_finite(code) => Ok(code),
            Act::LowBits { ignored, table, .. } => {
                let low = (code >> ignored) & (table.len() as u64 - 1);
                Ok(code ^ (low ^ table[low as usize]) << ignored)
            }
            Act::Model(engine) => engine.dot(&mut engine.scratch(), inputs().codes()),
            Act::Beyond { k, groups, head, tail } => {
                let all = inputs();
                let part = |codes: &[u64], at: usize, first: bool| {
                    if first { codes[..at].to_vec() } else { codes[at..].to_vec() }
                };
                let half = |first: bool, c: u64| DotInputs {
                    a: part(&all.a, *k, first),
                    b: part(&all.b, *k, first),
                    c,
                    a_scales: part(&all.a_scales, *groups, first),
                    b_scales: part(&all.b_scales, *groups, first),
                };
                let between = head.dot(&mut head.scratch(), half(true, all.c).codes())?;
                tail.dot(&mut tail.scratch(), half(false, between).codes())
            }
        }
    }
}
