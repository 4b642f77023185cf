//! How do all cores start on a piece of work within a microsecond?
//!
//! Rayon wakes sleeping threads through the kernel, which costs more than a small product takes. Here the
//! workers spin for a while after each job, then sleep; a job that follows closely finds them awake.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A job as the workers hold it: its true, shorter lifetime is [`Pool::run`]'s to guard.
type Job = dyn Fn(usize) + Sync + 'static;

/// Turns of an empty loop before a worker sleeps: some hundreds of microseconds.
const SPINS: u32 = 1 << 15;

/// Turns of an empty loop before a waiting thread offers its core to others.
const SPINS_BEFORE_YIELD: u32 = 1 << 12;

/// One thread per core; the caller is thread 0.
pub struct Pool {
    shared: Arc<State>,
    workers: Vec<JoinHandle<()>>,
    turn: Mutex<()>,
}

struct State {
    /// Number of the newest job.
    newest: AtomicU64,
    /// The newest job, and for how many threads it is. The pointer is valid until `running` is 0 again.
    job: Mutex<(usize, Option<JobPointer>)>,
    running: AtomicUsize,
    sleepers: AtomicUsize,
    wake: Condvar,
    stop: AtomicBool,
    panicked: AtomicBool,
}

#[derive(Clone, Copy)]
struct JobPointer(*const Job);
// SAFETY: the job is `Sync`, and `Pool::run` keeps it alive until every worker is done with it.
unsafe impl Send for JobPointer {}

impl State {
    fn job(&self) -> MutexGuard<'_, (usize, Option<JobPointer>)> {
        self.job.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pool {
    /// A pool of `threads` threads, the caller included. Threads that the system refuses to start are left out.
    pub fn new(threads: usize) -> Self {
        let shared = Arc::new(State {
            newest: AtomicU64::new(0),
            job: Mutex::new((0, None)),
            running: AtomicUsize::new(0),
            sleepers: AtomicUsize::new(0),
            wake: Condvar::new(),
            stop: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
        });
        let start = |index: usize| {
            let state = Arc::clone(&shared);
            thread::Builder::new().name(format!("rigel-cpu-{index}")).spawn(move || work(&state, index)).ok()
        };
        let workers = (1..threads.max(1)).map_while(start).collect();
        Pool { shared, workers, turn: Mutex::new(()) }
    }

    /// Threads, the caller included.
    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Calls `job(0)` here and `job(1) … job(threads − 1)` on workers, and returns when all have returned.
    /// `threads` is cut to the pool's size. A panic in any of them is raised again here.
    pub fn run(&self, threads: usize, job: &(dyn Fn(usize) + Sync)) {
        let threads = threads.clamp(1, self.threads());
        if threads == 1 {
            return job(0);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &*self.shared;
        // SAFETY: only the lifetime changes; the loop below waits until no worker can use the pointer any more.
        let eternal = unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync), *const Job>(job) };
        state.running.store(self.workers.len(), SeqCst);
        *state.job() = (threads, Some(JobPointer(eternal)));
        state.newest.fetch_add(1, SeqCst);
        if state.sleepers.load(SeqCst) > 0 {
            let _guard = state.job();
            state.wake.notify_all();
        }
        let own = catch_unwind(AssertUnwindSafe(|| job(0)));
        let mut spins = 0;
        while state.running.load(SeqCst) > 0 {
            spin(&mut spins);
        }
        // Taken before the caller's own panic goes on: the next job begins with a clean slate.
        let panicked = state.panicked.swap(false, SeqCst);
        if let Err(panic) = own {
            resume_unwind(panic);
        }
        assert!(!panicked, "a worker thread panicked");
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        self.shared.newest.fetch_add(1, SeqCst);
        {
            let _guard = self.shared.job();
            self.shared.wake.notify_all();
        }
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

fn spin(spins: &mut u32) {
    *spins += 1;
    if spins.is_multiple_of(SPINS_BEFORE_YIELD) {
        thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

fn work(state: &State, index: usize) {
    let mut seen = 0;
    loop {
        let mut spins = 0;
        while state.newest.load(SeqCst) == seen {
            if spins < SPINS {
                spin(&mut spins);
                continue;
            }
            let mut guard = state.job();
            state.sleepers.fetch_add(1, SeqCst);
            while state.newest.load(SeqCst) == seen {
                guard = state.wake.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            state.sleepers.fetch_sub(1, SeqCst);
        }
        seen = state.newest.load(SeqCst);
        if state.stop.load(SeqCst) {
            return;
        }
        let (threads, job) = *state.job();
        if let (true, Some(JobPointer(job))) = (index < threads, job) {
            // SAFETY: `Pool::run` keeps the job alive until `running` reaches 0, which needs this thread.
            let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*job)(index) }));
            if outcome.is_err() {
                state.panicked.store(true, SeqCst);
            }
        }
        state.running.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_is_called_once_a_job() {
        let pool = Pool::new(4);
        for round in 0..200 {
            let calls: Vec<AtomicUsize> = (0..4).map(|_| AtomicUsize::new(0)).collect();
            let threads = round % 4 + 1;
            pool.run(threads, &|i| {
                calls[i].fetch_add(1, SeqCst);
            });
            let seen: Vec<usize> = calls.iter().map(|c| c.load(SeqCst)).collect();
            let expected: Vec<usize> = (0..4).map(|i| usize::from(i < threads)).collect();
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn sleepers_wake() {
        let pool = Pool::new(2);
        for _ in 0..3 {
            thread::sleep(std::time::Duration::from_millis(20));
            let calls = AtomicUsize::new(0);
            pool.run(2, &|_| {
                calls.fetch_add(1, SeqCst);
            });
            assert_eq!(calls.load(SeqCst), 2);
        }
    }

    #[test]
    fn a_panic_comes_back_and_the_pool_lives_on() {
        let pool = Pool::new(2);
        for guilty in 0..2 {
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.run(2, &|i| assert_ne!(i, guilty, "planted"))));
            assert!(outcome.is_err());
            pool.run(2, &|_| {});
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| pool.run(2, &|_| panic!("planted"))));
        assert!(outcome.is_err());
        pool.run(2, &|_| {});
    }
}
