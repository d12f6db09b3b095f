//! `holdup sweep --engine slurm` with a real Slurm of two nodes on the loopback address, which the test starts itself. It takes a
//! minute, and Debian's `slurm-wlm` and `munge`, so it runs only when it is asked for:
//! `cargo test -p holdup --test it sweep_slurm -- --ignored`.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::stage::{HOLDUP, Stage, eventually, is_installed, record, run, start, text};
use rustix::process::{Pid, Signal, kill_process};

/// A Slurm with its controller and two nodes. All of it ends when it is dropped.
struct Cluster {
    configuration: PathBuf,
    daemons: Vec<Child>,
}

const NODES: [&str; 2] = ["n1", "n2"];

impl Cluster {
    /// `None`, with a message, where Slurm is not installed.
    fn start(stage: &Stage) -> Option<Cluster> {
        let needs = ["munged", "slurmctld", "slurmd", "sbatch"];
        let is_there = |name: &str| is_installed(name) || Path::new("/usr/sbin").join(name).exists();
        if let Some(missing) = needs.into_iter().find(|name| !is_there(name)) {
            eprintln!("skipped: there is no {missing}; install slurm-wlm and munge");
            return None;
        }
        let folder = stage.path("slurm");
        for part in ["state", "n1", "n2"] {
            fs::create_dir_all(folder.join(part)).expect("a folder");
        }
        let path = |name: &str| folder.join(name).display().to_string();
        let said = |command: &[&str]| {
            text(&run(Command::new(command[0]).args(&command[1..])).stdout).trim().to_owned()
        };
        let (host, user) = (said(&["hostname", "-s"]), said(&["id", "-un"]));
        let listeners: Vec<TcpListener> =
            (0..3).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
        let ports: Vec<u16> =
            listeners.iter().map(|port| port.local_addr().expect("an address").port()).collect();
        drop(listeners);
        let nodes: String = NODES
            .iter()
            .zip(&ports[1..])
            .map(|(name, port)| {
                format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2\n")
            })
            .collect();
        let configuration = stage.write(
            "slurm/slurm.conf",
            format!(
                "ClusterName=loop\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nAuthType=auth/munge\n\
                 AuthInfo=socket={}\nSlurmUser={user}\nSlurmdUser={user}\nStateSaveLocation={}\nSlurmdSpoolDir={}/%n\n\
                 SlurmctldPidFile={}\nSlurmdPidFile={}/%n.pid\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
                 SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nJobRequeue=1\nSlurmdTimeout=10\nKillWait=5\n\
                 MpiDefault=none\n{nodes}PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
                ports[0],
                path("munge.socket"),
                path("state"),
                folder.display(),
                path("slurmctld.pid"),
                folder.display(),
            ),
        );
        let key = stage.write("slurm/munge.key", [7u8; 1024]);
        run(Command::new("chmod").arg("400").arg(key));
        let mut cluster = Cluster { configuration, daemons: Vec::new() };
        let names = [("key-file", "munge.key"), ("socket", "munge.socket"), ("pid-file", "munge.pid")];
        let mut munge: Vec<String> =
            names.iter().map(|(option, name)| format!("--{option}={}", path(name))).collect();
        munge.extend([
            format!("--log-file={}", path("munge.log")),
            format!("--seed-file={}", path("munge.seed")),
        ]);
        munge.extend(["--force".to_owned(), "--foreground".to_owned()]);
        cluster.daemon("munged", &munge);
        eventually("munge's socket", || folder.join("munge.socket").exists().then_some(()));
        cluster.daemon("slurmctld", &["-D".to_owned()]);
        for node in NODES {
            cluster.daemon("slurmd", &["-D".to_owned(), "-N".to_owned(), node.to_owned()]);
        }
        eventually("idle nodes", || {
            let nodes = run(cluster.with(Command::new("sinfo").args(["--noheader", "--format=%D %T"])));
            (text(&nodes.stdout).trim() == "2 idle").then_some(())
        });
        Some(cluster)
    }

