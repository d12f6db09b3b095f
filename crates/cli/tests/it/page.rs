//! `holdup report --html`: the file, and what a browser makes of it.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::stage::{
    Ended, HOLDUP, Stage, assert_refused, is_installed, record, report, report_json, run, start, text,
    workspace,
};
use serde_json::Value;

/// Reads and tries the page after its scripts have run, and leaves what it found in the document. It is put into a copy
/// of the page from which the policy was taken out, which would not let it run.
const PROBE: &str = include_str!("../programs/page_probe.js");

fn recorded(stage: &Stage, program: impl AsRef<OsStr>) -> PathBuf {
    let recording = stage.path("run.holdup");
    let mut command = record(&recording, program);
    run(&mut command);
    assert!(recording.exists(), "{command:?} left no recording");
    recording
}

fn html(recording: &Path, page: &Path, options: &[&str]) -> String {
    let ended = report(recording, &[&["--html", page.to_str().expect("UTF-8")], options].concat());
    assert_eq!((ended.status, text(&ended.stdout).as_str()), (0, ""), "{ended:?}");
    fs::read_to_string(page).expect("the page")
}

/// Opens a page in a window of this width; gives the document when its scripts have run, and what the browser said of
/// it, a line each.
///
/// # Panics
/// If the browser fails. One that crashes may have done so before it opened the page (on a new machine Chromium 148 did,
/// 45 ms after its start), and is started once more: a page that it cannot bear will crash it again.
fn browsed(stage: &Stage, page: &Path, width: u32) -> (String, Vec<String>) {
    let mut ended = chromium(stage, page, width);
    if ended.status > 128 {
        ended = chromium(stage, page, width);
    }
    assert_eq!(ended.status, 0, "{ended:?}");
    let said =
        text(&ended.stderr).lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
    (text(&ended.stdout), said)
}

fn chromium(stage: &Stage, page: &Path, width: u32) -> Ended {
    run(Command::new("chromium")
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom", "--enable-logging=stderr"])
        // The page draws after its first frame, for which virtual time does not wait by itself.
        .args(["--virtual-time-budget=5000", "--run-all-compositor-stages-before-draw"])
        .args(["--no-first-run", "--disable-extensions"])
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", stage.path("browser").display()))
        .arg(format!("file://{}", page.display())))
}

/// What the probe found in a page that is shown in a window of this width.
fn probed(stage: &Stage, page: &str, width: u32) -> Value {
    let (head, rest) = page.split_once("<meta http-equiv=\"Content-Security-Policy\"").expect("a policy");
    let (_, rest) = rest.split_once('>').expect("its end");
    let copy = format!("{head}{rest}<script>{PROBE}</script>");
    let (document, said) = browsed(stage, &stage.write("probed.html", copy), width);
    assert!(said.is_empty(), "{said:?}");
    let (_, found) = document.split_once("data-found=\"").expect("the probe has run to its end");
    let (found, _) = found.split_once('"').expect("the end of what it found");
    let found = found.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    serde_json::from_str(&found).expect("JSON")
}

#[test]
fn the_page_works_in_a_browser() {
    if !is_installed("chromium") {
        return;
    }
    let stage = Stage::new();
    let recording = recorded(&stage, stage.program("hold_and_wait", &[]));
    let page = stage.path("page.html");
    let written = html(&recording, &page, &[]);
    let (document, said) = browsed(&stage, &page, 1280);
    assert!(said.is_empty(), "{said:?}");
    assert!(document.contains("class=\"drawn\""), "the timeline was not drawn");
    assert!(document.contains("<canvas"));
    for width in [1280, 800, 400] {
        let found = probed(&stage, &written, width);
        assert_eq!(found["overflow"], 0, "the page of width {width} scrolls sideways: {found:#}");
        assert_eq!(found["sorted"], serde_json::json!(["ascending", true]), "{found:#}");
        assert_eq!(found["spoken"], true, "{found:#}");
        assert_eq!(found["unlabelled"], serde_json::json!([]), "{found:#}");
    }
    let json = report_json(&recording);
    let findings = json["findings"].as_array().expect("findings").len();
    assert!(findings > 0);
    assert_eq!(probed(&stage, &written, 1280)["findings"], findings);
}

