//! `holdup serve`: the page of a recording, for browsers of this machine and those that are led to it (`ssh -L`).

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::failure::Failure;
use crate::report::page_of;

/// A request with more than this before its empty line is none of a browser's.
const LONGEST_REQUEST: usize = 16 * 1024;
/// Who does not read or write for so long is left.
const PATIENCE: Duration = Duration::from_secs(10);

/// Further connections are closed.
const MOST_AT_ONCE: usize = 64;

/// Options of `holdup serve`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ServeOptions {
    /// The recording; of several of one program that with the median wall time is shown, with what the others say
    #[arg(value_name = "FILE", required = true)]
    pub recordings: Vec<PathBuf>,
    /// Leave the program's source out of the page
    #[arg(long)]
    pub no_source: bool,
    /// Listen at this port of 127.0.0.1 [default: one that is free]
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
}

/// Makes the page and gives it to who knows its address, until it is killed.
pub(crate) fn serve(options: &ServeOptions) -> Result<ExitCode, Failure> {
    let page = page_of(&options.recordings, options.no_source)?;
    let failed = |error: io::Error| {
        Failure::machine(format!("port {} of 127.0.0.1 cannot be listened at: {error}", options.port))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let path = format!("/{}/", token().map_err(failed)?);
    println!("page: http://127.0.0.1:{port}{path}");
    eprintln!(
        "holdup: Ctrl-C ends it; from another machine: ssh -L {port}:127.0.0.1:{port} HOST, then the same address there"
    );
    let served = Arc::new((path, page));
    for stream in listener.incoming().flatten() {
        if Arc::strong_count(&served) > MOST_AT_ONCE {
            continue;
        }
        let served = Arc::clone(&served);
        // Browsers open connections that they do not use yet.
        let answers = std::thread::Builder::new().spawn(move || answer(&stream, &served.0, &served.1));
        drop(answers);
    }
    Ok(ExitCode::SUCCESS)
}

/// 128 random bits: other users of the machine do not guess the address.
fn token() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Answers one request, and closes the connection.
fn answer(mut stream: &TcpStream, path: &str, page: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut part)?;
        if count == 0 || request.len() > LONGEST_REQUEST {
            return Ok(());
        }
        request.extend_from_slice(&part[..count]);
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, wanted) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, body) = match method {
        "GET" | "HEAD" if wanted == path => ("200 OK", page),
        "GET" | "HEAD" => ("404 Not Found", "Not here: the whole address is what holdup serve printed.\n"),
        _ => ("405 Method Not Allowed", "Only GET.\n"),
    };
    let kind = if status.starts_with('2') { "text/html" } else { "text/plain" };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}; charset=utf-8\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
}
