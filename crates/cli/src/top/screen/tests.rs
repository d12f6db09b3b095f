//! Screens of several sizes, compared with those that were looked at.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::view::tests::{survey, thread};
use super::*;

const S: u64 = 1_000_000_000;

fn view() -> View {
    let threads = vec![
        thread(0, "main", Doing::Waits("thread".to_owned()), (S / 20, S / 10, 2)),
        thread(1, "producer", Doing::Active, (3 * S, 7 * S / 2, 412_345)),
        thread(2, "consumer\u{1b}[2J", Doing::Waits("lock".to_owned()), (S / 2, S, 412_343)),
        thread(3, "gone", Doing::Ended, (S / 4, S / 4, 2)),
    ];
    View::between(None, &survey(5 * S, threads))
}

fn drawn(width: u16, height: u16, change: impl FnOnce(&mut Ui, &[Row])) -> String {
    let view = view();
    let mut ui = Ui::new(Order::Now);
    let mut rows = view.rows.clone();
    ui.order.sort(&mut rows, false);
    change(&mut ui, &rows);
    let course = Course { shares: (0..60).map(|at| f64::from(at) / 60.0).collect(), ..Course::default() };
    let scene = Scene {
        view: &view,
        rows: &rows,
        ui: &ui,
        course: Some(course),
        source: "by holdup's library",
        age_ns: 4 * S,
        interval_ns: S,
        output: Some(0),
        colored: true,
        unicode: true,
    };
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, &scene)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>().trim_end().to_owned();
    (0..height).map(line).collect::<Vec<_>>().join("\n")
}

fn chosen(ui: &mut Ui, rows: &[Row]) {
    ui.chosen = rows.first().map(|row| row.who);
    ui.details = true;
}

#[test]
fn eighty_columns_have_every_figure() {
    let screen = drawn(80, 24, |_, _| {});
    for word in ["producer", "75.0", "█", "103086", "101", "active", "waits: thread", "q leave"] {
        assert!(screen.contains(word), "{word}:\n{screen}");
    }
    assert!(screen.contains("consumer\\u{1b}[") && !screen.contains('\u{1b}'), "{screen}");
}

#[test]
fn a_screen_of_eighty_columns_is_as_it_was() {
    assert_eq!(drawn(80, 9, |_, _| {}), include_str!("80x9.txt").trim_end_matches('\n'));
}

#[test]
fn details_show_the_course_of_the_chosen_thread() {
    assert_eq!(drawn(80, 24, chosen), include_str!("details.txt").trim_end_matches('\n'));
}

#[test]
fn no_terminal_is_too_small() {
    for width in (1..100).step_by(3) {
        for height in (1..30).step_by(2) {
            drawn(width, height, |_, _| {});
            drawn(width, height, chosen);
            drawn(width, height, |ui, rows| {
                chosen(ui, rows);
                ui.help = true;
            });
        }
    }
    assert_eq!(drawn(6, 1, |_, _| {}).trim(), "75.0");
    assert!(drawn(30, 4, |_, _| {}).contains("producer"));
}

#[test]
fn the_chosen_thread_stays_in_sight() {
    let screen = drawn(80, 6, |ui, rows| ui.chosen = rows.last().map(|row| row.who));
    assert!(screen.contains("main"), "{screen}");
}

#[test]
fn help_says_what_critical_means() {
    let screen = drawn(80, 24, |ui, _| ui.help = true);
    assert!(screen.contains("1/n of the time") && screen.contains("enter comes back"), "{screen}");
}
