//! Builds the library that is injected into measured programs, to be embedded in the `holdup` binary.
//!
//! It cannot be an ordinary dependency: it is a shared library without the standard library, with its own
//! profile, and must never be linked into holdup itself.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = here.join("../..");
    for path in ["collectors", "crates/trace", "crates/program", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", workspace.join(path).display());
    }
    let target = PathBuf::from(variable("OUT_DIR")).join("injected");
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(&workspace)
        .args([
            "rustc",
            "--package",
            "holdup-preload",
            "--lib",
            "--crate-type",
            "cdylib",
            "--profile",
            "injected",
        ])
        .arg("--target-dir")
        .arg(&target)
        // What a wrapper such as clippy or a coverage tool adds has no place in a measured program.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_TARGET_DIR");
    let status =
        cargo.status().unwrap_or_else(|error| panic!("the injected library: cargo cannot be run: {error}"));
    assert!(status.success(), "the injected library could not be built: {status}");
    let library = target.join("injected/libholdup_preload.so");
    println!("cargo:rustc-env=HOLDUP_PRELOAD={}", library.display());
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: this is a build script of cargo"))
}