#[test]
fn a_script_that_is_not_the_pages_own_does_not_run() {
    if !is_installed("chromium") {
        return;
    }
    let stage = Stage::new();
    let recording = recorded(&stage, stage.program("hold_and_wait", &["-g0"]));
    let page = stage.path("page.html");
    let written = html(&recording, &page, &[]);
    let with_more = written.replace(
        "</main>",
        "<script>document.title = 'owned'</script><b id=b onclick=\"document.title='owned'\" style=\"color:red\">x</b></main>",
    );
    let (document, said) = browsed(&stage, &stage.write("more.html", with_more), 1280);
    assert!(document.contains("<title>hold_and_wait · holdup report</title>"), "{said:?}");
    assert!(said.iter().filter(|line| line.contains("Content Security Policy")).count() >= 2, "{said:?}");
}

#[test]
fn hostile_names_do_nothing_in_a_browser() {
    if !is_installed("chromium") {
        return;
    }
    let stage = Stage::new();
    let program = stage.program("hostile", &[]);
    let renamed = stage.path("with\x1b[31m<b onclick=alert(1)>\"'");
    fs::rename(&program, &renamed).expect("rename");
    let recording = recorded(&stage, &renamed);
    let page = stage.path("page.html");
    html(&recording, &page, &[]);
    let (document, said) = browsed(&stage, &page, 1280);
    assert!(said.is_empty(), "{said:?}");
    assert!(document.contains("class=\"drawn\""), "the timeline was not drawn");
    assert_eq!(document.matches("<script").count(), 3, "{document}");
    assert!(!document.contains("<b onload") && !document.contains("<b onclick") && !document.contains("<i>"));
    assert!(document.contains("&lt;b onclick=alert(1)&gt;"));
}

#[test]
fn the_page_goes_where_it_is_told() {
    let stage = Stage::new();
    let recording = recorded(&stage, stage.program("hold_and_wait", &[]));
    let page = stage.path("page.html");
    let written = html(&recording, &page, &[]);
    assert_eq!(written, html(&recording, &page, &[]), "the same recording gives the same bytes");
    let to_stdout = report(&recording, &["--html", "-"]);
    assert_eq!((to_stdout.status, text(&to_stdout.stdout)), (0, written.clone()));
    let both = report(&recording, &["--html", page.to_str().expect("UTF-8"), "--json"]);
    assert!(serde_json::from_slice::<Value>(&both.stdout).is_ok(), "{both:?}");
    // The source is in the page unless it is left out.
    let line = "pthread_mutex_lock(&#38;the_lock);";
    assert!(written.contains(line), "the source of the lock is not in the page");
    assert!(!html(&recording, &page, &["--no-source"]).contains(line));
}

/// A page of a recording that says `options`, when the source is gone.
fn without_files(options: &[&str]) -> String {
    let stage = Stage::new();
    let source = workspace().join("crates/cli/tests/programs/hold_and_wait.c");
    let source = stage.write("moved.c", fs::read(source).expect("the source"));
    let program = stage.compile("moved", &source, &[]);
    let recording = stage.path("run.holdup");
    let mut command = Command::new(HOLDUP);
    run(command.arg("record").args(options).arg("-o").arg(&recording).arg("--").arg(&program));
    fs::remove_file(source).expect("remove the source");
    html(&recording, &stage.path("page.html"), &[])
}

#[test]
fn the_source_is_in_the_recording_unless_it_is_left_out() {
    let line = "pthread_mutex_lock(&#38;the_lock);";
    assert!(without_files(&[]).contains(line));
    assert!(!without_files(&["--no-source"]).contains(line));
}

