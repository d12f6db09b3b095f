//! The workloads of `workloads/sim.tsv`: programs whose cycles go to one component, recorded once, and what `holdup sim`
//! says of them on the machine of paper 3.

use crate::workspace;

const TABLE: &str = "sim.tsv";

/// A row of the table: a share of the cycles of some threads.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The folder in `workloads/`.
    pub name: String,
    /// Flags for the compiler.
    pub flags: Vec<String>,
    /// What it is run with.
    pub arguments: Vec<String>,
    /// How many cores are simulated.
    pub cores: u32,
    /// Numbers of threads in the recording; main has 0.
    pub threads: Vec<u64>,
    /// Components that are taken together.
    pub components: Vec<String>,
    /// Their share of each of these threads' cycles.
    pub least: f64,
    /// See `least`.
    pub most: f64,
}

/// All rows of the table.
pub fn table() -> Vec<Expected> {
    let table = std::fs::read_to_string(workspace().join("workloads").join(TABLE)).expect("the table");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, flags, arguments, cores, threads, components, least, most] = fields[..] else {
            panic!("a row: {line}")
        };
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Expected {
            name: name.to_owned(),
            flags: words(flags),
            arguments: words(arguments),
            cores: cores.parse().expect("cores"),
            threads: threads.split(',').flat_map(range).collect(),
            components: components.split('+').map(str::to_owned).collect(),
            least: least.parse().expect("a share"),
            most: most.parse().expect("a share"),
        }
    };
    table.lines().skip(1).map(row).collect()
}

/// `3`, or `0-3`.
fn range(text: &str) -> std::ops::RangeInclusive<u64> {
    let number = |text: &str| text.parse().expect("a thread's number");
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    number(first)..=number(last)
}
