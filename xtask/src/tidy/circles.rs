//! The modules of one folder do not use each other in a circle, each taken with its whole subfolder as one thing.
//!
//! What a module uses of its own parent's file, and what that uses of its children, does not count; but what the parent only
//! imports from somewhere is followed to the file that defines it. Nor do tests count. Macros that stand for themselves
//! (`complain!(…)`) and names that `use x::*` brings in are not followed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::workspace::TextFile;

/// Imports of imports are followed so far.
const DEEP: usize = 16;

/// A module's path from the root of its crate, or that of an item.
type Path = Vec<String>;

/// The edges of a folder: who uses whom, and the first file that does.
type Edges = BTreeMap<String, BTreeMap<String, String>>;

pub(super) fn complaints(files: &[TextFile]) -> Vec<String> {
    let mut crates: BTreeMap<&str, Vec<(&str, &TextFile)>> = BTreeMap::new();
    for file in files {
        if let Some((src, rest)) = place(&file.path) {
            crates.entry(src).or_default().push((rest, file));
        }
    }
    let mut lines = Vec::new();
    for (src, files) in crates {
        let mut all = Crate::default();
        for (rest, file) in files {
            match TokenStream::from_str(&file.text) {
                Ok(tokens) => all.add(rest, tokens),
                Err(error) => lines.push(format!("{} is not Rust: {error}", file.path)),
            }
        }
        for (folder, edges) in all.edges() {
            let folder = [&[src.to_owned()], folder.as_slice()].concat().join("/");
            lines.extend(circles_of(&edges).iter().map(|circle| circle.line(&folder)));
        }
    }
    lines
}

/// The folder `src` of a crate of ours and the rest of the path, for its sources without tests.
fn place(path: &str) -> Option<(&str, &str)> {
    let at = path.find("/src/")? + "/src".len();
    let (src, rest) = (&path[..at], &path[at + 1..]);
    let parts: Vec<&str> = src.split('/').collect();
    let is_ours =
        matches!(parts[..], ["xtask", _] | ["crates" | "collectors", _, _] | ["crates", "methods", _, _]);
    let is_test = |part: &str| part.starts_with("tests") || part.trim_end_matches(".rs").ends_with("_tests");
    (is_ours && rest.ends_with(".rs") && !rest.split('/').any(is_test)).then_some((src, rest))
}

/// Modules that use each other in a circle.
struct Circle {
    /// The shortest way round, with the file that makes each step.
    steps: Vec<(String, String)>,
    /// How many modules can be reached from each other.
    size: usize,
}

impl Circle {
    fn line(&self, folder: &str) -> String {
        let next = |at: usize| &self.steps[(at + 1) % self.steps.len()].0;
        let steps: Vec<String> = self
            .steps
            .iter()
            .enumerate()
            .map(|(at, (module, file))| format!("{module} uses {} in {file}", next(at)))
            .collect();
        let all = if self.size > self.steps.len() {
            format!(" (of {} modules in all)", self.size)
        } else {
            String::new()
        };
        format!("{folder} has a circle of modules{all}, which has to be broken: {}", steps.join(", "))
    }
}

/// All circles of a folder: sets of modules of which each reaches each other one.
fn circles_of(edges: &Edges) -> Vec<Circle> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|module| (module.as_str(), reached(edges, module))).collect();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut circles = Vec::new();
    for (&module, reaches) in &reach {
        if seen.contains(module) || !reaches.contains(module) {
            continue;
        }
        let is_back = |other: &&&str| reach.get(**other).is_some_and(|back| back.contains(module));
        let together: BTreeSet<&str> = reaches.iter().filter(is_back).copied().collect();
        let rounds = together.iter().filter_map(|start| shortest(edges, start));
        if let Some(steps) = rounds.min_by_key(Vec::len) {
            circles.push(Circle { steps, size: together.len() });
        }
        seen.extend(together);
    }
    circles
}

