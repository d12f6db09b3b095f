//! What the keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::view::{Order, Row, Who};

/// What the user has chosen.
#[derive(Clone, Debug)]
pub(crate) struct Ui {
    pub order: Order,
    pub reversed: bool,
    pub paused: bool,
    pub details: bool,
    pub help: bool,
    /// The chosen thread.
    pub chosen: Option<Who>,
}

/// What is to be done besides drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Nothing.
    Stay,
    /// The screen is to be left.
    Quit,
    /// Ctrl-C: what the terminal would have done.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-\.
    Abort,
    /// What the program has written is to be shown.
    ShowProgram,
}

/// The keys, for the help.
pub(crate) const KEYS: &[(&str, &str)] = &[
    ("q", "leave; the program goes on"),
    ("space", "hold the figures, and go on"),
    ("← →  s", "sort by the column before or behind"),
    ("r", "the other way round"),
    ("↑ ↓", "choose a thread"),
    ("enter", "details of the chosen thread"),
    ("o", "see what the program has written; enter comes back"),
    ("Ctrl-C", "goes to the program that holdup started"),
    ("h", "this help"),
];

impl Ui {
    pub(crate) fn new(order: Order) -> Ui {
        Ui { order, reversed: false, paused: false, details: false, help: false, chosen: None }
    }

    /// A key was pressed while `rows` were shown.
    pub(crate) fn press(&mut self, key: KeyEvent, rows: &[Row]) -> Action {
        if key.kind == KeyEventKind::Release {
            return Action::Stay;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c') => Action::Interrupt,
                KeyCode::Char('z') => Action::Suspend,
                // What terminals send for Ctrl-\ is known by either name.
                KeyCode::Char('\\' | '4') => Action::Abort,
                _ => Action::Stay,
            };
        }
        match key.code {
            KeyCode::Char('q') => return Action::Quit,
            KeyCode::Char('o') => return Action::ShowProgram,
            KeyCode::Esc if self.help => self.help = false,
            KeyCode::Esc => self.details = false,
            KeyCode::Char('h' | '?') => self.help = !self.help,
            KeyCode::Char(' ' | 'p') => self.paused = !self.paused,
            KeyCode::Char('r') => self.reversed = !self.reversed,
            KeyCode::Char('s') | KeyCode::Right => self.turn(1),
            KeyCode::Char('S') | KeyCode::Left => self.turn(Order::ALL.len() - 1),
            KeyCode::Enter => {
                self.details = !self.details;
                if self.details && self.position(rows).is_none() {
                    self.choose(rows, 0);
                }
            }
            KeyCode::Down | KeyCode::Char('j') => self.step(rows, 1),
            KeyCode::Up | KeyCode::Char('k') => self.step(rows, -1),
            KeyCode::PageDown => self.step(rows, 10),
            KeyCode::PageUp => self.step(rows, -10),
            KeyCode::Home => self.choose(rows, 0),
            KeyCode::End => self.choose(rows, usize::MAX),
            _ => {}
        }
        Action::Stay
    }

    fn turn(&mut self, by: usize) {
        let now = Order::ALL.iter().position(|order| *order == self.order).unwrap_or(0);
        self.order = Order::ALL[(now + by) % Order::ALL.len()];
        self.reversed = false;
    }

    fn step(&mut self, rows: &[Row], by: isize) {
        let to = match self.position(rows) {
            Some(at) => at.saturating_add_signed(by),
            None => 0,
        };
        self.choose(rows, to);
    }

    fn choose(&mut self, rows: &[Row], at: usize) {
        let row = rows.get(at.min(rows.len().saturating_sub(1)));
        self.chosen = row.map(|row| row.who);
    }

    /// Where the chosen thread is among these.
    pub(crate) fn position(&self, rows: &[Row]) -> Option<usize> {
        let chosen = self.chosen?;
        rows.iter().position(|row| row.who == chosen)
    }
}

#[cfg(test)]
mod tests {
    use holdup_live::Doing;

    use super::super::view::View;
    use super::super::view::tests::{survey, thread};
    use super::*;

    fn rows() -> Vec<Row> {
        let threads = (0..5).map(|number| thread(number, "t", Doing::Active, (0, 0, 0))).collect();
        View::between(None, &survey(2_000_000_000, threads)).rows
    }

    fn press(ui: &mut Ui, code: KeyCode) -> Action {
        ui.press(KeyEvent::new(code, KeyModifiers::NONE), &rows())
    }

    #[test]
    fn the_chosen_thread_stays_chosen_when_the_order_changes() {
        let mut ui = Ui::new(Order::Now);
        press(&mut ui, KeyCode::Down);
        press(&mut ui, KeyCode::Down);
        assert_eq!(ui.position(&rows()), Some(1));
        let mut turned = rows();
        turned.reverse();
        assert_eq!(ui.position(&turned), Some(3));
        press(&mut ui, KeyCode::PageDown);
        assert_eq!(ui.position(&rows()), Some(4), "not beyond the end");
        press(&mut ui, KeyCode::PageUp);
        press(&mut ui, KeyCode::Up);
        assert_eq!(ui.position(&rows()), Some(0), "nor before the start");
        assert_eq!(ui.press(KeyEvent::new(KeyCode::Down, KeyModifiers::NONE), &[]), Action::Stay);
        assert_eq!(ui.chosen, None);
    }

    #[test]
    fn orders_go_round_both_ways() {
        let mut ui = Ui::new(Order::Now);
        for _ in 0..Order::ALL.len() {
            press(&mut ui, KeyCode::Char('s'));
        }
        assert_eq!(ui.order, Order::Now);
        press(&mut ui, KeyCode::Left);
        assert_eq!(ui.order, Order::Name);
    }

    #[test]
    fn the_terminals_own_keys_are_told() {
        let mut ui = Ui::new(Order::Now);
        let mut control = |code| ui.press(KeyEvent::new(KeyCode::Char(code), KeyModifiers::CONTROL), &[]);
        assert_eq!(
            [control('c'), control('z'), control('4')],
            [Action::Interrupt, Action::Suspend, Action::Abort]
        );
        assert_eq!(press(&mut ui, KeyCode::Char('q')), Action::Quit);
        assert_eq!(press(&mut ui, KeyCode::Char('o')), Action::ShowProgram);
    }

    #[test]
    fn escape_closes_what_is_open() {
        let mut ui = Ui::new(Order::Now);
        press(&mut ui, KeyCode::Enter);
        press(&mut ui, KeyCode::Char('h'));
        assert!(ui.details && ui.help && ui.chosen.is_some());
        press(&mut ui, KeyCode::Esc);
        assert!(ui.details && !ui.help);
        press(&mut ui, KeyCode::Esc);
        assert!(!ui.details);
    }
}
