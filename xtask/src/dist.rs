//! `cargo xtask dist`: what is given to users. One binary that starts wherever there is glibc 2.17 or later, in a tar file and in a
//! Debian package, with a list of what is in it (SPDX) and checksums. The same sources give the same bytes.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};

use crate::workspace::Workspace;

#[derive(Args)]
pub(crate) struct Options {
    /// Pack this binary instead of building one
    #[arg(long, value_name = "FILE")]
    holdup: Option<PathBuf>,
}

/// The oldest glibc that the binary starts with: RHEL 7, Debian 8, Ubuntu 14.04.
const GLIBC: &str = "2.17";
const TARGET: &str = "x86_64-unknown-linux-gnu";
/// What links against an old glibc, of PyPI: a C compiler that has the interface of each version, and its driver for cargo.
const LINKER: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let metadata = workspace.metadata()?;
    let directory = metadata.target_directory.join("packages");
    let version = version(workspace)?;
    let commit = said(workspace.command("git").args(["rev-parse", "--short=12", "HEAD"]))?;
    let epoch = said(workspace.command("git").args(["log", "-1", "--format=%ct"]))?;
    let date = ["log", "-1", "--format=%cd", "--date=format-local:%Y-%m-%dT%H:%M:%SZ"];
    let made = said(workspace.command("git").env("TZ", "UTC").args(date))?;
    let holdup = match &options.holdup {
        Some(holdup) => holdup.canonicalize().with_context(|| holdup.display().to_string())?,
        None => build(workspace, &directory, &commit)?,
    };
    let needs = newest_glibc(&holdup)?;
    if options.holdup.is_none() && needs.as_deref().is_some_and(|needs| number(needs) > number(GLIBC)) {
        bail!("{} asks for glibc {}", holdup.display(), needs.unwrap_or_default());
    }
    let needs = needs.unwrap_or_else(|| GLIBC.to_owned());

    let name = format!("holdup-{version}-{TARGET}");
    let out = directory.join("out");
    let _ = fs::remove_dir_all(&out);
    let tree = directory.join(&name);
    let _ = fs::remove_dir_all(&tree);
    fill(workspace, &tree, &holdup)?;
    fs::create_dir_all(&out)?;
    let tar = out.join(format!("{name}.tar.gz"));
    pack(&directory, &name, &tar, &epoch)?;

    let package = directory.join("deb");
    let _ = fs::remove_dir_all(&package);
    install(&tree, &package)?;
    let size: u64 = sizes(&package)?;
    let control = control(&version, &needs, size.div_ceil(1024));
    fs::create_dir_all(package.join("DEBIAN"))?;
    fs::write(package.join("DEBIAN/control"), control)?;
    let deb = out.join(format!("holdup_{version}_amd64.deb"));
    let mut build = Command::new("dpkg-deb");
    build
        .env("SOURCE_DATE_EPOCH", &epoch)
        .args(["--root-owner-group", "-Zxz", "--build"])
        .arg(&package)
        .arg(&deb);
    succeeded(&mut build)?;

    let list = out.join(format!("{name}.spdx.json"));
    let lock = workspace.text("Cargo.lock").context("there is no Cargo.lock")?;
    fs::write(&list, serde_json::to_string_pretty(&contents(&lock, &version, &commit, &made)?)? + "\n")?;
    let sums = checksums(&out, &[&tar, &deb, &list])?;
    fs::write(out.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    eprintln!("xtask: in {}; needs glibc {needs} or later", out.display());
    Ok(ExitCode::SUCCESS)
}

fn version(workspace: &Workspace) -> Result<String> {
    let text = workspace.text("Cargo.toml").context("there is no Cargo.toml")?;
    let manifest: toml::Table = text.parse().context("Cargo.toml is not understood")?;
    let version = manifest["workspace"]["package"]["version"].as_str();
    Ok(version.context("Cargo.toml gives no version")?.to_owned())
}

