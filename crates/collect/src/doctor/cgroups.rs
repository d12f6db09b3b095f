//! The control groups of this process, version 1 and 2, from the innermost to the outermost that can be seen.

use super::files::Files;

/// Where the limits of this process are; paths relative to the root, innermost first.
pub(super) struct Cgroups {
    pub(super) cpu: Option<Hierarchy>,
    pub(super) memory: Option<Hierarchy>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: Version,
    pub(super) folders: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

impl Cgroups {
    pub(super) fn of_this_process(files: &Files<'_>) -> Cgroups {
        let groups = files.text("proc/self/cgroup").unwrap_or_default();
        let mounts = files.text("proc/self/mountinfo").unwrap_or_default();
        let hierarchy = |controller| hierarchy(&groups, &mounts, controller);
        Cgroups { cpu: hierarchy("cpu"), memory: hierarchy("memory") }
    }
}

/// Version 1 has the controller if `/proc/self/cgroup` names it; else it is version 2's.
fn hierarchy(groups: &str, mounts: &str, controller: &str) -> Option<Hierarchy> {
    let names = |list: &str| list.split(',').any(|name| name == controller);
    let lines = || groups.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (version, group) = match lines().find(|(controllers, _)| names(controllers)) {
        Some((_, group)) => (Version::One, group),
        None => (Version::Two, lines().find(|(controllers, _)| controllers.is_empty())?.1),
    };
    let (root, mount) = mounts.lines().filter_map(mount_of_cgroup).find_map(|mount| {
        let ours = match version {
            Version::One => mount.kind == "cgroup" && names(mount.options),
            Version::Two => mount.kind == "cgroup2",
        };
        ours.then_some((mount.root, mount.point))
    })?;
    // In a container the mount may start below the host's root of groups, and the group may lie outside of
    // it.
    let below = group.strip_prefix(root.trim_end_matches('/')).unwrap_or_default();
    let mut folders = Vec::new();
    let mut below = below.trim_matches('/');
    loop {
        folders.push(format!("{mount}/{below}").trim_end_matches('/').to_owned());
        if below.is_empty() {
            return Some(Hierarchy { version, folders });
        }
        below = below.rsplit_once('/').map_or("", |(outer, _)| outer);
    }
}

struct Mount<'a> {
    root: String,
    point: String,
    kind: &'a str,
    options: &'a str,
}

/// A line of mountinfo (proc(5)): id, parent, device, root, mount point, options, optional fields, `-`, type,
/// source, super options.
fn mount_of_cgroup(line: &str) -> Option<Mount<'_>> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let mut kind = kind.split(' ');
    let mount = Mount {
        root: unescaped(place.next()?),
        point: unescaped(place.next()?),
        kind: kind.next()?,
        options: kind.nth(1).unwrap_or_default(),
    };
    mount.kind.starts_with("cgroup").then_some(mount)
}

/// Blanks and backslashes in mountinfo are `\` and three octal digits.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .into_iter()
        .fold(text.to_owned(), |text, (escape, letter)| text.replace(escape, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
25 24 0:23 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684092k
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

    fn check(groups: &str, mounts: &str, controller: &str, expected: Option<(Version, &[&str])>) {
        let found = hierarchy(groups, mounts, controller);
        let expected = expected.map(|(version, folders)| Hierarchy {
            version,
            folders: folders.iter().map(|&folder| folder.to_owned()).collect(),
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn version_two_lists_every_level() {
        let folders =
            ["/sys/fs/cgroup/user.slice/job.scope", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"].as_slice();
        check("0::/user.slice/job.scope\n", UNIFIED, "cpu", Some((Version::Two, folders)));
    }

    #[test]
    fn version_one_wins_where_it_has_the_controller() {
        let groups = "4:memory:/a\n1:cpuacct,cpu:/\n0::/b\n";
        check(groups, HYBRID, "cpu", Some((Version::One, &["/sys/fs/cgroup/cpu,cpuacct"])));
        check(
            groups,
            HYBRID,
            "memory",
            Some((Version::One, &["/sys/fs/cgroup/memory/a", "/sys/fs/cgroup/memory"])),
        );
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_mount() {
        let mount = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        check("0::/docker/abc\n", mount, "cpu", Some((Version::Two, &["/sys/fs/cgroup"])));
        check("0::/\n", mount, "cpu", Some((Version::Two, &["/sys/fs/cgroup"])));
    }

    #[test]
    fn no_mount_no_hierarchy() {
        check("0::/x\n", "", "cpu", None);
        check("", UNIFIED, "cpu", None);
    }
}
