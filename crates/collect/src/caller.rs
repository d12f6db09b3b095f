//! The user who called sudo, in whose name a program is started and files are made.

use std::io;

use rustix::process::{Gid, Uid};

/// The user and group that called sudo, whose the files that are made should be; `None` where nobody did.
pub fn caller_of_sudo() -> Option<(u32, u32)> {
    let id = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let root = rustix::process::geteuid().is_root();
    Some((id("SUDO_UID")?, id("SUDO_GID")?)).filter(|(user, _)| root && *user != 0)
}

/// Does some work with files as the user who called sudo, with that user's rights alone; as it is where nobody did. So a name that
/// this user, or a program of hers, has put in our way leads nowhere where she could not have gone herself.
///
/// # Errors
/// Those of changing to that user, and of the work.
pub fn as_caller<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    let Some((user, group)) = caller_of_sudo() else { return work() };
    let changed = move || {
        // Of this thread alone, which ends with it. The real and the saved user stay root: she cannot send it signals.
        rustix::thread::set_thread_groups(&groups_of_caller(group))?;
        rustix::thread::set_thread_res_gid(None, Gid::from_raw(group), None)?;
        rustix::thread::set_thread_res_uid(None, Uid::from_raw(user), None)?;
        work()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("holdup files".into()).spawn_scoped(scope, changed)?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The groups of the user who called sudo, as the system's list of groups has them.
pub(crate) fn groups_of_caller(own: u32) -> Vec<Gid> {
    let name = std::env::var("SUDO_USER").unwrap_or_default();
    let text = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let others = text.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let (id, members) = (fields.next()?.parse().ok()?, fields.next()?);
        members.split(',').any(|member| member == name).then_some(id)
    });
    std::iter::once(own).chain(others).map(Gid::from_raw).collect()
}
