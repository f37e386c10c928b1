//! What a board says to become a member of the network, and what it is told.

use crate::commands::boards::emulated::Board;
use anyhow::{Result, anyhow};
use motemix_crypto::PublicKey;
use motemix_directory::Epoch;
use std::net::SocketAddr;

/// What a board tells its authority.
pub struct Identity {
    pub address: SocketAddr,
    pub key: PublicKey,
}

/// What somebody has to know who is to believe a board's readings.
pub struct Introduced {
    pub introduction: Vec<u8>,
    pub number: u64,
}

impl Board {
    /// Its address and its key for the epoch.
    pub fn identify(&mut self, epoch: Epoch) -> Result<Identity> {
        let answer = self.ask(&format!("key {epoch}"), "address ")?;
        let line = answer.last().map(String::as_str).unwrap_or_default();
        let parse = || {
            let mut words = line.strip_prefix("address ")?.split(" key ");
            let address = words.next()?.parse().ok()?;
            let mut key = [0; 32];
            hex::decode_to_slice(words.next()?, &mut key).ok()?;
            Some(Identity { address, key: PublicKey(key) })
        };
        parse().ok_or_else(|| anyhow!("{} says of its key: {line}", self.name))
    }

    /// The introduction that shows the key of its readings, and the number of its next one.
    pub fn introduce(&mut self) -> Result<Introduced> {
        let answer = self.ask("identity", "number ")?;
        let word = |of: &str| answer.iter().find_map(|line| line.strip_prefix(of));
        let parse = || {
            let introduction = hex::decode(word("introduction ")?).ok()?;
            Some(Introduced { introduction, number: word("number ")?.parse().ok()? })
        };
        parse().ok_or_else(|| anyhow!("{} says of its identity: {}", self.name, answer.join("; ")))
    }

    /// Has it believe the readings of another board.
    pub fn believe(&mut self, other: &str, introduced: &Introduced) -> Result<()> {
        let Introduced { introduction, number } = introduced;
        self.ask(&format!("authorise {other} {} {number}", hex::encode(introduction)), "ok ")?;
        Ok(())
    }

    /// Gives it the network, and starts it.
    pub fn begin(&mut self, document: &[u8], authority: &[u8; 32]) -> Result<()> {
        let now = motemix_os::clock::unix_seconds();
        self.ask(&format!("time {}", now.0), "ok")?;
        self.ask(&format!("trust 1 {}", hex::encode(authority)), "ok")?;
        self.ask("document begin", "ok")?;
        for piece in document.chunks(64) {
            self.ask(&format!("document {}", hex::encode(piece)), "ok")?;
        }
        self.ask("document end", "ok")?;
        self.ask("start", "ok")?;
        Ok(())
    }
}
