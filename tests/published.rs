//! Does `report --published` show what the study published, alone and beside a simulated run, without mixing the two?

mod rig;

use rig::{file, rigel, stdout};

#[test]
fn the_catalogue_stands_without_a_run() {
    let text = stdout(&rigel().args(["report", "--published", "rigel-m4max"]).output().unwrap());
    assert!(text.contains("11 findings, 8 hidden and 3 contradicted"), "{text}");
    assert_eq!(text.lines().filter(|line| line.ends_with("reconstruction")).count(), 11, "{text}");
    let csv = ["report", "--published", "rigel-m4max", "--format", "csv"];
    let csv = stdout(&rigel().args(csv).output().unwrap());
    assert!(!csv.contains(",agree") && !csv.contains(",differ") && csv.contains(",not measured,"), "{csv}");
    assert_eq!(rigel().arg("report").output().unwrap().status.code(), Some(2));
}

#[test]
fn a_planted_device_is_held_against_it_and_marked() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let plan = ["run", "--device", "sim:m4max", "--axis", "shape=512", "--axis", "types-shape=8"];
    rigel().args(plan).arg("--out").arg(&run).assert().success();
    let command = ["--published", "rigel-m4max", "--format", "jsonl"];
    let study = dir.path().join("study.html");
    let text = stdout(&rigel().arg("report").arg(&run).args(command).arg("--out").arg(&study).output().unwrap());
    let rows: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let row = |part: &str, key: &str| rows.iter().find(|row| row["part"] == part && row["key"] == key).unwrap();
    // Both clock states and slow fp8 are planted, which is no evidence about the study's device.
    let planted = "the run is simulated; what is planted would agree";
    for key in ["states-512", "fp8-word"] {
        assert_eq!(
            (&row("headline", key)["answer"], &row("headline", key)["why"]),
            (&"undecided".into(), &planted.into())
        );
    }
    assert_eq!(row("headline", "rate-2048")["answer"], "not measured", "512 alone was run");
    for row in &rows {
        assert!(row["part"] != "finding" || row["answer"] == "reconstruction", "{row}");
        assert!(row["ours"].is_null() || row["ours_kind"] == "simulated", "{row}");
    }
    let page = file(dir.path(), "study.html");
    // Counterparts of the study's figures 1 to 4: repetitions, rates against the roofline and power, fp8, four ways.
    for figure in ["distribution", "throughput", "power", "ratios"] {
        let link = format!("<a href=\"#figure-{figure}\">");
        assert!(page.lines().any(|line| line.contains(&link) && line.contains("from this run")), "{figure}");
        assert!(page.contains(&format!("id=\"figure-{figure}\"")), "{figure}");
    }
    assert!(page.contains("id=\"study\"") && page.contains("ours (simulated)") && page.contains("watermark"));
    assert!(
        page.contains("href=\"#figure-distribution\"")
            && page.contains("no rows of it in this run; they would stand under <a href=\"#figure-gains\"")
    );
    // The run's own page has none of it.
    assert!(!file(&run, "report.html").contains("id=\"study\""));
}

#[test]
fn the_studys_figures_have_their_counterparts_from_a_planted_device() {
    let dir = tempfile::tempdir().unwrap();
    // Fused gains, and the lanes of a unit: figures that a run of products alone has not.
    let fusion = dir.path().join("fusion");
    let plan =
        ["run", "--device", "sim:m4max", "--preset", "fusion", "--axis", "shape=192", "--filter", "matmul2d f16"];
    rigel().args(plan).arg("--out").arg(&fusion).assert().success();
    let units = dir.path().join("units");
    let plan = ["run", "layout", "--device", "sim:m4max", "--preset", "units"];
    rigel().args(plan).arg("--out").arg(&units).assert().success();
    for (run, figure, drawn) in [(&fusion, "gains", "figure-gains"), (&units, "layout", "units")] {
        let command = ["--published", "rigel-m4max", "--format", "jsonl"];
        let study = dir.path().join(figure);
        let text = stdout(&rigel().arg("report").arg(run).args(command).arg("--out").arg(&study).output().unwrap());
        let page = file(dir.path(), figure);
        let there = format!("<a href=\"#{drawn}\">");
        let mut places = page.lines().filter(|line| line.contains(&there) && line.contains("from this run"));
        assert!(places.next().is_some(), "{figure}");
        assert!(page.contains(&format!("id=\"{drawn}\"")) && page.contains("watermark"), "{figure}");
        if figure == "gains" {
            // The study's sizes were not run, and the answer says by which plan they are.
            let row = text.lines().find(|line| line.contains("fused-1024")).unwrap();
            assert!(row.contains("not measured") && row.contains("preset fusion"), "{row}");
        } else {
            // Two elements of one column, one above the other, as the study's readers have it.
            let layouts = std::fs::read_dir(run.join("layouts")).unwrap().flatten().count();
            assert!(layouts > 0);
        }
    }
}
