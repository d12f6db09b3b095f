//! A Rust program: a thread, a closure, a trait object, a generic function, and a static lock.

use std::sync::Mutex;

unsafe extern "C" {
    fn capture();
    fn tell(address: *const std::ffi::c_void);
}

static TOTALS: Mutex<u64> = Mutex::new(0);

mod pipeline {
    pub trait Stage {
        fn run(&self, input: u64) -> u64;
    }

    pub struct Last;

    impl Stage for Last {
        #[inline(never)]
        fn run(&self, input: u64) -> u64 {
            // SAFETY: it reads this thread's stack and writes to standard output.
            unsafe { crate::capture() };
            std::hint::black_box(input) + 1
        }
    }

    #[inline(never)]
    pub fn each<S: Stage + ?Sized>(stage: &S, inputs: &[u64]) -> u64 {
        let mut sum = 0;
        for input in inputs {
            sum += stage.run(*input);
        }
        std::hint::black_box(sum)
    }
}

fn main() {
    let worker = std::thread::spawn(|| {
        let stage: Box<dyn pipeline::Stage + Send> = Box::new(pipeline::Last);
        let sum = pipeline::each(&*stage, &[1]);
        *TOTALS.lock().unwrap() += sum;
    });
    worker.join().unwrap();
    // SAFETY: only the address is used.
    unsafe { tell((&raw const TOTALS).cast()) };
}
