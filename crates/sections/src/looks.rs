//! A thread that was woken, looks at what it waits for, and waits on.

use holdup_trace::instructions::Mark;
use holdup_trace::wire::ObjectCode;

/// Tells, in one thread's marks, a wait that goes on from one that is new.
///
/// A wait for a condition takes its mutex when it ends. Who looks again waits on with the mutex that it took there; who comes to
/// the condition anew has given it back and taken it in between. How much is executed meanwhile does not matter: of two
/// barriers, one right behind the other, the second is a new wait.
#[derive(Clone, Copy, Debug, Default)]
pub struct Looks {
    /// The condition that was waited for last, and its mutex.
    last: Option<(u64, u64)>,
    /// How often that mutex was taken since the wait began.
    taken: u32,
}

impl Looks {
    /// Goes on by a mark. True if that is the begin of a wait for a condition that goes on with the wait before.
    pub fn again(&mut self, mark: &Mark) -> bool {
        match *mark {
            Mark::WaitBegin { object, kind: ObjectCode::Condition, mutex, .. } => {
                let goes_on = self.last == Some((object, mutex)) && self.taken == 1;
                *self = Looks { last: Some((object, mutex)), taken: 0 };
                goes_on
            }
            Mark::Acquired { object, .. } => {
                if self.last.is_some_and(|(_, mutex)| mutex == object) {
                    self.taken = self.taken.saturating_add(1);
                }
                false
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(looks: &mut Looks, condition: u64) -> bool {
        let kind = ObjectCode::Condition;
        let goes_on =
            looks.again(&Mark::WaitBegin { object: condition, kind, stack: 0, mutex: 7, shared: false });
        takes(looks, 7);
        goes_on
    }

    fn takes(looks: &mut Looks, object: u64) {
        looks.again(&Mark::Acquired { object, kind: ObjectCode::Mutex, caller: 0, shared: false });
    }

    #[test]
    fn who_has_kept_the_mutex_looks_again() {
        let mut looks = Looks::default();
        assert!(!waits(&mut looks, 1));
        assert!(waits(&mut looks, 1));
        takes(&mut looks, 8);
        assert!(waits(&mut looks, 1), "another mutex");
        takes(&mut looks, 7);
        assert!(!waits(&mut looks, 1), "it has come anew");
        assert!(!waits(&mut looks, 2), "another condition");
    }
}
