//! Pictures as PNG, drawn from their SVG.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use super::PictureFile;

/// A PNG has so many pixels for each unit of its picture.
const PIXELS: f32 = 2.0;

/// A picture as PNG, with letters of a font that holdup brings along, so that each machine gives the same bytes. `None` where
/// it cannot be drawn.
pub fn picture_png(picture: &PictureFile) -> Option<Vec<u8>> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(epaint_default_fonts::UBUNTU_LIGHT.to_vec());
    let options = Options { font_family: "Ubuntu".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(&picture.svg, &options).ok()?;
    let size = tree.size();
    let mut pixels =
        Pixmap::new((size.width() * PIXELS).ceil() as u32, (size.height() * PIXELS).ceil() as u32)?;
    resvg::render(&tree, Transform::from_scale(PIXELS, PIXELS), &mut pixels.as_mut());
    pixels.encode_png().ok()
}
