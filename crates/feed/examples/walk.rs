#[path = "../tests/untimed/mod.rs"]
mod untimed;
fn main() {
    for path in std::env::args_os().skip(1) {
        let path: std::path::PathBuf = path.into();
        let (recording, warnings) = holdup_recording::Recording::open(&path).unwrap();
        let run = recording.run(&warnings);
        let prepared = match holdup_feed::Prepared::new(&recording, &run) { Ok(p) => p, Err(e) => { println!("{path:?}: {e}"); continue } };
        println!("== {path:?} {} instr {:?}", prepared.instructions(), prepared.program().warnings);
        println!("  semaphores {:?} barriers {:?} gates {} constructs {:?}", prepared.program().tokens, prepared.program().barriers.iter().take(9).collect::<Vec<_>>(), prepared.program().gates.len(), prepared.program().constructs.iter().map(Vec::len).take(8).collect::<Vec<_>>());
        let mut first = None;
        for redeal in [false, true] { for turn in [1, 1000] {
            let mut feed = holdup_feed::RecordedFeed::new(&prepared, redeal);
            let walked = untimed::walk(prepared.program(), &mut feed, turn);
            let total: u64 = walked.instructions.iter().sum();
            println!("  redeal {redeal} turn {turn}: {total} {:?} stuck {:?} units {:?} cuts {:?}", walked.accesses, &walked.stuck[..walked.stuck.len().min(10)], walked.units.iter().take(8).collect::<Vec<_>>(), walked.cuts.iter().take(8).collect::<Vec<_>>());
            let key = (total, walked.accesses);
            if *first.get_or_insert(key) != key { println!("  DIFFERENT"); }
        } }
    }
}
