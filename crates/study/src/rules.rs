//! What does a device answer about the rules that no product shows, asked in a process of its own?
//!
//! A question may kill the compiler, the kernel or the process: what was answered before is kept, and a last line says how it ended.

use crate::protocol::{Event, Job, Request, SOLO};
use crate::supervisor::{End, SupervisorError, Workers};
use rigel_ledger::Plan;
use rigel_ledger::plan::Limits;
use rigel_ledger::provenance::RuleRecord;

/// Every answer, in the order of the questions; `None` when the user interrupts.
///
/// # Errors
/// That no worker starts.
pub fn ask(workers: &Workers<'_>, selector: &str, plan: &Plan) -> Result<Option<Vec<RuleRecord>>, SupervisorError> {
    let request = Request {
        device: selector.to_owned(),
        process: SOLO,
        seed: plan.seed,
        sampling: plan.sampling.clone(),
        thresholds: plan.thresholds.clone(),
        // The slice far from its base needs more memory than a plan gives to products.
        limits: Limits { memory_mib: 0, ..plan.limits.clone() },
        job: Job::Rules,
    };
    let mut answers = Vec::new();
    let end = workers.run(&request, |event| {
        if let Event::Rule(a) = event {
            answers.push(RuleRecord { rule: a.rule, asked: a.asked, answer: a.answer, words: a.words });
        }
    })?;
    let how = match end {
        End::Done => return Ok(Some(answers)),
        End::Interrupted => return Ok(None),
        End::Died(why) => why,
        End::Silent => format!("it said nothing for {} s and was ended", plan.limits.timeout_s),
        End::DeviceLost { reason, .. } => reason,
    };
    let asked = "the question after this list".to_owned();
    answers.push(RuleRecord { rule: "process".into(), asked, answer: "died".into(), words: how });
    Ok(Some(answers))
}
