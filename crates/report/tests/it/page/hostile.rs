//! Whoever wrote the measured program chose the names in the recording. They are shown, and do nothing.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use holdup_model::{Environment, Frame, Marker, MarkerKind, Placement, Process, Quota, Run, Site, Time};
use holdup_report::{PageOptions, SourceFile, page, source_files};
use proptest::prelude::*;
use scraper::Html;
use sha2::{Digest, Sha256};

use crate::page::content::check;
use crate::page::examples::{self, select};

const NAMES: &[&str] = &[
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' autofocus onfocus='alert(1)",
    "<!--<script>",
    "]]><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}&lt;b&gt;",
    "\0\u{1b}[2J\u{9b}31m\r\n\t",
    "\u{202e}gnp.exe\u{2066}\u{200b}\u{2028}\u{2029}\u{feff}",
    "javascript:alert(1)",
    "</style><style>*{display:none}</style>",
    "</title></head></template></textarea></noscript>",
];

/// Every text of a recording that can hold a name holds this one.
fn poisoned(name: &str) -> (Run, PageOptions) {
    let mut process = examples::planted();
    for thread in &mut process.threads {
        thread.name = Some(name.to_owned());
    }
    for object in &mut process.objects {
        object.name = object.name.as_ref().map(|_| name.to_owned());
    }
    for site in &mut process.sites {
        *site = Site {
            frames: vec![
                Frame {
                    function: Some(name.to_owned()),
                    file: Some(format!("dir/{name}")),
                    line: Some(3),
                    module: Some(name.to_owned()),
                    ..Frame::default()
                };
                2
            ],
            ..site.clone()
        };
    }
    let at = Time::from_nanos(1);
    let label = Some(name.to_owned());
    let thread = holdup_model::ThreadId::new(0);
    process.markers.push(Marker { thread, time: at, kind: MarkerKind::Phase, label });
    process.command = vec![name.to_owned(), name.to_owned()];
    let quota = Quota { group: name.to_owned(), ..Quota::default() };
    let placement = Placement { pid: process.pid, quotas: vec![quota], ..Placement::default() };
    let kind = holdup_model::CoreKind { name: name.to_owned(), ..Default::default() };
    let run = Run {
        recorded_by: name.to_owned(),
        collectors: vec![name.to_owned()],
        clock: name.to_owned(),
        unseen: vec![name.to_owned()],
        warnings: vec![name.to_owned()],
        environment: Environment { placements: vec![placement], kinds: vec![kind], ..Environment::default() },
        ..examples::run(vec![process.clone(), process])
    };
    let file = SourceFile::whole(vec![name.to_owned(); 9], false);
    let files = source_files(&run, &examples::diagnosed(&run));
    let sources: BTreeMap<String, SourceFile> = files.into_iter().map(|path| (path, file.clone())).collect();
    (run, PageOptions { with_sources: true, sources })
}

fn made(name: &str) -> String {
    let (run, options) = poisoned(name);
    let diagnoses: Vec<_> =
        examples::diagnosed(&run).into_iter().map(|one| examples::with_gains(one, name)).collect();
    page(&run, &diagnoses, &options)
}

