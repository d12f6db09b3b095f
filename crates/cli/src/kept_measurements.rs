//! Where holdup keeps what it measured of this machine, which takes too long to be measured each time.

use std::fs;
use std::path::{Path, PathBuf};

/// Where something that was measured of this machine is kept: a file named after what it is, what the processor calls itself,
/// and how many cores may be used. `None` where there is no place for it.
pub(crate) fn kept_as(what: &str, root: &Path) -> Option<PathBuf> {
    let own = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let cache = own("XDG_CACHE_HOME").or_else(|| Some(own("HOME")?.join(".cache")))?;
    let text = fs::read_to_string(root.join("proc/cpuinfo")).unwrap_or_default();
    let line = |name: &str| {
        text.lines().find(|line| line.starts_with(name))?.split_once(':').map(|(_, value)| value.trim())
    };
    let words =
        ["model name", "cpu family", "model\t", "stepping"].map(|name| line(name).unwrap_or("unknown"));
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let key: String = words.join("-").chars().map(plain).take(100).collect();
    let key = key.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-");
    let cores = holdup_collect::allowed_cores();
    Some(cache.join("holdup").join(format!("{what}-{key}-{cores}.toml")))
}
