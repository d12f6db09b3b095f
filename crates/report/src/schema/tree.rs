//! All processes of the run together.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Tree {
    pub(crate) wall_ns: u64,
    pub(crate) cores: Option<u32>,
    pub(crate) processes: usize,
    pub(crate) cpu_ns: u64,
    pub(crate) parallelism: f64,
    pub(crate) efficiency: Option<f64>,
    pub(crate) at_once_ns: Vec<u64>,
    pub(crate) over_time: Vec<f64>,
    pub(crate) programs: Vec<TreeProgram>,
    pub(crate) path: Vec<TreeStep>,
    pub(crate) jobs: Option<TreeJobs>,
}

#[derive(Serialize)]
pub(crate) struct TreeProgram {
    pub(crate) program: String,
    pub(crate) processes: usize,
    pub(crate) cpu_ns: u64,
    pub(crate) criticality_ns: u64,
    pub(crate) on_path_ns: u64,
    pub(crate) longest: Option<usize>,
    pub(crate) longest_ns: Option<u64>,
}

#[derive(Serialize)]
pub(crate) struct TreeStep {
    pub(crate) process: usize,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
    pub(crate) came: &'static str,
    pub(crate) waited_ns: u64,
}

#[derive(Serialize)]
pub(crate) struct TreeJobs {
    pub(crate) runner: String,
    pub(crate) count: usize,
    pub(crate) limit: u32,
    pub(crate) most: u32,
    pub(crate) mean: f64,
    pub(crate) waited: usize,
    pub(crate) forecasts: Vec<TreeForecast>,
}

#[derive(Serialize)]
pub(crate) struct TreeForecast {
    pub(crate) limit: Option<u32>,
    pub(crate) cores: Option<u32>,
    pub(crate) wall_ns: u64,
}
