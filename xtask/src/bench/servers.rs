//! `cargo xtask bench servers`: what servers lose while they are recorded, and what of it holdup tells.
//!
//! Each server is started plain and in each other way in turn, with a client on the same cores. A way's figures are set
//! against those of plain of the same round.

mod catalogue;
mod serving;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::Value;

use super::measure::Spread;
use super::{Options, the_holdup, warn_of_load};
use crate::workspace::Workspace;
use catalogue::{Place, SERVERS, Server, done};
use serving::Serving;

/// The targets that holdup set itself: of throughput and of CPU time per operation, as ratios to plain.
const THROUGHPUT: f64 = 0.95;
const CPU: f64 = 1.03;

/// Until connections stand and caches are filled.
const WARMING: Duration = Duration::from_millis(700);

/// One way to start a server: the words before its own.
struct Way {
    name: String,
    prefix: Vec<String>,
    /// Whether the server's words are one argument.
    joined: bool,
    /// Whether a recording of holdup is made.
    recorded: bool,
}

/// What a server did in one run.
struct Figures {
    throughput: f64,
    latency: Option<f64>,
    cpu_per_operation: f64,
    /// The cost that holdup told: least and most, as shares of the CPU time.
    told: Option<(f64, f64)>,
}

/// Measures all servers whose name contains `part`, and prints a line for each way.
pub(super) fn run(workspace: &Workspace, options: &Options, part: Option<&str>) -> Result<ExitCode> {
    let runs = options.runs.unwrap_or(if options.quick { 3 } else { 7 });
    let seconds = if options.quick { 3 } else { 5 };
    let holdup = the_holdup(workspace, options)?;
    let scratch = tempfile::tempdir().context("no room for recordings")?;
    // Servers that do not run as root go through it.
    open_to_all(scratch.path())?;
    let output = scratch.path().join("recording");
    let ways = ways(&holdup, &output, &options.with);
    let plan = Plan { holdup, ways, output, runs, seconds };
    warn_of_load();
    println!(
        "{:<12} {:<32} {:>26} {:>26} {:>26}  {:>18}",
        "server", "way", "throughput ×", "median latency ×", "CPU per operation ×", "told cost"
    );
    for (server, port) in SERVERS.iter().zip(23_100..) {
        if !part.is_none_or(|part| server.name.to_lowercase().contains(&part.to_lowercase())) {
            continue;
        }
        let place = Place { folder: scratch.path().join(server.name), port };
        if let Err(error) = measure(server, &place, &plan) {
            println!("{:<12} no result: {error:#} (packages {})", server.name, server.packages);
        }
    }
    println!(
        "medians of {runs} runs in turns against plain of the same round (95 % interval of the median; with fewer"
    );
    println!(
        "than 6 runs least to most); * misses {THROUGHPUT} of throughput or {CPU} of CPU time, at the interval's bad end"
    );
    Ok(ExitCode::SUCCESS)
}

fn open_to_all(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?)
}

/// Plain first, then holdup's ways, those with options that were asked for, and what else is installed.
fn ways(holdup: &Path, output: &Path, with: &[String]) -> Vec<Way> {
    let way = |name: &str, prefix: Vec<String>, recorded| Way {
        name: name.to_owned(),
        prefix,
        joined: false,
        recorded,
    };
    let record = |options: &str| {
        let mut words = vec![holdup.display().to_string(), "record".to_owned(), "-o".to_owned()];
        words.push(output.display().to_string());
        words.extend(options.split_whitespace().map(str::to_owned));
        words.push("--".to_owned());
        words
    };
    let mut ways = vec![way("plain", Vec::new(), false)];
    if with.is_empty() {
        ways.push(way("holdup", record(""), true));
        ways.push(way("holdup, library alone", record("--collectors preload"), true));
        ways.push(way("holdup, kernel alone", record("--collectors kernel"), true));
        for (name, words, joined) in PEERS {
            let prefix: Vec<String> =
                words.iter().map(|word| word.replace("{output}", &output.display().to_string())).collect();
            let mut trial = Command::new(&prefix[0]);
            trial
                .args(&prefix[1..])
                .arg(super::ways::absolute("true"))
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            if trial.status().is_ok_and(|status| status.success()) {
                ways.push(Way { name: (*name).to_owned(), prefix, joined: *joined, recorded: false });
            } else {
                eprintln!("xtask: without {name}: it does not work here");
            }
        }
    } else {
        ways.extend(with.iter().map(|options| way(&format!("record {options}"), record(options), true)));
    }
    ways
}

