//! Locks, condition variables and semaphores of which a program has many and uses them alike: those of an array, of the nodes
//! of a tree, of the buckets of a table. What each of them costs is little; together they are one thing to fix.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::names::Names;
use crate::{ObjectId, ObjectKind, Places, Process, SiteId, SyncObject};

/// Which objects of a process belong together.
///
/// Of one family are objects of one kind that are elements of one array (by their names), or that were made at one place
/// (where that was seen) and have a call stack in common: the one that made them, or one that took them or waited.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Families {
    /// By object: its family.
    of: Vec<Option<usize>>,
    /// By their first members.
    all: Vec<Family>,
}

/// Objects that belong together: at least two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Family {
    /// Which, by id.
    pub members: Vec<ObjectId>,
    /// What they are called, in expressions too: `cell_lock[]`, `made in table_create (table.c:12)`, `taken in put
    /// (table.c:31)`. No two families of a process have the same name. Hostile: escape it where it is shown.
    pub name: String,
    /// True if the name is no more than where they are taken.
    pub is_unnamed: bool,
}

/// What all members of a family have in common.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Sort {
    kind: ObjectKind,
    /// The array that they are elements of, or the place where they were made, if either is known.
    array: Option<String>,
    made: Option<SiteId>,
}

impl Families {
    /// Finds them. The order of the columns of the process does not matter.
    pub fn of(process: &Process) -> Families {
        let places = Places::of(process);
        let sort_of = sorts(process, &places);
        let mut sets = Sets::new(process.objects.len());
        // The first object of a sort that was made or taken with a call stack.
        let mut first: BTreeMap<(usize, SiteId), usize> = BTreeMap::new();
        // Most objects are used at few places, one after the other.
        let mut last: Vec<Option<SiteId>> = vec![None; process.objects.len()];
        let mut meet = |object: ObjectId, site: Option<SiteId>| {
            let index = object.index();
            if let (Some(sort), Some(at)) = (sort_of[index], site)
                && last[index].replace(at) != site
            {
                let known = *first.entry((sort, at)).or_insert(index);
                sets.unite(known, index);
            }
        };
        for (index, object) in process.objects.iter().enumerate() {
            meet(ObjectId::new(index as u32), object.created_at);
        }
        process.waits.iter().for_each(|wait| meet(wait.object, wait.site));
        process.holds.iter().for_each(|hold| meet(hold.object, hold.acquired_at));
        let mut elements: BTreeMap<usize, usize> = BTreeMap::new();
        for (index, object) in process.objects.iter().enumerate() {
            // What debug information calls elements of one array are that, wherever they are taken.
            let is_element = object.name.as_deref().is_some_and(|name| name.contains('['));
            if let Some(sort) = sort_of[index].filter(|_| is_element) {
                sets.unite(*elements.entry(sort).or_insert(index), index);
            }
        }
        let mut members: BTreeMap<usize, Vec<ObjectId>> = BTreeMap::new();
        for index in (0..process.objects.len()).filter(|&index| sort_of[index].is_some()) {
            members.entry(sets.root(index)).or_default().push(ObjectId::new(index as u32));
        }
        members.retain(|_, members| members.len() > 1);
        let mut of = vec![None; process.objects.len()];
        for (family, members) in members.values().enumerate() {
            members.iter().for_each(|member| of[member.index()] = Some(family));
        }
        let names = called(process, &places, &of, members.values());
        let all = members.into_values().zip(names);
        let all = all.map(|(members, (name, is_unnamed))| Family { members, name, is_unnamed });
        Families { of, all: all.collect() }
    }

    /// The family of an object, if it has one.
    pub fn of_object(&self, object: ObjectId) -> Option<&Family> {
        self.of.get(object.index()).copied().flatten().map(|family| &self.all[family])
    }
}

/// The sort of each object that can be of a family, as a number.
fn sorts(process: &Process, places: &Places) -> Vec<Option<usize>> {
    let mut numbers: BTreeMap<Sort, usize> = BTreeMap::new();
    let number = |object: &SyncObject| {
        use ObjectKind::{Condition, Futex, Semaphore};
        let is_one = object.kind.is_lock() || matches!(object.kind, Condition | Futex | Semaphore);
        if !is_one || object.construct.is_some() || object.is_condition_barrier {
            return None;
        }
        let array = object.name.as_deref().map(array_of);
        let made = if array.is_none() { places.at(object.created_at) } else { None };
        let next = numbers.len();
        Some(*numbers.entry(Sort { kind: object.kind, array, made }).or_insert(next))
    };
    process.objects.iter().map(number).collect()
}

