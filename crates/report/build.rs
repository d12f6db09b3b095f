//! Packs the pages of `holdup explain`: as they are, they are a hundredth of the program.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::GzEncoder;

const PAGES: &str = "../../docs/explain";

fn main() {
    println!("cargo::rerun-if-changed={PAGES}");
    let packed = Path::new(&env::var_os("OUT_DIR").expect("cargo says where")).join("explain.gz");
    let mut files: Vec<PathBuf> =
        fs::read_dir(PAGES).expect("pages").map(|entry| entry.expect("a page").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str()).expect("a plain name");
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        write!(out, "{name}\0{text}\0").expect("memory takes it");
    }
    fs::write(&packed, out.finish().expect("memory takes it")).expect("the pages are written");
}