/// What others use to see where a server's time goes.
const PEERS: &[(&str, &[&str], bool)] = &[
    ("perf record -g", &["perf", "record", "-g", "-o", "{output}", "--"], false),
    ("perf sched record", &["perf", "sched", "record", "-o", "{output}", "--"], false),
    ("perf trace -s", &["perf", "trace", "-s", "-o", "{output}", "--"], false),
    (
        "bpftrace, off CPU",
        &[
            "bpftrace",
            "-o",
            "{output}",
            "-e",
            "tracepoint:sched:sched_switch { @off[args->prev_pid] = nsecs; $since = @off[args->next_pid]; if ($since) { @us[args->next_comm, ustack, kstack] = sum((nsecs - $since) / 1000); delete(@off[args->next_pid]); } }",
            "-c",
        ],
        true,
    ),
];

/// What is the same for all servers.
struct Plan {
    holdup: PathBuf,
    ways: Vec<Way>,
    /// What each way writes.
    output: PathBuf,
    runs: u32,
    /// How long a client runs.
    seconds: u32,
}

/// Measures one server in all ways, and prints a line for each.
fn measure(server: &Server, place: &Place, plan: &Plan) -> Result<()> {
    std::fs::create_dir_all(&place.folder)?;
    open_to_all(&place.folder)?;
    let words = (server.prepare)(place)?;
    let serving = Serving::start(&words, server.process, server.signal, place.port)?;
    sleep(WARMING);
    for command in (server.fill)(place) {
        done(&command)?;
    }
    serving.end()?;
    let mut rounds: Vec<Vec<Result<Figures>>> = Vec::new();
    for _ in 0..plan.runs {
        rounds.push(plan.ways.iter().map(|way| once(server, place, plan, way, &words)).collect());
    }
    for (index, way) in plan.ways.iter().enumerate() {
        print_way(if index == 0 { server.name } else { "" }, way, index, &rounds);
    }
    Ok(())
}

/// Starts the server in this way, and lets its client run.
fn once(server: &Server, place: &Place, plan: &Plan, way: &Way, words: &[String]) -> Result<Figures> {
    let _ = std::fs::remove_file(&plan.output);
    let mut all = way.prefix.clone();
    if way.joined {
        let program = super::ways::absolute(&words[0]);
        all.push([&[program], &words[1..]].concat().join(" "));
    } else {
        all.extend_from_slice(words);
    }
    let serving = Serving::start(&all, server.process, server.signal, place.port)?;
    sleep(WARMING);
    let before = serving.cpu()?;
    let begun = Instant::now();
    let said = done(&(server.load)(place, plan.seconds))?;
    let lasted = begun.elapsed().as_secs_f64();
    let load = (server.read)(place, &said).with_context(|| format!("the client said: {said}"))?;
    let cpu = serving.cpu()? - before;
    serving.end()?;
    Ok(Figures {
        throughput: load.operations_per_second,
        latency: load.median_latency,
        cpu_per_operation: cpu / (load.operations_per_second * lasted),
        told: way.recorded.then(|| told(&plan.holdup, &plan.output)).transpose()?,
    })
}

/// The cost that holdup tells of a recording.
fn told(holdup: &Path, recording: &Path) -> Result<(f64, f64)> {
    let said = Command::new(holdup).args(["report", "--json"]).arg(recording).output()?;
    let report: Value = serde_json::from_slice(&said.stdout).context("the report")?;
    let cost = &report["run"]["recording_cost"];
    let end = |name: &str| cost[name].as_f64().context("the report has no recording cost");
    Ok((end("least")?, end("most")?))
}

