//! How are the channels of this Mac sampled as meters need them?

use super::io_report::Subscription;
use crate::contract::{Meter, MissingMeter};
use crate::metal::meters::{Channels, of};
use crate::metal::power::Channel;
use rigel_numerics::Time;
use std::rc::Rc;
use std::time::{Duration, Instant};

struct Live {
    subscription: Subscription,
    opened: Instant,
}

impl Channels for Live {
    fn sample(&self) -> Result<Vec<Channel>, String> {
        self.subscription.sample()
    }

    fn now(&self) -> Time {
        Time::from_seconds(self.opened.elapsed().as_secs_f64())
    }

    fn wait(&self, time: Time) {
        std::thread::sleep(Duration::from_nanos(time.0 / 1000));
    }
}

/// Meters that exist, and those that do not with the reason.
pub fn meters() -> (Vec<Box<dyn Meter>>, Vec<MissingMeter>) {
    let live = |subscription| Rc::new(Live { subscription, opened: Instant::now() }) as Rc<dyn Channels>;
    of(Subscription::open().map(live))
}