/// `cells[].lock` of `cells[3].lock`; `cells` of `cells+0x50`, which is a part of it, or all.
fn array_of(name: &str) -> String {
    let name = name.rsplit_once("+0x").map_or(name, |(whole, _)| whole);
    let mut array = String::with_capacity(name.len());
    let mut rest = name;
    while let Some((before, behind)) = rest.split_once('[') {
        array.push_str(before);
        array.push('[');
        rest = match behind.split_once(']') {
            Some((index, _)) if index.bytes().all(|byte| byte.is_ascii_digit()) => &behind[index.len()..],
            _ => behind,
        };
    }
    array.push_str(rest);
    array
}

/// What each family is called, and whether that is only where its members are taken.
fn called<'a>(
    process: &Process,
    places: &Places,
    of: &[Option<usize>],
    families: impl Iterator<Item = &'a Vec<ObjectId>>,
) -> Vec<(String, bool)> {
    let names = Names::of(process, None);
    let first: Vec<&SyncObject> = families.map(|members| process.object(members[0])).collect();
    let is_unnamed = |object: &SyncObject| object.name.is_none() && object.created_at.is_none();
    let mut taken: BTreeMap<usize, BTreeMap<SiteId, u64>> = BTreeMap::new();
    let mut take = |object: ObjectId, site: Option<SiteId>| {
        if let (Some(family), Some(site)) = (of[object.index()], places.at(site))
            && is_unnamed(first[family])
        {
            *taken.entry(family).or_default().entry(site).or_default() += 1;
        }
    };
    process.waits.iter().for_each(|wait| take(wait.object, wait.site));
    process.holds.iter().for_each(|hold| take(hold.object, hold.acquired_at));
    let mut used: BTreeMap<String, u32> = BTreeMap::new();
    let name = |(family, object): (usize, &&SyncObject)| {
        let name = match (&object.name, object.created_at) {
            (Some(name), _) => {
                let array = array_of(name);
                if array.contains('[') { array } else { format!("{array}[]") }
            }
            (None, Some(made)) => format!("made in {}", names.place(made)),
            (None, None) => {
                let most = taken.get(&family).into_iter().flatten();
                let most = most.map(|(&site, &times)| (Reverse(times), names.place(site))).min();
                format!("taken in {}", most.map_or_else(|| "an unknown place".to_owned(), |(_, place)| place))
            }
        };
        let number = used.entry(name.clone()).or_insert(0);
        *number += 1;
        let name = if *number > 1 { format!("{name} #{number}") } else { name };
        (name, is_unnamed(object))
    };
    first.iter().enumerate().map(name).collect()
}

/// Sets of numbers that grow together.
struct Sets {
    parent: Vec<usize>,
}

impl Sets {
    fn new(count: usize) -> Sets {
        Sets { parent: (0..count).collect() }
    }

    /// The least number of its set.
    fn root(&mut self, of: usize) -> usize {
        let mut at = of;
        while self.parent[at] != at {
            self.parent[at] = self.parent[self.parent[at]];
            at = self.parent[at];
        }
        at
    }

