//! What the boards send, and what becomes of it.

use super::enrolment::Enrolled;
use crate::commands::boards::emulated::Board;
use crate::failure::Failure;
use crate::network::{RECEIVER, ask, status};
use crate::report::Progress;
use anyhow::{Context, Result};
use motemix_host::control::Request;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the boards are listened to.
const LISTEN_EVERY: Duration = Duration::from_millis(100);
/// The longest wait for the next acknowledgement when nothing is sent any more.
const COOL_DOWN: Duration = Duration::from_mins(3);

/// Messages of the boards, and of the hosts that send.
pub struct Traffic {
    interval: Duration,
    time: Duration,
    /// What the receiver has to have in the end.
    pub texts: BTreeSet<String>,
    /// Signed readings of the boards.
    pub readings_sent: u64,
    pub readings_acknowledged: u64,
    /// What a board says of a reading that another one sent to it.
    pub checked_by_board: Option<String>,
    pub sent: u64,
    pub acknowledged: u64,
    pub discarded: u64,
    /// Messages that a board did not take, having too many under way.
    pub turned_away: u64,
    /// Milliseconds.
    pub round_trips: Vec<u64>,
    /// What boards complained of.
    pub warnings: BTreeSet<String>,
    /// What the hosts that send have counted.
    pub host: BTreeMap<&'static str, u64>,
}

impl Traffic {
    pub fn new(interval: Duration, seconds: u64) -> Self {
        Self {
            interval,
            time: Duration::from_secs(seconds),
            texts: BTreeSet::new(),
            readings_sent: 0,
            readings_acknowledged: 0,
            checked_by_board: None,
            sent: 0,
            acknowledged: 0,
            discarded: 0,
            turned_away: 0,
            round_trips: Vec::new(),
            warnings: BTreeSet::new(),
            host: BTreeMap::new(),
        }
    }

    /// Has every board measure, sign and send one reading, and waits for what becomes of it.
    pub fn readings(&mut self, boards: &mut [Board], interrupted: &AtomicBool) -> Result<(), Failure> {
        for board in boards.iter_mut() {
            board.ask(&format!("readings {RECEIVER} 86400"), "ok")?;
        }
        self.readings_acknowledged += self.wait(boards, boards.len(), interrupted)?;
        for board in boards.iter_mut() {
            board.ask("readings off", "ok")?;
            self.readings_sent += 1;
        }
        self.between_boards(boards, interrupted)
    }

    /// Has the first board send a reading to the last one, which checks it.
    fn between_boards(&mut self, boards: &mut [Board], interrupted: &AtomicBool) -> Result<(), Failure> {
        let Some(last) = boards.last().map(|board| board.name.clone()) else { return Ok(()) };
        let [first, ..] = boards else { return Ok(()) };
        first.ask(&format!("readings {last} 86400"), "ok")?;
        self.wait(boards, 1, interrupted)?;
        if let [first, .., last] = boards {
            first.ask("readings off", "ok")?;
            let said = last.ask("inbox", "ok ")?;
            self.checked_by_board = said.into_iter().find(|line| line.contains(" reading from "));
        }
        Ok(())
    }

    /// Waits for what becomes of so many readings. How many are acknowledged.
    fn wait(
        &mut self,
        boards: &mut [Board],
        mut waiting: usize,
        interrupted: &AtomicBool,
    ) -> Result<u64, Failure> {
        let (mut until, mut acknowledged) = (Instant::now() + COOL_DOWN, 0);
        while waiting > 0 && Instant::now() < until && !interrupted.load(Ordering::Relaxed) {
            for board in boards.iter_mut() {
                for news in board.news()? {
                    if news.starts_with("acknowledged ") || news.starts_with("discarded ") {
                        acknowledged += u64::from(news.starts_with("acknowledged "));
                        waiting -= 1;
                        until = Instant::now() + COOL_DOWN;
                    } else if news.starts_with("warning:") {
                        self.warnings.insert(format!("{}: {news}", board.name));
                    }
                }
            }
            std::thread::sleep(LISTEN_EVERY);
        }
        Ok(acknowledged)
    }