fn reached<'a>(edges: &'a Edges, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = edges[from].keys().map(String::as_str).collect();
    while let Some(module) = next.pop() {
        if reached.insert(module) {
            next.extend(edges.get(module).into_iter().flat_map(BTreeMap::keys).map(String::as_str));
        }
    }
    reached
}

/// The shortest way from a module back to itself, with the file that makes each step.
fn shortest(edges: &Edges, start: &str) -> Option<Vec<(String, String)>> {
    let mut ways = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        let last = way.last()?;
        for next in edges.get(*last)?.keys() {
            if next == start {
                let after = way.iter().skip(1).copied().chain([start]);
                let step = |(from, to): (&&str, &str)| ((*from).to_owned(), edges[*from][to].clone());
                return Some(way.iter().zip(after).map(step).collect());
            }
            if edges.contains_key(next) && seen.insert(next) {
                ways.push_back([way.as_slice(), &[next]].concat());
            }
        }
    }
    None
}

/// What the sources of a crate say.
#[derive(Default)]
struct Crate {
    /// The modules that have files.
    files: BTreeMap<Path, String>,
    /// All modules, also those within files.
    modules: BTreeSet<Path>,
    /// Modules that are there in tests only.
    tests: BTreeSet<Path>,
    /// Names that are brought in by `use`, each behind the module that does, and what they stand for.
    imports: BTreeMap<Path, Path>,
    /// What is named where: the module that has the file, and a path from the root.
    named: Vec<(Path, Path)>,
}

impl Crate {
    fn add(&mut self, file: &str, tokens: TokenStream) {
        let mut module: Path = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
        if module == ["lib"] || module == ["main"] || module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        self.files.insert(module.clone(), file.to_owned());
        self.modules.insert(module.clone());
        self.read(tokens, &module, &module, true);
    }

