//! The figures for monitoring: OpenMetrics text over HTTP, on the loopback interface only.

mod open_metrics;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use holdup_live::Survey;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::failure::Failure;

pub(crate) use open_metrics::text;

/// What is asked for the figures at each request.
pub(crate) type Ask = Arc<dyn Fn() -> Survey + Send + Sync>;

/// The content type of OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
/// The only place where there is something.
const PATH: &str = "/metrics";
/// How often it is looked whether to end, in nanoseconds.
const TICK: i64 = 200_000_000;
/// How long a client may take for its request, and again for taking the answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest request that is read: browsers send some hundred bytes, with cookies some thousand.
const MOST_BYTES: usize = 16 << 10;
/// Header fields of a request at most.
const MOST_HEADERS: usize = 64;
/// Clients that are answered at a time. More are let go: each has a thread.
const MOST_CLIENTS: usize = 32;

/// A server, until this is dropped.
pub(crate) struct Metrics {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl Metrics {
    /// Answers on a port of 127.0.0.1; 0 for any that is free.
    pub(crate) fn serve(port: u16, ask: Ask) -> Result<Metrics, Failure> {
        let listen = || {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
            // A client may be gone between the poll that tells of it and the call that takes it.
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        };
        let (address, listener) = listen().map_err(|error: io::Error| {
            Failure::machine(format!(
                "port {port} of 127.0.0.1 cannot be listened on ({error}); choose another with --metrics=PORT"
            ))
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let answer = move || {
            let clients = Arc::new(());
            while !seen.load(Ordering::Acquire) {
                if let Some(stream) = next_client(&listener) {
                    start(stream, &clients, &ask);
                }
            }
        };
        let thread = std::thread::Builder::new().name("holdup metrics".into()).spawn(answer);
        let thread = thread.map_err(|error| Failure::machine(format!("no thread for metrics: {error}")))?;
        Ok(Metrics { stop, thread: Some(thread), address })
    }

    /// Where they are.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.thread.take().map(JoinHandle::join);
    }
}

/// Waits for a client, for a moment.
fn next_client(listener: &TcpListener) -> Option<TcpStream> {
    let wait = Timespec { tv_sec: 0, tv_nsec: TICK };
    let ready = poll(&mut [PollFd::new(listener, PollFlags::IN)], Some(&wait)).is_ok_and(|ready| ready > 0);
    let accepted = ready.then(|| listener.accept());
    if let Some(Err(_)) = accepted {
        // Such as too many open files, which would be tried again without a pause.
        std::thread::sleep(Duration::from_nanos(TICK.cast_unsigned()));
    }
    accepted?.ok().map(|(stream, _)| stream)
}

/// Answers a client in a thread of its own, so that a slow one keeps nobody else waiting. `clients` is held by each thread.
fn start(stream: TcpStream, clients: &Arc<()>, ask: &Ask) {
    if Arc::strong_count(clients) > MOST_CLIENTS {
        return;
    }
    let (here, ask) = (Arc::clone(clients), Arc::clone(ask));
    let answer = move || {
        // Who has gone away meanwhile needs no answer.
        let _ = respond(stream, &ask);
        drop(here);
    };
    // Without a thread there is no answer; the next request may have more luck.
    let _ = std::thread::Builder::new().name("holdup metrics".into()).spawn(answer);
}

fn respond(mut stream: TcpStream, ask: &Ask) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read(&mut stream)?;
    let (status, kind, body) = match request.as_ref().map(|(method, path)| (method.as_str(), path.as_str())) {
        Some(("GET" | "HEAD", PATH)) => ("200 OK", OPEN_METRICS, text(&ask())),
        Some(("GET" | "HEAD", _)) => ("404 Not Found", PLAIN, format!("holdup top: see {PATH}\n")),
        Some(_) => ("405 Method Not Allowed", PLAIN, "holdup top: only GET\n".to_owned()),
        None => ("400 Bad Request", PLAIN, "holdup top: this is no request\n".to_owned()),
    };
    let allowed = if status.starts_with("405") { "Allow: GET, HEAD\r\n" } else { "" };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{allowed}Connection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if request.is_none_or(|(method, _)| method != "HEAD") {
        stream.write_all(body.as_bytes())?;
    }
    stream.shutdown(Shutdown::Write)?;
    // What was sent and not read would take the answer away from its reader when the connection is closed.
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    io::copy(&mut stream.take(MOST_BYTES as u64), &mut io::sink())?;
    Ok(())
}

/// The method and path of a request; `None` if it is none.
fn read(stream: &mut TcpStream) -> io::Result<Option<(String, String)>> {
    let until = Instant::now() + PATIENCE;
    let mut bytes = Vec::new();
    let mut part = [0; 2048];
    while bytes.len() < MOST_BYTES {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&part[..count]),
        }
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(_)) => {
                let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default();
                return Ok(Some((request.method.unwrap_or_default().to_owned(), path.to_owned())));
            }
            Err(_) => return Ok(None),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::open_metrics::tests::example;
    use super::*;

    fn ask(metrics: &Metrics, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(metrics.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(request).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn bad_requests_are_harmless() {
        let metrics = Metrics::serve(0, Arc::new(example)).unwrap();
        assert!(metrics.address.ip().is_loopback());
        let close = "Connection: close\r\n\r\n";
        let of = |line: &str| ask(&metrics, format!("{line} HTTP/1.1\r\nHost: x\r\n{close}").as_bytes());
        let good = |answer: &str| answer.starts_with("HTTP/1.1 200") && answer.ends_with("# EOF\n");
        assert!(good(&of("GET /metrics")));
        assert!(of("GET /").starts_with("HTTP/1.1 404"));
        assert!(of("GET /../../etc/passwd").starts_with("HTTP/1.1 404"));
        assert!(of("DELETE /metrics").starts_with("HTTP/1.1 405"));
        ask(&metrics, b"\0\xff\xfe nonsense\r\n\r\n");
        drop(TcpStream::connect(metrics.address).unwrap());
        // One that never ends its request keeps nobody else from an answer.
        let mut slow = TcpStream::connect(metrics.address).unwrap();
        slow.write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
        assert!(good(&of("GET /metrics?now")));
    }

    #[test]
    fn a_port_that_is_taken_is_refused_in_a_line() {
        let first = Metrics::serve(0, Arc::new(example)).unwrap();
        assert!(Metrics::serve(first.address.port(), Arc::new(example)).is_err());
    }
}
