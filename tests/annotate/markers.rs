//! Says everything that holdup_annotate can say, on two threads.

fn main() {
    let region = holdup_annotate::region(c"solve");
    holdup_annotate::phase(c"from Rust");
    let worker = std::thread::spawn(|| {
        let _tile = holdup_annotate::work_unit(c"tile");
        let _spin = holdup_annotate::spin();
    });
    worker.join().unwrap();
    drop(region);
    println!("recording {}", i32::from(holdup_annotate::is_recording()));
}
