//! Does any reader panic, or take for a run what is none?

mod planted;

use planted::{Planted, copy, files};
use proptest::prelude::*;
use rigel_ledger::store::Run;
use rigel_ledger::verify::verify;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::{TempDir, tempdir};

fn runs() -> &'static [TempDir; 2] {
    static RUNS: OnceLock<[TempDir; 2]> = OnceLock::new();
    RUNS.get_or_init(|| {
        let mut planted = Planted::new("run-1");
        planted.cells.truncate(4);
        let (sealed, unsealed) = (tempdir().unwrap(), tempdir().unwrap());
        planted.sealed(sealed.path());
        planted.unsealed(unsealed.path(), 4);
        [sealed, unsealed]
    })
}

fn read(dir: &Path) -> bool {
    let read = Run::open(dir).and_then(|run| Ok((run.samples()?, run.witness()?)));
    // Errors must print, whatever bytes they speak of.
    read.map_err(|error| error.to_string()).is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_edit_of_a_sealed_run_is_seen(file in 0usize..8, at in 0.0..1.0f64, cut in 0usize..5, put in prop::collection::vec(any::<u8>(), 0..5)) {
        let dir = tempdir().unwrap();
        copy(runs()[0].path(), dir.path());
        let all = files(dir.path());
        let (name, mut bytes) = all[file % all.len()].clone();
        let at = (at * bytes.len() as f64) as usize;
        let end = (at + cut).min(bytes.len());
        if bytes[at..end] != put[..] {
            bytes.splice(at..end, put);
            std::fs::write(dir.path().join(&name), bytes).unwrap();
            prop_assert!(!read(dir.path()), "{} at {}", name, at);
            prop_assert!(!verify(dir.path()).unwrap().passed());
        }
    }

    #[test]
    fn any_edit_of_an_unsealed_run_is_read_or_refused(file in 0usize..6, at in 0.0..1.0f64, cut in 0usize..5, put in prop::collection::vec(any::<u8>(), 0..5)) {
        let dir = tempdir().unwrap();
        copy(runs()[1].path(), dir.path());
        let all = files(dir.path());
        let (name, mut bytes) = all[file % all.len()].clone();
        let at = (at * bytes.len() as f64) as usize;
        let end = (at + cut).min(bytes.len());
        bytes.splice(at..end, put);
        std::fs::write(dir.path().join(&name), bytes).unwrap();
        read(dir.path());
        let _ = verify(dir.path());
    }

    #[test]
    fn any_bytes_in_place_of_a_file_are_refused(file in 0usize..8, bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let dir = tempdir().unwrap();
        copy(runs()[0].path(), dir.path());
        let all = files(dir.path());
        std::fs::write(dir.path().join(&all[file % all.len()].0), bytes).unwrap();
        prop_assert!(!read(dir.path()));
    }
}
