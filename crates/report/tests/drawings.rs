//! Are figures, page and tables the same bytes every time, well formed, marked, bounded, and honest about what is missing?

mod synthetic;

use rigel_ledger::provenance::RunKind;
use rigel_ledger::rows::Work;
use rigel_ledger::{CellId, Outcome, PowerRow};
use rigel_numerics::{Shape, Time};
use rigel_report::{Figure, Kind, Published, Source, VerdictTable, figures, findings_markdown, page, published};
use synthetic::{Synthetic, cell, fact, identity, parse};

/// Every `<svg>…</svg>` of a page.
fn drawings_in(page: &str) -> Vec<&str> {
    let ends = page.match_indices("</svg>").map(|(end, close)| end + close.len());
    page.match_indices("<svg ").map(|(start, _)| start).zip(ends).map(|(start, end)| &page[start..end]).collect()
}

fn well_formed(svg: &str) -> roxmltree::Document<'_> {
    roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {}", &svg[..svg.len().min(300)]))
}

/// All text of a drawing, as a reader sees it.
fn read(svg: &str) -> String {
    let document = well_formed(svg);
    let texts = document
        .descendants()
        .filter(|n| n.is_text() && n.parent().is_some_and(|p| p.has_tag_name("text") || p.tag_name().name() == "text"));
    texts.filter_map(|n| n.text()).collect::<Vec<_>>().join("\n")
}

/// The verdict table as a terminal of 100 characters shows it.
fn terminal(source: Source<'_>) -> String {
    VerdictTable::new(source).text(Some(100), str::to_owned)
}

fn all(run: &Synthetic) -> Vec<Figure> {
    figures(run.source())
}

#[test]
fn a_measured_run_looks_like_this() {
    let run = Synthetic::new(RunKind::Measured, 1);
    for figure in all(&run) {
        insta::assert_binary_snapshot!(&format!("measured-{}", figure.name), figure.svg.into_bytes());
    }
    insta::assert_snapshot!("measured-findings", findings_markdown(run.source()));
    insta::assert_snapshot!("measured-verdicts", terminal(run.source()));
}

#[test]
fn a_small_page_looks_like_this() {
    let mut run = Synthetic::new(RunKind::Measured, 1);
    run.cells.retain(|c| c.path == "avx512-bf16" || c.outcome == Outcome::Wrong);
    run.facts.retain(|f| f.path == "avx512-bf16");
    insta::assert_binary_snapshot!("measured-report.html", page(run.source()).into_bytes());
}

#[test]
fn two_simulated_clock_states_look_like_this() {
    let run = Synthetic::new(RunKind::Simulated, 2);
    let distribution = all(&run).into_iter().find(|f| f.name == "distribution.svg").expect("a figure of distributions");
    let text = read(&distribution.svg);
    let both = text.lines().filter(|l| l.contains("GHz")).collect::<Vec<_>>();
    assert!(both.iter().any(|l| l.contains("2.50 GHz")) && both.iter().any(|l| l.contains("3.50 GHz")), "{both:?}");
    assert!(both.iter().all(|l| l.contains(" % · ")), "a mode without its weight: {both:?}");
    assert!(
        !text.lines().any(|l| l.starts_with("median ") && l.contains("op/s")),
        "one number stands for two clock states"
    );
    insta::assert_binary_snapshot!("simulated-distribution.svg", distribution.svg.into_bytes());
}

#[test]
fn one_clock_state_shows_one_median() {
    let run = Synthetic::new(RunKind::Measured, 1);
    let svg = &all(&run)[1].svg;
    let text = read(svg);
    assert_eq!(text.lines().filter(|l| l.starts_with("median ") && l.contains("op/s")).count(), 8);
    assert!(!text.contains(" % · "));
}