/// A line of the table: the figures of a way against those of plain of the same rounds.
fn print_way(server: &str, way: &Way, index: usize, rounds: &[Vec<Result<Figures>>]) {
    if let Some(error) = rounds.iter().find_map(|round| round[index].as_ref().err()) {
        println!("{server:<12} {:<32} no result: {error:#}", way.name);
        return;
    }
    let pairs: Vec<(&Figures, &Figures)> = rounds
        .iter()
        .filter_map(|round| Some((round[0].as_ref().ok()?, round[index].as_ref().ok()?)))
        .collect();
    let ratios = |figure: &dyn Fn(&Figures) -> Option<f64>| -> Vec<f64> {
        pairs.iter().filter_map(|(plain, other)| Some(figure(other)? / figure(plain)?)).collect()
    };
    if index == 0 {
        let middle = |figure: &dyn Fn(&Figures) -> Option<f64>| {
            Spread::of(pairs.iter().filter_map(|(_, other)| figure(other)).collect())
                .unwrap_or_default()
                .median
        };
        let throughput = format!("{:.0} /s", middle(&|run| Some(run.throughput)));
        let latency = format!("{:.3} ms", middle(&|run| run.latency));
        let cpu = format!("{:.2} µs", 1e6 * middle(&|run| Some(run.cpu_per_operation)));
        println!("{server:<12} {:<32} {throughput:>26} {latency:>26} {cpu:>26}", way.name);
        return;
    }
    let throughput = interval(ratios(&|run| Some(run.throughput)));
    let latency = interval(ratios(&|run| run.latency));
    let cpu = interval(ratios(&|run| Some(run.cpu_per_operation)));
    let told = {
        let end = |pick: fn((f64, f64)) -> f64| {
            Spread::of(pairs.iter().filter_map(|(_, other)| other.told.map(pick)).collect())
        };
        match (end(|told| told.0), end(|told| told.1)) {
            (Some(least), Some(most)) => {
                format!("{:.1} to {:.1} %", 100.0 * least.median, 100.0 * most.median)
            }
            _ => String::new(),
        }
    };
    let cell = |figure: Option<Spread>, missed: &dyn Fn(Spread) -> bool| match figure {
        Some(spread) => {
            let mark = if way.recorded && missed(spread) { "*" } else { "" };
            format!("{:.3} ({:.3}–{:.3}){mark}", spread.median, spread.least, spread.most)
        }
        None => "–".to_owned(),
    };
    println!(
        "{server:<12} {:<32} {:>26} {:>26} {:>26}  {told:>18}",
        way.name,
        cell(throughput, &|spread| spread.least < THROUGHPUT),
        cell(latency, &|_| false),
        cell(cpu, &|spread| spread.most > CPU),
    );
}

/// The median with its interval of 95 %, by the order of the values alone: of n values the k-th from either end, with the
/// largest k for which fewer than k of n tosses of a coin are heads in at most 2.5 % of cases.
fn interval(mut values: Vec<f64>) -> Option<Spread> {
    let middle = Spread::of(values.clone())?;
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let mut chance = 0.5_f64.powi(count as i32);
    let mut below = chance;
    let mut rank = 0;
    while below <= 0.025 && rank < count / 2 {
        rank += 1;
        chance *= (count - rank + 1) as f64 / rank as f64;
        below += chance;
    }
    let end = rank.saturating_sub(1);
    Some(Spread { least: values[end], most: values[count - 1 - end], ..middle })
}

#[cfg(test)]
mod tests {
    use super::interval;

    #[test]
    fn the_interval_of_a_median_goes_by_ranks() {
        let ends = |count: u32| {
            let spread = interval((1..=count).map(f64::from).collect()).expect("values");
            (spread.least, spread.most)
        };
        // Tables of the sign test: 6 to 8 values least to most, 9 to 11 the second, 12 to 14 the third, 20 the sixth.
        assert_eq!([ends(5), ends(7), ends(8)], [(1.0, 5.0), (1.0, 7.0), (1.0, 8.0)]);
        assert_eq!([ends(9), ends(12), ends(20)], [(2.0, 8.0), (3.0, 10.0), (6.0, 15.0)]);
    }
}
