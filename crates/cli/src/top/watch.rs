//! Following: a screen, or lines, until it is over.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use holdup_pirate::{Change, Guardian, Undo};
use holdup_report::{Look, escaped};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, kill_current_process_group};
use rustix::termios::ttyname;
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::TopOptions;
use super::held::Held;
use super::lines;
use super::metrics::Metrics;
use super::screen::{Scene, draw};
use super::source::Source;
use super::ui::{Action, Ui};
use super::view::{History, View};
use crate::failure::Failure;
use crate::undo_changes::UNDO_CHANGES;

/// How soon the end of the program is noticed.
const TICK: Duration = Duration::from_millis(100);

/// Where what is found goes.
#[derive(Debug)]
pub(crate) enum Outlet {
    /// A screen, on standard output or standard error.
    Screen { stdout: bool },
    /// Lines.
    Lines(Lines),
}

/// Where lines go.
#[derive(Debug)]
pub(crate) enum Lines {
    Stdout,
    Stderr,
    File(File),
}

impl Lines {
    /// False if nobody reads any more.
    fn write(&mut self, text: &str) -> bool {
        let written = match self {
            Lines::Stdout => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
            Lines::Stderr => io::stderr().write_all(text.as_bytes()),
            Lines::File(file) => file.write_all(text.as_bytes()),
        };
        written.is_ok()
    }
}

impl Outlet {
    /// A screen where there is a terminal; `stdout` if standard output is holdup's own, and not the program's.
    pub(crate) fn choose(options: &TopOptions, stdout: bool) -> Result<Outlet, Failure> {
        if let Some(path) = options.earlier.or(options.answered.printed.output.as_deref()) {
            let file = File::create(path).map_err(|error| {
                Failure::input(format!(
                    "{}: cannot be written ({error}); choose another place",
                    path.display()
                ))
            })?;
            return Ok(Outlet::Lines(Lines::File(file)));
        }
        let is_terminal = if stdout { io::stdout().is_terminal() } else { io::stderr().is_terminal() };
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        Ok(match (is_terminal && !is_dumb && !options.batch && !options.answered.json, stdout) {
            (true, stdout) => Outlet::Screen { stdout },
            (false, true) => Outlet::Lines(Lines::Stdout),
            (false, false) => Outlet::Lines(Lines::Stderr),
        })
    }
}

/// Follows a source until it ends, or the user has seen enough.
pub(crate) fn watch(
    options: &TopOptions,
    outlet: Outlet,
    source: Source,
    held: Option<&mut Held>,
) -> Result<(), Failure> {
    let metrics = options.metrics.map(|port| Metrics::serve(port, source.ask())).transpose()?;
    let stop = Arc::new(AtomicBool::new(false));
    // A program that holdup started gets them, and ends or not.
    if options.pid.is_some() {
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let _ = signal_hook::flag::register(signal, Arc::clone(&stop));
        }
    }
    let watcher =
        Watcher { options, source, stop, begin: Instant::now(), history: History::default(), own: own_cpu() };
    match outlet {
        Outlet::Lines(lines) => {
            if let Some(metrics) = &metrics {
                eprintln!("metrics: {}", metrics.url());
            }
            watcher.print(lines);
            Ok(())
        }
        Outlet::Screen { stdout } => watcher.show(stdout, metrics.as_ref(), held),
    }
}

struct Watcher<'a> {
    options: &'a TopOptions,
    source: Source,
    stop: Arc<AtomicBool>,
    begin: Instant,
    history: History,
    /// CPU time that holdup had used at the beginning.
    own: Duration,
}

