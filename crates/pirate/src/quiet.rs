//! Whether a core is free: a thread that wants all of it, for a moment.

use std::hint::spin_loop;

use crate::clock;
use crate::cores::Confined;
use crate::refusal::Refusal;

/// The share of its core, from 0 to 1, that the calling thread gets on this CPU while it computes for `ns`.
///
/// # Errors
/// Where it may not run there.
pub fn core_share(cpu: u32, ns: u64) -> Result<f64, Refusal> {
    let _confined = Confined::to(cpu)?;
    let (begin, cpu_begin) = (clock::now_ns(), clock::thread_cpu_ns());
    let mut now = begin;
    while now - begin < ns {
        (0..1000).for_each(|_| spin_loop());
        now = clock::now_ns();
    }
    let spent = clock::thread_cpu_ns() - cpu_begin;
    Ok((spent as f64 / (now - begin).max(1) as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_between_nothing_and_all() {
        let share = core_share(crate::allowed_cpus()[0], 1_000_000).unwrap();
        assert!(share > 0.0 && share <= 1.0, "{share}");
        assert!(core_share(1000, 1).is_err());
    }
}
