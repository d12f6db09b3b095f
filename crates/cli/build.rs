//! Builds the libraries that are embedded in the `holdup` binary: the one that is injected into measured programs, and the
//! plugin that the emulator loads.
//!
//! They cannot be ordinary dependencies: they are shared libraries with their own profile, and must never be linked into
//! holdup itself.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = here.join("../..");
    for path in ["collectors", "crates/trace", "crates/program", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", workspace.join(path).display());
    }
    let target = PathBuf::from(variable("OUT_DIR")).join("injected");
    embed(&workspace, &target, "holdup-preload", "HOLDUP_PRELOAD");
    embed(&workspace, &target, "holdup-qemu", "HOLDUP_QEMU_PLUGIN");
}

/// Builds `package`, and tells the crate by the variable `name` where its library is.
fn embed(workspace: &Path, target: &Path, package: &str, name: &str) {
    let mut cargo = Command::new(variable("CARGO"));
    cargo
        .current_dir(workspace)
        .args(["rustc", "--package", package, "--lib", "--crate-type", "cdylib", "--profile", "injected"])
        .arg("--target-dir")
        .arg(target)
        // What a wrapper such as clippy or a coverage tool adds has no place in a measured program.
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_BUILD_TARGET")
        .env_remove("CARGO_TARGET_DIR");
    let status = cargo.status().unwrap_or_else(|error| panic!("{package}: cargo cannot be run: {error}"));
    assert!(status.success(), "{package} could not be built: {status}");
    let library = target.join(format!("injected/lib{}.so", package.replace('-', "_")));
    println!("cargo:rustc-env={name}={}", library.display());
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: this is a build script of cargo"))
}
