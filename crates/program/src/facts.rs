//! What is known about a program file without reading it.

use crate::verdict::Reason;

const FILE_TYPE: u32 = 0o170_000;
const REGULAR_FILE: u32 = 0o100_000;
const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;
const GROUP_EXECUTE: u32 = 0o010;
const ANY_EXECUTE: u32 = 0o111;
const ROOT: u32 = 0;

/// What `fstat` and `fgetxattr` tell of the file, and who is about to execute it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `st_mode`: file type and permission bits.
    pub mode: u32,
    /// `st_uid`.
    pub owner: u32,
    /// `st_gid`.
    pub group: u32,
    /// Whether the file has an extended attribute `security.capability`.
    pub has_capabilities: bool,
    /// The process that calls exec.
    pub caller: Caller,
}

/// The ids of the process that calls exec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// `getuid()`.
    pub real_user: u32,
    /// `geteuid()`.
    pub effective_user: u32,
    /// `getgid()`.
    pub real_group: u32,
    /// `getegid()`.
    pub effective_group: u32,
    /// Whether exec cannot change rights: `PR_GET_NO_NEW_PRIVS` is 1, or the file system is mounted nosuid.
    pub privileges_fixed: bool,
}

impl Facts {
    /// Whether it is a regular file that somebody may execute. Even root needs one execute bit.
    pub(crate) fn is_executable(&self) -> bool {
        self.mode & FILE_TYPE == REGULAR_FILE && self.mode & ANY_EXECUTE != 0
    }

    /// Why the dynamic linker would run in its secure mode, in which it ignores `LD_PRELOAD` paths.
    ///
    /// The rule is the kernel's for `AT_SECURE` (`cap_bprm_creds_from_file` in security/commoncap.c): the new
    /// effective ids differ from the real ones, or a real user other than root gains capabilities. So
    /// root may record a root-owned set-user-id program.
    pub(crate) fn gained_rights(&self) -> Option<Reason> {
        let caller = &self.caller;
        let user = if self.mode & SET_USER_ID != 0 && !caller.privileges_fixed {
            self.owner
        } else {
            caller.effective_user
        };
        // Without the group's execute bit, set-group-id once meant mandatory locking; exec ignores it.
        let sets_group = self.mode & (SET_GROUP_ID | GROUP_EXECUTE) == SET_GROUP_ID | GROUP_EXECUTE
            && !caller.privileges_fixed;
        let group = if sets_group { self.group } else { caller.effective_group };
        if user != caller.real_user || group != caller.real_group {
            return Some(Reason::SetUid);
        }
        if self.has_capabilities && caller.real_user != ROOT && !caller.privileges_fixed {
            return Some(Reason::FileCapabilities);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Caller = Caller {
        real_user: 1000,
        effective_user: 1000,
        real_group: 100,
        effective_group: 100,
        privileges_fixed: false,
    };
    const PROGRAM: Facts =
        Facts { mode: 0o100755, owner: 0, group: 0, has_capabilities: false, caller: USER };

    #[test]
    fn an_ordinary_program_has_no_gained_rights() {
        assert_eq!(PROGRAM.gained_rights(), None);
        assert!(PROGRAM.is_executable());
    }

    #[test]
    fn directories_and_files_without_execute_bits_cannot_be_executed() {
        for mode in [0o040755, 0o100644, 0o020777] {
            assert!(!Facts { mode, ..PROGRAM }.is_executable(), "{mode:o}");
        }
    }

    #[test]
    fn set_user_id_matters_only_where_the_user_changes() {
        let sudo = Facts { mode: 0o104755, ..PROGRAM };
        assert_eq!(sudo.gained_rights(), Some(Reason::SetUid));
        let mine = Facts { owner: 1000, ..sudo };
        assert_eq!(mine.gained_rights(), None);
        let fixed = Caller { privileges_fixed: true, ..USER };
        assert_eq!(Facts { caller: fixed, ..sudo }.gained_rights(), None);
    }

    #[test]
    fn set_group_id_needs_the_groups_execute_bit() {
        assert_eq!(Facts { mode: 0o102755, ..PROGRAM }.gained_rights(), Some(Reason::SetUid));
        assert_eq!(Facts { mode: 0o102745, ..PROGRAM }.gained_rights(), None);
        assert_eq!(Facts { mode: 0o102755, group: 100, ..PROGRAM }.gained_rights(), None);
    }

    #[test]
    fn a_process_that_changed_its_effective_user_is_secure_at_exec() {
        let caller = Caller { effective_user: 0, ..USER };
        assert_eq!(Facts { caller, ..PROGRAM }.gained_rights(), Some(Reason::SetUid));
    }

    #[test]
    fn capabilities_stop_users_but_not_root() {
        let ping = Facts { has_capabilities: true, ..PROGRAM };
        assert_eq!(ping.gained_rights(), Some(Reason::FileCapabilities));
        let root = Caller { real_user: 0, effective_user: 0, real_group: 0, effective_group: 0, ..USER };
        assert_eq!(Facts { caller: root, ..ping }.gained_rights(), None);
    }
}