    /// Has every board send at its times, then waits until nothing is under way.
    pub fn run(
        &mut self,
        boards: &mut [Board],
        network: &Enrolled,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut progress = Progress::new(self.time.as_millis() as u64);
        let start = Instant::now();
        // Spread evenly, so that they do not all begin at once.
        let step = self.interval / u32::try_from(boards.len()).unwrap_or(u32::MAX).max(1);
        let mut due: Vec<_> = (0..).take(boards.len()).map(|place| start + step * place).collect();
        while start.elapsed() < self.time && !interrupted.load(Ordering::Relaxed) {
            for (board, due) in boards.iter_mut().zip(&mut due) {
                if Instant::now() >= *due {
                    *due += self.interval;
                    self.send(board)?;
                }
                self.listen(board)?;
            }
            progress.at(start.elapsed().as_millis() as u64, &self.line());
            std::thread::sleep(LISTEN_EVERY);
        }
        let until = Instant::now() + COOL_DOWN;
        // Hosts send at random times, and each is to send something.
        while Instant::now() < until && !interrupted.load(Ordering::Relaxed) {
            for board in boards.iter_mut() {
                self.listen(board)?;
            }
            let sent = |host| Ok(status(host)?.counters.get("sent").is_some_and(|sent| *sent > 0));
            if network.senders().map(sent).collect::<Result<Vec<_>>>()?.into_iter().all(|sent| sent) {
                break;
            }
            std::thread::sleep(LISTEN_EVERY);
        }
        for host in network.senders() {
            ask(host, &Request::Quiet {})?;
        }
        let (mut least, mut until) = (u64::MAX, Instant::now() + COOL_DOWN);
        while Instant::now() < until && !interrupted.load(Ordering::Relaxed) {
            for board in boards.iter_mut() {
                self.listen(board)?;
            }
            let hosts = network.senders().map(under_way).sum::<Result<u64>>()?;
            let under_way = self.under_way() + hosts;
            if under_way == 0 {
                break;
            }
            if under_way < least {
                (least, until) = (under_way, Instant::now() + COOL_DOWN);
            }
            progress.at(self.time.as_millis() as u64, &format!("{}, waiting for {under_way}", self.line()));
            std::thread::sleep(LISTEN_EVERY);
        }
        progress.finish();
        for host in network.senders() {
            let counters = status(host)?.counters;
            for name in ["sent", "acknowledged", "discarded"] {
                *self.host.entry(name).or_default() += counters.get(name).copied().unwrap_or_default();
            }
        }
        Ok(())
    }

    pub fn under_way(&self) -> u64 {
        self.sent - self.acknowledged - self.discarded
    }

    fn line(&self) -> String {
        let Self { sent, acknowledged, discarded, .. } = self;
        format!("boards: sent {sent}, acknowledged {acknowledged}, discarded {discarded}")
    }

    fn send(&mut self, board: &mut Board) -> Result<()> {
        let text = format!("all is well at {}", board.name);
        let answer = match board.ask(&format!("send {RECEIVER} {text}"), "sent ") {
            Ok(answer) => answer,
            // A board has few messages under way at a time, and says so.
            Err(error) if error.to_string().contains("in flight") => {
                self.turned_away += 1;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let sequence =
            answer.last().and_then(|line| line.rsplit(' ').next()).context("a board sent nothing")?;
        self.texts.insert(format!("{sequence} {text}"));
        self.sent += 1;
        Ok(())
    }

    fn listen(&mut self, board: &mut Board) -> Result<()> {
        for news in board.news()? {
            let words: Vec<_> = news.split_whitespace().collect();
            match words.as_slice() {
                ["acknowledged", _, "after", millis, "ms,", "tries", _] => {
                    self.acknowledged += 1;
                    self.round_trips.push(millis.parse().unwrap_or_default());
                }
                ["discarded", ..] => self.discarded += 1,
                ["received", ..] => {}
                ["warning:", "stops,", ..] => return Err(anyhow::anyhow!("{}: {news}", board.name)),
                // What it forebodes is counted if it comes to pass.
                ["warning:", ..] => {
                    self.warnings.insert(format!("{}: {}", board.name, words[1..].join(" ")));
                }
                _ => return Err(anyhow::anyhow!("{}: {news}", board.name)),
            }
        }
        Ok(())
    }
}

fn under_way(host: &motemix_host::NodeConfig) -> Result<u64> {
    let status = status(host)?;
    let get = |name: &str| status.counters.get(name).copied().unwrap_or_default();
    Ok(get("sent").saturating_sub(get("acknowledged") + get("discarded")))
}
