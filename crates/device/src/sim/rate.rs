//! How fast is a planted cell, and in which states and noise does it run?

use super::noise::Noise;
use super::random::key;
use super::states::States;
use super::timeline::{Identity, Timeline};
use super::truth::{PlantedPath, PlantedShape, PlantedTile, PlantedTriple, Truth};
use crate::contract::{CeilingSpec, Epilogue, GemmSpec};
use rigel_numerics::placement::Placement;
use rigel_numerics::{Shape, Triple};

/// A (path, triple) of a truth.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// The path.
    pub path: &'a PlantedPath,
    /// The triple on it.
    pub triple: &'a PlantedTriple,
}

impl Truth {
    /// Looks up a path and triple.
    pub fn find(&self, path: &str, triple: Triple) -> Option<Found<'_>> {
        let path = self.paths.iter().find(|p| p.name == path)?;
        let triple = path.triples.iter().find(|t| t.triple == triple)?;
        Some(Found { path, triple })
    }

    /// Undisturbed time of one repetition in seconds, warm cache, reference clock: the planted truth that a median
    /// should recover. `None` when path, triple or tile is not planted.
    pub fn planted_seconds(&self, spec: &GemmSpec) -> Option<f64> {
        let found = self.find(&spec.path, spec.triple)?;
        let tile = found.path.tiles.iter().find(|t| t.name == spec.tile)?;
        let operations = spec.shape.operations() as f64;
        let by_law = |tile: &PlantedTile| found.triple.launch.seconds() + operations / found.law(spec.shape, tile);
        Some(match found.at(spec.shape).and_then(|s| s.rate) {
            None => by_law(tile),
            Some(rate) => {
                let best = found.path.tiles.iter().map(by_law).fold(f64::INFINITY, f64::min);
                operations / rate * by_law(tile) / best
            }
        })
    }

    /// Clock states of a cell, from the nearest place that plants them: shape, triple, path, device.
    pub fn states_of(&self, path: &str, triple: Triple, shape: Shape) -> &States {
        let found = self.find(path, triple);
        found.and_then(|f| f.states(Some(shape))).map_or(&self.states, |(states, _)| states)
    }

    /// Noise of a cell, from the nearest place that plants it: shape, triple, path, device.
    pub fn noise_of(&self, path: &str, triple: Triple, shape: Shape) -> Noise {
        self.find(path, triple).and_then(|f| f.noise(Some(shape))).unwrap_or(self.noise)
    }

    /// The samples that a product yields in process `process`. `None` when path, triple or tile is not planted.
    pub fn timeline(&self, spec: &GemmSpec, process: u32) -> Option<Timeline> {
        let seconds = self.planted_seconds(spec)?;
        let found = self.find(&spec.path, spec.triple)?;
        let cell = format!("gemm {} {} {} {}", spec.path, spec.triple, spec.shape, spec.tile);
        Some(self.series(seconds, found, Some(spec.shape), &cell, process))
    }

    /// The same of a product with an epilogue; `None` where none is planted.
    pub fn epilogue_timeline(&self, spec: &GemmSpec, epilogue: Epilogue, process: u32) -> Option<Timeline> {
        let found = self.find(&spec.path, spec.triple)?;
        let more = found.triple.epilogue?.seconds(found.triple, spec.shape, epilogue);
        let seconds = self.planted_seconds(spec)? + more;
        let how = if epilogue.fused { "fused" } else { "decomposed" };
        let cell = format!("{how} {} {} {} {} {}", epilogue.activation, spec.path, spec.triple, spec.shape, spec.tile);
        Some(self.series(seconds, found, Some(spec.shape), &cell, process))
    }

    /// The same of an attention; `None` where none is planted.
    pub fn attention_timeline(&self, spec: &GemmSpec, fused: bool, process: u32) -> Option<Timeline> {
        let found = self.find(&spec.path, spec.triple)?;
        let planted = found.triple.attention.filter(|planted| fused || !planted.fused_only)?;
        let seconds = planted.seconds(found.triple, spec.shape, self.planted_seconds(spec)?, fused);
        let how = if fused { "fused" } else { "decomposed" };
        let cell = format!("{how} attention {} {} {} {}", spec.path, spec.triple, spec.shape, spec.tile);
        Some(self.series(seconds, found, Some(spec.shape), &cell, process))
    }

    /// The same of a product whose operands are placed; `None` where they cannot be.
    pub fn placed_timeline(&self, spec: &GemmSpec, placement: Placement, process: u32) -> Option<Timeline> {
        let found = self.find(&spec.path, spec.triple)?;
        let alignment = found.triple.alignment.as_ref()?;
        let seconds = self.planted_seconds(spec)? * alignment.factor(spec.triple, spec.shape, placement);
        let cell = format!("placed {placement} {} {} {} {}", spec.path, spec.triple, spec.shape, spec.tile);
        Some(self.series(seconds, found, Some(spec.shape), &cell, process))
    }

    /// The samples that a ceiling loop yields in process `process`. `None` when it is not planted.
    pub fn ceiling_timeline(&self, spec: &CeilingSpec, process: u32) -> Option<Timeline> {
        let found = self.find(&spec.path, spec.triple)?;
        let ceiling = found.triple.ceiling.as_ref()?;
        let variant = ceiling.variants.iter().find(|v| v.name == spec.variant)?;
        let seconds = ceiling.operations as f64 / (ceiling.rate * variant.factor);
        let cell = format!("ceiling {} {} {}", spec.path, spec.triple, spec.variant);
        Some(self.series(seconds, found, None, &cell, process))
    }

    fn series(&self, seconds: f64, found: Found<'_>, shape: Option<Shape>, cell: &str, process: u32) -> Timeline {
        let (states, place) = found.states(shape).unwrap_or((&self.states, String::new()));
        let noise = found.noise(shape).unwrap_or(self.noise);
        let identity = Identity { seed: self.seed, process, cell: key(cell), mixture: key(&place) };
        Timeline::new(seconds, self.clock, states, noise, identity)
    }
}

impl<'a> Found<'a> {
    /// What is planted at exactly this shape.
    pub fn at(&self, shape: Shape) -> Option<&'a PlantedShape> {
        self.triple.shapes.iter().find(|s| s.shape == shape)
    }

    /// Operations per second after the launch, by the saturating law.
    fn law(&self, shape: Shape, tile: &PlantedTile) -> f64 {
        let s = (shape.m as f64 * shape.n as f64 * shape.k as f64).cbrt();
        self.triple.rate * tile.factor * s / (s + self.triple.half_extent + tile.half_extent)
    }

    /// The nearest states below the device, with the name of the place that plants them.
    fn states(&self, shape: Option<Shape>) -> Option<(&'a States, String)> {
        let (path, triple) = (&self.path.name, self.triple.triple);
        if let Some((states, shape)) = shape.and_then(|s| Some((self.at(s)?.states.as_ref()?, s))) {
            return Some((states, format!("{path} {triple} {shape}")));
        }
        let of_triple = self.triple.states.as_ref().map(|s| (s, format!("{path} {triple}")));
        of_triple.or_else(|| self.path.states.as_ref().map(|s| (s, path.clone())))
    }

    fn noise(&self, shape: Option<Shape>) -> Option<Noise> {
        let at = shape.and_then(|s| self.at(s)?.noise);
        at.or(self.triple.noise).or(self.path.noise)
    }
}