/// The release binary, linked against [`GLIBC`].
fn build(workspace: &Workspace, directory: &Path, commit: &str) -> Result<PathBuf> {
    let tools = directory.join("tools");
    let zigbuild = tools.join("bin/cargo-zigbuild");
    if !zigbuild.exists() {
        eprintln!("xtask: installing what links against glibc {GLIBC} into {}", tools.display());
        succeeded(Command::new("python3").args(["-m", "venv"]).arg(&tools))
            .context("apt-get install python3-venv")?;
        succeeded(Command::new(tools.join("bin/pip")).args(["install", "--quiet"]).args(LINKER))?;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([tools.join("bin")].into_iter().chain(std::env::split_paths(&path)))?;
    let target = directory.join("target");
    let mut cargo = workspace.command(zigbuild.to_str().context("a path is not UTF-8")?);
    cargo.args(["zigbuild", "--release", "--locked", "--package", "holdup"]);
    cargo.args(["--target", &format!("{TARGET}.{GLIBC}"), "--target-dir"]).arg(&target);
    cargo.env("PATH", path).env("HOLDUP_COMMIT", commit);
    succeeded(&mut cargo)?;
    Ok(target.join(TARGET).join("release/holdup"))
}

/// What stands beside the binary in the tar file.
fn fill(workspace: &Workspace, tree: &Path, holdup: &Path) -> Result<()> {
    for folder in ["man", "completions", "docs"] {
        fs::create_dir_all(tree.join(folder))?;
    }
    copy(holdup, &tree.join("holdup"), 0o755)?;
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&workspace.path(file), &tree.join(file), 0o644)?;
    }
    for file in files_of(&workspace.path("docs"))?
        .iter()
        .filter(|file| file.extension().is_some_and(|end| end == "md"))
    {
        copy(file, &tree.join("docs").join(file.file_name().unwrap_or_default()), 0o644)?;
    }
    succeeded(Command::new(holdup).args(["man", "--dir"]).arg(tree.join("man")))?;
    for (shell, file) in SHELLS {
        let script = Command::new(holdup).args(["completions", shell]).output()?;
        fs::write(tree.join("completions").join(file), script.stdout)?;
    }
    Ok(())
}

/// Shells, with what a script of completions is called where it is found.
const SHELLS: [(&str, &str); 3] = [("bash", "holdup"), ("zsh", "_holdup"), ("fish", "holdup.fish")];

/// The same where a Debian package has it.
fn install(tree: &Path, package: &Path) -> Result<()> {
    let share = package.join("usr/share");
    let places = [("man", share.join("man/man1")), ("docs", share.join("doc/holdup/docs"))];
    for (from, to) in &places {
        fs::create_dir_all(to)?;
        for file in files_of(&tree.join(from))? {
            copy(&file, &to.join(file.file_name().unwrap_or_default()), 0o644)?;
        }
    }
    for page in files_of(&share.join("man/man1"))? {
        succeeded(Command::new("gzip").args(["-9n"]).arg(page))?;
    }
    let completions = [
        ("holdup", "bash-completion/completions"),
        ("_holdup", "zsh/vendor-completions"),
        ("holdup.fish", "fish/vendor_completions.d"),
    ];
    for (file, folder) in completions {
        fs::create_dir_all(share.join(folder))?;
        copy(&tree.join("completions").join(file), &share.join(folder).join(file), 0o644)?;
    }
    fs::create_dir_all(package.join("usr/bin"))?;
    copy(&tree.join("holdup"), &package.join("usr/bin/holdup"), 0o755)?;
    for file in ["README.md", "CHANGELOG.md"] {
        copy(&tree.join(file), &share.join("doc/holdup").join(file), 0o644)?;
    }
    fs::write(share.join("doc/holdup/copyright"), copyright(tree)?)?;
    Ok(())
}

fn copyright(tree: &Path) -> Result<String> {
    let apache = fs::read_to_string(tree.join("LICENSE-APACHE"))?;
    let mit = fs::read_to_string(tree.join("LICENSE-MIT"))?;
    Ok(format!(
        "holdup is licensed under either of the two licences below, at your choice.\n\n{mit}\n\n{apache}"
    ))
}

/// The control file of Debian's package. `kib` is what it takes when installed.
fn control(version: &str, glibc: &str, kib: u64) -> String {
    format!(
        "Package: holdup\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: the holdup team <holdup@localhost>\n\
         Installed-Size: {kib}\n\
         Depends: libc6 (>= {glibc}), libgcc-s1 | libgcc1\n\
         Suggests: qemu-user, libc6-dbg, debuginfod\n\
         Section: devel\n\
         Priority: optional\n\
         Description: says what holds a multi-threaded program up\n \
         Which thread, lock, barrier, OpenMP region, source line or shared resource of\n \
         the machine keeps a program from getting faster with more cores, how much time\n \
         each costs, and how much fixing it saves. Runs on the program as it is.\n"
    )
}

