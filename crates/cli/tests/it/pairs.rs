//! Commands that tell the same quantity of the same recording tell the same number, to the nanosecond: for each kept recording.
//!
//! Where two may differ, the comparison says why.

mod shown;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use holdup_compare::{Against, Budget, Ledger, Missing, compare, judge, parse_budget};
use holdup_criticality::{Depth, Diagnosis, Finding, FindingKind, diagnose, predict_gains};
use holdup_export::{TableFormat, Weight};
use holdup_feed::Prepared;
use holdup_model::counts::SectionKind;
use holdup_model::cycles::CycleComponent;
use holdup_model::{Nanos, ObjectKind, Run, Timeline};
use holdup_recording::{Recording, Sources};
use holdup_replay::{Replayer, parse};
use holdup_scaling::{ScalePoint, scale};
use holdup_sim::{Machine, Options};
use serde_json::Value;

use crate::stage;

/// A kept recording, and what `holdup report` says of its busiest process.
struct Kept {
    name: String,
    run: Run,
    diagnoses: Vec<Diagnosis>,
    report: Value,
}

/// What is found in a recording is compared everywhere at once: finding it takes longer. Each test has every third recording.
const PARTS: usize = 3;

fn compared(part: usize) {
    let stage = stage::Stage::new();
    let mut rows_of_pages = 0;
    for kept in all(part) {
        report_and_tables(&kept, &stage);
        findings_and_what_ifs(&kept);
        report_and_what_compares(&kept);
        rows_of_pages += shown::report_and_page(&kept);
        if kept.run.processes.len() == 1 {
            report_and_folded_stacks(&kept);
            shown::report_and_speedscope(&kept);
            shown::report_and_firefox(&kept);
            shown::report_and_perfetto(&kept);
        }
    }
    assert!(rows_of_pages > 100, "{rows_of_pages}");
}

#[test]
fn the_first_and_each_third_behind_it() {
    compared(0);
}

#[test]
fn the_second_and_each_third_behind_it() {
    compared(1);
}

#[test]
fn the_third_and_each_third_behind_it() {
    compared(2);
}

/// A part of the kept recordings in which there is a process.
fn all(part: usize) -> impl Iterator<Item = Kept> {
    let mut paths: Vec<PathBuf> = fs::read_dir(stage::golden::recordings())
        .expect("kept recordings")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "holdup"))
        .collect();
    paths.sort();
    paths.into_iter().skip(part).step_by(PARTS).filter_map(|path| {
        let (recording, warnings) = Recording::open(&path).ok()?;
        let run = recording.run_from(&warnings, Sources::ALL);
        let first = *run.busiest_first().first()?;
        let mut diagnosis = diagnose(&run, first);
        predict_gains(&run, &mut diagnosis, Depth { all_gains: true, curves: false });
        let diagnoses = vec![diagnosis];
        let report = holdup_report::json(&run, &diagnoses);
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Some(Kept { name, run, diagnoses, report })
    })
}

impl Kept {
    fn diagnosis(&self) -> &Diagnosis {
        &self.diagnoses[0]
    }

    /// The tables of `holdup export --format csv`, as rows of cells by column.
    fn tables(&self, folder: &Path) -> impl Fn(&str) -> Vec<BTreeMap<String, String>> {
        let folder = folder.join(&self.name);
        holdup_export::tables(&self.run, &self.diagnoses, TableFormat::Csv, &folder).expect("tables");
        let process = self.diagnosis().process.to_string();
        move |table| {
            let mut reader = csv::Reader::from_path(folder.join(format!("{table}.csv"))).expect("a table");
            let header: Vec<String> = reader.headers().expect("a header").iter().map(str::to_owned).collect();
            let rows = reader.records().map(|row| {
                let row = row.expect("a row");
                header.iter().cloned().zip(row.iter().map(str::to_owned)).collect()
            });
            rows.filter(|row: &BTreeMap<_, _>| row["process"] == process).collect()
        }
    }
}

fn whole(cell: &str) -> Option<u64> {
    (!cell.is_empty()).then(|| cell.parse().expect("a whole number"))
}

fn field(value: &Value, name: &str) -> Option<u64> {
    value[name].as_u64()
}