    /// Reads what is in a module (`scope`) of a file; `are_items` says that it is not within a function or the like.
    fn read(&mut self, tokens: TokenStream, file: &Path, scope: &Path, are_items: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if is_test(&tokens[at..]) {
                let end = at + end_of_item(&tokens[at..]);
                if let Some(name) = module_named(&tokens[at..end]) {
                    self.tests.insert(below(scope, &[name]));
                }
                at = end;
                continue;
            }
            match &tokens[at] {
                TokenTree::Group(group) => self.read(group.stream(), file, scope, false),
                TokenTree::Ident(word) if word == "use" && !is_punct(tokens.get(at + 1), '<') => {
                    let end =
                        at + tokens[at..].iter().position(|token| is_punct(Some(token), ';')).unwrap_or(0);
                    let mut found = Vec::new();
                    tree(&tokens[at + 1..end.max(at + 1)], &Vec::new(), &mut found);
                    for (name, path) in found {
                        let path = absolute(scope, &path);
                        self.named.push((file.clone(), path.clone()));
                        if are_items && let Some(name) = name {
                            self.imports.insert(below(scope, &[name]), path);
                        }
                    }
                    at = end;
                }
                TokenTree::Ident(word) if word == "mod" && are_items => {
                    if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                        (tokens.get(at + 1), tokens.get(at + 2))
                    {
                        let inner = below(scope, &[name.to_string()]);
                        self.modules.insert(inner.clone());
                        self.read(body.stream(), file, &inner, true);
                        at += 2;
                    }
                }
                TokenTree::Ident(_) => {
                    let is_rest = at > 0
                        && is_punct(tokens.get(at - 1), ':')
                        && at > 1
                        && is_punct(tokens.get(at - 2), ':');
                    let path = path_at(&tokens[at..]);
                    if path.len() > 1 {
                        if !is_rest {
                            self.named.push((file.clone(), absolute(scope, &path)));
                        }
                        // Two colons before each further word.
                        at += 3 * (path.len() - 1);
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// The module of a file that defines what a path from the root names.
    fn defines(&self, path: &Path) -> Path {
        let mut path = path.clone();
        for _ in 0..DEEP {
            // A module and what it has may have one name.
            let import = (1..=path.len()).find_map(|length| {
                let part = &path[..length];
                let import = self.imports.get(part).filter(|_| !self.modules.contains(part))?;
                Some([import.as_slice(), &path[length..]].concat())
            });
            match import {
                Some(import) => path = import,
                None => break,
            }
        }
        while !self.files.contains_key(&path) && path.pop().is_some() {}
        path
    }

    /// By folder, which module uses which.
    fn edges(&self) -> BTreeMap<Path, Edges> {
        let in_tests =
            |module: &Path| (1..=module.len()).any(|length| self.tests.contains(&module[..length]));
        let mut folders: BTreeMap<Path, Edges> = BTreeMap::new();
        for (user, path) in &self.named {
            let used = self.defines(path);
            let same = user.iter().zip(&used).take_while(|(user, used)| user == used).count();
            let (Some(from), Some(to)) = (user.get(same), used.get(same)) else { continue };
            if in_tests(user) || in_tests(&used) {
                continue;
            }
            let edges = folders.entry(user[..same].to_vec()).or_default();
            let files = edges.entry(from.clone()).or_default();
            files.entry(to.clone()).or_insert_with(|| self.files[user].clone());
        }
        folders
    }
}

fn below(scope: &[String], rest: &[String]) -> Path {
    [scope, rest].concat()
}

/// A path as it is written in a module, from the root. That of another crate is no module's, so it is the module's own.
fn absolute(scope: &Path, path: &[String]) -> Path {
    let mut base = scope.clone();
    let mut rest = path;
    while let [first, others @ ..] = rest {
        match first.as_str() {
            "crate" => base.clear(),
            "super" => _ = base.pop(),
            "self" => {}
            _ => break,
        }
        rest = others;
    }
    below(&base, rest)
}

/// The words with two colons between them that tokens begin with.
fn path_at(tokens: &[TokenTree]) -> Path {
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(word), others @ ..] = rest {
        path.push(word.to_string());
        match others {
            [a, b, next @ ..] if is_punct(Some(a), ':') && is_punct(Some(b), ':') => rest = next,
            _ => break,
        }
    }
    path
}

/// What a tree of `use` brings in: the name, where it has one, and the path.
fn tree(tokens: &[TokenTree], before: &Path, found: &mut Vec<(Option<String>, Path)>) {
    for branch in tokens.split(|token| is_punct(Some(token), ',')) {
        let words = branch.iter().filter_map(|token| match token {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        });
        let words: Vec<String> = words.collect();
        let (path, name) = match words.as_slice() {
            [path @ .., word, name] if word == "as" => (path, Some(name)),
            path => (path, path.last()),
        };
        let mut path = below(before, path);
        match branch.last() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                tree(&inner, &path, found);
            }
            Some(TokenTree::Punct(_)) => found.push((None, path)),
            Some(_) => {
                let mut name = name.cloned();
                if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
                    path.pop();
                    name = name.filter(|name| name != "self").or_else(|| path.last().cloned());
                }
                found.push((name, path));
            }
            None => {}
        }
    }
}

fn is_punct(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign)
}

