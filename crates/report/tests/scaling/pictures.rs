#[test]
#[ignore]
fn write_pages() {
    let dir = std::path::PathBuf::from(std::env::var("PAGES").unwrap());
    for (name, scaling) in crate::examples::all() {
        std::fs::write(
            dir.join(format!("{}.html", name.replace(' ', "-"))),
            holdup_report::scale_page(&scaling),
        )
        .unwrap();
    }
}
