//! Blocked LU (paper 2, section 5.5.1): the imbalance that is shown is that which counts of blocks predict, and the better
//! mapping of blocks to threads takes away at least half of the idle time.

use crate::stage::Stage;
use crate::stage::lime::{Compiler, THREADS, Way, sections, why, workload};
use serde_json::Value;

/// Blocks in a row of blocks: `SIDE` of the source.
const SIDE: u32 = 16;

/// As [`SIDE`], with `-DSIDE=5`: fewer rows of blocks than threads, which is what the mapping is for.
const FEW: u32 = 5;

/// To which thread a block belongs.
type Owner = fn(row: u32, column: u32, threads: u32) -> u32;

/// The planted mapping.
fn by_sum(row: u32, column: u32, threads: u32) -> u32 {
    (row + column) % threads
}

/// The fixed one: threads are a grid, as square as can be.
fn by_grid(row: u32, column: u32, threads: u32) -> u32 {
    let rows =
        (1..=threads).take_while(|rows| rows * rows <= threads).filter(|rows| threads.is_multiple_of(*rows));
    let rows = rows.last().unwrap_or(1);
    let columns = threads / rows;
    column % columns + row % rows * columns
}

/// What the blocks that are left in each round make of the threads, with the time for a block as the unit.
struct Predicted {
    /// Σ (most blocks − own blocks).
    idle: u32,
    /// That as a share of threads × most blocks.
    imbalance: f64,
}

fn predict(owner: Owner, side: u32, threads: u32) -> Predicted {
    let (mut idle, mut available) = (0, 0);
    for round in 0..side {
        let mut blocks = vec![0; threads as usize];
        for row in round + 1..side {
            for column in round + 1..side {
                blocks[owner(row, column, threads) as usize] += 1;
            }
        }
        let most: u32 = blocks.iter().copied().max().unwrap_or(0);
        idle += blocks.iter().map(|own| most - own).sum::<u32>();
        available += most * threads;
    }
    Predicted { idle, imbalance: f64::from(idle) / f64::from(available) }
}

/// The section of the blocks that are left: it ends at the barrier behind the ownership test.
fn inner_blocks(stage: &Stage, threads: u32, flags: &[&str]) -> Value {
    let row = workload("lime_lu");
    let way = Way { compiler: Compiler::Gcc, level: '2', threads };
    let program = row.build(stage, way, flags).expect("gcc");
    let json = why(&["--no-native", "--no-intervals", "--all"], &program, &[&threads.to_string()]);
    let end = row.next_line_with("MEET()", row.marked("PLANTED")[0]);
    let found = sections(&json).iter().find(|section| row.is_at(&section["where"], &[end]));
    found.unwrap_or_else(|| panic!("no section ends at line {end}: {json:#}")).clone()
}

fn number(section: &Value, member: &str) -> f64 {
    section[member].as_f64().unwrap_or_else(|| panic!("no {member}: {section:#}"))
}

#[test]
fn imbalance_is_what_counts_of_blocks_predict() {
    let stage = Stage::new();
    for threads in THREADS {
        for (owner, flags) in [(by_sum as Owner, &[][..]), (by_grid, &["-DFIXED"])] {
            let predicted = predict(owner, SIDE, threads).imbalance;
            let shown = number(&inner_blocks(&stage, threads, flags), "imbalance");
            // Finding out whose block it is takes time too, the same for all.
            assert!(
                (shown - predicted).abs() < 0.03,
                "{threads} threads {flags:?}: shown {shown:.3}, predicted {predicted:.3}"
            );
        }
    }
}

#[test]
fn the_better_mapping_takes_away_half_of_the_idle_time() {
    let stage = Stage::new();
    for threads in THREADS {
        // Where there are many more rows of blocks than threads, the sums of indices are about even.
        let (side, flags): (u32, &[&str]) = if threads < 32 { (FEW, &["-DSIDE=5"]) } else { (SIDE, &[]) };
        let ratio =
            f64::from(predict(by_grid, side, threads).idle) / f64::from(predict(by_sum, side, threads).idle);
        assert!(ratio < 0.5, "the mapping is not better: {ratio:.2}");
        let planted = number(&inner_blocks(&stage, threads, flags), "idle");
        let fixed = number(&inner_blocks(&stage, threads, &[flags, &["-DFIXED"]].concat()), "idle");
        assert!(fixed < planted * 0.5, "{threads} threads: {planted} and {fixed} instructions of idle time");
    }
}
