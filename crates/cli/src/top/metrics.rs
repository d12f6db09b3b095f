//! The figures for monitoring: OpenMetrics text over HTTP, on the loopback interface only.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use holdup_live::Survey;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::{Registry, Unit};
use tiny_http::{Header, Method, Request, Response, Server};

use crate::failure::Failure;

/// What is asked for the figures at each request.
pub(crate) type Ask = Arc<dyn Fn() -> Survey + Send + Sync>;

/// The content type of OpenMetrics 1.0.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";
/// The only place where there is something.
const PATH: &str = "/metrics";
/// How often it is looked whether to end.
const TICK: Duration = Duration::from_millis(200);

/// A server, until this is dropped.
pub(crate) struct Metrics {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl Metrics {
    /// Answers on a port of 127.0.0.1; 0 for any that is free.
    pub(crate) fn serve(port: u16, ask: Ask) -> Result<Metrics, Failure> {
        let server = Server::http((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
            Failure::machine(format!(
                "port {port} of 127.0.0.1 cannot be listened on ({error}); choose another with --metrics=PORT"
            ))
        })?;
        let address = server.server_addr().to_ip().unwrap_or((Ipv4Addr::LOCALHOST, port).into());
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let answer = move || {
            while !seen.load(Ordering::Acquire) {
                if let Ok(Some(request)) = server.recv_timeout(TICK) {
                    respond(request, &ask);
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

fn respond(request: Request, ask: &Ask) {
    let path = request.url().split('?').next().unwrap_or_default();
    let (status, kind, body) = match (request.method(), path) {
        (Method::Get | Method::Head, PATH) => (200, OPEN_METRICS, text(ask())),
        (Method::Get | Method::Head, _) => (404, PLAIN, format!("holdup top: see {PATH}\n")),
        _ => (405, PLAIN, "holdup top: only GET\n".to_owned()),
    };
    let mut response = Response::from_string(body).with_status_code(status);
    if let Ok(header) = Header::from_bytes("Content-Type", kind) {
        response.add_header(header);
    }
    // Who has gone away meanwhile needs no answer.
    let _ = request.respond(response);
}

/// A survey as OpenMetrics text.
pub(crate) fn text(survey: Survey) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Figures(survey)));
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Figures(Survey);

type Labels = Vec<(&'static str, String)>;

impl Figures {
    fn family<N>(
        encoder: &mut DescriptorEncoder<'_>,
        (name, help, unit): (&str, &str, Option<&Unit>),
        values: impl Iterator<Item = (Labels, N)>,
    ) -> fmt::Result
    where
        ConstCounter<N>: EncodeMetric,
        N: Default,
    {
        let kind = ConstCounter::new(N::default()).metric_type();
        let mut family = encoder.encode_descriptor(name, help, unit, kind)?;
        for (labels, value) in values {
            ConstCounter::new(value).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    /// A value of each thread.
    fn threads<N>(&self, value: impl Fn(&holdup_live::ThreadSeen) -> N) -> impl Iterator<Item = (Labels, N)> {
        self.0.processes.iter().flat_map(move |process| {
            let labelled = process.threads.iter().map(|thread| {
                let labels = vec![
                    ("pid", process.pid.to_string()),
                    ("process", process.name.clone()),
                    ("tid", thread.tid.to_string()),
                    ("thread", thread.number.to_string()),
                    ("name", thread.name.clone()),
                ];
                (labels, value(thread))
            });
            labelled.collect::<Vec<_>>()
        })
    }
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let encoder = &mut encoder;
        let what = (
            "holdup_thread_criticality",
            "Time of the thread, each moment divided by the number of threads of its process that were active in it",
            Some(&Unit::Seconds),
        );
        Self::family(encoder, what, self.threads(|thread| seconds(thread.criticality_ns)))?;
        let what = ("holdup_thread_active", "Time in which the thread was active", Some(&Unit::Seconds));
        Self::family(encoder, what, self.threads(|thread| seconds(thread.active_ns)))?;
        let what = ("holdup_thread_changes", "How often the thread became active or ceased to be", None);
        Self::family(encoder, what, self.threads(|thread| thread.changes))?;
        let what =
            ("holdup_process_followed", "Time for which the process has been followed", Some(&Unit::Seconds));
        let processes = self.0.processes.iter().map(|process| {
            let labels = vec![("pid", process.pid.to_string()), ("process", process.name.clone())];
            (labels, seconds(process.age_ns))
        });
        Self::family(encoder, what, processes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use holdup_live::Doing;

    use super::super::view::tests::{survey, thread};
    use super::*;

    const S: u64 = 1_000_000_000;

    fn example() -> Survey {
        survey(3 * S, vec![thread(0, "a\"b\\c\nd", Doing::Active, (S / 2, S, 7))])
    }

    #[test]
    fn text_is_open_metrics() {
        let labels = r#"pid="100",process="app",tid="100",thread="0",name="a\"b\\c\nd""#;
        let expected = format!(
            "# HELP holdup_thread_criticality_seconds Time of the thread, each moment divided by the number of threads of its \
             process that were active in it\n\
             # TYPE holdup_thread_criticality_seconds counter\n\
             # UNIT holdup_thread_criticality_seconds seconds\n\
             holdup_thread_criticality_seconds_total{{{labels}}} 0.5\n\
             # HELP holdup_thread_active_seconds Time in which the thread was active\n\
             # TYPE holdup_thread_active_seconds counter\n\
             # UNIT holdup_thread_active_seconds seconds\n\
             holdup_thread_active_seconds_total{{{labels}}} 1.0\n\
             # HELP holdup_thread_changes How often the thread became active or ceased to be\n\
             # TYPE holdup_thread_changes counter\n\
             holdup_thread_changes_total{{{labels}}} 7\n\
             # HELP holdup_process_followed_seconds Time for which the process has been followed\n\
             # TYPE holdup_process_followed_seconds counter\n\
             # UNIT holdup_process_followed_seconds seconds\n\
             holdup_process_followed_seconds_total{{pid=\"100\",process=\"app\"}} 2.0\n\
             # EOF\n"
        );
        assert_eq!(text(example()), expected);
    }

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