    fn unite(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.parent[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, Site, ThreadId, Time, Wait};

    struct Made {
        process: Process,
        thread: ThreadId,
    }

    impl Made {
        fn new() -> Made {
            let mut process = Process::new(Time::from_nanos(0), Time::from_nanos(100));
            let thread = process.add_thread("main", Time::from_nanos(0), None);
            Made { process, thread }
        }

        fn site(&mut self, function: &str, line: u32) -> SiteId {
            let frame = Frame {
                function: Some(function.to_owned()),
                file: Some("a.c".to_owned()),
                line: Some(line),
                module: Some("app".to_owned()),
                ..Frame::default()
            };
            self.process.add_site(Site { frames: vec![frame], ..Site::default() })
        }

        fn lock(&mut self, name: Option<&str>, made: Option<SiteId>, waited: &[SiteId]) -> ObjectId {
            let id = self.process.add_object(ObjectKind::Mutex, self.process.objects.len() as u64);
            let object = &mut self.process.objects[id.index()];
            (object.name, object.created_at) = (name.map(str::to_owned), made);
            for &site in waited {
                let wait = Wait::granted(self.thread, id, Time::from_nanos(10), Time::from_nanos(20));
                self.process.waits.push(Wait { site: Some(site), ..wait });
            }
            id
        }

        fn families(&self) -> Vec<(Vec<ObjectId>, String)> {
            let families = Families::of(&self.process);
            families.all.iter().map(|family| (family.members.clone(), family.name.clone())).collect()
        }
    }

    #[test]
    fn elements_of_an_array_are_one_family_wherever_they_are_taken() {
        let mut made = Made::new();
        let [put, get] = [made.site("put", 1), made.site("get", 2)];
        let cells = [
            made.lock(Some("cells[0][1].lock"), None, &[put]),
            made.lock(Some("cells[3][12].lock"), None, &[get]),
        ];
        made.lock(Some("cells[3][12].other"), None, &[get]);
        made.lock(Some("gate"), None, &[get]);
        assert_eq!(made.families(), [(cells.to_vec(), "cells[][].lock".to_owned())]);
    }

    #[test]
    fn parts_of_a_symbol_are_one_family_where_they_are_taken_alike() {
        let mut made = Made::new();
        let [put, get] = [made.site("put", 1), made.site("get", 2)];
        let cells = [made.lock(Some("cells"), None, &[put]), made.lock(Some("cells+0x28"), None, &[put])];
        made.lock(Some("cells+0x50"), None, &[get]);
        assert_eq!(made.families(), [(cells.to_vec(), "cells[]".to_owned())]);
    }

    #[test]
    fn locks_made_at_one_place_are_one_family_where_they_are_used_alike() {
        let mut made = Made::new();
        let [make, make_other, from_elsewhere, put] =
            [("make", 1), ("make_other", 2), ("make", 1), ("put", 3)]
                .map(|(name, line)| made.site(name, line));
        let nodes = [
            made.lock(None, Some(make), &[]),
            made.lock(None, Some(make), &[put]),
            made.lock(None, Some(from_elsewhere), &[put]),
        ];
        // Another type, though it is taken by the same function.
        made.lock(None, Some(make_other), &[put]);
        assert_eq!(made.families(), [(nodes.to_vec(), "made in make (a.c:1)".to_owned())]);
    }

    #[test]
    fn locks_of_which_nothing_is_known_are_told_apart_by_who_takes_them() {
        let mut made = Made::new();
        let [put, get, take] =
            [("put", 1), ("get", 2), ("take", 3)].map(|(name, line)| made.site(name, line));
        let buckets = [
            made.lock(None, None, &[put, get]),
            made.lock(None, None, &[get]),
            made.lock(None, None, &[get]),
        ];
        let queues = [made.lock(None, None, &[take]), made.lock(None, None, &[take])];
        made.lock(None, None, &[]);
        assert_eq!(
            made.families(),
            [
                (buckets.to_vec(), "taken in get (a.c:2)".to_owned()),
                (queues.to_vec(), "taken in take (a.c:3)".to_owned())
            ]
        );
        let families = Families::of(&made.process);
        assert_eq!(families.of_object(queues[1]), families.all.get(1));
        assert_eq!(families.of_object(ObjectId::new(5)), None);
    }

    #[test]
    fn names_are_taken_apart_and_no_two_are_the_same() {
        assert_eq!(array_of("a[1].b[22]"), "a[].b[]");
        assert_eq!(array_of("a<int[4]>::b+0x10"), "a<int[]>::b");
        assert_eq!(array_of("f[x]["), "f[x][");
        let mut made = Made::new();
        let [put, get] = [made.site("put", 1), made.site("put", 1)];
        for site in [put, put, get, get] {
            made.lock(None, None, &[site]);
        }
        let names: Vec<String> = made.families().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["taken in put (a.c:1)", "taken in put (a.c:1) #2"]);
    }
}
