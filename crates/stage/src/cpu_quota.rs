//! A control group with a CPU quota.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::is_root;

/// A control group that gets so much CPU time and no more, removed when it is dropped.
#[derive(Debug)]
pub struct CpuQuota(PathBuf);

impl CpuQuota {
    /// Makes a group of this name below our own, of either version, with so many µs of CPU time in each tenth of a second;
    /// `None` where that is not allowed.
    pub fn of(name: &str, micros: u64) -> Option<CpuQuota> {
        is_root().then_some(())?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let group_of = |controller: &str| {
            own.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                let is_it = controllers.split(',').any(|name| name == controller);
                is_it.then(|| path.trim_start_matches('/').to_owned())
            })
        };
        let one = (micros.to_string(), "cpu.cfs_quota_us");
        let two = (format!("{micros} 100000"), "cpu.max");
        // The most that a group can weigh against its neighbours: what it does not get is then its quota's doing.
        let (one_weighs, two_weighs) = (("cpu.shares", "262144"), ("cpu.weight", "10000"));
        let choices = [
            ("/sys/fs/cgroup/cpu", group_of("cpu"), one.clone(), one_weighs),
            ("/sys/fs/cgroup/cpu,cpuacct", group_of("cpu"), one, one_weighs),
            ("/sys/fs/cgroup", group_of(""), two, two_weighs),
        ];
        choices.into_iter().find_map(|(root, path, (limit, file), (weight, most))| {
            let group = CpuQuota(Path::new(root).join(path?).join(name));
            fs::create_dir(&group.0).ok()?;
            fs::write(group.0.join(file), limit).ok()?;
            let _ = fs::write(group.0.join(weight), most);
            Some(group)
        })
    }

    /// What a shell executes to run a command in it.
    pub fn joined(&self, command: &str) -> String {
        format!("echo $$ > {}/cgroup.procs && exec {command}", self.0.display())
    }

    /// Its folder: a process is in the group whose id is written to the file `cgroup.procs` there.
    pub fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        // What ran in it may still be on its way out.
        for _ in 0..100 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}
