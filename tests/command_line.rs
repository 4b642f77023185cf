//! Does the command line say what it does, and what bad input gets?

mod rig;

use rig::{SMALL, rigel, stderr, stdout};

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
    for part in ["verdict.acceleration", "cell ", "time_ns: ", "repeat: rigel run"] {
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
    assert!(bmf.contains("lower_value") && bmf.contains("rate (op/s)"), "{bmf}");
}

#[test]
fn completions_and_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let text = stdout(&rigel().args(["completions", shell]).output().unwrap());
        assert!(text.contains("calibrate"), "{shell}");
    }
    assert!(stdout(&rigel().arg("man").output().unwrap()).starts_with(".ie"));
}