/// States in the words of the tables, and the members of JSON that have their time.
const STATES: [(&str, &str); 6] = [
    ("active", "active_ns"),
    ("I/O", "io_ns"),
    ("asleep", "asleep_ns"),
    ("spinning", "spinning_ns"),
    ("waking", "waking_ns"),
    ("descheduled", "descheduled_ns"),
];

fn report_and_tables(kept: &Kept, stage: &stage::Stage) {
    let tables = kept.tables(stage.directory());
    let mut times: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in tables("segments") {
        let length = whole(&row["length_ns"]).expect("a length");
        *times.entry((row["thread"].clone(), row["state"].clone())).or_default() += length;
    }
    for thread in kept.report["criticality"]["threads"].as_array().expect("threads") {
        for (state, member) in STATES {
            let key = (thread["thread"].to_string(), state.to_owned());
            let in_table = times.get(&key).copied().unwrap_or(0);
            assert_eq!(field(thread, member), Some(in_table), "{}: {key:?}", kept.name);
        }
    }
    let (findings, rows) = (kept.report["findings"].as_array().expect("findings"), tables("findings"));
    assert_eq!(findings.len(), rows.len(), "{}", kept.name);
    for (finding, row) in findings.iter().zip(rows) {
        assert_eq!(field(finding, "cost_ns"), whole(&row["cost_ns"]), "{}", kept.name);
        let gain = &finding["gain"];
        for (member, column) in [("ns", "gain_ns"), ("low_ns", "gain_low_ns"), ("high_ns", "gain_high_ns")] {
            assert_eq!(field(gain, member), whole(&row[column]), "{}: {column}", kept.name);
        }
    }
    let costs: BTreeMap<Option<u64>, Option<u64>> =
        tables("objects").iter().map(|row| (whole(&row["object"]), whole(&row["cost_ns"]))).collect();
    for object in kept.report["objects"].as_array().expect("objects") {
        let in_table = costs[&field(object, "object")].unwrap_or(0);
        assert_eq!(field(object, "cost_ns"), Some(in_table), "{}: {object}", kept.name);
    }
}

/// Criticality and active time of folded stacks are those of the report; each line is a whole number of nanoseconds, and
/// loses less than one.
fn report_and_folded_stacks(kept: &Kept) {
    let sum = |weight| -> (u64, u64) {
        let mut text = Vec::new();
        holdup_export::folded(&kept.run, weight, &mut text).expect("stacks");
        let text = String::from_utf8(text).expect("UTF-8");
        let amounts = text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok());
        amounts.fold((0, 0), |(sum, lines), amount| (sum + amount, lines + 1))
    };
    let (critical, lines) = sum(Weight::Critical);
    let whole: f64 = kept.diagnosis().criticality.threads.iter().sum();
    assert!((whole - critical as f64).abs() <= lines as f64 + 1.0, "{}: {critical} {whole}", kept.name);
}

/// What a finding says that fixing it saves is what `holdup whatif` says of the expression that it offers.
fn findings_and_what_ifs(kept: &Kept) {
    let process = &kept.run.processes[kept.diagnosis().process];
    let timeline = Timeline::build(process);
    let cores = kept.run.effective_cores_of(process);
    let Ok(replayer) = Replayer::of(process, &timeline, cores) else { return };
    let what_if = kept.diagnosis().what_if.as_ref();
    assert_eq!(what_if.map(|what_if| what_if.replayed), Some(replayer.replayed()), "{}", kept.name);
    let spins_by_no_replay = |finding: &Finding| {
        let gain = finding.gain.as_ref();
        finding.kind == FindingKind::Spin && gain.is_some_and(|gain| gain.expression.is_empty())
    };
    for finding in &kept.diagnosis().findings {
        let Some(gain) = &finding.gain else { continue };
        if gain.expression.is_empty() {
            // Larger tasks, longer queues, smaller teams, waits in which nobody spins, cache lines of one's own, and memory that is kept,
            // are no change of what was recorded; and the change that makes waits for a stage end sooner may do more than that.
            let are_told = match finding.kind {
                FindingKind::Tasks
                | FindingKind::Spin
                | FindingKind::Sharing
                | FindingKind::Faults
                | FindingKind::Queue => true,
                FindingKind::Pipeline | FindingKind::Condition => gain.time == finding.cost,
                FindingKind::Oversubscription => {
                    process.openmp.regions.iter().any(|region| region.size > cores)
                        || kept.diagnosis().findings.iter().any(spins_by_no_replay)
                }
                _ => false,
            };
            assert!(are_told, "{}: {}", kept.name, finding.what);
            continue;
        }
        let points = parse(&gain.expression, process)
            .unwrap_or_else(|error| panic!("{}: {}: {error}", kept.name, gain.expression));
        let prediction = replayer.predict(&points[0].changes).expect("a replay that ends");
        let again = prediction.gain(process.wall()).map(|gain| Nanos::new(gain.max(0) as u64));
        assert_eq!([gain.time, gain.low, gain.high], again, "{}: {}", kept.name, gain.expression);
    }
}