fn is_word(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

/// True where an attribute begins that leaves an item to tests: `#[cfg(test)]`, also with other conditions beside it.
fn is_test(tokens: &[TokenTree]) -> bool {
    let [sign, TokenTree::Group(attribute), ..] = tokens else { return false };
    let attribute: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let [cfg, TokenTree::Group(condition)] = attribute.as_slice() else { return false };
    let condition: Vec<TokenTree> = condition.stream().into_iter().collect();
    let tests = |tokens: &[TokenTree]| tokens.iter().any(|token| is_word(token, "test"));
    let holds_in_tests = match condition.as_slice() {
        [all, TokenTree::Group(conditions)] if is_word(all, "all") => {
            tests(&conditions.stream().into_iter().collect::<Vec<_>>())
        }
        [one] => tests(std::slice::from_ref(one)),
        _ => false,
    };
    is_punct(Some(sign), '#') && is_word(cfg, "cfg") && holds_in_tests
}

/// How many tokens the item has that begins with attributes: up to its semicolon or its body, or where it is a field, a variant or
/// the like up to its comma.
fn end_of_item(tokens: &[TokenTree]) -> usize {
    const ITEMS: [&str; 9] =
        ["fn", "mod", "struct", "enum", "union", "trait", "impl", "macro_rules", "unsafe"];
    const WITH_SEMICOLON: [&str; 5] = ["use", "let", "const", "static", "type"];
    let begin = tokens
        .iter()
        .position(|token| !matches!(token, TokenTree::Punct(_) | TokenTree::Group(_)))
        .unwrap_or(0);
    let words = || {
        tokens[begin..].iter().take(4).filter_map(|token| match token {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        })
    };
    let is_item = words().any(|word| ITEMS.contains(&word.as_str()));
    let has_semicolon = !is_item && words().any(|word| WITH_SEMICOLON.contains(&word.as_str()));
    let mut angles = 0;
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match token {
            TokenTree::Punct(punct) => match punct.as_char() {
                ';' => return at + 1,
                '<' => angles += 1,
                '>' => angles -= 1,
                ',' if !is_item && !has_semicolon && angles <= 0 => return at + 1,
                _ => {}
            },
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !has_semicolon => {
                return at + 1;
            }
            _ => {}
        }
    }
    tokens.len()
}

