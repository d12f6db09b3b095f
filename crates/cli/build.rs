//! Builds what is embedded in the `holdup` binary: the library that is injected into measured programs, the plugin that the
//! emulator loads, and the program of `holdup demo`.
//!
//! The libraries cannot be ordinary dependencies: they are shared libraries with their own profile, and must never be linked
//! into holdup itself.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() {
    let here = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let workspace = here.join("../..");
    for path in ["collectors", "crates/trace", "crates/program", "Cargo.toml", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", workspace.join(path).display());
    }
    println!("cargo:rustc-env=HOLDUP_VERSION={}", version(&workspace));
    make_small();
    let target = PathBuf::from(variable("OUT_DIR"));
    // Each with a target directory of its own, so that neither waits for the other's lock.
    let build = |package: &str| Nested::start(&workspace, &target.join(package), package);
    for (nested, name) in [build("holdup-preload"), build("holdup-qemu")]
        .into_iter()
        .zip(["HOLDUP_PRELOAD", "HOLDUP_QEMU_PLUGIN"])
    {
        println!("cargo:rustc-env={name}={}", packed(&nested.end()).display());
    }
    println!("cargo:rustc-env=HOLDUP_DEMO={}", packed(&demonstration(&workspace, &target)).display());
}

/// The program of `holdup demo`, so that who has no compiler can try it as well.
fn demonstration(workspace: &Path, target: &Path) -> PathBuf {
    let directory = workspace.join("workloads/demo");
    // As the compiler names it.
    let directory = directory.canonicalize().unwrap_or(directory);
    let (source, program) = (directory.join("thumbnails.c"), target.join("thumbnails"));
    println!("cargo:rerun-if-changed={}", source.display());
    let compiler = cc::Build::new().opt_level(2).debug(true).get_compiler();
    // Where it was built is nobody's business.
    let mut map = OsString::from("-fdebug-prefix-map=");
    map.push(&directory);
    map.push("=.");
    let mut compiling = compiler.to_command();
    compiling.current_dir(&directory).arg("-pthread").arg(map).arg("-o").arg(&program).arg("thumbnails.c");
    match compiling.status() {
        Ok(status) if status.success() => program,
        Ok(status) => panic!("{}: cannot be compiled: {status}", source.display()),
        Err(error) => panic!("{}: cannot be run: {error}", compiler.path().display()),
    }
}

/// Lets the linker keep one of functions with equal code, of which instances of generic ones have many, and a bit in the place of
/// 24 bytes for each pointer that depends on where the program is loaded. Only where it is the one that the toolchain brings: others
/// may not know the options.
fn make_small() {
    for name in ["RUSTC_LINKER", "CARGO_ENCODED_RUSTFLAGS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_chosen = env::var_os("RUSTC_LINKER").is_some() || flags.contains("link");
    if variable("PROFILE") == "release" && variable("TARGET") == "x86_64-unknown-linux-gnu" && !is_chosen {
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
        if c_library() >= Some((2, 36)) {
            println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        }
    }
}

/// The version of the C library that is here, which loads what is built; `None` where it is another one.
fn c_library() -> Option<(u32, u32)> {
    let ran = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let said = String::from_utf8(ran.stdout).ok()?;
    let (major, minor) = said.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

/// The version, and the commit that it was built of, where that is known.
fn version(workspace: &Path) -> String {
    println!("cargo:rerun-if-env-changed=HOLDUP_COMMIT");
    let version = variable("CARGO_PKG_VERSION");
    let given = env::var("HOLDUP_COMMIT").ok().filter(|commit| !commit.is_empty());
    match given.or_else(|| commit(workspace)) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    }
}

/// What is checked out in the repository, for what is given to others: what is built while working has none, and is not built
/// again for each commit.
fn commit(workspace: &Path) -> Option<String> {
    if variable("PROFILE") != "release" {
        return None;
    }
    let git = |arguments: &[&str]| {
        let ran = Command::new("git").current_dir(workspace).args(arguments).output().ok()?;
        ran.status.success().then(|| String::from_utf8_lossy(&ran.stdout).trim().to_owned())
    };
    // Sources without a repository of their own may lie in another one.
    if !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None;
    }
    println!(
        "cargo:rerun-if-changed={}",
        workspace.join(git(&["rev-parse", "--git-path", "logs/HEAD"])?).display()
    );
    git(&["rev-parse", "--short=12", "HEAD"])
}

/// What was built in a file of half the size, beside it: together they are a megabyte of what is installed.
fn packed(built: &Path) -> PathBuf {
    let path = built.with_extension("gz");
    let write = || {
        let mut packing = GzEncoder::new(File::create(&path)?, Compression::best());
        packing.write_all(&fs::read(built)?)?;
        packing.finish()
    };
    write().unwrap_or_else(|error| panic!("{}: cannot be packed: {error}", built.display()));
    path
}

/// A cargo that builds a package.
struct Nested {
    package: String,
    running: Child,
    library: PathBuf,
}

impl Nested {
    fn start(workspace: &Path, target: &Path, package: &str) -> Nested {
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
        let running = cargo.spawn().unwrap_or_else(|error| panic!("{package}: cargo cannot be run: {error}"));
        let library = target.join(format!("injected/lib{}.so", package.replace('-', "_")));
        Nested { package: package.to_owned(), running, library }
    }

    /// Waits for it; the library that it made.
    fn end(mut self) -> PathBuf {
        let status = self.running.wait();
        let status = status.unwrap_or_else(|error| panic!("{}: cargo is lost: {error}", self.package));
        assert!(status.success(), "{} could not be built: {status}", self.package);
        self.library
    }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: this is a build script of cargo"))
}
