//! Runs scripts in headless Chromium. The page comes from a server of the test, to which the scripts send what they
//! found: so nothing waits for a length of time.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A browser that has said nothing for so long never will.
const LONGEST: Duration = Duration::from_secs(300);

/// What the scripts send to `/told`. They run after those of the page, whose policy, which would stop them, is taken out.
///
/// # Panics
/// If Chromium is not there, or the page logs an error, or the scripts never send anything.
pub(crate) fn run(page: &str, scripts: &[&str]) -> String {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("holdup-timeline-{}-{number}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    let page = page.replace("http-equiv=\"Content-Security-Policy\"", "data-policy");
    let scripts: String = scripts.iter().map(|script| format!("<script>{script}</script>\n")).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || serve(&listener, &format!("{page}\n{scripts}"), &sender));
    let log = directory.join("log");
    let mut browser = Command::new("chromium")
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            "--no-first-run",
        ])
        .args(["--window-size=1280,900", "--force-prefers-reduced-motion"])
        .arg(format!("--user-data-dir={}", directory.join("profile").display()))
        .arg(format!("http://{address}/"))
        .stdout(Stdio::null())
        .stderr(fs::File::create(&log).unwrap())
        .spawn()
        .expect("chromium runs: `cargo xtask test` installs it, or apt-get install chromium");
    let told = receiver.recv_timeout(LONGEST);
    browser.kill().unwrap();
    browser.wait().unwrap();
    let log = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
    // The browser's helpers may still be writing their last.
    let _ = fs::remove_dir_all(&directory);
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    told.unwrap_or_else(|_| panic!("the page told nothing; the browser said\n{log}"))
}

/// Answers until something was told.
fn serve(listener: &TcpListener, page: &str, told: &mpsc::Sender<String>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else { continue };
        if let Some(body) = answer(stream, page) {
            let _ = told.send(body);
            return;
        }
    }
}

/// Answers one request; gives what was sent to `/told`.
fn answer(mut stream: TcpStream, page: &str) -> Option<String> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut request = String::new();
    reader.read_line(&mut request).ok()?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let content = if request.starts_with("GET / ") { page } else { "" };
    let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html; charset=utf-8";
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{content}", content.len()).ok()?;
    request.starts_with("POST /told ").then(|| String::from_utf8_lossy(&body).into_owned())
}
