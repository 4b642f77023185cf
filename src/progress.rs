//! What does a user see on standard error while cells are measured?

use indicatif::{ProgressBar, ProgressStyle};
use rigel_ledger::Outcome;
use rigel_ledger::rows::{CellRow, Work, name_of};
use rigel_study::campaign::Observer;
use rigel_study::spent::Spent;
use std::io::IsTerminal;
use std::time::Duration;

/// A bar on a terminal; elsewhere one line for each finished cell.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Rows that are there, and rows of the whole campaign.
    rows: (usize, usize),
}

impl Progress {
    /// Looks at standard error to decide.
    pub fn new() -> Self {
        Progress { bar: std::io::stderr().is_terminal().then(|| ProgressBar::new(0)), rows: (0, 0) }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => crate::terminal::tell!("{text}"),
        }
    }

    /// Takes the bar away.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Progress {
    fn begin(&mut self, rows: usize, there: usize) {
        self.rows = (there, rows);
        if let Some(bar) = &self.bar {
            bar.set_length(rows as u64);
            bar.set_position(there as u64);
            let style = "{bar:30} {pos}/{len} rows  {elapsed} gone, {eta} left  {wide_msg}";
            if let Ok(style) = ProgressStyle::with_template(style) {
                bar.set_style(style.progress_chars("━╸─"));
            }
            bar.enable_steady_tick(Duration::from_millis(200));
        }
        if there > 0 {
            self.say(&format!("resuming: {there} of {rows} rows are there already"));
        }
    }

    fn piece(&mut self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(name.to_owned());
        }
    }

    fn row(&mut self, row: &CellRow) {
        self.rows.0 += 1;
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                if !matches!(row.outcome, Outcome::Right | Outcome::Imprecise | Outcome::Absent) && row.process == 0 {
                    bar.println(line(row));
                }
            }
            None => {
                let (there, rows) = self.rows;
                crate::terminal::tell!("{there}/{} {}", rows.max(there), line(row));
            }
        }
    }

    fn note(&mut self, text: &str) {
        self.say(&format!("note: {text}"));
    }

    fn spent(&mut self, wall: Duration, spent: &Spent) {
        if spent.total().is_zero() {
            // Single questions: what is asked and what the tool thinks about the answers are not told apart.
            return self.say(&format!("{:.1} s", wall.as_secs_f64()));
        }
        let own = wall.saturating_sub(spent.total());
        let share = if wall.is_zero() { 0.0 } else { 100.0 * own.as_secs_f64() / wall.as_secs_f64() };
        let parts = [
            ("kernels", spent.kernels),
            ("clocks, caches and launches around them", spent.around),
            ("gate", spent.gate),
            ("meters", spent.waiting),
        ];
        let parts: Vec<String> =
            parts.iter().map(|(what, time)| format!("{what} {:.1} s", time.as_secs_f64())).collect();
        self.say(&format!(
            "{:.1} s: {}, the tool itself {:.1} s ({share:.1} %)",
            wall.as_secs_f64(),
            parts.join(", "),
            own.as_secs_f64()
        ));
    }
}

/// `gemm avx512-fma f32,f32->f32 512x512x512 process 0: right, 1.22 ms`.
fn line(row: &CellRow) -> String {
    let what = match (row.shape, row.work) {
        (Some(shape), Work::Placed | Work::Version) => format!("{shape} {}", row.tile),
        (Some(shape), _) => shape.to_string(),
        (None, _) => row.tile.clone(),
    };
    let process = if matches!(row.work, Work::Rung | Work::Version) {
        String::new()
    } else {
        format!(" process {}", row.process)
    };
    let time = row.median_ns.map(|ns| format!(", {}", time(ns))).unwrap_or_default();
    let reason = if row.reason.is_empty() { String::new() } else { format!(" ({})", short(&row.reason)) };
    format!(
        "{} {} {} {what}{process}: {}{time}{reason}",
        name_of(&row.work),
        row.path,
        row.triple,
        name_of(&row.outcome)
    )
}

fn time(ns: f64) -> String {
    match ns {
        n if n < 1e3 => format!("{n:.1} ns"),
        n if n < 1e6 => format!("{:.2} µs", n / 1e3),
        n if n < 1e9 => format!("{:.2} ms", n / 1e6),
        n => format!("{:.2} s", n / 1e9),
    }
}

/// The first line of a reason, at most 100 characters.
fn short(reason: &str) -> String {
    let line = reason.lines().next().unwrap_or_default();
    match line.char_indices().nth(100) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
