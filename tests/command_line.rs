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
        "emit",
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
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(code(&["verify", empty.path().to_str().unwrap()]), Some(2));
    assert_eq!(code(&["list", "--device", "sim:no/such/truth.toml"]), Some(2));
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

/// What an option is told that no plan can hold.
#[test]
fn a_bad_option_is_named_with_its_value_and_what_is_allowed() {
    let cases: [(&[&str], i32, &[&str]); 11] = [
        (&["--seed", "x"], 2, &["'x'", "--seed", "0 to 9223372036854775807"]),
        (&["--seed", "9223372036854775808"], 2, &["--seed", "0 to 9223372036854775807"]),
        (&["--timeout", "nan"], 2, &["--timeout", "seconds from 0.1 to 86400"]),
        (&["--partition", "9"], 2, &["--partition", "slice:m/n"]),
        (&["--axis", "path=a/b"], 2, &["--axis path is \"a/b\"", "letters, digits"]),
        (&["--axis", "path=nonsense"], 4, &["--axis `path=nonsense`", "rigel devices --device sim:plain"]),
        (&["--axis", "shape=8,8"], 2, &["--axis shape is \"8x8x8\"", "each value once"]),
        (&["--axis", "shape=8;cache=hot"], 2, &["--axis cache=hot", "warm, cold"]),
        (&["--axis", "recipe=zeros"], 2, &["--axis recipe", "besides zeros and constant"]),
        (&["--axis", ";"], 2, &["--axis ;", "name=v1,v2"]),
        (&["types", "types"], 2, &["PROBES", "each value once"]),
    ];
    for (options, code, words) in cases {
        let output = rigel().args(["list", "--device", "sim:plain"]).args(options).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{options:?}: {said}");
        for word in words {
            assert!(said.contains(word), "{options:?}: no `{word}` in: {said}");
        }
        assert!(!said.contains("line ") && !said.contains("with its options"), "{options:?}: {said}");
    }
}

#[test]
fn several_axes_go_into_one_variable() {
    let listed = |axes: &[&str], variable: &str| {
        let mut command = rigel();
        command.args(["list", "--device", "sim:plain", "--format", "csv"]);
        for axis in axes {
            command.args(["--axis", axis]);
        }
        if !variable.is_empty() {
            command.env("RIGEL_AXIS", variable);
        }
        stdout(&command.output().unwrap())
    };
    let apart = listed(&["shape=32,48", "types-shape=8", "triple=f16,f16->f32;e4m3,e4m3->f32"], "");
    let together = listed(&[], "shape=32,48; types-shape=8;triple=f16,f16->f32;e4m3,e4m3->f32");
    assert_eq!(apart, together);
    assert!(apart.contains("48x48x48") && apart.contains("e4m3") && !apart.contains("bf16"), "{apart}");
}

#[test]
fn a_bad_truth_is_unreadable_input_told_with_file_line_and_key() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("truth.toml");
    let good = include_str!("../crates/device/src/sim/truths/plain.toml");
    let line = 1 + good.lines().position(|line| line.starts_with("cores = ")).unwrap();
    let bad: String =
        good.lines().map(|l| if l.starts_with("cores = ") { "cores = 0\n".into() } else { format!("{l}\n") }).collect();
    std::fs::write(&file, bad).unwrap();
    for command in ["list", "devices"] {
        let output = rigel().args([command, "--device"]).arg(format!("sim:{}", file.display())).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("truth.toml:{line}: `cores` is 0; allowed: at least 1")), "{said}");
    }
}

/// Values of a CSV line, as far as no value holds a quote.
fn fields(line: &str) -> Vec<String> {
    let quoted = line.split('"').enumerate();
    let kept: String =
        quoted.map(|(i, part)| if i % 2 == 1 { part.replace(',', ";") } else { part.to_owned() }).collect();
    kept.split(',').map(str::to_owned).collect()
}

