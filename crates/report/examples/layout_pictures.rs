//! What do the published layouts look like?
//!
//! `cargo run -p rigel-report --example layout_pictures -- FOLDER` draws every one as NAME.svg.

use rigel_numerics::layout::library;
use rigel_report::{Kind, LayoutPicture, layout_picture};
use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap_or_else(|| "layouts".to_owned()));
    std::fs::create_dir_all(&folder)?;
    for published in library() {
        let (name, origin) = (published.name.as_str(), published.source.as_str());
        let (layout, operand) = (&published.layout, published.operand);
        let svg = layout_picture(LayoutPicture { layout, operand, name, kind: Kind::Published, origin });
        std::fs::write(folder.join(format!("{name}.svg")), svg)?;
    }
    Ok(())
}
