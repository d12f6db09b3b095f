//! The library that is injected into measured programs: what it needs of the system, and what it gives.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::stage::{Stage, record, run};
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{Dyn, ElfFile64, FileHeader, ProgramHeader, Rela, SectionHeader};
use object::{LittleEndian, Object, ObjectSymbol};

const LITTLE: LittleEndian = LittleEndian;
type Elf = FileHeader64<LittleEndian>;

/// The library as a run installs it: the directory, and its content.
fn installed(stage: &Stage) -> (PathBuf, Vec<u8>) {
    let cache = stage.path("cache");
    fs::create_dir(&cache).expect("mkdir");
    let ended = run(record(&stage.path("x.holdup"), "true").env("XDG_CACHE_HOME", &cache));
    assert_eq!(ended.status, 0, "{ended:?}");
    let entries: Vec<PathBuf> = fs::read_dir(cache.join("holdup"))
        .expect("its directory")
        .flatten()
        .map(|entry| entry.path())
        .collect();
    assert_eq!(entries.len(), 1, "one library and nothing else: {entries:?}");
    let content = fs::read(&entries[0]).expect("the library");
    (entries[0].clone(), content)
}

fn library() -> Vec<u8> {
    installed(&Stage::new()).1
}

/// Values of an entry of the dynamic section.
fn dynamic(library: &[u8], tag: elf::DynamicTag) -> Vec<u64> {
    let header = Elf::parse(library).expect("an ELF file");
    let segments = header.program_headers(LITTLE, library).expect("segments");
    let entries = segments.iter().find_map(|segment| segment.dynamic(LITTLE, library).expect("entries"));
    let entries = entries.expect("a dynamic section");
    entries.iter().filter(|entry| entry.d_tag(LITTLE) == tag).map(|entry| entry.d_val(LITTLE)).collect()
}

/// The text at an offset of the dynamic string table.
fn dynamic_string(library: &[u8], offset: u64) -> String {
    let header = Elf::parse(library).expect("an ELF file");
    let sections = header.sections(LITTLE, library).expect("sections");
    let (_, section) = sections.section_by_name(LITTLE, b".dynstr").expect("a string table");
    let bytes = section.data(LITTLE, library).expect("its content");
    let rest = &bytes[offset as usize..];
    let end = rest.iter().position(|byte| *byte == 0).expect("an end");
    String::from_utf8(rest[..end].to_vec()).expect("ASCII")
}

/// Names and versions of what it takes from other libraries.
fn needed_versions(library: &[u8]) -> BTreeSet<String> {
    let header = Elf::parse(library).expect("an ELF file");
    let sections = header.sections(LITTLE, library).expect("sections");
    let Some((mut entries, link)) = sections.gnu_verneed(LITTLE, library).expect("versions") else {
        return BTreeSet::new();
    };
    let strings = sections.strings(LITTLE, library, link).expect("strings");
    let mut found = BTreeSet::new();
    while let Some((_, mut versions)) = entries.next().expect("an entry") {
        while let Some(version) = versions.next().expect("a version") {
            let name = version.name(LITTLE, strings).expect("a name");
            found.insert(String::from_utf8(name.to_vec()).expect("ASCII"));
        }
    }
    found
}

#[test]
fn it_needs_nothing_newer_than_glibc_2_17() {
    let versions = needed_versions(&library());
    assert!(versions.iter().any(|version| version.starts_with("GLIBC_")), "{versions:?}");
    for version in &versions {
        let number = version.strip_prefix("GLIBC_").unwrap_or_else(|| panic!("{version} is not of glibc"));
        let mut parts = number.split('.').map(|part| part.parse::<u32>().expect("a number"));
        let (major, minor) = (parts.next().expect("major"), parts.next().expect("minor"));
        assert!((major, minor) <= (2, 17), "{version} is newer than GLIBC_2.17");
    }
}

#[test]
fn it_needs_the_c_library_alone() {
    let library = library();
    let needed: Vec<String> =
        dynamic(&library, elf::DT_NEEDED).iter().map(|offset| dynamic_string(&library, *offset)).collect();
    assert_eq!(needed, ["libc.so.6"]);
    for tag in [elf::DT_RPATH, elf::DT_RUNPATH] {
        assert!(dynamic(&library, tag).is_empty(), "it looks for libraries in directories of its own");
    }
}

