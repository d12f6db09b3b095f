//! Long names of functions, locks and files made short, as demanglers and profilers do: what is inside of `<…>` goes first,
//! from the inside out, then the namespaces in front, then the middle. No word is cut in two unless it alone is too long.

use unicode_width::UnicodeWidthChar;

/// A `<…>` in a name.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Where its `<` is (bytes).
    open: usize,
    /// Where its `>` is (bytes).
    close: usize,
    /// True for Rust's `<T as Trait>` in front of a path; false for the arguments of a template or of a generic.
    qualifies: bool,
}

/// How many columns a character takes; one at the least, so that marks without a width count towards a limit.
pub(crate) fn columns(c: char) -> usize {
    c.width().unwrap_or(1).max(1)
}

fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// A name in at most `limit` columns: `std::vector<…>::push_back`, `<Stdout as Write>::write_fmt`, `…::Pool::take`.
pub(crate) fn shortened(name: &str, limit: usize, ellipsis: &str) -> String {
    if width(name) <= limit {
        return name.to_owned();
    }
    let mut short = name.to_owned();
    let (groups, depths) = arguments(name);
    for depth in (0..depths).rev() {
        short = replaced(name, groups.iter().filter(|(at, _)| *at == depth).map(|(_, group)| *group), |_| {
            ellipsis.to_owned()
        });
        if width(&short) <= limit {
            return short;
        }
    }
    let qualifying: Vec<Group> = groups_in(&short).into_iter().filter(|group| group.qualifies).collect();
    short = replaced(&short, qualifying.into_iter(), |inside| {
        inside.split(" as ").map(last_part).collect::<Vec<_>>().join(" as ")
    });
    if width(&short) > limit {
        let starts = part_starts(&short);
        let is_named = |start: &usize| short[*start..].starts_with(|c: char| !matches!(c, '{' | '('));
        let last = starts.iter().rposition(is_named).unwrap_or(0);
        let tails = starts[..=last].iter().filter(|start| **start > 0);
        let tail = |start: &usize| {
            let separator = if short[..*start].ends_with('/') { "/" } else { "::" };
            format!("{ellipsis}{separator}{}", &short[*start..])
        };
        let mut tails = tails.map(tail).peekable();
        while let Some(tail) = tails.next() {
            if width(&tail) <= limit || tails.peek().is_none() {
                short = tail;
                break;
            }
        }
    }
    cut(&short, limit, ellipsis)
}

/// Takes the middle out of what is wider than `limit` columns, between words: the ends tell names apart. An indent stays.
pub(crate) fn cut(text: &str, limit: usize, ellipsis: &str) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let inner = text.trim_start_matches(' ');
    let indent = text.len() - inner.len();
    if indent > 0 && indent + 2 * width(ellipsis) < limit {
        return format!("{}{}", &text[..indent], cut(inner, limit - indent, ellipsis));
    }
    let room = limit.saturating_sub(width(ellipsis));
    let ends = word_ends(text);
    let head = ends.iter().map(|end| &text[..*end]).take_while(|head| width(head) <= room.div_ceil(2)).last();
    let head = head.unwrap_or_default();
    let left = room - if head.is_empty() { room.div_ceil(2) } else { width(head) };
    let tail = ends.iter().rev().map(|end| &text[*end..]).take_while(|tail| width(tail) <= left).last();
    let tail = tail.unwrap_or_default();
    // A word that alone is too long is cut.
    match (head.is_empty(), tail.is_empty()) {
        (true, false) => {
            return format!("{}{ellipsis}{}", prefix(text.chars(), room - width(tail)), tail.trim_start());
        }
        (_, true) => {
            let head = prefix(text.chars(), room.div_ceil(2));
            let tail: String = prefix(text.chars().rev(), room / 2).chars().rev().collect();
            return format!("{head}{ellipsis}{tail}");
        }
        (false, false) => {}
    }
    format!("{}{ellipsis}{}", head.trim_end(), tail.trim_start())
}

/// Takes the end off what is wider than `limit` columns, behind a word: of a line of source the begin says most.
pub(crate) fn cut_end(text: &str, limit: usize, ellipsis: &str) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let room = limit.saturating_sub(width(ellipsis));
    let heads = word_ends(text).into_iter().map(|end| text[..end].trim_end());
    let head = heads.take_while(|head| width(head) <= room).last().filter(|head| !head.is_empty());
    head.map_or_else(
        || format!("{}{ellipsis}", prefix(text.chars(), room)),
        |head| format!("{head}{ellipsis}"),
    )
}

/// The words of a sentence, a name with spaces inside of `<…>` being one.
pub(crate) fn words(text: &str) -> Vec<&str> {
    let groups = groups_in(text);
    let mut words = Vec::new();
    let mut begin = 0;
    for (at, _) in text.match_indices(' ') {
        if !groups.iter().any(|group| (group.open..group.close).contains(&at)) {
            words.push(&text[begin..at]);
            begin = at + 1;
        }
    }
    words.push(&text[begin..]);
    words
}

/// Behind which bytes a word of a name or a sentence ends: at spaces and marks, and before capitals.
fn word_ends(text: &str) -> Vec<usize> {
    let is_mark = |c: char| !c.is_alphanumeric();
    let mut ends = Vec::new();
    for ((_, one), (at, next)) in text.char_indices().zip(text.char_indices().skip(1)) {
        if (is_mark(one) && !is_mark(next)) || (one.is_lowercase() && next.is_uppercase()) || one == ' ' {
            ends.push(at);
        }
    }
    ends
}

fn prefix(chars: impl Iterator<Item = char>, limit: usize) -> String {
    let mut used = 0;
    chars
        .take_while(|&c| {
            used += columns(c);
            used <= limit
        })
        .collect()
}