#[test]
fn order_of_rows_does_not_matter() {
    let straight = Synthetic::new(RunKind::Measured, 2);
    let mut turned = Synthetic::new(RunKind::Measured, 2);
    turned.cells.reverse();
    turned.facts.reverse();
    assert_eq!(all(&straight), all(&turned));
    assert_eq!(page(straight.source()), page(turned.source()));
    assert_eq!(findings_markdown(straight.source()), findings_markdown(turned.source()));
}

#[test]
fn everything_simulated_is_marked_and_nothing_measured_is() {
    for (kind, marked) in [(RunKind::Simulated, true), (RunKind::Measured, false)] {
        let run = Synthetic::new(kind, 2);
        let whole = page(run.source());
        let inside = drawings_in(&whole);
        assert_eq!(inside.len(), 10, "five figures, wide and narrow");
        let own = all(&run);
        for svg in own.iter().map(|f| f.svg.as_str()).chain(inside) {
            let document = well_formed(svg);
            let watermarks = document.descendants().filter(|n| n.attribute("class") == Some("watermark"));
            assert_eq!(watermarks.count() > 0, marked);
            let label = document.root_element().attribute("aria-label").unwrap_or_default();
            assert_eq!(label.contains("simulated"), marked, "{label}");
        }
        assert_eq!(whole.contains("<b>Simulated.</b>"), marked);
        assert_eq!(findings_markdown(run.source()).starts_with("Simulated"), marked);
        assert_eq!(terminal(run.source()).contains("Simulated"), marked);
    }
}

#[test]
fn meters_are_drawn_where_they_were_read_and_one_that_stands_still_has_no_power() {
    let run = Synthetic::new(RunKind::Measured, 1);
    let load = run.cells.iter().find(|row| row.work == Work::Ceiling || row.work == Work::Gemm).unwrap();
    let reading = |meter: &str, phase: &str, ms: u64, value: f64| PowerRow {
        meter: meter.to_owned(),
        time_ns: Time::from_seconds(ms as f64 / 1e3),
        value,
        unit: "J".to_owned(),
        phase: phase.to_owned(),
    };
    let id = load.cell.to_string();
    let moving = [("idle", 0, 0.0), ("idle", 2000, 1.0), (&id, 2100, 1.0), (&id, 3100, 41.0)];
    let mut power: Vec<PowerRow> = moving.iter().map(|(phase, ms, value)| reading("GPU", phase, *ms, *value)).collect();
    power.extend(moving.iter().map(|(phase, ms, _)| reading("CPU", phase, *ms, 7.0)));
    let figure = figures(Source { power: &power, ..run.source() }).into_iter().find(|f| f.name == "power.svg").unwrap();
    let text = read(&figure.svg);
    assert!(text.contains("0.500 W") && text.contains("40.0 W") && text.contains(&load.path), "{text}");
    assert_eq!(text.matches("no move").count(), 2, "the counter of the CPU stood still in both windows: {text}");
    assert!(all(&run).iter().all(|f| f.name != "power.svg"), "no readings, no figure");
}

#[test]
fn a_figure_without_data_says_what_is_missing() {
    let mut empty = Synthetic::empty();
    for simulated in [false, true] {
        if simulated {
            empty.provenance = vec![synthetic::provenance(RunKind::Simulated)];
        }
        let drawn = all(&empty);
        assert_eq!(drawn.len(), 5);
        for figure in &drawn {
            assert!(read(&figure.svg).contains("Nothing to draw"), "{}", figure.name);
            assert!(figure.rows.rows.is_empty());
            assert_eq!(figure.svg.contains("class=\"watermark\""), simulated);
        }
        assert!(page(empty.source()).contains("No path and type triple of this run was tried."));
    }
    empty.provenance.clear();
    let whole = page(empty.source());
    assert!(whole.contains("<b>Incomplete.</b> Provenance lacks run.json"));
    assert!(whole.contains("✗ fail"));
}

