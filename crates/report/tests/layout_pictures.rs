//! Are pictures of layouts well formed, named, marked, bounded, and true to the table?

use rigel_numerics::layout::{FragmentOperand, Layout, PublishedLayout, library};
use rigel_report::{Kind, LayoutPicture, layout_picture};

fn find(name: &str) -> &'static PublishedLayout {
    library().iter().find(|l| l.name == name).unwrap_or_else(|| panic!("{name}"))
}

fn draw(published: &PublishedLayout) -> String {
    let PublishedLayout { name, layout, operand, source, .. } = published;
    layout_picture(LayoutPicture { layout, operand: *operand, name, kind: Kind::Published, origin: source })
}

fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}"));
    document.descendants().filter(|n| n.has_tag_name("text")).filter_map(|n| n.text().map(str::to_owned)).collect()
}

#[test]
fn every_published_layout_is_drawn_well_formed_and_small() {
    for published in library() {
        let svg = draw(published);
        assert_eq!(svg, draw(published), "{}", published.name);
        let texts = texts(&svg);
        assert!(texts[0].starts_with(&published.name), "{}", texts[0]);
        assert!(svg.len() < 900_000, "{}: {} bytes", published.name, svg.len());
    }
}

/// Apple's 8 × 8: every field is named, in the order of rows.
#[test]
fn small_layouts_name_every_element() {
    let published = find("simdgroup_matrix.8x8.c");
    let named: Vec<String> = texts(&draw(published)).into_iter().filter(|t| t.contains(':') && t.len() <= 5).collect();
    let expected: Vec<String> = (0..64)
        .map(|i| {
            let (lane, slot) = published.layout.inverse(i / 8, i % 8)[0];
            format!("{lane}:{slot}")
        })
        .collect();
    assert_eq!(named, expected);
}

#[test]
fn large_layouts_name_their_corner() {
    let published = find("wgmma.m64n256.c");
    let texts = texts(&draw(published));
    assert!(texts.iter().any(|t| t == "The upper left 16 × 16 again, fields named lane:slot"));
    let (lane, slot) = published.layout.inverse(15, 15)[0];
    assert!(texts.contains(&format!("{lane}:{slot}")));
    assert_eq!(texts.iter().filter(|t| t.contains(':') && t.len() <= 7).count(), 256);
}

#[test]
fn copies_gaps_and_simulation_are_seen() {
    let copies = texts(&draw(find("rdna3.v_wmma_f32_16x16x16_f16.a")));
    assert!(copies.contains(&"0:0".to_owned()) && copies.contains(&"16:0".to_owned()));
    let layout = Layout::from_table(1, 3, 2, 1, vec![Some((0, 0)), Some((0, 1))]).unwrap();
    let svg = layout_picture(LayoutPicture {
        layout: &layout,
        operand: FragmentOperand::A,
        name: "<planted> & \u{202e}turned",
        kind: Kind::Simulated,
        origin: "a test",
    });
    let texts = texts(&svg);
    assert!(texts.contains(&"–".to_owned()) && texts.contains(&"simulated".to_owned()));
    assert!(texts[0].contains("<planted> & [U+202E]turned"), "{}", texts[0]);
    assert!(texts.iter().any(|t| t.contains("not onto")));
}

#[test]
fn a_picture_looks_like_this() {
    let name = "mma.sync.m16n8.c";
    insta::assert_binary_snapshot!("layout-mma-sync-m16n8-c.svg", draw(find(name)).into_bytes());
}
