//! What coz writes: a line for each experiment, and after it how often each progress point was passed.

/// The time (ns) from one passing of the progress point to the next, over all experiments. `None` if there are none, or
/// if it was never passed.
pub(super) fn time_between_progress(profile: &str) -> Option<f64> {
    let (mut time, mut passed, mut duration) = (0.0, 0.0, None);
    for line in profile.lines() {
        let number = |name: &str| -> Option<f64> {
            let field = line.split('\t').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))?;
            field.parse().ok()
        };
        if line.starts_with("experiment\t") {
            duration = number("duration");
        } else if let (true, Some(experiment), Some(delta)) =
            (line.starts_with("throughput-point\t"), duration.take(), number("delta"))
        {
            time += experiment;
            passed += delta;
        }
    }
    (passed > 0.0).then_some(time / passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_are_summed() {
        let profile = "startup\ttime=1\n\
            experiment\tselected=a.c:1\tspeedup=0.50\tduration=100\tselected-samples=3\n\
            throughput-point\tname=progress\tdelta=4\n\
            experiment\tselected=a.c:1\tspeedup=0.50\tduration=200\tselected-samples=3\n\
            throughput-point\tname=progress\tdelta=6\n\
            experiment\tselected=a.c:1\tspeedup=0.50\tduration=999\tselected-samples=3\n\
            runtime\ttime=5\n";
        assert_eq!(time_between_progress(profile), Some(30.0));
        assert_eq!(time_between_progress("startup\ttime=1\n"), None);
        assert_eq!(time_between_progress(""), None);
    }
}
