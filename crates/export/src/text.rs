//! Text from the measured program, made safe to show.
//!
//! Names of threads, functions, files and objects are chosen by the program. Each format has its own quoting, which its
//! writer does; what no format does is kept out here: control characters, which act on a terminal or break a line,
//! and characters that are not seen and change how others are read (direction marks, zero-width characters).

use std::borrow::Cow;

/// The text with every character that is not seen as itself written as an escape: `\n`, `\u{1b}`, `\u{202e}`. Which ones
/// these are is what [`str::escape_debug`] says; quotes, backslashes and combining marks stay.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut buffer = [0; 1 + 4];
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            c => {
                // After another character combining marks are shown.
                buffer[0] = b'a';
                let length = 1 + c.encode_utf8(&mut buffer[1..]).len();
                match std::str::from_utf8(&buffer[..length]) {
                    Ok(pair) => out.extend(pair.escape_debug().skip(1)),
                    Err(_) => out.push(char::REPLACEMENT_CHARACTER),
                }
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        for name in ["main", "Größe", "スレッド", "f(char const*, \"x\")", "e\u{301}", "C:\\a", "it's"]
        {
            assert_eq!(plain(name), name);
        }
    }

    #[test]
    fn what_acts_or_misleads_is_spelled_out() {
        assert_eq!(plain("\x1b[2Jx\ny\t"), "\\u{1b}[2Jx\\ny\\t");
        assert_eq!(plain("a\u{202e}b\u{200b}c\u{9b}"), "a\\u{202e}b\\u{200b}c\\u{9b}");
        assert_eq!(plain("line\u{2028}break"), "line\\u{2028}break");
    }

    proptest! {
        #[test]
        fn no_control_character_gets_through(text in any::<String>()) {
            let out = plain(&text);
            prop_assert!(!out.chars().any(char::is_control), "{out:?}");
            prop_assert_eq!(plain(&out), out.clone(), "once is enough");
        }
    }
}
