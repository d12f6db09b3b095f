//! What an object is for, where its kind does not say: a futex word may be a mutex of a language's runtime.

use holdup_model::{Frame, ObjectKind, Process, Site};

/// What a function name of a runtime says about the futex that it waits on. The first match counts, so that a
/// condition variable's wait, which names its mutex too, is none for the mutex.
const SIGNS: &[(&str, ObjectKind)] = &[
    ("condvar", ObjectKind::Condition),
    ("rwlock", ObjectKind::RwLock),
    ("rw_lock", ObjectKind::RwLock),
    ("mutex", ObjectKind::Mutex),
    ("once", ObjectKind::Once),
    ("semaphore", ObjectKind::Semaphore),
];

/// The kind of each object, by id, with futexes told apart by the runtime functions that wait on them.
pub(crate) fn roles(process: &Process) -> Vec<ObjectKind> {
    let mut roles: Vec<ObjectKind> = process.objects.iter().map(|object| object.kind).collect();
    // The least site by its content, not by its id or position, so that the order of waits does not matter.
    let mut told_by: Vec<Option<&Site>> = vec![None; roles.len()];
    for wait in &process.waits {
        let index = wait.object.index();
        if process.objects[index].kind != ObjectKind::Futex {
            continue;
        }
        let Some(site) = wait.site.map(|site| process.site(site)) else { continue };
        if told_by[index].is_some_and(|known| known <= site) {
            continue;
        }
        if let Some(role) = role_at(site) {
            told_by[index] = Some(site);
            roles[index] = role;
        }
    }
    roles
}

fn role_at(site: &Site) -> Option<ObjectKind> {
    let runtime = site.frames.iter().take_while(|frame| !frame.is_program());
    runtime.filter_map(role_of_frame).next()
}

fn role_of_frame(frame: &Frame) -> Option<ObjectKind> {
    let name = frame.function.as_deref()?.to_ascii_lowercase();
    SIGNS.iter().find(|(sign, _)| name.contains(sign)).map(|&(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(functions: &[&str]) -> Site {
        let frame = |name: &&str| Frame { function: Some((*name).to_owned()), ..Frame::default() };
        Site { frames: functions.iter().map(frame).collect(), broken: false }
    }

    #[test]
    fn the_runtime_tells_what_a_futex_is_for() {
        let mutex = ["std::sys::sync::mutex::futex::Mutex::lock_contended", "insert_document"];
        assert_eq!(role_at(&site(&mutex)), Some(ObjectKind::Mutex));
        let condvar = ["std::sys::sync::condvar::futex::Condvar::wait", "std::sync::Mutex", "take"];
        assert_eq!(role_at(&site(&condvar)), Some(ObjectKind::Condition));
        assert_eq!(role_at(&site(&["std::thread::park", "recv"])), None);
    }

    #[test]
    fn the_program_s_own_names_tell_nothing() {
        assert_eq!(role_at(&site(&["my_mutex_test", "main"])), None);
    }
}
