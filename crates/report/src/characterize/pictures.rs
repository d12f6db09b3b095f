//! Pictures as files: SVG.

use super::CharacterizeTold;
use super::scene::pictures;

/// What the classes of pictures look like on their own: the page's colours by day. Variables are not known to all that
/// draw SVG.
const STYLE: &str = include_str!("../../page/characterize.css");
const PALETTE: &str = include_str!("../../page/palette.css");

/// A picture as a file of its own.
#[derive(Clone, Debug)]
pub struct PictureFile {
    /// What it is called, without an ending.
    pub name: &'static str,
    /// SVG 1.1, with all that it needs.
    pub svg: String,
}

/// The pictures of a characterization: components, further components, moves with threads and with input, the dendrogram; those
/// for which there is something to show. The same input gives the same bytes.
pub fn characterize_pictures(told: &CharacterizeTold) -> Vec<PictureFile> {
    let style = plain(STYLE);
    let base = "text{font-family:Ubuntu,'DejaVu Sans',sans-serif;font-size:12px;fill:#4a515d}.m{fill:#656d7a;font-size:11.5px}";
    let one = |picture: super::scene::Picture| {
        // The first element's end is where the style and the ground go.
        let (open, rest) = picture.markup.split_once('>').unwrap_or((&picture.markup, ""));
        let open = open.replace(" width=\"100%\"", "").replace(" tabindex=\"0\"", "");
        let ground = "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>";
        PictureFile {
            name: picture.name,
            svg: format!("{open}>\n<style>{base}{style}</style>{ground}{rest}"),
        }
    };
    pictures(told).into_iter().map(one).collect()
}

/// A style sheet with the values of the palette by day in the place of its variables.
fn plain(style: &str) -> String {
    let day = PALETTE.split("@media").next().unwrap_or_default();
    let mut style = style.to_owned();
    for part in day.split(['{', ';', '\n']) {
        if let Some((name, value)) = part.trim().split_once(':').filter(|(name, _)| name.starts_with("--")) {
            style = style.replace(&format!("var({name})"), value.trim());
        }
    }
    style
}