/// The groups that have both ends, by their begin. Comparisons, shifts and arrows are none.
fn groups_in(text: &str) -> Vec<Group> {
    let mut open: Vec<(usize, bool)> = Vec::new();
    let mut groups = Vec::new();
    for (at, c) in text.char_indices() {
        let (before, after) = (&text[..at], &text[at + c.len_utf8()..]);
        match c {
            '<' if before.trim_end_matches('<').ends_with("operator")
                || after.starts_with([' ', '=', '/']) => {}
            '<' => {
                let is_behind_name = before
                    .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'))
                    || before.ends_with("< ");
                open.push((at, !is_behind_name));
            }
            '>' if before.ends_with(['-', '=']) || before.trim_end_matches('>').ends_with("operator") => {}
            '>' => {
                if let Some((open, qualifies)) = open.pop() {
                    groups.push(Group { open, close: at, qualifies });
                }
            }
            _ => {}
        }
    }
    groups.sort_by_key(|group| group.open);
    groups
}

/// The groups of arguments, each with how many others it is in, and how many depths there are.
fn arguments(name: &str) -> (Vec<(usize, Group)>, usize) {
    let mut found = Vec::new();
    let mut around: Vec<usize> = Vec::new();
    for group in groups_in(name).into_iter().filter(|group| !group.qualifies) {
        around.retain(|close| *close > group.close);
        found.push((around.len(), group));
        around.push(group.close);
    }
    let depths = found.iter().map(|(depth, _)| depth + 1).max().unwrap_or(0);
    (found, depths)
}

/// The text with other insides of these groups, which are apart.
fn replaced(text: &str, groups: impl Iterator<Item = Group>, inside: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for group in groups.filter(|group| group.close > group.open + 1) {
        if group.open < at {
            continue;
        }
        out.push_str(&text[at..=group.open]);
        out.push_str(&inside(&text[group.open + 1..group.close]));
        at = group.close;
    }
    out.push_str(&text[at..]);
    out
}

/// Where the parts of a path begin (bytes), outside of brackets.
fn part_starts(path: &str) -> Vec<usize> {
    let groups = groups_in(path);
    let mut starts = vec![0];
    let mut brackets = 0_usize;
    for (at, c) in path.char_indices() {
        match c {
            '(' | '[' | '{' => brackets += 1,
            ')' | ']' | '}' => brackets = brackets.saturating_sub(1),
            '/' | ':'
                if brackets > 0 || groups.iter().any(|group| (group.open..group.close).contains(&at)) => {}
            // Of paths and Go's names; elsewhere it is any other mark.
            '/' if path[..at].contains(['<', ' ']) => {}
            '/' => starts.push(at + 1),
            ':' if path[..at].ends_with(':') => starts.push(at + 1),
            _ => {}
        }
    }
    starts.retain(|start| *start < path.len());
    starts
}

fn last_part(path: &str) -> &str {
    &path[part_starts(path).last().copied().unwrap_or(0)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, limit: usize, expected: &str) {
        assert_eq!(shortened(name, limit, "…"), expected, "{name}");
    }

    #[test]
    fn arguments_go_first_from_the_inside_out() {
        let nested = "std::map<int, std::vector<std::pair<int, long>>>::operator[]";
        check(nested, 60, nested);
        check(nested, 50, "std::map<int, std::vector<…>>::operator[]");
        check(nested, 30, "std::map<…>::operator[]");
        check("core::slice::sort::<impl Ord for [T], fn(&T) -> bool>::go", 30, "core::slice::sort::<…>::go");
        check("a::operator<< <char, std::char_traits<char>>", 24, "a::operator<< <…>");
    }

    #[test]
    fn a_qualified_path_keeps_its_type_and_its_trait() {
        let name = "<&std::io::stdio::Stdout as std::io::Write>::write_fmt";
        check(name, 48, "<Stdout as Write>::write_fmt");
        check(
            "<alloc::vec::Vec<my::very::long::Element, my::Arena> as core::ops::Drop>::drop",
            30,
            "<Vec<…> as Drop>::drop",
        );
    }

    #[test]
    fn then_namespaces_then_the_middle_between_words() {
        check("company::product::module::Pool::take", 24, "…::module::Pool::take");
        check(
            "crate_name::module::answer::{{closure}}::{{closure}}",
            40,
            "…::answer::{{closure}}::{{closure}}",
        );
        check("github.com/someone/project/queue.(*Pool).Take", 24, "…/queue.(*Pool).Take");
        check("compute_the_forces_between_all_molecules", 24, "compute_the_…molecules");
        check("computeTheForcesBetweenAllMolecules", 24, "computeThe…AllMolecules");
        check(&"y".repeat(20), 9, "yyyy…yyyy");
        check("tokio-rt-worker #1", 10, "tokio-r…#1");
    }

    #[test]
    fn a_name_with_spaces_is_one_word() {
        let text = "only main at work from <&Stdout as io::Write>::f (a.rs:3), i < 3 and j > 2";
        let found = words(text);
        assert!(found.contains(&"<&Stdout as io::Write>::f") && found.contains(&"i"), "{found:?}");
        assert_eq!(found.join(" "), text);
    }

    proptest::proptest! {
        #[test]
        fn any_text_fits(text in "([a-zé]{0,9}(::|<|>|, | as |/|->|\\(|\\)|\\{|_)?){0,30}", limit in 4_usize..80) {
            proptest::prop_assert!(width(&shortened(&text, limit, "…")) <= limit);
            proptest::prop_assert!(width(&cut(&text, limit, "...")) <= limit);
            proptest::prop_assert_eq!(words(&text).join(" "), text);
        }
    }
}