impl Watcher<'_> {
    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.source.has_ended()
    }

    /// CPU time that holdup itself has used since it follows.
    fn own_cpu(&self) -> Duration {
        own_cpu().saturating_sub(self.own)
    }

    fn own_share(&self) -> String {
        let share = 100.0 * self.own_cpu().as_secs_f64() / self.begin.elapsed().as_secs_f64().max(1e-9);
        format!("holdup uses {share:.1} % of a CPU")
    }

    fn age_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    /// Prints each interval.
    fn print(mut self, mut out: Lines) {
        self.history.take(self.source.survey());
        let mut next = self.begin + self.options.interval;
        for number in 1.. {
            while Instant::now() < next && !self.is_over() {
                std::thread::sleep(TICK.min(next.saturating_duration_since(Instant::now())));
            }
            next += self.options.interval;
            let is_over = self.is_over();
            let view = self.history.take(self.source.survey());
            let text = self.text(&view, is_over);
            if !out.write(&text) || is_over || self.options.count.is_some_and(|count| number >= count) {
                return;
            }
        }
    }

    fn text(&self, view: &View, is_over: bool) -> String {
        let order = self.options.sort;
        if self.options.answered.json {
            let own_ns = self.own_cpu().as_nanos() as u64;
            return lines::json_line(view, order, (self.age_ns(), own_ns), self.source.word(), is_over);
        }
        let source = format!("{}; {}", self.source.sentences().0, self.own_share());
        lines::lines(view, order, self.age_ns(), &source) + "\n"
    }

    /// Shows a screen.
    fn show(
        mut self,
        stdout: bool,
        metrics: Option<&Metrics>,
        mut held: Option<&mut Held>,
    ) -> Result<(), Failure> {
        let look = if stdout {
            self.options.answered.printed.look(&io::stdout())
        } else {
            self.options.answered.printed.look(&io::stderr())
        };
        let failed = |error: io::Error| {
            Failure::machine(format!("the terminal cannot be used ({error}); print lines with --batch"))
        };
        let shown = Screen::open(stdout)
            .and_then(|mut screen| self.run(&mut screen, &look, metrics, held.as_deref_mut()));
        if let Some(held) = held {
            let _ = held.show();
        }
        let last = shown.map_err(failed)?;
        let age_ns = self.age_ns();
        let text = lines::lines(&last, self.options.sort, age_ns, self.source.sentences().0);
        let mut out = if stdout { Lines::Stdout } else { Lines::Stderr };
        out.write(&text);
        Ok(())
    }

    /// Draws and hears until it is over; gives what was found of the whole time.
    fn run(
        &mut self,
        screen: &mut Screen,
        look: &Look,
        metrics: Option<&Metrics>,
        mut held: Option<&mut Held>,
    ) -> io::Result<View> {
        let mut ui = Ui::new(self.options.sort);
        let interval = self.options.interval;
        let mut latest = self.source.survey();
        self.history.take(latest.clone());
        let mut view = self.history.recently();
        let mut next = self.begin + interval;
        let mut looks = 0;
        loop {
            let mut rows = view.rows.clone();
            ui.order.sort(&mut rows, ui.reversed);
            let chosen = ui.position(&rows).and_then(|at| rows.get(at));
            let source = self.sentence(metrics);
            let scene = Scene {
                view: &view,
                rows: &rows,
                ui: &ui,
                course: chosen.map(|row| self.history.course(row)),
                source: &source,
                age_ns: self.age_ns(),
                interval_ns: interval.as_nanos() as u64,
                output: held.as_deref_mut().map(Held::unseen),
                colored: look.color,
                unicode: look.unicode,
            };
            screen.terminal.draw(|frame| draw(frame, &scene))?;
            loop {
                let left = next.saturating_duration_since(Instant::now());
                if !screen.wait(left.min(TICK)) {
                    return Ok(View::between(None, &latest));
                }
                let Some(heard) = screen.hear()? else { return Ok(View::between(None, &latest)) };
                if let Some(event) = heard {
                    match event {
                        Event::Key(key) => match ui.press(key, &rows) {
                            Action::Stay => {}
                            Action::Interrupt if self.options.pid.is_none() => signal_all(Signal::INT),
                            Action::Abort if self.options.pid.is_none() => signal_all(Signal::QUIT),
                            Action::Quit | Action::Interrupt | Action::Abort => {
                                return Ok(View::between(None, &latest));
                            }
                            Action::Suspend => screen.suspend()?,
                            Action::ShowProgram => {
                                if let Some(held) = held.as_deref_mut() {
                                    self.show_program(screen, held)?;
                                }
                            }
                        },
                        Event::Resize(..) => {}
                        _ => continue,
                    }
                    break;
                }
                if self.is_over() || Instant::now() >= next {
                    latest = self.source.survey();
                    self.history.take(latest.clone());
                    if !ui.paused {
                        view = self.history.recently();
                    }
                    while next <= Instant::now() {
                        next += interval;
                    }
                    looks += 1;
                    break;
                }
            }
            if self.is_over() || self.options.count.is_some_and(|count| looks >= count) {
                return Ok(View::between(None, &latest));
            }
        }
    }

    /// Shows what the program writes, until enter is pressed or it ends.
    fn show_program(&self, screen: &mut Screen, held: &mut Held) -> io::Result<()> {
        screen.give_back();
        while !self.is_over() && screen.wait(TICK) {
            held.show()?;
            match screen.hear()? {
                Some(Some(Event::Key(KeyEvent { code: KeyCode::Enter, .. }))) | None => break,
                _ => {}
            }
        }
        screen.again()
    }

    fn sentence(&self, metrics: Option<&Metrics>) -> String {
        let source = format!("{}; {}", self.own_share(), escaped(&self.source.sentences().1));
        match metrics {
            Some(metrics) => format!("{}  {source}", metrics.url()),
            None => source,
        }
    }
}

