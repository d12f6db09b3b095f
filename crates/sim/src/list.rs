//! Programs made by hand, in memory.

use crate::program::{Access, Act, Bookmark, Feed, Item};

/// As [`Item`], with what it borrows.
#[derive(Clone, Debug, PartialEq)]
pub enum OwnedItem {
    /// A block executed whole, with the addresses of its accesses.
    Block(u32, Vec<u64>),
    /// The first so many instructions of a block, with these accesses.
    Partial(u32, u32, Vec<(Access, u64)>),
    /// Anything else.
    Act(Act),
}

/// A [`Feed`] for programs made by hand: what each thread and each unit of work does, as lists.
#[derive(Clone, Debug, Default)]
pub struct ListFeed {
    threads: Vec<Vec<OwnedItem>>,
    units: Vec<Vec<OwnedItem>>,
    at: Vec<Place>,
}

/// Where a thread is.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// The next item of its own list.
    own: usize,
    /// The unit that it executes, and the next item of that.
    unit: Option<(usize, usize)>,
}

impl ListFeed {
    /// A feed of what each thread does, by its index, and each unit, by its number.
    pub fn new(threads: Vec<Vec<OwnedItem>>, units: Vec<Vec<OwnedItem>>) -> ListFeed {
        let at = vec![Place::default(); threads.len()];
        ListFeed { threads, units, at }
    }
}

impl Feed for ListFeed {
    fn next(&mut self, thread: usize) -> Item<'_> {
        let place = &mut self.at[thread];
        let found = match &mut place.unit {
            Some((unit, next)) => {
                let found = self.units[*unit].get(*next);
                *next += 1;
                if found.is_none() {
                    place.unit = None;
                    return Item::UnitEnd;
                }
                found
            }
            None => {
                let found = self.threads[thread].get(place.own);
                place.own += usize::from(found.is_some());
                found
            }
        };
        match found {
            None => Item::End,
            Some(OwnedItem::Block(block, addresses)) => Item::Block(*block, addresses),
            Some(OwnedItem::Partial(block, count, accesses)) => Item::Partial(*block, *count, accesses),
            Some(OwnedItem::Act(act)) => Item::Act(*act),
        }
    }

    fn take_unit(&mut self, thread: usize, unit: u32) {
        self.at[thread].unit = Some((unit as usize, 0));
    }

    fn bookmark(&mut self, thread: usize) -> Bookmark {
        let place = self.at[thread];
        let at = |next: usize| Bookmark { at: [next as u64, 0, 0, 0, 0, 0, 0], ..Bookmark::default() };
        let unit = place.unit.map(|(unit, next)| (unit as u32, Box::new(at(next))));
        Bookmark { unit, ..at(place.own) }
    }

    fn go_to(&mut self, thread: usize, bookmark: &Bookmark) {
        let unit = bookmark.unit.as_ref().map(|(unit, place)| (*unit as usize, place.at[0] as usize));
        self.at[thread] = Place { own: bookmark.at[0] as usize, unit };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_comes_between_the_items_of_the_thread_that_takes_it() {
        let block = |number| OwnedItem::Block(number, vec![64]);
        let own = vec![OwnedItem::Act(Act::Deal(0)), block(1)];
        let mut feed = ListFeed::new(vec![own], vec![vec![block(7)]]);
        assert_eq!(feed.next(0), Item::Act(Act::Deal(0)));
        feed.take_unit(0, 0);
        assert_eq!(feed.next(0), Item::Block(7, &[64]));
        assert_eq!(feed.next(0), Item::UnitEnd);
        assert_eq!(feed.next(0), Item::Block(1, &[64]));
        assert_eq!(feed.next(0), Item::End);
        assert_eq!(feed.next(0), Item::End);
    }
}