/// Budgets, comparisons and scaling have the wall times, costs and parts of the report.
fn report_and_what_compares(kept: &Kept) {
    let diagnosis = kept.diagnosis();
    let ledger = || Ledger::of(&kept.run, diagnosis);
    let process = &kept.report["process"];
    assert_eq!(field(process, "wall_ns"), Some(diagnosis.wall.get()), "{}", kept.name);

    let budgets: Vec<Budget> =
        ["wall<=1000s", "efficiency>=0"].map(|text| parse_budget(text).unwrap()).into();
    let verdicts = judge(&budgets, &[ledger()], &[], Missing::Refused).expect("verdicts");
    let values: Vec<f64> = verdicts.iter().flat_map(|verdict| &verdict.judged).map(|one| one.value).collect();
    assert_eq!(values, [diagnosis.wall.get() as f64, diagnosis.efficiency], "{}", kept.name);

    let comparison = compare(&[ledger()], &[ledger()], Against::Change).expect("two sides");
    let json = holdup_report::diff_json(&comparison);
    for side in ["before", "after"] {
        assert_eq!(json[side]["walls_ns"][0], process["wall_ns"], "{}: {side}", kept.name);
    }

    let runs = std::slice::from_ref(&kept.run);
    let scaling = scale(&[ScalePoint { threads: diagnosis.workers.max(1), runs, plain: &[] }]);
    let walls: Vec<Nanos> = scaling.points.iter().map(|point| point.wall.median).collect();
    assert_eq!(walls, [diagnosis.wall], "{}", kept.name);
}

/// A barrier of a mutex and a condition variable is a barrier for `report`, `why` and `sim`, with both its meetings in each round,
/// and its rounds can be sampled.
#[test]
fn report_why_and_sim_of_a_condition_barrier() {
    let path = stage::golden::recordings().join("condition_barrier_stream.holdup");
    let (recording, warnings) = Recording::open(&path).expect("a kept recording");
    let run = recording.run(&warnings);
    let barrier =
        run.processes[0].objects.iter().find(|object| object.is_condition_barrier).expect("a barrier");
    assert_eq!((barrier.kind, barrier.parties), (ObjectKind::Barrier, Some(4)));

    let counts = holdup_counts::counts(&recording, &run).expect("counts");
    let of_barrier = counts.sections.iter().filter(|section| section.kind == SectionKind::ConditionBarrier);
    let instances: usize = of_barrier.map(|section| section.instances.len()).sum();
    assert_eq!(instances, 16, "two in each of eight rounds");

    let prepared = Prepared::new(&recording, &run).expect("streams");
    assert_eq!(prepared.program().barriers, [4]);
    assert!(prepared.program().warnings.is_empty(), "{:?}", prepared.program().warnings);
    let machine = fs::read_to_string(stage::workspace().join("machines/dunnington.toml")).expect("a machine");
    let machine = Machine::parse(&machine).expect("a machine");
    let options = Options { cores: 4, ..Options::default() };
    let simulated = prepared.simulated(true, &machine, &options, &mut |_| true);
    let cycles =
        |component| -> u64 { simulated.threads.iter().map(|thread| thread.stack.get(component)).sum() };
    assert_eq!(cycles(CycleComponent::SyncCond), 0);
    assert!(cycles(CycleComponent::SyncBarrier) > cycles(CycleComponent::SyncCritSect));
}