/// The name of the module, if the item is one.
fn module_named(item: &[TokenTree]) -> Option<String> {
    let at = item.iter().position(|token| is_word(token, "mod"))?;
    item.get(at + 1).map(TokenTree::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::file;

    /// Complaints about a crate whose files have these texts.
    fn lines(files: &[(&str, &str)]) -> Vec<String> {
        let path = |name: &str| format!("crates/made-up/src/{name}");
        let files: Vec<TextFile> = files.iter().map(|(name, text)| file(&path(name), *text)).collect();
        complaints(&files)
    }

    const TWO: &[(&str, &str)] = &[
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::B; pub struct A(B);"),
        ("b.rs", "pub struct B; impl B { fn a(&self) -> super::a::A { todo!() } }"),
    ];

    #[test]
    fn a_circle_of_two_is_named_with_the_files_that_make_it() {
        assert_eq!(
            lines(TWO),
            [
                "crates/made-up/src has a circle of modules, which has to be broken: a uses b in a.rs, b uses a in b.rs"
            ]
        );
        assert_eq!(lines(&[TWO[0], TWO[1], ("b.rs", "pub struct B;")]), [""; 0]);
    }

    #[test]
    fn a_circle_of_three_is_told_in_its_order_by_the_shortest_way() {
        let three = [
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "fn f() { crate::c::f() }"),
            ("b.rs", "pub fn f() { crate::a::f() }"),
            ("c.rs", "mod deep; pub use deep::f;"),
            ("c/deep.rs", "use crate::{b::{self, f as g}, d};"),
            ("d.rs", "fn f() -> Vec<crate::b::B> { std::iter::empty::<crate::b::B>().collect() }"),
        ];
        assert_eq!(
            lines(&three),
            [
                "crates/made-up/src has a circle of modules (of 4 modules in all), which has to be broken: a uses c in a.rs, \
             c uses b in c/deep.rs, b uses a in b.rs"
            ]
        );
    }

    #[test]
    fn folders_have_circles_of_their_own() {
        let inner = [
            ("lib.rs", "mod a;"),
            ("a.rs", "mod x; mod y;"),
            ("a/x.rs", "use super::y::Y;"),
            ("a/y.rs", "use super::x::X;"),
        ];
        assert_eq!(
            lines(&inner),
            [
                "crates/made-up/src/a has a circle of modules, which has to be broken: x uses y in a/x.rs, y uses x in a/y.rs"
            ]
        );
    }

    #[test]
    fn what_the_parent_defines_and_uses_makes_none() {
        let through_parent = [
            ("lib.rs", "mod a; mod b; use a::A; pub struct Both(A, b::B);"),
            ("a.rs", "use crate::Both; pub struct A; fn f(both: super::Both) { b::f() }"),
            ("b.rs", "pub struct B; fn f(both: crate::Both) {} mod inner { use super::B; }"),
        ];
        assert_eq!(lines(&through_parent), [""; 0]);
    }

    #[test]
    fn what_the_parent_imports_is_of_the_file_that_defines_it() {
        for import in ["pub use b::B;", "pub(crate) use self::b::{B};", "use b::B;", "use b::Other as B;"] {
            let files = [
                ("lib.rs", &*format!("mod a; mod b; {import}")),
                ("a.rs", "pub struct A; fn f() -> crate::B { todo!() }"),
                ("b.rs", "use crate::a; pub struct B(a::A);"),
            ];
            assert_eq!(lines(&files).len(), 1, "{import}");
        }
        let far = [
            ("lib.rs", "mod a; mod b; pub use b::B;"),
            ("a.rs", "use super::B; pub struct A;"),
            ("b.rs", "mod inner; pub use inner::B;"),
            ("b/inner.rs", "use crate::a::A; pub struct B;"),
        ];
        assert_eq!(lines(&far).len(), 1);
    }

    #[test]
    fn a_module_and_its_function_may_have_one_name() {
        let files = [
            ("lib.rs", "mod a; mod b; use a::a;"),
            ("a.rs", "pub fn a() { crate::b::f() } pub const A: u8 = 0;"),
            ("b.rs", "const B: u8 = crate::a::A;"),
        ];
        assert_eq!(lines(&files).len(), 1);
    }

    #[test]
    fn tests_make_none() {
        for test in [
            "#[cfg(test)] mod tests { use crate::b::B; }",
            "#[cfg(test)] use crate::{b::B, c};",
            "#[cfg(all(test, not(loom)))] #[path = \"x.rs\"] mod tests { fn f() -> crate::b::B {} }",
            "impl A { #[cfg(test)] fn b<T, U>(&self) -> crate::b::B where T: X, U: Y { crate::b::B } }",
            "struct Both { #[cfg(test)] b: Vec<(u8, crate::b::B)>, a: A }",
            "#[cfg(test)] const B: crate::b::B = crate::b::B {};",
        ] {
            let files = [("lib.rs", "mod a; mod b;"), ("a.rs", test), TWO[2]];
            assert_eq!(lines(&files), [""; 0], "{test}");
            let after = format!("{test} fn f(b: crate::b::B) {{}}");
            assert_eq!(lines(&[files[0], ("a.rs", &after), TWO[2]]).len(), 1, "{after}");
        }
        for name in ["a/tests.rs", "a/tests/b.rs", "a/of_tests.rs"] {
            assert_eq!(lines(&[TWO[0], (name, "use crate::b::B;"), TWO[2]]), [""; 0], "{name}");
        }
        let declared = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "#[cfg(test)] mod known;"),
            ("a/known.rs", TWO[1].1),
            TWO[2],
        ];
        assert_eq!(lines(&declared), [""; 0]);
    }

    #[test]
    fn comments_and_strings_and_other_crates_make_none() {
        let quiet = "/// [`crate::b::B`]\n// crate::b::B\nfn f() { g(\"crate::b::B\", other::b::B, B::b) } use other::b;";
        assert_eq!(lines(&[TWO[0], ("a.rs", quiet), TWO[2]]), [""; 0]);
        let elsewhere = TWO.iter().map(|(name, text)| file(&format!("crates/x/tests/{name}"), *text));
        assert_eq!(complaints(&elsewhere.collect::<Vec<_>>()), complaints(&[]));
    }
}
