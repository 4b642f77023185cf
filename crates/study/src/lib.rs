//! Plans, sampling, gate, baselines, probes: how a plan becomes rows.
//!
//! A campaign expands the plan into pieces ([`pieces`]), runs each in fresh worker processes ([`supervisor`],
//! [`worker`]), and appends what they say to a run directory ([`campaign`]). The worker measures
//! ([`sampling`]) and checks ([`gate`]); everything it is told and everything it says is plain data ([`protocol`]).
#![forbid(unsafe_code)]

pub mod accumulation;
pub mod calibrate;
pub mod campaign;
pub mod climb;
mod deaths;
pub mod device_lock;
pub mod estimate;
pub mod faults;
pub mod gate;
pub mod instruction;
pub mod layouts;
pub mod meters;
pub mod missing;
pub mod origin;
pub mod partition;
pub mod pieces;
pub mod presets;
pub mod probes;
pub mod protocol;
pub mod recovery;
pub mod resume;
pub mod rivals;
pub mod rules;
pub mod sampling;
pub mod select;
pub mod spent;
pub mod supervisor;
pub mod worker;
