use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);

fn wanted(which: u32) -> Wanted {
    let (silence, limit) = (Duration::from_secs(1), Duration::from_secs(60));
    Wanted { which, order: BTreeMap::new(), silence, limit }
}

fn thread(number: u32, conduct: Conduct) -> Seen {
    Seen { slot: number, number, parent: (number > 0).then_some(0), tid: 100 + number, conduct }
}

fn view(millis: u64, phase: Phase, profiled: Option<u32>, threads: &[(u32, Conduct)]) -> View {
    View {
        now: Duration::from_millis(millis),
        phase,
        generation: 0,
        profiled,
        progress: 0,
        threads: threads.iter().map(|(number, conduct)| thread(*number, *conduct)).collect(),
        unborn: 0,
    }
}

/// Where only wall time is known.
impl<F: FnMut(u32) -> bool> Look for F {
    fn is_asleep(&mut self, tid: u32) -> bool {
        self(tid)
    }

    fn executed(&mut self, _: u32) -> Option<Duration> {
        None
    }
}

/// Threads that are awake, and have executed for so long.
struct Executed(Duration);

impl Look for Executed {
    fn is_asleep(&mut self, _: u32) -> bool {
        false
    }

    fn executed(&mut self, _: u32) -> Option<Duration> {
        Some(self.0)
    }
}

fn awake(_: u32) -> bool {
    false
}

fn chosen(acts: &[Act]) -> Option<u32> {
    match acts {
        [Act::Choose(seen)] => Some(seen.number),
        _ => None,
    }
}

use Conduct::{Held, Runs, Waits};

#[test]
fn the_wanted_thread_of_a_group_is_chosen_once_its_creator_waits() {
    for (which, expected) in [(0, 1), (1, 2), (2, 3), (3, 0), (9, 0)] {
        let mut policy = Policy::new(wanted(which));
        let gathering = view(0, Phase::Gather, None, &[(0, Runs), (1, Held), (2, Held), (3, Held)]);
        assert_eq!(policy.step(&gathering, &mut awake), []);
        let gathered = view(1, Phase::Gather, None, &[(0, Waits), (1, Held), (2, Held), (3, Held)]);
        assert_eq!(chosen(&policy.step(&gathered, &mut awake)), Some(expected));
    }
}

#[test]
fn who_is_wanted_and_begins_later_is_chosen_at_once_where_it_is_held() {
    let mut policy = Policy::new(Wanted { order: [(2, 0), (3, 1)].into(), ..wanted(0) });
    let first = view(0, Phase::Gather, None, &[(0, Waits), (1, Held)]);
    assert_eq!(chosen(&policy.step(&first, &mut awake)), Some(1), "nobody else is there");
    let alone = view(1, Phase::Alone, Some(1), &[(0, Waits), (1, Runs), (2, Runs)]);
    assert_eq!(policy.step(&alone, &mut awake), [], "it has begun");
    let held = view(2, Phase::Alone, Some(1), &[(0, Waits), (1, Runs), (2, Held)]);
    assert_eq!(chosen(&policy.step(&held, &mut awake)), Some(2));
    let chosen_one = view(3, Phase::Alone, Some(2), &[(0, Waits), (1, Held), (2, Runs), (3, Held)]);
    assert_eq!(policy.step(&chosen_one, &mut awake), []);
}

#[test]
fn a_group_is_not_complete_while_a_created_thread_has_not_begun() {
    let mut policy = Policy::new(wanted(1));
    let mut early = view(0, Phase::Gather, None, &[(0, Waits), (1, Held)]);
    early.unborn = 1;
    assert_eq!(policy.step(&early, &mut awake), []);
    let complete = view(1, Phase::Gather, None, &[(0, Waits), (1, Held), (2, Held)]);
    assert_eq!(chosen(&policy.step(&complete, &mut awake)), Some(2));
}

#[test]
fn who_creates_threads_and_goes_on_is_not_waited_for() {
    let mut policy = Policy::new(wanted(0));
    let threads = [(0, Runs), (1, Held)];
    assert_eq!(policy.step(&view(0, Phase::Gather, None, &threads), &mut awake), []);
    assert_eq!(policy.step(&view(19, Phase::Gather, None, &threads), &mut awake), []);
    assert_eq!(chosen(&policy.step(&view(20, Phase::Gather, None, &threads), &mut awake)), Some(1));
}

#[test]
fn who_creates_threads_and_has_lost_its_core_is_waited_for() {
    let mut policy = Policy::new(wanted(1));
    let threads = [(0, Runs), (1, Held)];
    let mut executed = Executed(Duration::from_millis(50));
    assert_eq!(policy.step(&view(0, Phase::Gather, None, &threads), &mut executed), []);
    assert_eq!(policy.step(&view(500, Phase::Gather, None, &threads), &mut executed), []);
    let more = [(0, Runs), (1, Held), (2, Held)];
    assert_eq!(policy.step(&view(510, Phase::Gather, None, &more), &mut executed), []);
    executed.0 += GATHERING;
    assert_eq!(chosen(&policy.step(&view(520, Phase::Gather, None, &more), &mut executed)), Some(2));
}

