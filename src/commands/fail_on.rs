//! Which verdicts and outcomes end a finished run with code 1?

use crate::exit::{Exit, failure};
use rigel_ledger::Outcome;
use rigel_ledger::rows::name_of;
use rigel_ledger::store::Run;
use rigel_ledger::verdict::word;

/// Words of `--fail-on`, each of which some verdict or outcome can say.
pub struct FailOn(Vec<String>);

impl FailOn {
    /// Checks what was typed, before anything runs.
    pub fn new(typed: &[String]) -> anyhow::Result<FailOn> {
        let known = known();
        let words: Vec<String> = typed.iter().map(|word| word.trim().to_owned()).collect();
        match words.iter().find(|word| !known.contains(word)) {
            None => Ok(FailOn(words)),
            Some(word) => {
                let why = format!("--fail-on: no verdict or outcome says `{word}`; known: {}", known.join(", "));
                Err(failure(Exit::Usage, why))
            }
        }
    }

    /// The first of the words that a run says. A verdict says its word whole, without its reason or rivals: `accelerated`
    /// is not said by `not accelerated`, and `undecided` is by `undecided: clock states`.
    pub fn said(&self, run: &Run) -> Option<&str> {
        let verdict =
            |word: &str| run.facts().iter().any(|f| f.name.starts_with("verdict.") && word::head(&f.value) == word);
        let outcome = |word: &str| run.cells().iter().any(|row| name_of(&row.outcome) == word);
        self.0.iter().map(String::as_str).find(|word| verdict(word) || outcome(word))
    }
}

fn known() -> Vec<String> {
    word::heads().into_iter().chain(Outcome::ALL.iter().map(name_of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_checked_whole() {
        let typed = |words: &[&str]| FailOn::new(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>());
        assert!(typed(&["same rate", " undecided", "refused-compile", "win"]).is_ok());
        for bad in ["acceler", "", "Wrong", "win over B", "rate"] {
            let said = typed(&["wrong", bad]).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(said.contains(&format!("`{bad}`")) && said.contains("not accelerated, emulated"), "{bad}: {said}");
        }
    }
}
