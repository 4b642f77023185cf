//! Which software units does a calibration draw at random?
//!
//! What is drawn comes back beside the unit as plain data: the truth that a recovery is held against. The same seed,
//! the same unit.

use super::check::BadTruth;
use super::random::{Stream, key};
use super::unit::SimUnit;
use super::unit_deviation::{Chosen, Deviation, Effect, Place};
use super::unit_draw_layout::draw_fragment;
use super::unit_truth::{Copies, EvaluatedBy, PlantedLayout, PlantedModel, PlantedUnit};
use rigel_numerics::arithmetic::{Distribution, Evaluator, Model, draw_model, library};
use rigel_numerics::{Shape, Triple, layout};

/// A family of random units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UnitFamily {
    /// A model of the whole family ([`draw_model`]) over formats of 8 bits and more, tiles of 4, 8 or 16 rows and
    /// columns, and k of one or two instructions (1 to 256). One seed in eight has the slow evaluator, and then a model
    /// of at most 8 products an instruction.
    Models,
    /// A published model ([`library`]), tiles as above.
    Published,
    /// As `Models`, with one deviation. No model of the family computes such a unit; an `exact` is wrong.
    Deviating {
        /// Share of the elements of D that deviate, above 0 and at most 1/2. Where only one element or lane deviates,
        /// or where a second model takes over, the share is what that leaves; a second model differs from the first one
        /// in at least a tenth of near-normal inputs.
        rate: f64,
    },
    /// A published model behind random layouts of 4 to 128 lanes and up to 128 slots: bits and digits of other radices
    /// in any order, broadcast lanes, exclusive or of row and column, permuted elements in words, unused slots. Every
    /// copy of an element of A and B that the truth names is read by some lane, so nothing in it is beyond observation.
    Layouts,
}

/// Triples of drawn models.
const TRIPLES: [&str; 12] = [
    "f16,f16->f32",
    "bf16,bf16->f32",
    "e4m3,e4m3->f32",
    "e5m2,e4m3->f32",
    "f16,f16->f16",
    "e4m3,e4m3->f16",
    "tf32,tf32->f32",
    "f32,f32->f32",
    "e4m3_fnuz,e4m3_fnuz->f32",
    "bf16,bf16->bf16",
    "i8,i8->i32",
    "u8,i8->i32",
];

/// A unit that `seed` draws from a family, and what is planted in it.
///
/// # Errors
/// [`BadTruth`] when 256 draws gave no model that a unit can have, which no seed has done yet.
pub fn draw_unit(seed: u64, family: UnitFamily) -> Result<(SimUnit, PlantedUnit), BadTruth> {
    let mut s = Stream::new(&[seed, key("units")]);
    let planted = match family {
        UnitFamily::Models => of_model(seed, &mut s, true)?,
        UnitFamily::Published => published(seed, &mut s),
        UnitFamily::Deviating { rate } => deviating(seed, &mut s, rate)?,
        UnitFamily::Layouts => laid_out(seed, &mut s)?,
    };
    Ok((SimUnit::new(&planted, seed, 0)?, planted))
}

/// One of some items.
pub(super) fn of<T: Copy>(s: &mut Stream, items: &[T]) -> T {
    items[s.below(items.len() as u64) as usize]
}

fn unit(seed: u64, triple: Triple, shape: Shape, model: PlantedModel) -> PlantedUnit {
    PlantedUnit {
        name: format!("drawn {seed}"),
        path: "drawn".into(),
        triple,
        shape,
        source: "drawn at random".into(),
        absent: String::new(),
        model,
        evaluator: EvaluatedBy::Fast,
        layout: None,
        copies: Copies::Nearest,
        fault: None,
        deviations: Vec::new(),
    }
}

/// A random model that a unit can have.
fn model(s: &mut Stream, fits: impl Fn(&Model) -> bool) -> Result<Model, BadTruth> {
    let draws = (0..256).find_map(|_| {
        let triple = of(s, &TRIPLES).parse().ok()?;
        draw_model(s.word(), triple).filter(|m| m.scales.is_none_or(|scales| scales.a == scales.b) && fits(m))
    });
    draws.ok_or_else(|| BadTruth::Form("256 draws gave no model that this unit can have".into()))
}

fn of_model(seed: u64, s: &mut Stream, scaled: bool) -> Result<PlantedUnit, BadTruth> {
    let slow = seed % 8 == 7;
    let model = model(s, |m| (!slow || m.k <= 8) && (scaled || m.scales.is_none()))?;
    let k = (model.k * of(s, &[1, 2])).next_multiple_of(model.scales.map_or(1, |scales| scales.group));
    let shape = Shape::new(of(s, &[4, 8, 16]), of(s, &[4, 8, 16]), k);
    let evaluator = if slow { EvaluatedBy::Slow } else { EvaluatedBy::Fast };
    Ok(PlantedUnit { evaluator, ..unit(seed, model.triple, shape, PlantedModel::Json(model.to_json())) })
}