#[test]
fn a_creator_asleep_where_no_hook_sees_it_creates_nothing_and_nobody_is_waited_for_forever() {
    let threads = [(0, Runs), (1, Held)];
    let mut asleep = |tid: u32| tid == 100;
    let mut policy = Policy::new(wanted(0));
    assert_eq!(policy.step(&view(0, Phase::Gather, None, &threads), &mut asleep), []);
    assert_eq!(chosen(&policy.step(&view(2, Phase::Gather, None, &threads), &mut asleep)), Some(1));
    let mut stands = Executed(Duration::ZERO);
    let mut policy = Policy::new(wanted(0));
    assert_eq!(policy.step(&view(0, Phase::Gather, None, &threads), &mut stands), []);
    assert_eq!(policy.step(&view(1999, Phase::Gather, None, &threads), &mut stands), []);
    assert_eq!(chosen(&policy.step(&view(2000, Phase::Gather, None, &threads), &mut stands)), Some(1));
}

/// Of four threads the first creates the others; these numbers are counted, in this order.
fn chosen_by(order: &[u32], which: u32, threads: u32) -> Option<u32> {
    let order = order.iter().enumerate().map(|(place, number)| (*number, place)).collect();
    let mut policy = Policy::new(Wanted { order, ..wanted(which) });
    let mut all = vec![(0, Waits)];
    all.extend((1..threads).map(|number| (number, Held)));
    chosen(&policy.step(&view(0, Phase::Gather, None, &all), &mut awake))
}

#[test]
fn threads_that_do_next_to_nothing_are_not_counted() {
    assert_eq!([0, 1].map(|which| chosen_by(&[3, 2], which, 4)), [Some(3), Some(2)]);
    assert_eq!(chosen_by(&[3, 2], 2, 4), Some(2), "the last of them again");
    assert_eq!(chosen_by(&[0, 1], 0, 4), Some(0), "the one that creates the others is the one at work");
    assert_eq!(chosen_by(&[2, 3], 1, 3), Some(0), "until the wanted one comes its creator has to go on");
    assert_eq!(chosen_by(&[7, 8], 1, 4), Some(2), "nothing is known of these");
}

#[test]
fn the_thread_that_met_a_region_is_the_last_of_its_team() {
    let team = [(0, Held), (1, Held), (2, Held)];
    for (which, expected) in [(0, 1), (1, 2), (2, 0)] {
        let mut policy = Policy::new(wanted(which));
        assert_eq!(chosen(&policy.step(&view(0, Phase::Gather, None, &team), &mut awake)), Some(expected));
    }
    let mut policy = Policy::new(wanted(0));
    let lonely = view(0, Phase::Gather, None, &[(0, Held)]);
    assert_eq!(chosen(&policy.step(&lonely, &mut awake)), Some(0), "a region of one thread goes on");
}

#[test]
fn a_better_thread_is_chosen_only_while_the_profiled_one_waits() {
    let mut policy = Policy::new(wanted(1));
    let first = view(0, Phase::Gather, None, &[(0, Waits), (1, Held)]);
    assert_eq!(
        chosen(&policy.step(&first, &mut awake)),
        Some(0),
        "there is no second one, so the creator is it"
    );
    let runs = view(1, Phase::Free, Some(0), &[(0, Runs), (1, Runs), (2, Runs)]);
    assert_eq!(policy.step(&runs, &mut awake), []);
    let waits = view(2, Phase::Free, Some(0), &[(0, Waits), (1, Runs), (2, Runs)]);
    assert_eq!(chosen(&policy.step(&waits, &mut awake)), Some(2));
}

#[test]
fn that_members_of_a_group_end_makes_no_other_one_the_wanted_one() {
    let mut policy = Policy::new(wanted(1));
    let first = view(0, Phase::Gather, None, &[(0, Waits), (1, Held), (2, Held), (3, Held)]);
    assert_eq!(chosen(&policy.step(&first, &mut awake)), Some(2));
    let later = view(1, Phase::Free, Some(2), &[(0, Waits), (2, Waits), (3, Runs)]);
    assert_eq!(policy.step(&later, &mut awake), []);
}

#[test]
fn when_the_profiled_thread_is_gone_new_ones_are_gathered() {
    let mut policy = Policy::new(wanted(0));
    let gone = view(0, Phase::Alone, None, &[(0, Waits), (2, Held)]);
    assert_eq!(policy.step(&gone, &mut awake), [Act::Gather]);
    let next = view(1, Phase::Gather, None, &[(0, Waits), (2, Runs), (5, Held)]);
    assert_eq!(policy.step(&next, &mut awake), [], "the rest of the old group runs on");
    let next = view(2, Phase::Gather, None, &[(0, Waits), (2, Waits), (5, Held)]);
    assert_eq!(chosen(&policy.step(&next, &mut awake)), Some(5));
}

fn alone(millis: u64, generation: u32, progress: u32) -> View {
    let threads = [(0, Waits), (1, Runs), (2, Held)];
    View { generation, progress, ..view(millis, Phase::Alone, Some(1), &threads) }
}