    fn with<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SLURM_CONF", &self.configuration)
    }

    fn daemon(&mut self, name: &str, arguments: &[String]) {
        let sbin = Path::new("/usr/sbin").join(name);
        let mut command = Command::new(if sbin.exists() { sbin } else { name.into() });
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = self.with(&mut command).spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        self.daemons.push(child);
    }

    /// All processes of a node end at once, as those of a machine without power.
    fn kill_node(&mut self, node: &str) {
        let at = NODES.iter().position(|name| *name == node).expect("a node");
        // Behind munge and the controller. First, so that it reports nothing.
        let _ = self.daemons[2 + at].kill();
        for pid in processes_of(node, &self.configuration) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = run(self.with(Command::new("scancel").arg("--name=holdup-sweep")));
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        for node in NODES {
            for pid in processes_of(node, &self.configuration) {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}

/// The processes of jobs on a node, and who started them for Slurm.
fn processes_of(node: &str, configuration: &Path) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("/proc").flatten() {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let has = |line: String| environment.split(|byte| *byte == 0).any(|found| found == line.as_bytes());
        if !has(format!("SLURMD_NODENAME={node}")) || !has(format!("SLURM_CONF={}", configuration.display()))
        {
            continue;
        }
        let mut pid: Option<i32> = entry.file_name().to_str().and_then(|name| name.parse().ok());
        while let Some(number) = pid {
            found.extend(Pid::from_raw(number));
            let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
            let parent =
                stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
            let name = |pid: &i32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            pid = parent.filter(|parent| name(parent).starts_with("slurmstepd"));
        }
    }
    found
}

#[test]
#[ignore = "starts a Slurm of its own, which takes a minute"]
fn slurm_gives_what_this_machine_gives_and_a_node_that_dies_costs_a_retry() {
    let stage = Stage::new();
    let Some(mut cluster) = Cluster::start(&stage) else { return };
    let ended = run(record(&stage.path("made.holdup"), "sh").args(["-c", "sleep 0.01 & wait"]));
    assert_eq!(ended.status, 0, "{ended:?}");
    let mut plan = String::new();
    for number in 0..4 {
        fs::copy(stage.path("made.holdup"), stage.path(format!("r{number}.holdup"))).expect("a copy");
        plan.push_str(&format!("[[program]]\nname = 'p{number}'\nrecording = 'r{number}.holdup'\n"));
    }
    plan.push_str("[[program]]\nname = 'bad'\nrecording = 'plan.toml'\n");
    plan.push_str("[[program]]\nname = 'fails'\ncommand = ['sh', '-c', 'exit 3']\n");
    stage.write("plan.toml", plan);
    let sweep = |words: &[&str]| {
        let mut command = Command::new(HOLDUP);
        command.current_dir(stage.directory()).arg("sweep").args(words);
        command
    };
    let local = run(&mut sweep(&["plan.toml", "--runs", "local"]));
    let slurm = run(cluster.with(&mut sweep(&["plan.toml", "--runs", "slurm-made", "--engine", "slurm"])));
    assert_eq!((local.status, slurm.status), (1, 1), "{local:?} {slurm:?}");
    let components = if cfg!(feature = "parquet") { "components.parquet" } else { "components.csv" };
    for name in ["manifest.json", components] {
        let file = |folder: &str| fs::read(stage.path(folder).join(name)).expect(name);
        assert!(file("local") == file("slurm-made"), "{name} differs");
    }
    let names = |folder: &str| {
        let entries = fs::read_dir(stage.path(folder).join("answers")).expect("answers").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("local"), names("slurm-made"));
    for name in names("local") {
        let file =
            |folder: &str| fs::read(stage.path(folder).join("answers").join(&name)).expect("an answer");
        assert!(file("local") == file("slurm-made"), "{} differs", name.display());
    }

    // Each program says where it began, and waits.
    let waits = r#"echo run >>runs.$0; touch began.$SLURMD_NODENAME; while [ ! -e go ]; do sleep 0.1; done"#;
    stage.write(
        "node.toml",
        format!(
            "[[program]]\nname = 'a'\ncommand = ['sh', '-c', '{waits}', '{{input}}']\ninputs = [1, 2, 3]\n"
        ),
    );
    let running = start(cluster.with(&mut sweep(&["node.toml", "--engine", "slurm"])));
    eventually("a job on the first node", || stage.path("began.n1").exists().then_some(()));
    eventually("a job on the second node", || stage.path("began.n2").exists().then_some(()));
    cluster.kill_node("n1");
    stage.write("go", "");
    let ended = running.end();
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(text(&ended.stdout).starts_with("3 cells: 3 done\n"), "{ended:?}");
    let runs =
        |input: u32| fs::read_to_string(stage.path(format!("runs.{input}"))).expect("runs").lines().count();
    let mut all = [runs(1), runs(2), runs(3)];
    all.sort_unstable();
    assert_eq!(all, [1, 1, 2], "the one that the node had was run again, the others were not");
}
