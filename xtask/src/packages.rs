//! The Debian packages that tests use: the one list of them, what is missing, and getting it.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Something that Debian provides.
pub(crate) struct Need {
    /// Package names, any of which will do: releases of Debian name some libraries differently.
    pub(crate) any_of: &'static [&'static str],
    /// Which tests are skipped without it.
    pub(crate) used_for: &'static str,
}

pub(crate) const NEEDS: &[Need] = &[
    Need { any_of: &["gcc"], used_for: "the C programs of all tests of the collector" },
    Need { any_of: &["libc6-dev"], used_for: "the C programs of all tests of the collector" },
    Need { any_of: &["g++"], used_for: "exceptions through std::call_once" },
    Need { any_of: &["clang-19"], used_for: "OpenMP programs from clang" },
    Need { any_of: &["libclang-rt-19-dev"], used_for: "programs from clang that count what they execute" },
    Need { any_of: &["libomp-19-dev"], used_for: "LLVM's OpenMP runtime, and the header for its tools" },
    Need { any_of: &["graphicsmagick"], used_for: "real input: a program on gcc's OpenMP runtime" },
    Need { any_of: &["make"], used_for: "recording a tree of processes (make -j)" },
    Need { any_of: &["python3"], used_for: "recording Python's threading and multiprocessing" },
    Need { any_of: &["python3-numpy"], used_for: "real input: a BLAS under Python" },
    Need { any_of: &["libopenblas0-openmp"], used_for: "real input: a BLAS on gcc's OpenMP runtime" },
    Need { any_of: &["pigz"], used_for: "real input: pigz" },
    Need { any_of: &["pbzip2"], used_for: "real input: pbzip2" },
    Need { any_of: &["xz-utils"], used_for: "real input: xz -T" },
    Need { any_of: &["zstd"], used_for: "real input: zstd -T" },
    Need { any_of: &["golang-go"], used_for: "workloads in Go, which nothing can be loaded into" },
    Need { any_of: &["libjemalloc2"], used_for: "locks inside the malloc replacement jemalloc" },
    Need {
        any_of: &["libmimalloc2.0", "libmimalloc3"],
        used_for: "locks inside the malloc replacement mimalloc",
    },
    Need { any_of: &["chromium"], used_for: "the page, as a browser shows it" },
    Need { any_of: &["valgrind"], used_for: "an independent count of executed instructions" },
    Need { any_of: &["debuginfod"], used_for: "names of stripped programs from a server" },
    Need { any_of: &["qemu-user"], used_for: "recording instructions under emulation" },
    Need { any_of: &["git"], used_for: "the tidy checks, which ask git for the workspace's files" },
];

/// What of [`NEEDS`] this machine does not have.
pub(crate) fn missing() -> Result<Vec<&'static Need>> {
    let mut missing = Vec::new();
    for need in NEEDS {
        let mut found = false;
        for name in need.any_of {
            found |= is_installed(name)?;
        }
        if !found {
            missing.push(need);
        }
    }
    Ok(missing)
}

fn is_installed(package: &str) -> Result<bool> {
    let output = Command::new("dpkg-query")
        .args(["--show", "--showformat", "${db:Status-Status}", package])
        .output()
        .context("dpkg-query, which tells the installed packages, does not run; on a system other than Debian install the packages of xtask/src/packages.rs by other means and pass --no-install")?;
    Ok(output.status.success() && output.stdout == b"installed")
}

/// Whether this process may install packages.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Installs packages for these needs; the package lists are fetched first where they lack one.
pub(crate) fn install(needs: &[&Need]) -> Result<()> {
    let mut names = available(needs);
    let fresh = names.len() < needs.len();
    if fresh {
        apt_get(&["update"])?;
        names = available(needs);
    }
    if let Some(need) = needs.iter().find(|need| !need.any_of.iter().any(|name| names.contains(name))) {
        bail!(
            "no package source of this machine has {} (see /etc/apt/sources.list)",
            need.any_of.join(" or ")
        );
    }
    if try_install(&names).is_err() && !fresh {
        // Old package lists name versions that the mirror no longer has.
        apt_get(&["update"])?;
        return try_install(&names);
    }
    Ok(())
}

fn try_install(names: &[&str]) -> Result<()> {
    apt_get(&[&["install", "-y", "--no-install-recommends"], names].concat())
}

/// The first name of each need for which apt knows a version.
fn available(needs: &[&Need]) -> Vec<&'static str> {
    needs.iter().filter_map(|need| need.any_of.iter().copied().find(|name| has_candidate(name))).collect()
}

fn has_candidate(package: &str) -> bool {
    let output = Command::new("apt-cache").env("LC_ALL", "C").args(["policy", package]).output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        let candidate = text.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        candidate.is_some_and(|version| version != "(none)")
    })
}

fn apt_get(arguments: &[&str]) -> Result<()> {
    let status = Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        // A fresh machine updates itself meanwhile.
        .args(["-o", "DPkg::Lock::Timeout=600"])
        .args(arguments)
        .stdin(Stdio::null())
        .status()
        .context("apt-get does not run")?;
    if !status.success() {
        bail!("apt-get {}: {status}", arguments.join(" "));
    }
    Ok(())
}

/// The command that an ordinary user types to get them.
pub(crate) fn sudo_command(needs: &[&Need]) -> String {
    let names: Vec<&str> = needs
        .iter()
        .filter_map(|need| need.any_of.iter().find(|name| has_candidate(name)).or(need.any_of.first()))
        .copied()
        .collect();
    format!("sudo apt-get install -y --no-install-recommends {}", names.join(" "))
}
