//! Which kind of run does each backend give?

use crate::provenance::{Provenance, RunKind};
use crate::rows::name_of;

/// Every backend, with the kind of its runs.
const BACKENDS: [(&str, RunKind); 5] = [
    ("cpu", RunKind::Measured),
    ("cuda", RunKind::Measured),
    ("metal", RunKind::Measured),
    ("metal-sim", RunKind::Simulated),
    ("sim", RunKind::Simulated),
];

/// The kind of the runs of a backend; none of a name that no backend has.
#[must_use]
pub fn kind_of(backend: &str) -> Option<RunKind> {
    BACKENDS.iter().find(|(name, _)| *name == backend).map(|(_, kind)| *kind)
}

/// What a record says of its backend that cannot be.
pub(super) fn contradiction(record: &Provenance) -> Option<String> {
    let backend = &record.device.backend;
    let Some(kind) = kind_of(backend) else {
        let known: Vec<&str> = BACKENDS.iter().map(|(name, _)| *name).collect();
        return Some(format!("device.backend is `{backend}`; known: {}", known.join(" ")));
    };
    if record.kind != kind {
        let (said, kind) = (name_of(&record.kind), name_of(&kind));
        return Some(format!("kind is `{said}`; runs of the backend `{backend}` are `{kind}`"));
    }
    let selector = &record.device.selector;
    let opened = selector.split(':').next().unwrap_or_default();
    (!selector.is_empty() && opened != backend)
        .then(|| format!("device.selector is `{selector}`, which opens no device of the backend `{backend}`"))
}