#[test]
fn pages_that_cannot_be_written() {
    let stage = Stage::new();
    let recording = recorded(&stage, stage.program("hold_and_wait", &[]));
    let before = fs::read(&recording).expect("the recording");
    let name = recording.to_str().expect("UTF-8");
    let says = [name, "this is what the answer is made of", "give --html another name"];
    assert_refused(&report(&recording, &["--html", name]), 2, &says);
    assert_refused(&report(&recording, &["--output", name]), 2, &[name, "give --output another name"]);
    assert_eq!(fs::read(&recording).expect("the recording"), before);
    for (place, says) in [("/no/such/place/x.html", "No such file"), ("/dev/full", "No space left")] {
        assert_refused(&report(&recording, &["--html", place]), 2, &[place, says]);
    }
    let alone = report(&recording, &["--no-source"]);
    assert_eq!(alone.status, 2, "{alone:?}");
}

#[test]
fn the_page_is_opened_in_the_browser_that_was_named() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new();
    let recording = workspace().join("tests/recordings/critical_section.holdup");
    let opened = stage.path("opened");
    let browser =
        stage.write_executable("browser", format!("#!/bin/sh\necho \"$2\" > {}\n", opened.display()));
    let ended = run(Command::new(HOLDUP)
        .arg("open")
        .arg(&recording)
        .env("BROWSER", format!("/no/browser %s:{} --new %s", browser.display()))
        .env("TMPDIR", stage.directory()));
    assert_eq!(ended.status, 0, "{ended:?}");
    let said = text(&ended.stdout).trim().to_owned();
    let page = said.strip_prefix("page: ").expect("where the page is");
    // The browser is not waited for.
    let begin = std::time::Instant::now();
    while !fs::read_to_string(&opened).is_ok_and(|path| path.trim() == page) {
        assert!(begin.elapsed().as_secs() < 60, "no browser was started with {page}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let mode = fs::metadata(page).expect("the page").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "it is the user's alone, like the recording");
    let page = fs::read_to_string(page).expect("the page");
    assert!(
        page.starts_with("<!DOCTYPE html>") || page.starts_with("<!doctype html>"),
        "{:?}",
        page.get(..40)
    );
}

/// Sends a request to the server; gives the answer's head and body.
fn asked(port: u16, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    stream.write_all(request.as_bytes()).expect("write");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("read");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    (head.to_owned(), body.to_owned())
}

#[test]
fn who_knows_the_address_is_served_the_page() {
    let stage = Stage::new();
    let recording = workspace().join("tests/recordings/two_locks.holdup");
    let page = html(&recording, &stage.path("page.html"), &[]);
    // Killed at the end.
    let mut serve = start(Command::new(HOLDUP).arg("serve").arg(&recording));
    let line = serve.first_line();
    let address = line.trim().strip_prefix("page: http://127.0.0.1:").expect("an address of this machine");
    let (port, token) = address.split_once('/').expect("a port");
    let port = port.parse().expect("a port");
    assert!(token.trim_end_matches('/').len() == 32, "{token}");
    let get = |path: &str| asked(port, &format!("GET /{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"));
    // A connection that nothing is asked on does not keep others waiting.
    let _idle = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it listens");
    let (head, body) = get(token);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("text/html; charset=utf-8"), "{head}");
    assert_eq!(body, page);
    for wrong in ["", "index.html", &token[1..]] {
        let (head, body) = get(wrong);
        assert!(head.starts_with("HTTP/1.1 404 ") && !body.contains("<html"), "{wrong}: {head}");
    }
    let (head, body) = asked(port, &format!("HEAD /{token} HTTP/1.1\r\n\r\n"));
    assert!(head.contains(&format!("Content-Length: {}\r\n", page.len())) && body.is_empty(), "{head}");
    assert!(asked(port, &format!("POST /{token} HTTP/1.1\r\n\r\n")).0.starts_with("HTTP/1.1 405 "));
    let sockets = fs::read_to_string("/proc/net/tcp").expect("the sockets");
    let port = format!(":{port:04X} ");
    let listens =
        sockets.lines().filter_map(|line| line.split_once(": ")).filter(|(_, rest)| rest.contains(" 0A "));
    let own: Vec<&str> = listens.map(|(_, rest)| rest).filter(|rest| rest[..14].contains(&port)).collect();
    assert!(!own.is_empty() && own.iter().all(|rest| rest.starts_with("0100007F:")), "{own:?}");
}
