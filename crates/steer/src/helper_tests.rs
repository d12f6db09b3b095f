use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use super::*;
use crate::cores::Cores;

/// Threads with their CPUs and nice values, and the CPU that each runs on.
#[derive(Default)]
struct Fake {
    threads: RefCell<BTreeMap<u32, (Vec<u32>, i32)>>,
    last: RefCell<BTreeMap<u32, u32>>,
    /// Where it is not 0.
    utilization: RefCell<BTreeMap<u32, u32>>,
}

impl Fake {
    fn new(threads: &[u32]) -> Fake {
        let fake = Fake::default();
        threads.iter().for_each(|thread| fake.set(*thread, &[0, 1], 0));
        fake
    }

    fn set(&self, thread: u32, cpus: &[u32], nice: i32) {
        self.threads.borrow_mut().insert(thread, (cpus.to_vec(), nice));
    }

    fn of(&self, thread: u32) -> (Vec<u32>, i32) {
        self.threads.borrow()[&thread].clone()
    }
}

impl Hand for Fake {
    fn cpus(&self, thread: u32) -> io::Result<Vec<u32>> {
        Ok(self.threads.borrow().get(&thread).ok_or(io::ErrorKind::NotFound)?.0.clone())
    }
    fn set_cpus(&self, thread: u32, cpus: &[u32]) -> io::Result<()> {
        self.threads.borrow_mut().get_mut(&thread).ok_or(io::ErrorKind::NotFound)?.0 = cpus.to_vec();
        Ok(())
    }
    fn nice(&self, thread: u32) -> io::Result<i32> {
        Ok(self.threads.borrow().get(&thread).ok_or(io::ErrorKind::NotFound)?.1)
    }
    fn set_nice(&self, thread: u32, nice: i32) -> io::Result<()> {
        self.threads.borrow_mut().get_mut(&thread).ok_or(io::ErrorKind::NotFound)?.1 = nice;
        Ok(())
    }
    fn least_utilization(&self, thread: u32) -> io::Result<u32> {
        Ok(self.utilization.borrow().get(&thread).copied().unwrap_or(0))
    }
    fn set_least_utilization(&self, thread: u32, least: u32) -> io::Result<()> {
        self.utilization.borrow_mut().insert(thread, least);
        Ok(())
    }
    fn last_cpu(&self, _: u32, thread: u32) -> Option<u32> {
        self.last.borrow().get(&thread).copied()
    }
    fn cpu_ns(&self, _: u32) -> Option<u64> {
        None
    }
    fn write(&self, path: &Path, content: &str) -> io::Result<()> {
        std::fs::write(path, content)
    }
}

fn means(favoured: Option<i32>, best: &[u32]) -> Means {
    let why = (!best.is_empty()).then_some("capacity");
    let cores = Cores { all: vec![0, 1], best: best.to_vec(), why };
    Means { cores, favoured, own_core: true, floors: Vec::new(), clamps: false }
}

fn program() -> Program {
    // This process, so that there is something to say of when it began.
    Program { process: std::process::id(), cpus: vec![0, 1], nice: 0, utilization: 0 }
}

fn registered() -> (Rc<RefCell<Vec<Undo>>>, Register<'static>) {
    let list = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&list);
    (
        list,
        Box::new(move |undo| {
            kept.borrow_mut().push(undo);
            Ok(())
        }),
    )
}

fn wanted(thread: u32, all: &[u32]) -> Wanted<'_> {
    Wanted { thread, all, is_crowded: true }
}