#[test]
fn a_profiled_thread_asleep_on_two_looks_lets_the_others_go() {
    let mut policy = Policy::new(wanted(0));
    let mut asleep = |tid: u32| tid == 101;
    assert_eq!(policy.step(&alone(0, 0, 0), &mut asleep), []);
    assert_eq!(policy.step(&alone(2, 0, 0), &mut awake), [], "it was a moment");
    assert_eq!(policy.step(&alone(4, 0, 0), &mut asleep), []);
    assert_eq!(policy.step(&alone(6, 0, 0), &mut asleep), [Act::Release(AloneCode::Asleep, Duration::ZERO)]);
    assert_eq!(policy.counts.sleeps, 1);
}

/// Steps every 10 ms until something is done; gives what, and when.
fn until_act(policy: &mut Policy, from: u64, of: impl Fn(u64) -> View) -> (Vec<Act>, u64) {
    for millis in (from..from + 30_000).step_by(10) {
        let acts = policy.step(&of(millis), &mut awake);
        if !acts.is_empty() {
            return (acts, millis);
        }
    }
    panic!("nothing was done");
}

#[test]
fn a_thread_that_computes_is_given_twice_as_long_the_next_time() {
    let mut policy = Policy::new(wanted(0));
    let (acts, at) = until_act(&mut policy, 0, |millis| alone(millis, 0, 0));
    assert_eq!((acts, at), (vec![Act::Release(AloneCode::Spun, WINDOW)], 1000));
    let free = |millis| View { phase: Phase::Free, generation: 1, ..alone(millis, 1, 0) };
    assert_eq!(policy.step(&free(1005), &mut awake), []);
    assert_eq!(policy.step(&free(1020), &mut awake), []);
    let (_, at) = until_act(&mut policy, 5000, |millis| alone(millis, 2, 1));
    assert_eq!(at, 7000);
    assert_eq!((policy.counts.silences, policy.counts.spins), (2, 0));
}

#[test]
fn a_program_that_spins_is_let_go_quickly_from_the_second_time_on() {
    let mut policy = Policy::new(wanted(0));
    let mut waited = Vec::new();
    for time in 0..3u32 {
        let begin = u64::from(time) * 10_000;
        let (_, at) = until_act(&mut policy, begin, |millis| alone(millis, 2 * time, time));
        waited.push(at - begin);
        let free = View { phase: Phase::Free, ..alone(at + 2, 2 * time + 1, time + 1) };
        assert_eq!(policy.step(&free, &mut awake), []);
    }
    assert_eq!(waited, [1000, 250, 20]);
    assert_eq!(policy.counts.spins, 3);
}

#[test]
fn a_thread_that_comes_to_hooks_and_never_waits_lets_the_others_go_for_ever_longer_moments() {
    let mut policy = Policy::new(wanted(0));
    let mut windows = Vec::new();
    for cut in 0..12u32 {
        let begin = u64::from(cut) * 1000;
        let (acts, at) = until_act(&mut policy, begin, |millis| alone(millis, cut, millis as u32));
        assert_eq!(at - begin, 200);
        let [Act::Cut(window)] = acts[..] else { panic!("{acts:?}") };
        windows.push(window.as_millis());
    }
    assert_eq!(windows, [2, 2, 2, 2, 2, 4, 8, 16, 32, 64, 64, 64]);
    // It has waited in between: from the beginning.
    let (acts, _) = until_act(&mut policy, 50_000, |millis| alone(millis, 100, millis as u32));
    assert_eq!(acts, [Act::Cut(WINDOW)]);
}

#[test]
fn others_that_sleep_count_as_quiet_and_those_that_compute_do_not() {
    let mut policy = Policy::new(wanted(0));
    let threads = [(0, Waits), (1, Runs), (2, Runs), (3, Runs)];
    let mut asleep = |tid: u32| tid == 102;
    let at = |millis| view(millis, Phase::Wanted, Some(1), &threads);
    assert_eq!(policy.step(&at(0), &mut asleep), []);
    assert_eq!(policy.step(&at(2), &mut asleep), [Act::Sleeps(2)]);
}

#[test]
fn looks_at_one_moment_count_once() {
    let mut policy = Policy::new(wanted(0));
    let mut asleep = |_: u32| true;
    assert_eq!(policy.step(&alone(0, 0, 0), &mut asleep), []);
    assert_eq!(policy.step(&alone(0, 0, 0), &mut asleep), []);
}

#[test]
fn when_the_time_is_up_everybody_goes() {
    let mut policy = Policy::new(wanted(0));
    assert_eq!(policy.step(&alone(60_000, 0, 0), &mut awake), [Act::GiveUp]);
}

#[test]
fn pauses_are_short_where_somebody_waits_for_a_decision() {
    let policy = Policy::new(wanted(0));
    let held = view(0, Phase::Gather, None, &[(0, Runs), (1, Held)]);
    assert_eq!(policy.pause(&held), MILLISECOND);
    let nobody = view(0, Phase::Gather, None, &[(0, Runs)]);
    assert!(policy.pause(&nobody) > policy.pause(&held));
    assert!(
        policy.pause(&alone(0, 0, 0)) < Duration::from_millis(100),
        "or the program would take us for gone"
    );
}
