//! Does a browser show the page without overflow, requests or script, on a phone and a desk, in light, dark and print?
//!
//! Needs Chromium on the path (`chromium`, `chromium-browser` or `google-chrome`); without one it says so and passes.

mod synthetic;

use rigel_ledger::provenance::RunKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use synthetic::Synthetic;

fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name))).find(|file| file.is_file())
}

fn headless(chromium: &Path, profile: &Path, more: &[&str]) -> String {
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(more)
        .output()
        .expect("Chromium starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A page that holds ours in frames of several widths, unchanged, and writes down what it measures there.
fn frames(page: &str, widths: &[u32]) -> String {
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let frame =
        |w: &u32| format!("<iframe width=\"{w}\" height=\"900\" style=\"border:0\" srcdoc=\"{quoted}\"></iframe>\n");
    let measure = "
        addEventListener('load', () => {
          for (const frame of document.querySelectorAll('iframe')) {
            const doc = frame.contentDocument, root = doc.documentElement, wide = [];
            for (const e of doc.body.querySelectorAll('*')) {
              const box = e.getBoundingClientRect();
              if (box.right > root.clientWidth + 1 && !e.closest('.scroll') && !e.closest('thead')) wide.push(e.tagName + '.' + e.className);
            }
            const shown = [...doc.querySelectorAll('svg.drawing')].filter(e => e.getBoundingClientRect().height > 0);
            const small = shown.map(e => e.getBoundingClientRect().width / e.viewBox.baseVal.width);
            const line = document.createElement('output');
            line.textContent = [frame.width, root.scrollWidth, shown.length, Math.min(...small).toFixed(2),
              frame.contentWindow.performance.getEntriesByType('resource').length,
              doc.defaultView.getComputedStyle(root).backgroundColor, wide.slice(0, 5).join(' ')].join(';');
            document.body.append(line);
          }
        });";
    format!("<!doctype html><body>{}<script>{measure}</script></body>", widths.iter().map(frame).collect::<String>())
}

#[test]
fn the_page_fits_phones_desks_and_paper() {
    let Some(chromium) = chromium() else {
        println!("skipped: no Chromium on the path (install the package `chromium` to run this test)");
        return;
    };
    let dir = tempfile::tempdir().expect("a folder for the test");
    let page = rigel_report::page(Synthetic::new(RunKind::Simulated, 2).source());
    let (file, framed) = (dir.path().join("report.html"), dir.path().join("framed.html"));
    std::fs::write(&file, &page).expect("the page is written");
    std::fs::write(&framed, frames(&page, &[360, 1280])).expect("its frames are written");
    for (scheme, ground) in [("0", "rgb(23, 23, 22)"), ("1", "rgb(255, 255, 255)")] {
        let scheme = format!("--blink-settings=preferredColorScheme={scheme}");
        let address = format!("file://{}", framed.display());
        let dom = headless(
            &chromium,
            &dir.path().join("profile"),
            &[&scheme, "--window-size=1400,2000", "--dump-dom", &address],
        );
        let measured: Vec<Vec<&str>> = dom
            .split("<output>")
            .skip(1)
            .filter_map(|part| part.split("</output>").next().map(|line| line.split(';').collect()))
            .collect();
        assert_eq!(measured.len(), 2, "two frames were measured");
        for line in measured {
            let [frame, width, shown, scale, requests, colour, wide] = line[..] else { panic!("{line:?}") };
            let (frame, width): (u32, u32) = (frame.parse().expect("a width"), width.parse().expect("a width"));
            assert!(width <= frame && wide.is_empty(), "{frame} px: {width} px wide, beyond it: {wide}");
            assert_eq!(shown, "5", "each figure is seen once");
            assert!(
                scale.parse::<f64>().expect("a scale") >= 0.95,
                "{frame} px: letters are drawn at {scale} of their size"
            );
            assert_eq!(requests, "0", "the page asked for something");
            assert_eq!(colour, ground);
        }
    }
    let pdf = dir.path().join("report.pdf");
    let print = format!("--print-to-pdf={}", pdf.display());
    headless(&chromium, &dir.path().join("profile"), &[&print, &format!("file://{}", file.display())]);
    let bytes = std::fs::read(&pdf).expect("a PDF was printed");
    assert!(bytes.starts_with(b"%PDF") && bytes.len() > 20_000, "{} bytes", bytes.len());
}

#[test]
fn the_page_names_nothing_to_fetch_and_nothing_to_run() {
    let page = rigel_report::page(Synthetic::new(RunKind::Measured, 1).source());
    assert!(page.contains("default-src 'none'"));
    let without_names = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for bad in ["http:", "https:", " src=", "url(", "@import", "<link", "<script", "<iframe", " on", "javascript:"] {
        let found = without_names.match_indices(bad).find(|(i, _)| bad != " on" || handler(&without_names[*i..]));
        assert!(found.is_none(), "`{bad}` stands in the page");
    }
}

/// Whether a text starts with an event handler attribute: ` onload=`.
fn handler(text: &str) -> bool {
    text[1..].split_once('=').is_some_and(|(name, _)| name.len() < 20 && name.bytes().all(|b| b.is_ascii_lowercase()))
}