fn own_cpu() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// The terminal while it is holdup's: as it was, when this is dropped, or when holdup is killed.
struct Screen {
    terminal: Terminal<CrosstermBackend<Box<dyn Write>>>,
    /// The terminal, where keys come from.
    keyboard: OwnedFd,
    stdout: bool,
    /// Who gives the terminal back after a kill. Without it, it is only that nobody does.
    guardian: Option<Guardian>,
    change: Option<Change>,
}

impl Screen {
    fn open(stdout: bool) -> io::Result<Screen> {
        let mut command = Command::new("/proc/self/exe");
        command.arg(UNDO_CHANGES);
        let guardian = Guardian::start(command).ok();
        let terminal = Terminal::new(CrosstermBackend::new(writer(stdout)))?;
        let stdin = io::stdin();
        let keyboard = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned()?
        } else {
            File::open("/dev/tty")?.into()
        };
        let mut screen = Screen { terminal, keyboard, stdout, guardian, change: None };
        screen.take()?;
        Ok(screen)
    }

    /// What was heard meanwhile, if anything; `None` once the terminal was closed.
    fn hear(&self) -> io::Result<Option<Option<Event>>> {
        // Nothing is looked for in no time at all.
        const A_MOMENT: Duration = Duration::from_millis(1);
        let heard =
            event::poll(A_MOMENT).and_then(|any| if any { event::read().map(Some) } else { Ok(None) });
        match heard {
            Err(_) if !self.wait(Duration::ZERO) => Ok(None),
            heard => heard.map(Some),
        }
    }

    /// Waits for a key, at most so long; false once the terminal was closed.
    fn wait(&self, longest: Duration) -> bool {
        let mut asked = [PollFd::new(&self.keyboard, PollFlags::IN)];
        let timeout = Timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos().into() };
        // What interrupts is a signal: that the window has another size, perhaps.
        let _ = poll(&mut asked, Some(&timeout));
        !asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    fn take(&mut self) -> io::Result<()> {
        let undo = Undo::of_terminal(&keyboard());
        self.change =
            undo.ok().zip(self.guardian.as_ref()).and_then(|(undo, guardian)| guardian.before(undo).ok());
        enable_raw_mode()?;
        execute!(writer(self.stdout), EnterAlternateScreen)
    }

    /// The screen of before, the cursor, and keys as they were. Nothing is to be done where that fails: the terminal is gone.
    fn give_back(&mut self) {
        let _ = execute!(writer(self.stdout), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        if let Some(change) = self.change.take() {
            change.is_undone();
        }
    }

    /// Ctrl-Z: stops holdup as the terminal would have, and goes on when it is continued.
    fn suspend(&mut self) -> io::Result<()> {
        self.give_back();
        signal_all(Signal::TSTP);
        self.again()
    }

    /// Takes the terminal back.
    fn again(&mut self) -> io::Result<()> {
        self.take()?;
        self.terminal.clear()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// What the terminal does when it is not in our hands: the program is in our process group, and so are those that it pipes to.
fn signal_all(signal: Signal) {
    let _ = kill_current_process_group(signal);
}

fn writer(stdout: bool) -> Box<dyn Write> {
    if stdout { Box::new(io::stdout()) } else { Box::new(io::stderr()) }
}

/// The terminal whose modes are changed: that of standard input, or the one that controls the process.
fn keyboard() -> PathBuf {
    let name = ttyname(io::stdin(), Vec::new()).ok();
    let name = name.and_then(|name| name.into_string().ok());
    name.map_or_else(|| PathBuf::from("/dev/tty"), PathBuf::from)
}