fn published(seed: u64, s: &mut Stream) -> PlantedUnit {
    let published = &library()[s.below(library().len() as u64) as usize];
    let whole = PlantedUnit::published(published);
    let shape = Shape::new(of(s, &[4, 8, 16]), of(s, &[4, 8, 16]), whole.shape.k * of(s, &[1, 2]));
    unit(seed, whole.triple, shape, whole.model)
}

fn deviating(seed: u64, s: &mut Stream, rate: f64) -> Result<PlantedUnit, BadTruth> {
    let mut planted = of_model(seed, s, false)?;
    let Shape { m, n, k } = planted.shape;
    let own = planted.model.find("unit.model")?;
    let (by, at) = (Chosen::Data, Place::Everywhere);
    let flip = Effect::Flip { bit: s.below(u64::from(own.triple.c.precision().min(24))) as u32 };
    let plain = Deviation { rate, by, at, effect: flip };
    let deviation = match s.below(8) {
        0 => Deviation { by: Chosen::Chance, ..plain },
        1 => Deviation { by: Chosen::Neighbour, ..plain },
        2 => Deviation {
            effect: Effect::LowBits { table: of(s, &[[1, 0, 3, 2], [2, 3, 1, 0], [3, 2, 1, 0]]).to_vec() },
            ..plain
        },
        3 => {
            let at = Place::Element { row: s.below(m as u64) as usize, column: s.below(n as u64) as usize };
            Deviation { rate: (rate * (m * n) as f64).min(1.0), at, ..plain }
        }
        4 => {
            // As many lanes as C has elements of a row or more, so that one lane is part of a tile.
            let lanes = 32;
            let fragment = drawn(draw_fragment(s, planted.shape, lanes))?;
            let holders = fragment.c.first_holders();
            let lane = of(s, &holders).map_or(0, |(lane, _)| lane);
            let held = holders.iter().flatten().filter(|holder| holder.0 == lane).count().max(1);
            planted.layout = Some(PlantedLayout::Csv(layout::csv::write(&fragment)));
            Deviation { rate: (rate * (m * n) as f64 / held as f64).min(1.0), at: Place::Lane(lane), ..plain }
        }
        5 => match another(s, &own, 64) {
            Some(other) => {
                planted.shape.k = 64 + 64 * of(s, &[1, 2]);
                let model = PlantedModel::Json(other.to_json());
                Deviation { rate: 1.0, effect: Effect::Beyond { k: 64, model }, ..plain }
            }
            None => plain,
        },
        6 => match another(s, &own, k) {
            Some(other) => {
                let effect = Effect::Model(PlantedModel::Json(other.to_json()));
                Deviation { rate: rate.max(0.5), effect, ..plain }
            }
            None => plain,
        },
        _ => plain,
    };
    planted.deviations.push(deviation);
    Ok(planted)
}

/// A model of the same triple that differs from a model in a tenth of near-normal inputs or more.
fn another(s: &mut Stream, own: &Model, k: usize) -> Option<Model> {
    let one = Evaluator::new(own, k).ok()?;
    (0..32).find_map(|_| {
        let model = draw_model(s.word(), own.triple).filter(|m| m.scales.is_none())?;
        let other = Evaluator::new(&model, k).ok()?;
        let stream = s.word();
        let (mut x, mut y) = (one.scratch(), other.scratch());
        let differ = (0..100).filter(|&i| {
            let inputs = Distribution::Normal.inputs(own, k, stream, i);
            one.dot(&mut x, inputs.codes()) != other.dot(&mut y, inputs.codes())
        });
        (differ.count() >= 10).then_some(model)
    })
}

fn laid_out(seed: u64, s: &mut Stream) -> Result<PlantedUnit, BadTruth> {
    // Operands and sums that hold the small integers that registers are told apart by.
    let wide = |t: Triple| t.a.bits() >= 8 && t.c.precision() >= 11;
    let wide: Vec<_> = library().iter().filter(|p| p.model.scales.is_none() && wide(p.model.triple)).collect();
    let published = of(s, &wide);
    let lanes = of(s, &[4, 8, 16, 32, 32, 64, 128]);
    let extent = |s: &mut Stream| of(s, &[4, 8, 8, 12, 16, 16, 24, 32, 64]);
    let shape = loop {
        let (m, n, k) = (extent(s), of(s, &[8, 8, 16, 24]), extent(s));
        // At most 128 slots, with room for one that is unused.
        if (m * k).max(k * n).max(m * n) / lanes < 128 {
            break Shape::new(m, n, k);
        }
    };
    let fragment = drawn(draw_fragment(s, shape, lanes))?;
    let planted = unit(seed, published.model.triple, shape, PlantedModel::Library(published.name.clone()));
    Ok(PlantedUnit { layout: Some(PlantedLayout::Csv(layout::csv::write(&fragment))), ..planted })
}

fn drawn(fragment: Result<layout::Fragment, layout::LayoutError>) -> Result<layout::Fragment, BadTruth> {
    fragment.map_err(|e| BadTruth::Form(e.to_string()))
}
