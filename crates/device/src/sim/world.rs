//! What do the kernels and meters of one opened software device share?

use super::product::Products;
use super::truth::Truth;
use rigel_numerics::Time;
use std::{cell::RefCell, rc::Rc};

/// State of an opened device: its virtual time, whether it still answers, and the products it has computed.
#[derive(Debug)]
pub struct World {
    /// What is planted.
    pub truth: Rc<Truth>,
    /// Index of this process.
    pub process: u32,
    /// Units that were opened, in this process.
    pub opened: u64,
    /// Virtual time since the device was opened.
    pub now: Time,
    /// Part of it in which the device computed.
    pub busy: Time,
    /// Why the device no longer answers.
    pub lost: Option<String>,
    /// Products of inputs seen before.
    pub products: Products,
}

/// A world in the hands of a device, its kernels and its meters.
pub type Shared = Rc<RefCell<World>>;

impl World {
    /// A device just opened.
    pub fn open(truth: Truth) -> Shared {
        let truth = Rc::new(truth);
        let (now, busy, products) = (Time(0), Time(0), Products::default());
        Rc::new(RefCell::new(World { truth, process: 0, opened: 0, now, busy, lost: None, products }))
    }

    /// Lets virtual time pass while the device computes.
    pub fn compute(&mut self, time: Time) {
        self.now = Time(self.now.0.saturating_add(time.0));
        self.busy = Time(self.busy.0.saturating_add(time.0));
    }

    /// Lets virtual time pass while the device idles.
    pub fn idle(&mut self, time: Time) {
        self.now = Time(self.now.0.saturating_add(time.0));
    }
}
