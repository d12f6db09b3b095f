//! What every page of an answer keeps to, whatever it tells.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use scraper::{ElementRef, Html, Selector};
use sha2::{Digest, Sha256};

/// Names that do harm where they are not escaped.
pub(crate) const NAMES: &[&str] = &[
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' autofocus onfocus='alert(1)",
    "<!--<script>",
    "]]><svg onload=alert(1)>",
    "\0\u{1b}[2J\u{9b}31m\r\n\t",
    "\u{202e}gnp.exe\u{2066}\u{200b}\u{2028}\u{2029}\u{feff}",
    "</style><style>*{display:none}</style>",
];

pub(crate) fn select<'a>(page: &'a Html, selector: &str) -> Vec<ElementRef<'a>> {
    page.select(&Selector::parse(selector).expect("a selector")).collect()
}

/// What an element says, its spaces as one.
pub(crate) fn text(element: ElementRef<'_>) -> String {
    element.text().collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn texts(page: &Html, selector: &str) -> Vec<String> {
    select(page, selector).into_iter().map(text).collect()
}

/// Where a mark is, or how long it is, of 100.
pub(crate) fn length(mark: ElementRef<'_>, attribute: &str) -> f64 {
    mark.attr(attribute).expect("a length").trim_end_matches('%').parse().expect("a number")
}

/// What every page keeps to.
pub(crate) fn check(text_of_page: &str) {
    let page = Html::parse_document(text_of_page);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    let mut seen = BTreeSet::new();
    for element in select(&page, "[id]") {
        assert!(
            seen.insert(element.attr("id").expect("an id").to_owned()),
            "two of {:?}",
            element.attr("id")
        );
    }
    for link in select(&page, "main a[href], nav a[href], [aria-labelledby]") {
        let target = link.attr("href").or(link.attr("aria-labelledby")).expect("a target");
        assert!(seen.contains(target.trim_start_matches('#')), "{target}");
    }
    for drawn in select(&page, "svg[role=img]") {
        assert!(drawn.attr("aria-label").is_some_and(|label| !label.trim().is_empty()), "{}", drawn.html());
    }
    let caption = Selector::parse("caption").expect("a selector");
    for table in select(&page, "main table") {
        assert!(table.select(&caption).next().is_some_and(|said| !text(said).is_empty()), "{}", table.html());
    }
    for mark in select(&page, "main [width], main [x], main [cx], main [x1]") {
        for name in ["width", "x", "cx", "x1", "x2"] {
            let Some(length) = mark.attr(name).and_then(|value| value.strip_suffix('%')) else { continue };
            let length: f64 = length.parse().unwrap_or_else(|_| panic!("{}", mark.html()));
            assert!((0.0..=100.0).contains(&length), "{}", mark.html());
        }
    }
    for element in select(&page, "*") {
        for (attribute, value) in element.value().attrs() {
            let is_place =
                matches!(attribute, "d" | "x" | "y" | "x1" | "x2" | "y1" | "y2" | "cx" | "cy" | "width");
            assert!(!is_place || !(value.contains("NaN") || value.contains("inf")), "{attribute}={value:?}");
            assert!(
                !attribute.starts_with("on") && attribute != "style" && attribute != "src",
                "{attribute}={value:?}"
            );
            let harmless = attribute != "href" || value.starts_with('#') || value == "data:,";
            assert!(harmless, "{value:?}");
        }
    }
    assert_eq!((select(&page, "script").len(), select(&page, "style").len()), (1, 1));
    assert!(select(&page, "img, iframe, object, form, base").is_empty());
    let acts = |c: char| {
        (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{200b}\u{2028}\u{2029}\u{feff}".contains(c)
    };
    assert!(!text_of_page.contains(acts), "{:?}", text_of_page.chars().find(|c| acts(*c)));
    let policy =
        select(&page, "meta[http-equiv=Content-Security-Policy]")[0].attr("content").expect("a policy");
    for element in ["script", "style"] {
        let own: String = select(&page, element)[0].text().collect();
        let hash = BASE64_STANDARD.encode(Sha256::digest(own.as_bytes()));
        assert!(policy.contains(&format!("{element}-src 'sha256-{hash}';")), "{policy}");
    }
}