#[test]
fn its_code_is_never_written_to() {
    let library = library();
    assert!(dynamic(&library, elf::DT_TEXTREL).is_empty());
    let flags = dynamic(&library, elf::DT_FLAGS).first().copied().unwrap_or(0);
    const TEXT_RELOCATIONS: u64 = 4;
    assert_eq!(flags & TEXT_RELOCATIONS, 0);
    let header = Elf::parse(&*library).expect("an ELF file");
    let segments: &[ProgramHeader64<LittleEndian>] =
        header.program_headers(LITTLE, &*library).expect("segments");
    for segment in segments {
        let flags = segment.p_flags(LITTLE);
        assert!(
            !(flags.contains(elf::PF_W) && flags.contains(elf::PF_X)),
            "a segment that is written and executed"
        );
    }
    let stack = segments.iter().find(|segment| segment.p_type(LITTLE) == elf::PT_GNU_STACK);
    assert!(
        stack.is_some_and(|stack| !stack.p_flags(LITTLE).contains(elf::PF_X)),
        "it asks for executable stacks"
    );
}

/// A program that loads it later than at its start has only a little static thread-local storage left for it.
#[test]
fn it_needs_little_of_each_thread() {
    let library = library();
    let header = Elf::parse(&*library).expect("an ELF file");
    let segments = header.program_headers(LITTLE, &*library).expect("segments");
    let storage: u64 = segments
        .iter()
        .filter(|segment| segment.p_type(LITTLE) == elf::PT_TLS)
        .map(|segment| segment.p_memsz(LITTLE))
        .sum();
    assert!(storage <= 1024, "{storage} bytes of thread-local storage");
}

#[test]
fn it_is_small() {
    let library = library();
    assert!(library.len() < 512 * 1024, "{} bytes", library.len());
}

fn exports(library: &[u8]) -> BTreeSet<String> {
    let file = ElfFile64::<LittleEndian>::parse(library).expect("an ELF file");
    let defined = file.dynamic_symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    defined.map(|symbol| symbol.name().expect("a name").to_owned()).collect()
}

/// What the design lists: every wait that a threaded program knows, and the ways to start threads and programs.
const INTERPOSED: &[&str] = &[
    "pthread_create pthread_join pthread_timedjoin_np pthread_clockjoin_np pthread_once pthread_setname_np",
    "pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock pthread_mutex_unlock",
    "pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock",
    "pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock",
    "pthread_rwlock_unlock pthread_spin_lock pthread_spin_trylock pthread_spin_unlock",
    "pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast",
    "pthread_barrier_wait sem_wait sem_timedwait sem_clockwait sem_post",
    "thrd_create thrd_join mtx_lock mtx_timedlock mtx_trylock mtx_unlock cnd_wait cnd_timedwait cnd_signal",
    "cnd_broadcast call_once syscall",
    "read write recv send accept connect poll select epoll_wait nanosleep clock_nanosleep fsync waitpid flock",
    "execve execv execvp execvpe execl execlp execle fexecve posix_spawn posix_spawnp",
];

#[test]
fn it_interposes_what_the_design_lists() {
    let exports = exports(&library());
    let wanted = INTERPOSED.iter().flat_map(|line| line.split(' '));
    let missing: Vec<&str> = wanted.filter(|name| !exports.contains(*name)).collect();
    assert!(missing.is_empty(), "not interposed: {missing:?}");
}

/// A symbol that is there by accident could stand in the place of one of the program's.
#[test]
fn it_gives_nothing_that_is_not_ours_or_the_c_librarys() {
    let library = library();
    let strange: Vec<String> = exports(&library)
        .into_iter()
        .filter(|name| name.starts_with("_ZN") || name.starts_with("_R") || name.contains("rust"))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
    let relocations = relocation_count(&library);
    assert!(relocations > 0, "the library was read");
}

fn relocation_count(library: &[u8]) -> usize {
    let header = Elf::parse(library).expect("an ELF file");
    let sections = header.sections(LITTLE, library).expect("sections");
    sections
        .iter()
        .filter_map(|section| section.rela(LITTLE, library).expect("relocations"))
        .map(|(relocations, _)| relocations.iter().filter(|entry| entry.r_info(LITTLE, false) != 0).count())
        .sum()
}

#[test]
fn it_lies_where_only_its_owner_can_change_it() {
    let stage = Stage::new();
    let (path, content) = installed(&stage);
    let mode = |path: &std::path::Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    // Others may load it: a program that changes its user still starts others.
    assert_eq!(mode(path.parent().expect("a directory")) & 0o066, 0);
    assert_eq!(mode(&path) & 0o022, 0);
    // Found altered, it is written anew and not used.
    let mut altered = content.clone();
    let last = altered.len() - 1;
    altered[last] ^= 1;
    fs::write(&path, &altered).expect("write");
    let ended = run(record(&stage.path("x.holdup"), "true").env("XDG_CACHE_HOME", stage.path("cache")));
    assert_eq!(ended.status, 0, "{ended:?}");
    assert!(fs::read(&path).expect("the library") == content);
}
