//! The servers that are measured, each with a client of its own package that says what it got.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// A server and its client.
pub(super) struct Server {
    pub(super) name: &'static str,
    /// Debian's packages that have both.
    pub(super) packages: &'static str,
    /// The name of its processes, as /proc has it.
    pub(super) process: &'static str,
    /// Makes what it serves, and gives the command that serves it.
    pub(super) prepare: fn(&Place) -> Result<Vec<String>>,
    /// Run once, when it answers for the first time.
    pub(super) fill: fn(&Place) -> Vec<Vec<String>>,
    /// The client for so many seconds.
    pub(super) load: fn(&Place, u32) -> Vec<String>,
    /// What the client got.
    pub(super) read: fn(&Place, &str) -> Option<Load>,
    /// What ends it at once.
    pub(super) signal: &'static str,
}

/// Where a server has its files, and where it answers.
pub(super) struct Place {
    pub(super) folder: PathBuf,
    pub(super) port: u16,
}

/// What a client got of a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) operations_per_second: f64,
    /// In milliseconds, where the client says it.
    pub(super) median_latency: Option<f64>,
}

/// Clients at once: enough to keep two cores busy.
const CONNECTIONS: &str = "16";

pub(super) const SERVERS: &[Server] = &[
    Server {
        name: "memcached",
        packages: "memcached libmemcached-tools",
        process: "memcached",
        prepare: |place| Ok(words(&format!("memcached -u nobody -l 127.0.0.1 -p {} -t 2 -m 64", place.port))),
        fill: |_| Vec::new(),
        load: |place, seconds| {
            words(&format!("memcaslap -s 127.0.0.1:{} -T 1 -c {CONNECTIONS} -t {seconds}s", place.port))
        },
        read: |_, said| {
            let line = said.lines().rev().find(|line| line.starts_with("Run time:"))?;
            Some(Load { operations_per_second: after(line, "TPS:")?, median_latency: None })
        },
        signal: "-TERM",
    },
    Server {
        name: "Redis",
        packages: "redis-server redis-tools",
        process: "redis-server",
        prepare: |place| {
            let folder = place.folder.display();
            let options = format!("--bind 127.0.0.1 --appendonly no --dir {folder}");
            let mut command = words(&format!("redis-server --port {} {options} --save", place.port));
            command.push(String::new());
            Ok(command)
        },
        fill: |_| Vec::new(),
        load: |place, seconds| {
            // A number of requests, not a time; about as many as a second holds here.
            let requests = 80_000 * seconds;
            let what = format!("-t get -n {requests} -c {CONNECTIONS} --csv");
            words(&format!("redis-benchmark -p {} {what}", place.port))
        },
        read: |_, said| {
            let line = said.lines().find(|line| line.starts_with("\"GET\""))?;
            let mut figures = line.split(',').skip(1).map(|word| word.trim_matches('"').parse::<f64>().ok());
            Some(Load { operations_per_second: figures.next()??, median_latency: figures.nth(2)? })
        },
        signal: "-TERM",
    },
    Server {
        name: "nginx",
        packages: "nginx wrk",
        process: "nginx",
        prepare: |place| {
            let folder = place.folder.display();
            fs::create_dir_all(place.folder.join("web"))?;
            fs::write(place.folder.join("web/index.html"), "x".repeat(1024))?;
            let http =
                format!("access_log off; server {{ listen 127.0.0.1:{}; root {folder}/web; }}", place.port);
            let text = format!(
                "daemon off; worker_processes 1; user root; pid {folder}/pid; error_log {folder}/log;\n\
                 events {{ worker_connections 256; }}\nhttp {{ {http} }}\n"
            );
            fs::write(place.folder.join("nginx.conf"), text)?;
            Ok(words(&format!("nginx -c {folder}/nginx.conf")))
        },
        fill: |_| Vec::new(),
        load: |place, seconds| {
            let how = format!("-t1 -c{CONNECTIONS} -d{seconds}s --latency");
            words(&format!("wrk {how} http://127.0.0.1:{}/", place.port))
        },
        read: |_, said| {
            let line = |name: &str| said.lines().find_map(|line| line.trim().strip_prefix(name));
            let latency = line("50%")?.trim();
            let (number, unit) = latency.split_at(latency.find(|c: char| c.is_ascii_alphabetic())?);
            let per_ms = if unit == "us" { 1000.0 } else { 1.0 };
            let operations_per_second = line("Requests/sec:")?.trim().parse().ok()?;
            Some(Load { operations_per_second, median_latency: Some(number.parse::<f64>().ok()? / per_ms) })
        },
        signal: "-TERM",
    },
    Server {
        name: "PostgreSQL",
        packages: "postgresql postgresql-contrib",
        process: "postgres",
        prepare: |place| {
            let data = place.folder.join("data");
            if !data.exists() {
                fs::create_dir_all(&data)?;
                done(&words(&format!("chown -R postgres {}", place.folder.display())))?;
                done(&as_postgres(&format!("initdb -D {} -A trust -U postgres", data.display())))?;
            }
            let options = "-c listen_addresses=127.0.0.1 -c unix_socket_directories=";
            Ok(as_postgres(&format!("postgres -D {} -p {} {options}", data.display(), place.port)))
        },
        fill: |place| vec![pgbench(place, "-i -s 5")],
        load: |place, seconds| {
            pgbench(place, &format!("-S -c 4 -j 1 -T {seconds} -l --log-prefix={}", log(place)))
        },
        read: |place, said| {
            let line = said.lines().find(|line| line.starts_with("tps = "))?;
            let median_latency = median_of_log(&place.folder);
            Some(Load { operations_per_second: after(line, "tps =")?, median_latency })
        },
        signal: "-INT",
    },
    Server {
        name: "MariaDB",
        packages: "mariadb-server sysbench",
        process: "mariadbd",
        prepare: |place| {
            let data = place.folder.join("data");
            if !data.exists() {
                let user = "--user=root --auth-root-authentication-method=normal";
                done(&words(&format!("mariadb-install-db --datadir={} {user}", data.display())))?;
            }
            let socket = place.folder.join("socket");
            let options = format!("--socket={} --user=root --bind-address=127.0.0.1", socket.display());
            let flush = "--innodb-flush-log-at-trx-commit=2";
            let data = data.display();
            Ok(words(&format!(
                "mariadbd --no-defaults --datadir={data} --port={} {options} {flush}",
                place.port
            )))
        },
        fill: |place| {
            let socket = place.folder.join("socket");
            let mut make = words(&format!("mariadb -S {} -u root -e", socket.display()));
            make.push("create database if not exists sbtest".to_owned());
            vec![make, sysbench(place, "prepare")]
        },
        load: |place, seconds| sysbench(place, &format!("--threads=4 --time={seconds} --percentile=50 run")),
        read: |_, said| {
            let line = |name: &str| said.lines().find_map(|line| line.trim().strip_prefix(name));
            let operations_per_second = after(line("transactions:")?, "(")?;
            Some(Load { operations_per_second, median_latency: after(line("50th percentile")?, ":") })
        },
        signal: "-TERM",
    },
];

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

