//! A board, as one of several neighbours.

use super::show;
use crate::commands::boards::emulated::Board;
use crate::failure::Failure;
use anyhow::Context;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

pub struct Neighbour {
    board: Board,
    pub address: Ipv6Addr,
    pub identity: String,
    /// Whether its console is shown.
    is_shown: bool,
    /// Texts that it has heard, and nobody has asked for.
    heard: Vec<String>,
    outcome: Option<Outcome>,
}

/// What became of a message, as its sender says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Acknowledged,
    /// It left, and nobody says more.
    Left,
    Failed,
}

impl Neighbour {
    /// Asks a board who it is.
    pub fn meet(mut board: Board, is_shown: bool) -> Result<Self, Failure> {
        let answer = board.ask("identity", "address ")?;
        let line = answer.last().map(String::as_str).unwrap_or_default();
        let (address, identity) = line
            .strip_prefix("address ")
            .and_then(|rest| rest.split_once(" identity "))
            .and_then(|(address, identity)| Some((address.parse().ok()?, identity.to_owned())))
            .with_context(|| format!("{} says of itself: {line}", board.name))?;
        let neighbour = Self { board, address, identity, is_shown, heard: Vec::new(), outcome: None };
        neighbour.show(line)?;
        Ok(neighbour)
    }

    pub fn name(&self) -> &str {
        &self.board.name
    }

    /// Types a line, and forgets what became of the message before it.
    pub fn ask(&mut self, line: &str) -> Result<(), Failure> {
        self.outcome = None;
        self.show(&format!("> {line}"))?;
        self.board.ask(line, "ok")?;
        Ok(())
    }

    /// Takes in what it said by itself.
    pub fn listen(&mut self) -> Result<(), Failure> {
        for line in self.board.news()? {
            self.show(&line)?;
            if let Some((_who, text)) = line.strip_prefix("heard ").and_then(|rest| rest.split_once(' ')) {
                self.heard.push(text.to_owned());
            } else if line.starts_with("acknowledged ") {
                self.outcome = Some(Outcome::Acknowledged);
            } else if line == "left" {
                self.outcome = Some(Outcome::Left);
            } else if line.starts_with("discarded") {
                self.outcome = Some(Outcome::Failed);
            }
        }
        Ok(())
    }

    pub fn has_heard(&self, text: &str) -> bool {
        self.heard.iter().any(|heard| heard == text)
    }

    /// Whether it has heard a text, and once.
    pub fn takes(&mut self, text: &str) -> bool {
        let count = self.heard.iter().filter(|heard| *heard == text).count();
        self.heard.retain(|heard| heard != text);
        count == 1
    }

    pub const fn is_done(&self) -> bool {
        self.outcome.is_some()
    }

    pub fn has_failed(&self) -> bool {
        self.outcome == Some(Outcome::Failed)
    }

    pub const fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// What it has counted.
    pub fn status(&mut self) -> Result<BTreeMap<String, u64>, Failure> {
        Ok(self.board.status()?)
    }

    /// Bytes of its memory that its stack never reached. The board stands still from now on.
    pub fn unused_ram(&mut self) -> Result<u64, Failure> {
        Ok(self.board.memory()?.1)
    }

    fn show(&self, line: &str) -> Result<(), Failure> {
        if self.is_shown { show(&self.board.name, line) } else { Ok(()) }
    }
}
