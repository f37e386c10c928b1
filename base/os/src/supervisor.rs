//! What a service manager such as systemd is told: that the program is ready, how it is, that it is
//! alive, and that it stops (sd_notify(3)).
//!
//! The manager names a socket in `NOTIFY_SOCKET`, and in `WATCHDOG_USEC` how long a program may be
//! silent before it is started again. Without these nothing is said. A word that cannot be sent is
//! lost, and the program goes on.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use sd_notify::NotifyState;

/// The longest status, in bytes: a line that `systemctl status` shows.
const STATUS_LEN: usize = 200;

/// Who started this program, if it wants to be told.
#[derive(Debug, Default)]
pub struct Supervisor {
    listens: bool,
    /// How often it wants to hear that the program is alive.
    every: Option<Duration>,
    heard: Cell<Option<Instant>>,
    status: RefCell<String>,
}

impl Supervisor {
    /// The one that the environment names, or none.
    pub fn of_environment() -> Self {
        Self {
            listens: std::env::var_os("NOTIFY_SOCKET").is_some(),
            // Half of the time that it waits, as sd_watchdog_enabled(3) has it.
            every: sd_notify::watchdog_enabled().map(|patience| patience / 2),
            ..Self::default()
        }
    }

    /// The program has begun its work.
    pub fn ready(&self, status: &str) {
        let status = line(status);
        self.tell(&[NotifyState::Ready, NotifyState::Status(&status)]);
        *self.status.borrow_mut() = status;
    }

    /// How the program is, in one line; what was said before is not said again.
    pub fn status(&self, status: &str) {
        let status = line(status);
        if *self.status.borrow() != status {
            self.tell(&[NotifyState::Status(&status)]);
            *self.status.borrow_mut() = status;
        }
    }

    /// The program is not stuck. It may say so as often as it likes.
    pub fn alive(&self) {
        let now = Instant::now();
        let due = |every| self.heard.get().is_none_or(|heard| now.duration_since(heard) >= every);
        if self.every.is_some_and(due) {
            self.heard.set(Some(now));
            self.tell(&[NotifyState::Watchdog]);
        }
    }

    /// How often [`alive`](Self::alive) is to be called at least; `None` if nobody waits for it.
    pub const fn every(&self) -> Option<Duration> {
        self.every
    }

    /// The program ends because it was asked to.
    pub fn stopping(&self) {
        self.tell(&[NotifyState::Stopping]);
    }

    fn tell(&self, words: &[NotifyState<'_>]) {
        if !self.listens {
            return;
        }
        if let Err(error) = sd_notify::notify(words) {
            tracing::debug!("the service manager does not listen: {error}");
        }
    }
}

/// A line feed would begin another word to the manager.
fn line(text: &str) -> String {
    let mut line: String = text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    if line.len() > STATUS_LEN {
        let end = (0..=STATUS_LEN - '…'.len_utf8()).rev().find(|end| line.is_char_boundary(*end));
        line.truncate(end.unwrap_or(0));
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_one_short_line() {
        assert_eq!(line("epoch 7\nREADY=1\u{1b}"), "epoch 7 READY=1 ");
        let long = line(&"ä".repeat(STATUS_LEN));
        assert!(long.len() <= STATUS_LEN && long.ends_with("ä…"), "{long}");
    }

    #[test]
    fn nobody_is_told_where_nobody_listens() {
        let supervisor = Supervisor::default();
        supervisor.ready("ready");
        supervisor.alive();
        supervisor.stopping();
        assert_eq!((supervisor.every(), supervisor.heard.get()), (None, None));
    }
}