/// PostgreSQL refuses to run as root.
fn as_postgres(line: &str) -> Vec<String> {
    words(&format!("setpriv --reuid postgres --regid postgres --clear-groups {line}"))
}

fn pgbench(place: &Place, what: &str) -> Vec<String> {
    words(&format!("pgbench -h 127.0.0.1 -p {} -U postgres {what} postgres", place.port))
}

fn sysbench(place: &Place, what: &str) -> Vec<String> {
    let socket = place.folder.join("socket");
    let how = format!("--db-driver=mysql --mysql-socket={} --mysql-user=root", socket.display());
    words(&format!("sysbench oltp_read_write {how} --tables=2 --table-size=10000 {what}"))
}

/// The number that follows a name in a line.
fn after(line: &str, name: &str) -> Option<f64> {
    line.split_once(name)?.1.split_whitespace().next()?.parse().ok()
}

const LOG: &str = "transactions";

fn log(place: &Place) -> String {
    place.folder.join(LOG).display().to_string()
}

/// The median of what pgbench wrote of each transaction: client, number, microseconds, … Takes the files away.
fn median_of_log(folder: &Path) -> Option<f64> {
    let mut all = Vec::new();
    for file in fs::read_dir(folder).ok()?.flatten() {
        if file.file_name().to_string_lossy().starts_with(LOG) {
            let text = fs::read_to_string(file.path()).ok()?;
            all.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<f64>().ok()));
            fs::remove_file(file.path()).ok()?;
        }
    }
    Some(crate::bench::measure::Spread::of(all)?.median / 1000.0)
}

/// Runs a command, which must succeed.
pub(super) fn done(words: &[String]) -> Result<String> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    let output = command.output().with_context(|| format!("{} does not run", words[0]))?;
    if !output.status.success() {
        let last = crate::bench::ways::last_line(&output.stderr);
        bail!("{}: {}: {last}", words.join(" "), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, said: &str) -> Option<Load> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("transactions.1"), "0 1 300 0 1 2\n0 2 500 0 1 2\n0 3 400 0 1 2\n")
            .expect("a log");
        let place = Place { folder: folder.path().to_owned(), port: 1 };
        let server = SERVERS.iter().find(|server| server.name == name).expect("a server");
        (server.read)(&place, said)
    }

    #[test]
    fn what_clients_say_is_read() {
        let load =
            |operations_per_second, median_latency| Some(Load { operations_per_second, median_latency });
        assert_eq!(
            read("memcached", "x\nRun time: 3.0s Ops: 262012 TPS: 87329 Net_rate: 97.7M/s\n"),
            load(87329.0, None)
        );
        assert_eq!(
            read("Redis", "\"test\",\"rps\"\n\"GET\",\"89793.48\",\"0.098\",\"0.024\",\"0.095\",\"0.127\"\n"),
            load(89793.48, Some(0.095))
        );
        assert_eq!(
            read("nginx", "     50%  213.00us\nRequests/sec:  71071.66\n"),
            load(71071.66, Some(0.213))
        );
        assert_eq!(read("nginx", "     50%  1.50ms\nRequests/sec:  71071.66\n"), load(71071.66, Some(1.5)));
        assert_eq!(read("PostgreSQL", "tps = 30870.5 (without initial)\n"), load(30870.5, Some(0.4)));
        let said = "    transactions:                        6476   (2156.82 per sec.)\n         50th percentile:                        1.67\n";
        assert_eq!(read("MariaDB", said), load(2156.82, Some(1.67)));
        assert_eq!(read("MariaDB", "FATAL: no\n"), None);
    }
}
