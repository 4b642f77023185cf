//! In which clock states does a software device run, and how long does it stay in each?

use super::random::Stream;
use rigel_numerics::Megahertz;
use serde::{Deserialize, Serialize};

/// One clock state. At least one of `factor` and `clock` is given; each follows from the other unless both are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Relative frequency of the state; weights need not sum to 1.
    pub weight: f64,
    /// Rate in this state over the rate at the reference clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Core clock in this state. Given together with `factor`, time and cycles disagree on purpose.
    #[serde(default, rename = "clock_mhz", skip_serializing_if = "Option::is_none")]
    pub clock: Option<Megahertz>,
}

impl State {
    /// Rate over the rate at the reference clock.
    pub fn rate_factor(&self, reference: Megahertz) -> f64 {
        match (self.factor, self.clock) {
            (Some(factor), _) => factor,
            (None, Some(clock)) => clock.hertz() / reference.hertz(),
            (None, None) => 1.0,
        }
    }

    /// The core clock, to the nearest megahertz.
    pub fn megahertz(&self, reference: Megahertz) -> Megahertz {
        let derived = || Megahertz((f64::from(reference.0) * self.factor.unwrap_or(1.0)).round() as u32);
        self.clock.unwrap_or_else(derived)
    }
}

/// How states follow one another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Law {
    /// Each repetition draws its state anew.
    #[default]
    Iid,
    /// Each process draws one state and keeps it.
    PerProcess,
    /// A Markov chain: a state is left, on average, after `dwell` repetitions; the next is drawn by weight.
    Markov {
        /// Mean number of repetitions between two draws, at least 1.
        dwell: f64,
    },
    /// Weights are whole counts: each run of Σ weight repetitions holds every state exactly that often, in a seeded
    /// random order. Plants published counts without binomial scatter.
    Deck,
}

/// A mixture of clock states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct States {
    /// How states follow one another.
    #[serde(default)]
    pub law: Law,
    /// The states, at least one.
    pub mixture: Vec<State>,
}

impl Default for States {
    /// One state at the reference clock.
    fn default() -> Self {
        States { law: Law::Iid, mixture: vec![State { weight: 1.0, factor: Some(1.0), clock: None }] }
    }
}

impl States {
    /// Index of a state drawn by weight.
    fn draw(&self, stream: &mut Stream) -> usize {
        let total: f64 = self.mixture.iter().map(|s| s.weight).sum();
        let mut left = stream.unit() * total;
        for (i, s) in self.mixture.iter().enumerate() {
            if left < s.weight {
                return i;
            }
            left -= s.weight;
        }
        self.mixture.iter().rposition(|s| s.weight > 0.0).unwrap_or(0)
    }

    /// A deck with each state as often as its weight says, shuffled.
    fn deck(&self, stream: &mut Stream) -> Vec<usize> {
        let counts = self.mixture.iter().enumerate();
        let mut deck: Vec<usize> = counts.flat_map(|(i, s)| std::iter::repeat_n(i, s.weight as usize)).collect();
        for i in (1..deck.len()).rev() {
            deck.swap(i, stream.below(i as u64 + 1) as usize);
        }
        deck
    }
}

/// The walk of one cell through the states of a mixture.
#[derive(Debug, Clone)]
pub struct Walk {
    states: States,
    current: Option<usize>,
    deck: Vec<usize>,
    stream: Stream,
    process: Stream,
}

impl Walk {
    /// A walk; `stream` draws per repetition, `process` the state of law [`Law::PerProcess`] (cells that share the
    /// mixture and the process share that stream, and so the state).
    pub fn new(states: States, stream: Stream, process: Stream) -> Self {
        Walk { states, current: None, deck: Vec::new(), stream, process }
    }

    /// The state of the next repetition.
    pub fn step(&mut self) -> State {
        let next = match (self.states.law, self.current) {
            (Law::PerProcess, None) => self.states.draw(&mut self.process),
            (Law::PerProcess, Some(state)) => state,
            (Law::Markov { dwell }, Some(state)) if self.stream.unit() * dwell >= 1.0 => state,
            (Law::Iid | Law::Markov { .. }, _) => self.states.draw(&mut self.stream),
            (Law::Deck, _) => {
                if self.deck.is_empty() {
                    self.deck = self.states.deck(&mut self.stream);
                }
                self.deck.pop().unwrap_or(0)
            }
        };
        self.current = Some(next);
        self.states.mixture[next]
    }
}