#[test]
fn incomplete_provenance_gives_no_verdict() {
    let mut run = Synthetic::new(RunKind::Measured, 1);
    run.provenance[0].commit.clear();
    let table = VerdictTable::new(run.source());
    assert!(table.rows.iter().all(|r| r.verdict == "incomplete"));
    assert!(page(run.source()).contains("Provenance lacks commit of example"));
}

#[test]
fn every_figure_names_its_rows_units_and_command() {
    for figure in all(&Synthetic::new(RunKind::Measured, 1)) {
        let text = read(&figure.svg);
        for wanted in
            ["Rows: ", "Redraw: rigel figures data/example/paper", "measured · Example processor", "code 0123456789ab"]
        {
            assert!(text.contains(wanted), "{} lacks `{wanted}`", figure.name);
        }
        assert!(!figure.rows.rows.is_empty());
        assert!(figure.rows.rows.iter().all(|r| r.len() == figure.rows.columns.len()));
    }
}

#[test]
fn the_five_kinds_have_five_shapes() {
    let mut run = Synthetic::new(RunKind::Measured, 1);
    let (path, triple) = ("avx512-fma", parse("f32,f32->f32"));
    let (device, what) = ("Example processor".to_owned(), "median of 5".to_owned());
    let source = "Somebody, Some paper, table 2".to_owned();
    let published =
        Published { device, path: path.to_owned(), triple, shape: None, rate: 2.2e11, interval: None, what, source };
    run.published.push(published);
    let drawn = all(&run);
    let throughput = &drawn[0].svg;
    for (class, words) in [
        ("fill-measured", "measured rate with interval"),
        ("line ceiling", "measured ceiling"),
        ("line stated", "stated by the vendor"),
        ("hollow published", "published by others"),
    ] {
        assert!(throughput.contains(&format!("class=\"{class}\"")), "no mark {class}");
        assert!(read(throughput).contains(words), "no key for {words}");
    }
    assert!(
        throughput.contains("published 220 Gop/s: median of 5 (Somebody, Some paper, table 2)"),
        "no source in the tooltip"
    );
    let cited = drawn[0].rows.rows.iter().filter(|row| row[2].starts_with("published: ")).collect::<Vec<_>>();
    assert!(cited.len() == 1 && cited[0][10] == "Somebody, Some paper, table 2");
    assert!(drawn[2].svg.contains("class=\"fill-derived\""));
    let simulated = all(&Synthetic::new(RunKind::Simulated, 1));
    assert!(
        simulated[0].svg.contains("class=\"hollow measured\"") && !simulated[0].svg.contains("class=\"fill-measured\"")
    );
    let words: std::collections::BTreeSet<&str> = Kind::ALL.iter().map(|k| k.word()).collect();
    assert_eq!(words.len(), 5);
}

#[test]
fn published_rates_are_only_those_of_the_very_device() {
    let about = |kind, names: &[&str]| {
        let named = |name: &&str| {
            let mut provenance = Synthetic::new(kind, 1).provenance.remove(0);
            provenance.device.name = (*name).to_owned();
            provenance
        };
        published::about(&names.iter().map(named).collect::<Vec<_>>())
    };
    let found = about(RunKind::Measured, &["Apple M4 Max", "Apple M4 Max"]);
    assert!(!found.is_empty() && found.iter().all(|p| p.device == "Apple M4 Max" && p.path == "matmul2d"));
    for names in [&["Apple M4"][..], &["Apple M4 Max (simulated)"], &["Apple M4 Max", "Apple M5 Max"], &[]] {
        assert!(about(RunKind::Measured, names).is_empty(), "{names:?}");
    }
    assert!(about(RunKind::Simulated, &["Apple M4 Max"]).is_empty());
}