/// A list of what the binary is made of, by SPDX 2.3: each package of the lock file with its checksum.
fn contents(lock: &str, version: &str, commit: &str, made: &str) -> Result<Value> {
    let lock: toml::Table = lock.parse().context("Cargo.lock is not understood")?;
    let packages = lock["package"].as_array().context("Cargo.lock lists no packages")?;
    let mut described = Vec::new();
    let mut relations = vec![json!({
        "spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-holdup"
    })];
    for package in packages {
        let text = |key: &str| package.get(key).and_then(toml::Value::as_str);
        let (Some(name), Some(version)) = (text("name"), text("version")) else { continue };
        let own = text("source").is_none();
        if own && name != "holdup" {
            continue;
        }
        let id = if own {
            "SPDXRef-holdup".to_owned()
        } else {
            format!("SPDXRef-{}-{}", identifier(name), identifier(version))
        };
        let location = if own {
            "NOASSERTION".to_owned()
        } else {
            relations.push(json!({
                "spdxElementId": "SPDXRef-holdup", "relationshipType": "DEPENDS_ON", "relatedSpdxElement": id
            }));
            format!("https://crates.io/api/v1/crates/{name}/{version}/download")
        };
        let mut one = json!({
            "SPDXID": id, "name": name, "versionInfo": version, "downloadLocation": location,
            "filesAnalyzed": false, "licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION",
            "licenseDeclared": if own { "MIT OR Apache-2.0" } else { "NOASSERTION" },
        });
        if let Some(sum) = text("checksum") {
            one["checksums"] = json!([{ "algorithm": "SHA256", "checksumValue": sum }]);
        }
        described.push(one);
    }
    Ok(json!({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": format!("holdup-{version}"),
        "documentNamespace": format!("https://spdx.org/spdxdocs/holdup-{version}-{commit}"),
        "creationInfo": { "created": made, "creators": ["Tool: cargo xtask dist"] },
        "packages": described, "relationships": relations,
    }))
}

/// What SPDX allows in an identifier.
fn identifier(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect()
}

fn pack(directory: &Path, name: &str, to: &Path, epoch: &str) -> Result<()> {
    let plain = to.with_extension("");
    let mut tar = Command::new("tar");
    tar.current_dir(directory).args([
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        "--format=gnu",
    ]);
    tar.arg(format!("--mtime=@{epoch}")).arg("-cf").arg(&plain).arg(name);
    succeeded(&mut tar)?;
    succeeded(Command::new("gzip").args(["-9nf"]).arg(&plain))
}

fn checksums(directory: &Path, files: &[&PathBuf]) -> Result<String> {
    let names = files.iter().filter_map(|file| file.file_name());
    said_whole(Command::new("sha256sum").current_dir(directory).args(names))
}

/// The newest version of glibc that a program asks for.
fn newest_glibc(program: &Path) -> Result<Option<String>> {
    let symbols =
        said_whole(Command::new("objdump").arg("-T").arg(program)).context("apt-get install binutils")?;
    Ok(newest_of(&symbols))
}

fn newest_of(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1);
    let versions =
        versions.map(|rest| rest.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap_or_default());
    versions.max_by_key(|version| number(version)).map(str::to_owned)
}

fn number(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

fn files_of(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    Ok(files)
}

/// Bytes of all files below a directory.
fn sizes(directory: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        sum += if path.is_dir() { sizes(&path)? } else { fs::metadata(&path)?.len() };
    }
    Ok(sum)
}

fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("{} to {}", from.display(), to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

fn succeeded(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| shown(command))?;
    if !status.success() {
        bail!("{} failed", shown(command));
    }
    Ok(())
}

fn said(command: &mut Command) -> Result<String> {
    Ok(said_whole(command)?.trim().to_owned())
}

fn said_whole(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| shown(command))?;
    if !output.status.success() {
        bail!("{}: {}", shown(command), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn shown(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for word in command.get_args() {
        let _ = write!(text, " {}", word.to_string_lossy());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_no_text() {
        let symbols = "0 DF *UND* (GLIBC_2.4) a\n0 DF *UND* (GLIBC_2.17) b\n0 DF *UND* (GLIBC_2.2.5) c\n0 DF *UND* (GCC_3.0) d\n";
        assert_eq!(newest_of(symbols).as_deref(), Some("2.17"));
        assert_eq!(newest_of("0 DF *UND* (GCC_3.0) d"), None);
    }

    #[test]
    fn the_list_of_contents_has_what_is_of_others() {
        let lock = "[[package]]\nname = \"holdup\"\nversion = \"1.2.3\"\n[[package]]\nname = \"holdup-model\"\nversion = \"1.2.3\"\n\
                    [[package]]\nname = \"a_b\"\nversion = \"0.1.0+x\"\nsource = \"registry\"\nchecksum = \"00ff\"\n";
        let list = contents(lock, "1.2.3", "abc", "2026-01-02T03:04:05Z").expect("a list");
        let names: Vec<&str> =
            list["packages"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert_eq!(names, ["holdup", "a_b"]);
        assert_eq!(list["packages"][1]["SPDXID"], "SPDXRef-a-b-0.1.0-x");
        assert_eq!(list["packages"][1]["checksums"][0]["checksumValue"], "00ff");
        assert_eq!(list["relationships"].as_array().map(Vec::len), Some(2));
    }

    #[test]
    fn the_package_says_what_it_needs() {
        let control = control("1.2.3", "2.17", 20_000);
        assert!(control.contains("\nDepends: libc6 (>= 2.17), "), "{control}");
        assert!(control.lines().all(|line| line.starts_with(' ') || line.contains(": ")), "{control}");
    }
}