#[test]
fn a_favoured_thread_has_priority_until_another_has_it() {
    let fake = Fake::new(&[1, 2, 3]);
    let (list, register) = registered();
    let mut helper = Helper::new(&fake, program(), means(Some(-20), &[]), register);
    helper.help(&wanted(2, &[1, 2, 3]));
    assert_eq!((fake.of(2).1, fake.of(1).1), (-20, 0));
    // It creates a thread, which inherits.
    fake.set(4, &[0, 1], -20);
    helper.help(&wanted(2, &[1, 2, 3, 4]));
    assert_eq!(fake.of(4).1, 0);
    helper.help(&wanted(3, &[1, 2, 3, 4]));
    assert_eq!((fake.of(2).1, fake.of(3).1), (0, -20));
    assert!((1..=4).all(|thread| fake.of(thread).0 == [0, 1]), "priority needs no CPUs");
    drop(helper);
    assert!((1..=4).all(|thread| fake.of(thread).1 == 0));
    assert_eq!(list.borrow().len(), 1, "one line undoes it for all threads");
}

#[test]
fn a_thread_gets_the_cpu_that_it_runs_on_for_itself_while_it_is_crowded() {
    let fake = Fake::new(&[1, 2, 3]);
    fake.last.borrow_mut().insert(2, 1);
    let (list, register) = registered();
    let mut helper = Helper::new(&fake, program(), means(None, &[]), register);
    helper.help(&wanted(2, &[1, 2, 3]));
    assert_eq!((fake.of(1).0, fake.of(2).0, fake.of(3).0), (vec![0], vec![1], vec![0]));
    assert!(helper.minds_a_core());
    // Two more come: one from the helped thread, one from another.
    fake.set(4, &[1], 0);
    fake.set(5, &[0], 0);
    helper.help(&wanted(2, &[1, 2, 3, 4, 5]));
    assert_eq!((fake.of(4).0, fake.of(5).0), (vec![0], vec![0]));
    helper.help(&Wanted { is_crowded: false, ..wanted(2, &[1, 2, 3, 4, 5]) });
    assert!((1..=5).all(|thread| fake.of(thread).0 == [0, 1]));
    helper.release();
    assert!(!helper.minds_a_core());
    assert_eq!(list.borrow().len(), 2, "one line for each set of CPUs");
}

#[test]
fn what_the_program_has_chosen_itself_is_not_touched() {
    let fake = Fake::new(&[1, 2, 3]);
    fake.set(3, &[1], 5);
    let (list, register) = registered();
    let mut helper = Helper::new(&fake, program(), means(None, &[]), register);
    helper.help(&wanted(1, &[1, 2, 3]));
    assert_eq!((fake.of(3), fake.of(1).0, fake.of(2).0), ((vec![1], 5), vec![0, 1], vec![0, 1]));
    assert!(list.borrow().is_empty(), "nothing of it could be undone by mistake");
    // One that begins to choose later ends it.
    let later = Fake::new(&[1, 2]);
    let mut helper = Helper::new(&later, program(), means(None, &[]), registered().1);
    helper.help(&wanted(1, &[1, 2]));
    assert_eq!(later.of(2).0, [1]);
    later.set(4, &[7], 0);
    helper.help(&wanted(1, &[1, 2, 4]));
    assert_eq!((later.of(1).0, later.of(2).0, later.of(4).0), (vec![0, 1], vec![0, 1], vec![7]));
    let mut helper = Helper::new(&fake, program(), means(Some(-20), &[]), registered().1);
    helper.help(&wanted(3, &[1, 2, 3]));
    assert_eq!(fake.of(3), (vec![1], 5));
    assert!(helper.used().is_empty());
}

#[test]
fn the_best_cpus_are_given_and_the_best_one_is_kept_free() {
    let fake = Fake::new(&[1, 2]);
    fake.last.borrow_mut().insert(1, 0);
    let mut helper = Helper::new(&fake, program(), means(Some(-5), &[1]), registered().1);
    helper.help(&wanted(1, &[1, 2]));
    assert_eq!((fake.of(1), fake.of(2)), ((vec![1], -5), (vec![0, 1], 0)));
    helper.release();
    assert_eq!(fake.of(1), (vec![0, 1], 0));
    let mut helper = Helper::new(&fake, program(), means(None, &[1]), registered().1);
    helper.help(&wanted(1, &[1, 2]));
    assert_eq!((fake.of(1).0, fake.of(2).0), (vec![1], vec![0]));
}