#[test]
fn what_is_wrong_is_drawn_as_a_cross_and_enters_no_line() {
    let run = Synthetic::new(RunKind::Measured, 1);
    let error = &all(&run)[4];
    let wrong = error.rows.rows.iter().find(|r| r[3] == "does not count").expect("the planted wrong row");
    assert_eq!(wrong[4], "0.310");
    assert!(read(&error.svg).contains("wrong or mistrusted: counts for nothing"));
    let table = VerdictTable::new(run.source());
    let row = table.rows.iter().find(|r| r.triple == parse("e5m2,e5m2->f32")).expect("its line");
    assert_eq!((row.gate.as_str(), row.rate.as_str()), ("wrong", ""));
}

#[test]
fn texts_from_files_stay_texts() {
    let hostile = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "]]><!-- &amp; 'x' -->",
        "a\u{0}b\u{1b}[31mc\u{7f}",
        "\u{202e}txt.exe\u{200f}\u{feff}",
        "</style></title></svg><b>",
        "| pipe | `tick` | [link](javascript:x)",
        "two\nlines\r\nand\ttabs",
        "\u{fffe}\u{ffff}\u{85}",
    ];
    for text in hostile {
        let mut run = Synthetic::new(RunKind::Simulated, 2);
        let record = &mut run.provenance[0];
        (record.device.name, record.run, record.plan) = (text.to_owned(), text.to_owned(), text.to_owned());
        record.command = vec![text.to_owned()];
        record.device.offers.iter_mut().for_each(|o| o.absent = text.to_owned());
        run.files.directory = text.to_owned();
        run.plan.baselines.b = text.to_owned();
        for row in &mut run.cells {
            (row.path, row.reason, row.tile) = (format!("{}{text}", row.path), text.to_owned(), text.to_owned());
        }
        for row in &mut run.facts {
            (row.path, row.words) = (format!("{}{text}", row.path), text.to_owned());
            if row.name.starts_with("verdict") || row.name.starts_with("rung") {
                (row.value, row.evidence) = (text.to_owned(), text.to_owned());
            }
        }
        let whole = page(run.source());
        for svg in all(&run).iter().map(|f| f.svg.as_str()).chain(drawings_in(&whole)) {
            well_formed(svg);
            assert!(!svg.contains("<script") && !svg.contains("<img"));
        }
        for bad in ["<script", "<img", "<b>\"", "]]>", "<!--"] {
            assert!(!whole.contains(bad), "`{bad}` came through from {text:?}");
        }
        assert_eq!(whole.matches("</style>").count(), 1);
        assert_eq!(
            whole.matches("</title></head>").count() + whole.matches("<title>").count(),
            1 + 2 * count_groups(&whole)
        );
        let unseen = |c: char| {
            (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{200f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
        };
        assert!(!whole.contains(unseen));
        let markdown = findings_markdown(run.source());
        assert!(!markdown.contains(unseen) && !markdown.contains('<'));
        for line in markdown.lines().filter(|l| l.starts_with('|') && !l.contains("---")) {
            let bars = line.replace("\\\\", "").replace("\\|", "").matches('|').count();
            assert_eq!(bars, rigel_report::HEADS.len() + 1, "{line}");
        }
        assert!(!terminal(run.source()).contains(unseen));
    }
}

/// Tooltips inside the drawings of a page, halved: each stands in a wide and a narrow one.
fn count_groups(page: &str) -> usize {
    page.matches("<g><title>").count() / 2
}

#[test]
fn numbers_that_are_none_are_left_out() {
    let mut run = Synthetic::new(RunKind::Measured, 1);
    for row in &mut run.facts {
        if row.name.starts_with("verdict") || row.name.starts_with("rung") {
            continue;
        }
        row.value = match row.value.len() % 4 {
            0 => "NaN".to_owned(),
            1 => "inf".to_owned(),
            2 => "-1e400".to_owned(),
            _ => continue,
        };
        (row.low, row.high) = (Some(f64::NAN), Some(f64::INFINITY));
    }
    for row in &mut run.cells {
        (row.gate_error, row.median_ns, row.operations) = (Some(f64::NAN), Some(-0.0), Some(0));
    }
    for figure in all(&run) {
        well_formed(&figure.svg);
        assert!(!figure.svg.contains("NaN") && !figure.svg.contains("inf "), "{}", figure.name);
    }
    page(run.source());
}

#[test]
fn a_large_run_stays_bounded_and_says_what_it_left_out() {
    let mut run = Synthetic::empty();
    run.provenance = vec![synthetic::provenance(RunKind::Simulated)];
    let triple = parse("f16,f16->f32");
    for i in 0..20_000usize {
        let path = format!("path-{}", i / 20);
        let shape = Shape::cube(64 + i % 20);
        let identity = identity(Work::Gemm, &path, triple, Some(shape), "64x32");
        let mut row = cell(&identity, 0);
        row.operations = Some(shape.operations());
        row.gate_error = Some(1e-9);
        row.gate_tolerance = Some(1e-7);
        if i % 7 == 0 {
            (row.outcome, row.reason) = (Outcome::Crashed, format!("signal {i}"));
        }
        let mut rate = fact("rate", &path, triple, &format!("{}", 1e12 + i as f64), "op/s");
        (rate.shape, rate.recipe, rate.cache) = (Some(shape), identity.recipe, Some(identity.cache));
        (rate.low, rate.high) = (Some(1e12), Some(1e12 + 2.0 * i as f64));
        rate.evidence = CellId::of(&identity).to_string();
        let mut verdict = fact("verdict.acceleration", &path, triple, "undecided", "");
        (verdict.words, verdict.evidence) = ("Nothing to compare with.".to_owned(), rate.evidence.clone());
        run.cells.push(row);
        run.facts.push(rate);
        run.facts.push(verdict);
    }
    let whole = page(run.source());
    assert!(whole.len() < 4 << 20, "{} bytes", whole.len());
    for stated in [
        "The first 48 of 1\u{202f}000 pairs",
        "The first 400 of 1\u{202f}000 lines",
        "The first 400 of 20\u{202f}000 rows",
        "The first 400 of 2\u{202f}858 rows",
    ] {
        assert!(whole.contains(stated), "`{stated}` is not said");
    }
    assert!(all(&run).iter().map(|f| f.svg.len()).sum::<usize>() < 1 << 20);
}

#[test]
fn unordered_sizes_are_not_joined() {
    let mut run = Synthetic::new(RunKind::Measured, 1);
    assert!(all(&run)[0].svg.contains("class=\"line trend\""));
    for row in &mut run.facts {
        row.shape = row.shape.map(|s| if s.m == 1024 { Shape::new(2048, 64, 2048) } else { s });
    }
    assert!(!all(&run)[0].svg.contains("class=\"line trend\""));
}

#[test]
fn the_twelve_rules_answer_from_the_files() {
    let answers = |run: &Synthetic| {
        let whole = page(run.source());
        let section =
            whole.split("<section id=\"rules\">").nth(1).and_then(|s| s.split("</section>").next()).map(str::to_owned);
        let section = section.expect("a section of rules");
        ["class=\"answer pass\"", "class=\"answer fail\"", "class=\"answer none\""].map(|a| section.matches(a).count())
    };
    assert_eq!(answers(&Synthetic::new(RunKind::Measured, 1)), [12, 0, 0]);
    let [_, failed, none] = answers(&Synthetic::empty());
    assert_eq!(failed + none, 12);
    let mut run = Synthetic::new(RunKind::Measured, 1);
    run.facts.retain(|f| f.name != "ceiling");
    assert_eq!(answers(&run), [11, 1, 0], "no upper bound is shown");
    run.facts.iter_mut().filter(|f| f.name == "ratio.match_path").for_each(|f| f.low = None);
    assert_eq!(answers(&run), [10, 2, 0], "a ratio has no interval");
    run.cells.iter_mut().filter(|c| c.outcome == Outcome::Hung).for_each(|c| c.reason.clear());
    assert_eq!(answers(&run), [9, 3, 0], "a row does not count and gives no reason");
}
