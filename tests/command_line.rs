//! Does the command line say what it does, and what bad input gets?

mod rig;

use rig::{SMALL, file, rigel, stderr, stdout};

#[test]
fn help_is_golden_for_every_command() {
    let commands = [
        "",
        "devices",
        "list",
        "run",
        "verify",
        "calibrate",
        "compare",
        "merge",
        "explain",
        "figures",
        "report",
        "export",
        "completions",
        "man",
    ];
    let mut text = String::new();
    for command in commands {
        let arguments: Vec<&str> = [command, "--help"].into_iter().filter(|a| !a.is_empty()).collect();
        let output = rigel().args(&arguments).env("COLUMNS", "100").output().unwrap();
        assert!(output.status.success());
        text.push_str(&format!("$ rigel {}\n{}\n", arguments.join(" "), stdout(&output)));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn exit_codes_are_an_interface() {
    let code = |arguments: &[&str]| rigel().args(arguments).output().unwrap().status.code();
    assert_eq!(code(&["list"]), Some(0));
    assert_eq!(code(&["list", "--preset", "huge"]), Some(2));
    assert_eq!(code(&["list", "--axis", "size=4"]), Some(2));
    assert_eq!(code(&["list", "nonsense"]), Some(2));
    assert_eq!(code(&["frobnicate"]), Some(2));
    assert_eq!(code(&["list", "--device", "abacus"]), Some(3));
    assert_eq!(code(&["devices", "--device", "sim:nothing-like-it"]), Some(3));
    assert_eq!(code(&["list", "--filter", "no such path"]), Some(4));
    assert_eq!(code(&["verify", "no/such/run"]), Some(2));
    assert_eq!(code(&["calibrate", "clocks", "--devices", "0"]), Some(4));
}

#[test]
fn a_bad_plan_gets_one_message_with_file_line_key_and_what_is_allowed_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let good = stdout(&{
        let out = dir.path().join("run");
        rigel().args(SMALL).arg("--out").arg(&out).assert().success();
        rigel().args(["export", "--to", "jsonl"]).arg(&out).output().unwrap()
    });
    assert!(good.lines().all(|line| line.starts_with('{')));
    let plan = std::fs::read_to_string(dir.path().join("run/plan.toml")).unwrap();
    let bad = [
        (plan.replace("processes", "procceses"), "procceses"),
        (plan.replace("\"32x32x32\"", "\"32x0x32\""), "shapes"),
        (plan.replace("accelerated = 1.5", "accelerated = -2.0"), "accelerated"),
        (plan.replace("burst = 6", "burst = \"six\""), "burst"),
        (plan.replace("[throughput]", "[throughputs]"), "throughputs"),
        (plan.replace("near-normal", "noise"), "recipes"),
        ("not toml at all [".to_owned(), "not TOML"),
    ];
    for (text, key) in bad {
        assert_ne!(text, plan, "the plan has {key}");
        let file = dir.path().join("bad.toml");
        std::fs::write(&file, text).unwrap();
        let out = dir.path().join("never");
        let output =
            rigel().args(["run", "--device", "sim:plain", "--plan"]).arg(&file).arg("--out").arg(&out).output();
        let output = output.unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{key}: {said}");
        assert!(said.contains("bad.toml") && said.contains(key), "{key}: {said}");
        assert!(!out.exists(), "{key}: something was written");
    }
}

#[test]
fn explain_leads_from_a_verdict_to_samples_and_a_command() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    let output = rigel().arg("explain").arg(&out).arg("matmul2d e4m3").output().unwrap();
    let text = stdout(&output);
    for part in ["verdict.acceleration", "cell ", "time_ns: ", "repeat: rigel run --plan "] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let id = text.split("cell ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    rigel().arg("explain").arg(&out).arg(&id).assert().success();
    let nothing = rigel().arg("explain").arg(&out).arg("zebra").output().unwrap();
    assert_eq!(nothing.status.code(), Some(4));
}

#[test]
fn figures_page_and_exports_are_redrawn_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    rigel().arg("figures").arg(&out).assert().success();
    rigel().arg("figures").arg(&out).arg("--check").assert().success();
    rigel().arg("report").arg(&out).arg("--check").assert().success();
    rigel().arg("verify").arg(&out).assert().success();
    std::fs::write(out.join("report.html"), "edited").unwrap();
    let changed = rigel().arg("report").arg(&out).arg("--check").output().unwrap();
    assert_eq!(changed.status.code(), Some(1));
    let bmf = stdout(&rigel().arg("export").arg(&out).args(["--to", "bmf"]).output().unwrap());
    for measure in ["lower_value", "\"rate (op/s)\"", "\"ratio.match_path\""] {
        assert!(bmf.contains(measure), "no {measure} in {bmf}");
    }
}

#[test]
fn a_reader_that_stopped_is_no_failure() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    let run = out.to_str().unwrap();
    let commands: [&[&str]; 6] = [
        &["explain", run],
        &["devices", "--device", "sim:plain"],
        &["devices"],
        &["list", "--device", "sim:plain"],
        &["export", "--to", "jsonl", run],
        &[SMALL, &["--out", run]].concat(),
    ];
    for arguments in commands {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin!("rigel"));
        child.args(arguments).stdout(writer).stderr(std::process::Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        let said = stderr(&output);
        assert!(output.status.success() && !said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn runs_of_two_seeds_differ_in_no_number_whose_intervals_overlap() {
    let dir = tempfile::tempdir().unwrap();
    let runs = ["1", "2"].map(|seed| {
        let out = dir.path().join(seed);
        rigel().args(SMALL).args(["--seed", seed]).arg("--out").arg(&out).assert().success();
        out
    });
    let output = rigel().arg("compare").args(&runs).args(["--format", "csv"]).output().unwrap();
    let text = stdout(&output);
    for line in text.lines().filter(|line| line.starts_with("word,")) {
        for number in ["ratio.", ".of_ceiling", ".of_stated"] {
            assert!(!line.contains(number), "a number is compared as a word: {line}");
        }
    }
    let said = |line: &&str| line.starts_with("moved,ratio.") || line.starts_with("not decidable,ratio.");
    let ratios = file(&runs[0], "facts.csv").lines().filter(|line| line.contains(",ratio.")).count();
    let told = text.lines().filter(said).count();
    assert!(told < ratios, "{told} of {ratios} ratios differ:\n{text}");
}

#[test]
fn fail_on_takes_whole_words_that_exist_and_checks_them_before_anything_runs() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let with = |word: &str| rigel().args(SMALL).args(["--fail-on", word]).arg("--out").arg(&out).output().unwrap();
    let unknown = with("wrong,acelerated");
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("known: accelerated, same rate") && !out.exists(), "{}", stderr(&unknown));
    assert_eq!(with("right").status.code(), Some(1));
    let facts = file(&out, "facts.csv");
    let said = |word: &str| facts.lines().any(|line| line.contains(",verdict.") && line.contains(&format!(",{word},")));
    for word in ["accelerated", "same rate", "not accelerated", "slower", "no win", "undetermined", "dedicated unit"] {
        assert_eq!(with(word).status.code(), Some(i32::from(said(word))), "{word}");
    }
}

#[test]
fn completions_and_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&rigel().args(["completions", shell]).output().unwrap());
        assert!(text.contains("calibrate"), "{shell}");
    }
    assert!(stdout(&rigel().arg("man").output().unwrap()).starts_with(".ie"));
}