#[test]
fn data_formats_give_raw_values_under_columns_with_units() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let run =
        |format: &str| stdout(&rigel().args(SMALL).args(["--format", format]).arg("--out").arg(&out).output().unwrap());
    let csv = run("csv");
    let lines: Vec<Vec<String>> = csv.lines().map(fields).collect();
    let column = |name: &str| lines[0].iter().position(|c| c == name).unwrap_or_else(|| panic!("no {name} in {csv}"));
    let facts = file(&out, "facts.csv");
    let rates: Vec<Vec<String>> = facts.lines().map(fields).filter(|fact| fact[6] == "rate").collect();
    let rows: Vec<&Vec<String>> = lines[1..].iter().filter(|row| !row[column("rate_op_per_s")].is_empty()).collect();
    assert!(rates.len() == rows.len() && !rates.is_empty());
    for rate in &rates {
        let like = |row: &&&Vec<String>| {
            (&row[column("path")], &row[column("triple")], &row[column("shape")]) == (&rate[1], &rate[2], &rate[3])
        };
        let row = rows.iter().find(like).unwrap();
        for (name, at) in [("rate_op_per_s", 7), ("rate_low_op_per_s", 9), ("rate_high_op_per_s", 10)] {
            assert_eq!(row[column(name)].parse::<f64>().unwrap(), rate[at].parse::<f64>().unwrap(), "{name}");
        }
        assert_eq!(row[column("kind")], "simulated");
    }
    let jsonl = run("jsonl");
    let objects: Vec<serde_json::Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(objects.len() == lines.len() - 1 && objects.iter().any(|row| row["rate_op_per_s"].is_f64()));
    let run = out.to_str().unwrap();
    let commands: [(&[&str], &str); 6] = [
        (&["list", "--device", "sim:plain"], "block"),
        (&["list", "--device", "sim:plain", "--estimate"], "memory_bytes"),
        (&["devices"], "absent_offers"),
        (&["devices", "--device", "sim:plain"], "stated_op_per_cycle_per_core"),
        (&["verify", run], "failed"),
        (&["calibrate", "clocks", "--devices", "2"], "share_low"),
    ];
    for (arguments, key) in commands {
        let printed = |format: &str| {
            stdout(&rigel().args(arguments).args(["--format", format, "--color", "always"]).output().unwrap())
        };
        let (csv, jsonl) = (printed("csv"), printed("jsonl"));
        assert!(!csv.contains('\x1b') && !jsonl.contains('\x1b'), "{arguments:?}: colour in data");
        let width = fields(csv.lines().next().unwrap()).len();
        assert!(csv.lines().all(|line| fields(line).len() == width), "{arguments:?}: {csv}");
        for (object, line) in jsonl.lines().zip(csv.lines().skip(1)) {
            let object: serde_json::Value = serde_json::from_str(object).unwrap();
            assert!(object.get(key).is_some() && object.as_object().unwrap().len() == width, "{arguments:?}: {line}");
        }
        assert_eq!(jsonl.lines().count() + 1, csv.lines().count());
    }
}

#[test]
fn an_estimate_tells_memory_and_a_run_warns_of_blocks_that_do_not_fit() {
    let table = stdout(&rigel().args(["list", "--device", "sim:plain", "--estimate"]).output().unwrap());
    assert!(table.lines().next().unwrap().ends_with("memory") && table.contains("iB"), "{table}");
    let huge = ["--device", "sim:plain", "--axis", "shape=1000000", "--axis", "types-shape=8"];
    let output = rigel().args(["list", "--estimate"]).args(huge).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).contains("warning: block gemm/1000000x1000000x1000000"), "{}", stderr(&output));
}

/// Every command that shows what a run says: each with the run as its last argument.
const READERS: [&[&str]; 6] =
    [&["export", "--to", "jsonl"], &["export", "--to", "bmf"], &["explain"], &["figures"], &["report"], &["compare"]];

fn reads(reader: &[&str], run: &std::path::Path) -> std::process::Output {
    let mut command = rigel();
    command.args(reader);
    if reader == ["compare"] {
        command.arg(run);
    }
    command.arg(run).output().unwrap()
}

#[test]
fn an_edited_run_is_refused_by_every_command_with_the_file_named() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    for name in ["cells.csv", "samples.csv", "witness.csv", "facts.csv", "run.json", "plan.toml"] {
        let good = std::fs::read(out.join(name)).unwrap();
        let mut bad = good.clone();
        let last = bad.len() - 3;
        bad[last] = if bad[last] == b'1' { b'2' } else { b'1' };
        std::fs::write(out.join(name), bad).unwrap();
        for reader in READERS {
            let output = reads(reader, &out);
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{name} {reader:?}: {said}");
            assert!(
                said.contains(name) && said.contains("rigel verify") && output.stdout.is_empty(),
                "{reader:?}: {said}"
            );
        }
        std::fs::write(out.join(name), good).unwrap();
    }
    std::fs::write(out.join("layouts.csv"), "more\n").unwrap();
    assert_eq!(reads(&["report"], &out).status.code(), Some(1));
    std::fs::remove_file(out.join("layouts.csv")).unwrap();
    std::fs::remove_file(out.join("power.csv")).unwrap();
    assert_eq!(reads(&["figures"], &out).status.code(), Some(1));
}

#[test]
fn an_unsealed_run_is_shown_with_a_warning_there_and_on_page_and_figures() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    std::fs::remove_file(out.join("MANIFEST")).unwrap();
    std::fs::remove_file(out.join("facts.csv")).unwrap();
    for (reader, code) in READERS.into_iter().zip([0, 0, 4, 0, 0, 5]) {
        let output = reads(reader, &out);
        assert_eq!(output.status.code(), Some(code), "{reader:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("warning:") && stderr(&output).contains("not sealed"), "{reader:?}");
    }
    assert!(file(&out, "report.html").contains("Not sealed: "));
    for figure in ["throughput", "ladder", "ratios", "error", "distribution"] {
        assert!(file(&out, &format!("figures/{figure}.svg")).contains("not sealed"), "{figure}");
    }
}

#[test]
#[cfg(not(feature = "parquet"))]
fn without_parquet_the_message_says_how_to_build_it() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    rigel().args(SMALL).arg("--out").arg(&out).assert().success();
    let output = rigel().arg("export").arg(&out).args(["--to", "parquet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cargo build --release --features parquet"), "{}", stderr(&output));
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
