//! What the page may do, as the browser enforces it: run the scripts and styles that holdup wrote, known by their
//! hash, and nothing else.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The content security policy: nothing is loaded, no form is sent, no base address is set, and only a script and a
/// style with these texts count (Content Security Policy Level 3, section 2.3.1, `hash-source`).
pub(super) fn policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash_source(script),
        hash_source(style)
    )
}

fn hash_source(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
}

/// JSON that can stand in a script element: nothing in it ends the element, begins a comment, or is a line break for
/// scripts.
pub(super) fn for_script(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_is_the_one_that_browsers_compute() {
        // Content Security Policy Level 3, section 8.3, has this example.
        assert_eq!(hash_source("doSomething();"), "'sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc='");
    }

    #[test]
    fn json_cannot_leave_its_element() {
        let value = json!({"</script><script>alert(1)</script>": "<!-- & \u{2028}"});
        let text = for_script(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
