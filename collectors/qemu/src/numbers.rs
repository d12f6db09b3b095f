//! Writing the numbers of streams.

use holdup_trace::instructions::{LONGEST_NUMBER, put};

/// Appends a number.
pub(crate) fn number(to: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; LONGEST_NUMBER];
    let length = put(&mut bytes, value);
    to.extend_from_slice(&bytes[..length]);
}

/// Writes a number to where there is room for the longest; gives the place behind it. As [`put`], but fast for small ones.
///
/// # Safety
/// [`LONGEST_NUMBER`] bytes can be written there.
#[inline(always)]
pub(crate) unsafe fn put_at(to: *mut u8, value: u64) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        if value < 1 << 7 {
            to.write((value << 1 | 1) as u8);
            to.add(1)
        } else if value < 1 << 14 {
            to.cast::<u16>().write_unaligned((value << 2 | 2) as u16);
            to.add(2)
        } else {
            to.add(put(std::slice::from_raw_parts_mut(to, LONGEST_NUMBER), value))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_way_writes_what_the_other_does() {
        for value in (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]) {
            let (mut fast, mut plain) = ([0; LONGEST_NUMBER], Vec::new());
            // SAFETY: the array has room for the longest.
            let end = unsafe { put_at(fast.as_mut_ptr(), value) };
            number(&mut plain, value);
            assert_eq!(end as usize - fast.as_ptr() as usize, plain.len(), "{value}");
            assert_eq!(fast[..plain.len()], plain);
        }
    }
}
