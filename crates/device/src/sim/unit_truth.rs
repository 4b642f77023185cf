//! What is planted in a software unit?
//!
//! TOML key `unit`. Everything that recovery may find out about a unit stands here: its arithmetic as a model, its
//! registers as a layout, and where it deviates from both.
//!
//! ```toml
//! [[unit]]
//! name = "wgmma.m64n8k32"
//! path = "wgmma"
//! triple = "e4m3,e4m3->f32"
//! shape = "64x8x32"
//! model = { library = "hopper wgmma e4m3 to f32" }
//! [[unit.deviation]]
//! rate = 0.001
//! by = "chance"
//! effect = { flip = { bit = 10 } }
//! ```

use super::check::BadTruth;
use super::unit_deviation::Deviation;
use super::unit_fault::UnitFault;
use rigel_numerics::arithmetic::{Model, Published};
use rigel_numerics::{Shape, Triple};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One software unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlantedUnit {
    /// Name, unique on the device (required).
    pub name: String,
    /// Path that it belongs to (required).
    pub path: String,
    /// Element types (required): those of the model.
    pub triple: Triple,
    /// Extents of a tile (required). Scales that share a group must divide k.
    pub shape: Shape,
    /// Document and section, or what it is.
    #[serde(default = "planted", skip_serializing_if = "is_planted")]
    pub source: String,
    /// Why it cannot be had; empty when it can.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub absent: String,
    /// Its arithmetic (required). Scales of the unit are those of the model.
    pub model: PlantedModel,
    /// By which evaluator the model is computed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub evaluator: EvaluatedBy,
    /// Its registers; without them it has no fragments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<PlantedLayout>,
    /// Which copy of an element counts, where a layout has several.
    #[serde(default, skip_serializing_if = "is_default")]
    pub copies: Copies,
    /// How and when it breaks down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<UnitFault>,
    /// Where it deviates from its model, in this order; TOML key `deviation`.
    #[serde(default, rename = "deviation", skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<Deviation>,
}

/// Where an arithmetic model comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlantedModel {
    /// The published model of this name.
    Library(String),
    /// The model itself, in JSON.
    Json(String),
    /// A file of JSON, by a path from the truth file's folder. Reading a truth puts what it holds in its place.
    File(PathBuf),
}

/// By which evaluator a model is computed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluatedBy {
    /// [`rigel_numerics::arithmetic::Evaluator`].
    #[default]
    Fast,
    /// [`rigel_numerics::arithmetic::slow`]: exact fractions, sharing no arithmetic with the fast one, and some
    /// thousand times slower.
    Slow,
}

/// Where a layout comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlantedLayout {
    /// The published layouts of this instruction.
    Library(String),
    /// The layouts themselves, as CSV: `operand,lane,slot,row,column`.
    Csv(String),
    /// A file of CSV, by a path from the truth file's folder. Reading a truth puts what it holds in its place.
    File(PathBuf),
}

/// Which copy of an element counts, where several lanes or slots hold it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Copies {
    /// Each lane computes its own D from the copies that are nearest to it: those in the lane whose number differs from
    /// its own in the lowest bits only, its own first. So do instructions whose lanes do not look at each other, and
    /// AMD's WMMA.
    #[default]
    Nearest,
    /// The first copy, in the order of lanes and slots; the others are never read.
    First,
}

impl PlantedUnit {
    /// The model that is planted.
    ///
    /// # Errors
    /// [`BadTruth`] where its name, text or file is that of none.
    pub fn model(&self) -> Result<Model, BadTruth> {
        self.model.find("unit.model")
    }

    /// A unit that computes a published model, 8 × 8 elements of one instruction.
    pub fn published(published: &Published) -> PlantedUnit {
        let model = &published.model;
        let group = model.scales.map_or(1, |scales| scales.group.max(1));
        PlantedUnit {
            name: published.name.clone(),
            path: published.path.clone(),
            triple: model.triple,
            shape: Shape::new(8, 8, model.k.next_multiple_of(group)),
            source: published.source.clone(),
            absent: String::new(),
            model: PlantedModel::Library(published.name.clone()),
            evaluator: EvaluatedBy::Fast,
            layout: None,
            copies: Copies::default(),
            fault: None,
            deviations: Vec::new(),
        }
    }
}

pub(super) fn planted() -> String {
    "planted".into()
}

pub(super) fn is_planted(source: &str) -> bool {
    source == "planted"
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
