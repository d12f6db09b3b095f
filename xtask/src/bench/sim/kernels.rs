//! The programs that are simulated.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::workspace::Workspace;

/// A program whose work is the same at every number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    Integer,
    FloatingPoint,
    Compressor,
}

/// A program at one number of threads, which is the number of simulated cores.
pub(super) struct Case {
    pub(super) kernel: Kernel,
    pub(super) cores: u32,
    /// How many times the usual work.
    length: u32,
}

/// Rounds of all threads of the integer kernel together: about 4.5 million instructions each.
const ROUNDS: u32 = 64;
/// The matrix's order: about 5/3 of an instruction for each of its cube.
const ORDER: u32 = 480;
const ORDER_QUICK: u32 = 280;

/// The same work on more and more cores.
pub(super) fn by_cores() -> Vec<Case> {
    let kernels = [Kernel::Integer, Kernel::FloatingPoint, Kernel::Compressor];
    let case = |kernel, cores| Case { kernel, cores, length: 1 };
    kernels.into_iter().flat_map(|kernel| [4, 16, 64].map(|cores| case(kernel, cores))).collect()
}

/// More and more of the same work.
pub(super) fn by_length() -> Vec<Case> {
    [1, 2, 4].map(|length| Case { kernel: Kernel::Integer, cores: 16, length }).into()
}

impl Case {
    pub(super) fn name(&self) -> String {
        let kernel = match self.kernel {
            Kernel::Integer => "integer",
            Kernel::FloatingPoint => "floating point, LU",
            Kernel::Compressor => "pigz",
        };
        let times = if self.length == 1 { String::new() } else { format!(", {} × the work", self.length) };
        format!("{kernel}, {} cores{times}", self.cores)
    }

    pub(super) fn arguments(&self, quick: bool, compressed: &Path) -> Vec<String> {
        let threads = self.cores.to_string();
        match self.kernel {
            Kernel::Integer => {
                let rounds = (ROUNDS / self.cores / if quick { 4 } else { 1 }).max(1) * self.length;
                vec![threads, rounds.to_string()]
            }
            Kernel::FloatingPoint => {
                vec![threads, if quick { ORDER_QUICK } else { ORDER }.to_string()]
            }
            // Small blocks, so that there is one for each thread.
            Kernel::Compressor => {
                let words = ["-c", "-k", "-b", "32", "-p", &threads].map(str::to_owned);
                [words.to_vec(), vec![compressed.to_string_lossy().into_owned()]].concat()
            }
        }
    }
}

impl Kernel {
    /// The program: built, or as it is installed.
    pub(super) fn build(self, workspace: &Workspace, scratch: &Path) -> Result<PathBuf> {
        let (source, name) = match self {
            Kernel::Integer => ("bench/why/integer.c", "integer"),
            Kernel::FloatingPoint => ("bench/sim/lu.c", "lu"),
            Kernel::Compressor => return installed("pigz"),
        };
        let program = scratch.join(name);
        let mut compiler = workspace.command("cc");
        // Scalar code: what an emulated processor can do is not what this one can.
        compiler.args(["-std=gnu11", "-O2", "-g", "-fno-tree-vectorize", "-pthread", "-o"]);
        let output = compiler.arg(&program).arg(source).output()?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(program)
    }
}

/// Where PATH finds a program: an emulator does not look there.
fn installed(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    match found {
        Some(file) => Ok(file),
        None => bail!("{name} is not installed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integer_kernel_does_the_same_work_at_every_number_of_cores() {
        let rounds = |case: &Case| -> u32 {
            let arguments = case.arguments(false, Path::new("input"));
            arguments.iter().map(|word| word.parse::<u32>().expect("a number")).product()
        };
        let cases = by_cores();
        let all: Vec<u32> = cases.iter().filter(|case| case.kernel == Kernel::Integer).map(rounds).collect();
        assert_eq!(all, [ROUNDS; 3]);
        assert_eq!(by_length().iter().map(rounds).collect::<Vec<_>>(), [ROUNDS, 2 * ROUNDS, 4 * ROUNDS]);
    }
}
