//! What does a device answer about the rules that no product shows, asked in a process of its own?
//!
//! A question may hang, or kill the compiler, the kernel or the process: its line says how it ended, and a fresh process asks the next.

use crate::protocol::{Event, Job, Request, SOLO};
use crate::supervisor::{End, SupervisorError, Workers};
use rigel_ledger::Plan;
use rigel_ledger::plan::Limits;
use rigel_ledger::provenance::RuleRecord;
use std::path::PathBuf;

/// Every answer, in the order of the questions; `None` when the user interrupts.
///
/// # Errors
/// That no worker starts.
pub fn ask(
    workers: &Workers<'_>,
    selector: &str,
    plan: &Plan,
    libraries: &[PathBuf],
) -> Result<Option<Vec<RuleRecord>>, SupervisorError> {
    let mut answers = Vec::new();
    let mut from = 0;
    loop {
        let request = Request {
            device: selector.to_owned(),
            process: SOLO,
            seed: plan.seed,
            sampling: plan.sampling.clone(),
            thresholds: plan.thresholds.clone(),
            // The slice far from its base needs more memory than a plan gives to products.
            limits: Limits { memory_mib: 0, ..plan.limits.clone() },
            job: Job::Rules { libraries: libraries.to_vec(), from },
        };
        let mut last = None;
        let end = workers.run(&request, |event| match event {
            Event::Asks { number, question } => last = Some((number, question)),
            Event::Rule(a) => {
                answers.push(RuleRecord { rule: a.rule, asked: a.asked, answer: a.answer, words: a.words });
            }
            _ => {}
        })?;
        let (answer, words) = match end {
            End::Done => return Ok(Some(answers)),
            End::Interrupted => return Ok(None),
            End::Died(why) => ("died", why),
            End::Silent => ("hung", format!("no sign of life for {} s; killed", plan.limits.timeout_s)),
            End::DeviceLost { reason, .. } => ("died", reason),
        };
        let record = |rule: &str, asked: &str| RuleRecord {
            rule: rule.to_owned(),
            asked: asked.to_owned(),
            answer: answer.to_owned(),
            words: words.clone(),
        };
        match last {
            // A process that ends before it asks would do so again.
            None => {
                answers.push(record("process", "any question"));
                return Ok(Some(answers));
            }
            Some((number, question)) => {
                answers.push(record(&question.rule, &question.asked));
                from = number + 1;
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Command;

    /// Answers the first question, dies over the second, falls silent over the third, and answers the fourth.
    const WORKER: &str = r#"
read -r request
asks() { echo "{\"Asks\":{\"number\":$1,\"question\":{\"rule\":\"r$1\",\"asked\":\"q$1\"}}}"; }
answers() { echo "{\"Rule\":{\"rule\":\"r$1\",\"asked\":\"q$1\",\"answer\":\"fine\",\"words\":\"\"}}"; }
case "$request" in
  *'"from":0'*) asks 0; answers 0; asks 1; echo 'the compiler gave up' >&2; exit 3;;
  *'"from":2'*) asks 2; exec sleep 60;;
  *'"from":3'*) asks 3; answers 3; echo '"Done"';;
esac
"#;

    #[test]
    fn a_question_that_kills_or_hangs_has_a_line_and_the_others_are_asked() {
        let mut plan = Plan::planted("rules");
        plan.limits.timeout_s = 2.0;
        let command = || {
            let mut command = Command::new("sh");
            command.args(["-c", WORKER]);
            command
        };
        let workers = Workers { command: &command, interrupted: &|| false };
        let answers = ask(&workers, "planted", &plan, &[]).unwrap().unwrap();
        let told: Vec<(&str, &str)> = answers.iter().map(|r| (r.rule.as_str(), r.answer.as_str())).collect();
        assert_eq!(told, [("r0", "fine"), ("r1", "died"), ("r2", "hung"), ("r3", "fine")]);
        assert!(answers[1].words.contains("the compiler gave up"), "{}", answers[1].words);
        assert_eq!(answers[2].words, "no sign of life for 2 s; killed");
        // A process that ends before it asks anything is not started for ever.
        let silent = || Command::new("false");
        let workers = Workers { command: &silent, interrupted: &|| false };
        let answers = ask(&workers, "planted", &plan, &[]).unwrap().unwrap();
        assert_eq!((answers.len(), answers[0].answer.as_str()), (1, "died"));
    }
}