#[test]
fn the_floor_of_the_frequency_follows_the_thread() {
    let directory = tempfile::tempdir().unwrap();
    let files: Vec<PathBuf> = (0..2).map(|cpu| directory.path().join(format!("cpu{cpu}"))).collect();
    files.iter().for_each(|file| std::fs::write(file, "800000\n").unwrap());
    let content = |cpu: usize| std::fs::read_to_string(&files[cpu]).unwrap();
    let fake = Fake::new(&[1]);
    let floors = (0..2).map(|cpu| (cpu, files[cpu as usize].clone(), "3600000".to_owned())).collect();
    let wanted_means = Means { own_core: false, floors, ..means(None, &[]) };
    let mut helper = Helper::new(&fake, program(), wanted_means, registered().1);
    for cpu in [0usize, 1] {
        fake.last.borrow_mut().insert(1, cpu as u32);
        helper.help(&wanted(1, &[1]));
        assert_eq!((content(cpu).as_str(), content(1 - cpu).as_str()), ("3600000", "800000\n"));
    }
    drop(helper);
    assert_eq!((content(0).as_str(), content(1).as_str()), ("800000\n", "800000\n"));
}

#[test]
fn one_thread_at_a_time_counts_as_busy_and_what_it_starts_does_not() {
    let fake = Fake::new(&[1, 2, 4]);
    fake.utilization.borrow_mut().insert(4, 100);
    let (list, register) = registered();
    let wanted_means = Means { own_core: false, clamps: true, ..means(None, &[]) };
    let mut helper = Helper::new(&fake, program(), wanted_means, register);
    let all = || [1, 2, 3, 4].map(|thread| fake.least_utilization(thread).unwrap());
    helper.help(&wanted(1, &[1, 2, 4]));
    assert_eq!(all(), [1024, 0, 0, 100]);
    fake.set(3, &[0, 1], 0);
    fake.utilization.borrow_mut().insert(3, 1024);
    helper.help(&wanted(1, &[1, 2, 3, 4]));
    assert_eq!(all(), [1024, 0, 0, 100], "it has inherited");
    helper.help(&wanted(2, &[1, 2, 3, 4]));
    assert_eq!(all(), [0, 1024, 0, 100]);
    assert!(helper.used().contains(&Tool::Frequency));
    helper.help(&wanted(4, &[1, 2, 3, 4]));
    assert_eq!(all(), [0, 0, 0, 100], "what the program has chosen itself is not touched");
    helper.help(&wanted(1, &[1, 2, 3, 4]));
    drop(helper);
    assert_eq!(all(), [0, 0, 0, 100]);
    assert_eq!(list.borrow().len(), 1, "one line undoes it for all threads");
}

#[test]
fn without_a_guardian_nothing_is_changed() {
    let fake = Fake::new(&[1, 2]);
    let gone: Register<'_> = Box::new(|_| Err(io::Error::from(io::ErrorKind::BrokenPipe)));
    let mut helper = Helper::new(&fake, program(), means(None, &[]), gone);
    helper.help(&wanted(1, &[1, 2]));
    assert!((1..=2).all(|thread| fake.of(thread) == (vec![0, 1], 0)));
    assert!(helper.trouble().is_some() && helper.used().is_empty());
}

#[test]
fn a_thread_that_is_gone_is_no_trouble() {
    let fake = Fake::new(&[1]);
    let mut helper = Helper::new(&fake, program(), means(None, &[]), registered().1);
    helper.help(&wanted(1, &[1, 7]));
    helper.help(&wanted(9, &[1, 7]));
    fake.threads.borrow_mut().clear();
    helper.release();
    assert_eq!(helper.trouble(), None);
}
