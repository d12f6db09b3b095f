//! The rows of the comma-separated values add up.

use std::collections::BTreeMap;

use holdup_report::sim_csv;

use crate::sim::examples;

/// The values of a line, as RFC 4180 has them.
fn values(line: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut quoted = false;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                values.last_mut().unwrap().push(chars.next().unwrap())
            }
            '"' => quoted = !quoted,
            ',' if !quoted => values.push(String::new()),
            c => values.last_mut().unwrap().push(c),
        }
    }
    values
}

#[test]
fn rows_of_a_thread_add_up_to_the_cycles_of_the_run() {
    for (name, told) in examples::all() {
        let text = sim_csv(&told);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("machine,cores,changes,thread,name,component,cycles,input"));
        let mut sums: BTreeMap<(String, String, String, String), u64> = BTreeMap::new();
        for line in lines {
            let values = values(line);
            let [machine, cores, changes, thread, _, _, cycles, input] = &values[..] else {
                panic!("{name}: {line}")
            };
            let key = (format!("{machine} {cores}"), changes.clone(), thread.clone(), input.clone());
            *sums.entry(key).or_default() += cycles.parse::<u64>().unwrap();
        }
        let mut expected: Vec<u64> = told
            .runs
            .iter()
            .flat_map(|run| run.simulated.threads.iter().map(|_| run.simulated.cycles))
            .filter(|cycles| *cycles > 0)
            .collect();
        let mut found: Vec<u64> = sums.into_values().collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn a_hostile_name_stays_in_its_row() {
    let text = sim_csv(&examples::hostile("a\n\"b\",=1\u{1b}"));
    assert!(text.lines().all(|line| line.starts_with("machine,")
        || line.contains(",dispatch_width,")
        || values(line).len() == 8));
    assert!(!text.contains('\u{1b}'));
}
