//! Pages without what all pages share.

/// What stands between these is the same in all pages of a kind, or large and no words.
const SHARED: &[(&str, &str)] = &[("<style", "</style>"), ("<script", "</script>")];

/// A page without its styles, scripts and the data of its timeline, and those, in their order.
pub(super) fn page(html: &str) -> (String, Vec<&str>) {
    let (mut kept, mut shared) = (String::new(), Vec::new());
    let mut rest = html;
    while let Some((begin, end)) = next(rest) {
        let (before, from) = rest.split_at(begin);
        let (inside, behind) = from.split_at(end);
        kept.push_str(before);
        kept.push_str("[…]");
        shared.push(inside);
        rest = behind;
    }
    kept.push_str(rest);
    (policy_left_out(&kept), shared)
}

/// Where the next shared part begins, and its length.
fn next(html: &str) -> Option<(usize, usize)> {
    let parts = SHARED.iter().filter_map(|(begin, end)| {
        let at = html.find(begin)?;
        let inside = at + html[at..].find('>')? + 1;
        Some((inside, html[inside..].find(end)?))
    });
    parts.min()
}

/// The policy names the hashes of styles and scripts.
fn policy_left_out(html: &str) -> String {
    const BEGIN: &str = "http-equiv=\"Content-Security-Policy\" content=\"";
    let Some(at) = html.find(BEGIN) else { return html.to_owned() };
    let inside = at + BEGIN.len();
    let end = html[inside..].find('"').map_or(html.len(), |length| inside + length);
    format!("{}[…]{}", &html[..inside], &html[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pages_share_is_apart() {
        let html = "<meta http-equiv=\"Content-Security-Policy\" content=\"x 'sha256-1'\"><style>a{}</style>\
                    <p>told</p><script type=\"text/plain\" id=\"d\">QUJD</script><script>go()</script><b>end</b>";
        let (kept, shared) = page(html);
        assert_eq!(shared, ["a{}", "QUJD", "go()"]);
        assert_eq!(
            kept,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"[…]\"><style>[…]</style>\
             <p>told</p><script type=\"text/plain\" id=\"d\">[…]</script><script>[…]</script><b>end</b>"
        );
        assert_eq!(page("<p>plain</p>"), ("<p>plain</p>".to_owned(), vec![]));
    }
}