/// Names of elements and, of those, of attributes; where addresses lead; and how many elements there are that run.
fn assert_harmless(text: &str) {
    let page = Html::parse_document(text);
    check(&page);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    let elements: BTreeSet<&str> = select(&page, "*").iter().map(|element| element.value().name()).collect();
    let known: BTreeSet<&str> = [
        "a",
        "b",
        "body",
        "caption",
        "circle",
        "code",
        "col",
        "colgroup",
        "button",
        "dd",
        "defs",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "figcaption",
        "figure",
        "footer",
        "h1",
        "h2",
        "h3",
        "h4",
        "head",
        "header",
        "html",
        "kbd",
        "li",
        "line",
        "link",
        "main",
        "meta",
        "nav",
        "noscript",
        "ol",
        "p",
        "path",
        "pattern",
        "rect",
        "script",
        "section",
        "small",
        "span",
        "style",
        "summary",
        "svg",
        "table",
        "tbody",
        "td",
        "text",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "tspan",
        "ul",
    ]
    .into();
    let unknown: Vec<_> = elements.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for element in select(&page, "*") {
        for (attribute, value) in element.value().attrs() {
            let is_known = matches!(
                attribute,
                "action"
                    | "class"
                    | "id"
                    | "href"
                    | "rel"
                    | "lang"
                    | "charset"
                    | "content"
                    | "http-equiv"
                    | "name"
                    | "type"
                    | "width"
                    | "height"
                    | "x"
                    | "y"
                    | "x1"
                    | "x2"
                    | "y1"
                    | "y2"
                    | "cx"
                    | "cy"
                    | "r"
                    | "rx"
                    | "d"
                    | "dx"
                    | "dy"
                    | "viewBox"
                    | "viewbox"
                    | "preserveAspectRatio"
                    | "overflow"
                    | "focusable"
                    | "patternUnits"
                    | "patternTransform"
                    | "text-anchor"
                    | "role"
                    | "tabindex"
                    | "scope"
                    | "colspan"
                    | "hidden"
            ) || attribute.starts_with("aria-")
                || attribute == "data-key";
            assert!(is_known, "{attribute}={value:?} in <{}>", element.value().name());
            if attribute == "href" {
                assert!(value.starts_with('#') || value == "data:,", "{value:?}");
            }
            if attribute == "class" {
                assert!(value.chars().all(|c| c.is_ascii_alphanumeric() || "- ".contains(c)), "{value:?}");
            }
        }
    }
    assert_eq!(select(&page, "script").len(), 3);
    assert_eq!(select(&page, "style").len(), 1);
    // The page has line breaks of its own; no other control character, and none that changes how text is read.
    let acts = |c: char| {
        (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{200b}\u{2028}\u{2029}\u{feff}".contains(c)
    };
    assert!(!text.contains(acts), "{:?}", text.chars().find(|c| acts(*c)));
    assert_policy(&page);
}

/// The policy allows the script and the style that are there, by their hash, and nothing else.
fn assert_policy(page: &Html) {
    let policy = select(page, "meta[http-equiv=Content-Security-Policy]")[0].attr("content").unwrap();
    let hash = |selector: &str| {
        let text: String = select(page, selector)[0].text().collect();
        format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text.as_bytes())))
    };
    let expected = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; base-uri 'none'; form-action 'none'",
        hash("script:not([type])"),
        hash("style")
    );
    assert_eq!(policy, expected);
    assert!(select(page, "script[type]").iter().all(|script| {
        matches!(script.attr("type"), Some("application/json" | "text/plain")) && script.attr("src").is_none()
    }));
}

#[test]
fn hostile_names_are_shown_and_do_nothing() {
    for name in NAMES {
        assert_harmless(&made(name));
    }
    let page = Html::parse_document(&made(NAMES[1]));
    let shown = |selector: &str| select(&page, selector).into_iter().map(examples::text).collect::<String>();
    for place in
        ["h1", ".command", "#threads", "#locks", "#waits", "#path", "#what-if", ".warnings", "#recorded"]
    {
        assert!(shown(place).contains("<img src=x onerror=alert(1)>"), "{place}: {}", shown(place));
    }
}

#[test]
fn the_data_of_the_timeline_is_json() {
    for name in NAMES {
        let text = made(name);
        let page = Html::parse_document(&text);
        let json: String = select(&page, "#timeline-json")[0].text().collect();
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
    }
}

#[test]
fn an_empty_recording_with_a_hostile_command_does_nothing() {
    for name in NAMES {
        let run = Run {
            command: vec![(*name).to_owned()],
            warnings: vec![(*name).to_owned()],
            processes: vec![Process::default()],
            ..Run::default()
        };
        let text = page(&run, &[], &PageOptions::default());
        let page = Html::parse_document(&text);
        assert_eq!((select(&page, "script").len(), select(&page, "img").len()), (1, 0));
        assert_policy(&page);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_name_is_harmless(name in prop_oneof![any::<String>(), "[<>\"'&/=a-z!-]{0,60}"]) {
        assert_harmless(&made(&name));
    }
}
