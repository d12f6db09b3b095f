//! Which process of an MPI program this is: each has a recording of its own.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// What stands for the rank in the name of a recording.
const PLACEHOLDER: &[u8] = b"%r";

/// Where the programs that start MPI processes tell each its rank: Open MPI, PMIx, MPICH and its relatives, MVAPICH2, Slurm's srun.
const VARIABLES: [&str; 5] =
    ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];

/// A recording's name with this process's rank in the place of `%r`.
///
/// # Errors
/// If there is a `%r` and nobody told a rank.
pub(crate) fn named(path: &Path) -> Result<PathBuf, Failure> {
    filled(path, |name| std::env::var(name).ok())
}

fn filled(path: &Path, variable: impl Fn(&str) -> Option<String>) -> Result<PathBuf, Failure> {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.windows(PLACEHOLDER.len()).any(|part| part == PLACEHOLDER) {
        return Ok(path.to_owned());
    }
    let is_number = |rank: &String| !rank.is_empty() && rank.bytes().all(|byte| byte.is_ascii_digit());
    let rank = VARIABLES.iter().filter_map(|name| variable(name)).find(is_number).ok_or_else(|| {
        Failure::input(format!(
            "{}: %r stands for the rank of an MPI process, and this is none ({} are not set); start holdup with mpirun or srun",
            path.display(),
            VARIABLES.join(", ")
        ))
    })?;
    let mut name = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(PLACEHOLDER.len()).position(|part| part == PLACEHOLDER) {
        name.extend_from_slice(&rest[..at]);
        name.extend_from_slice(rank.as_bytes());
        rest = &rest[at + PLACEHOLDER.len()..];
    }
    name.extend_from_slice(rest);
    Ok(OsString::from_vec(name).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_is_that_of_whoever_started_the_process() {
        let with = |variable: &'static str, rank: &'static str| {
            filled(Path::new("out/%r.%r.holdup"), move |name| (name == variable).then(|| rank.to_owned()))
        };
        for variable in VARIABLES {
            assert_eq!(with(variable, "12").unwrap(), Path::new("out/12.12.holdup"));
        }
        for (variable, rank) in [("OTHER", "1"), ("PMI_RANK", ""), ("PMI_RANK", "../x")] {
            assert!(with(variable, rank).unwrap_err().words().contains("%r"), "{variable}={rank}");
        }
        assert_eq!(filled(Path::new("a%.holdup"), |_| None).unwrap(), Path::new("a%.holdup"));
    }
}
