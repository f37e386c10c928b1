//! The console of a board: text to all who listen and to a file, their typing to the board.

use super::AirError;
use super::outgoing::Outgoing;
use super::socket::Listener;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// Connections at a time; a further one is closed at once.
const CLIENTS: usize = 16;
/// What waits for a slow client; further text is lost to it.
const CLIENT_BUFFER: usize = 64 << 10;
/// A board that prints without end does not fill the disk.
const LOG_LEN: u64 = 64 << 20;

/// One console.
pub(super) struct Console {
    pub listener: Listener,
    pub clients: Vec<Client>,
    log: Option<File>,
    log_path: PathBuf,
    log_len: u64,
}

/// One who listens and types.
pub(super) struct Client {
    pub stream: UnixStream,
    pub out: Outgoing,
    lost: u64,
    gone: bool,
}

impl Client {
    fn show(&mut self, text: &[u8]) {
        if self.lost > 0 {
            let note = format!("\r\n[{} bytes were lost here: read faster]\r\n", self.lost);
            if !self.out.push(note.as_bytes(), CLIENT_BUFFER) {
                self.lost += text.len() as u64;
                return;
            }
            self.lost = 0;
        }
        if !self.out.push(text, CLIENT_BUFFER) {
            self.lost += text.len() as u64;
        }
    }
}

impl Console {
    pub fn open(dir: &Path, name: &str) -> Result<Self, AirError> {
        let listener = Listener::bind(dir.join(format!("{name}.tty")))?;
        let log_path = dir.join(format!("{name}.log"));
        let log = OpenOptions::new().create(true).append(true).open(&log_path);
        let log = log.map_err(|source| AirError::File { path: log_path.clone(), source })?;
        let log_len = log.metadata().map_or(0, |found| found.len());
        Ok(Self { listener, clients: Vec::new(), log: Some(log), log_path, log_len })
    }

    pub fn accept(&mut self) {
        while let Some(stream) = self.listener.accept() {
            if self.clients.len() < CLIENTS {
                self.clients.push(Client { stream, out: Outgoing::default(), lost: 0, gone: false });
            } else {
                tracing::warn!(path = %self.listener.path().display(), "more than {CLIENTS} clients at a console");
            }
        }
    }

    /// Text of the board.
    pub fn show(&mut self, text: &[u8]) {
        if text.is_empty() {
            return;
        }
        self.clients.iter_mut().for_each(|client| client.show(text));
        self.keep(text);
    }

    fn keep(&mut self, text: &[u8]) {
        let Some(log) = &mut self.log else { return };
        self.log_len += text.len() as u64;
        let full = self.log_len > LOG_LEN;
        let text = if full { b"\n[the log is full]\n" } else { text };
        if let Err(error) = log.write_all(text) {
            tracing::warn!(path = %self.log_path.display(), %error, "console text is not kept any more");
            self.log = None;
        } else if full {
            tracing::warn!(path = %self.log_path.display(), "the log is full; console text is not kept any more");
            self.log = None;
        }
    }

    /// What a client typed; a byte that is no text would be taken for a message's.
    pub fn typed(&mut self, client: usize, buffer: &mut [u8], mut typed: impl FnMut(u8)) {
        let Some(client) = self.clients.get_mut(client) else { return };
        match client.stream.read(buffer) {
            Ok(0) => client.gone = true,
            Ok(len) => {
                let text = buffer.get(..len).unwrap_or_default().iter().copied();
                text.filter(u8::is_ascii).for_each(&mut typed);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(_) => client.gone = true,
        }
    }

    /// Writes what the clients take, and forgets those that went.
    pub fn flush(&mut self) {
        for client in &mut self.clients {
            if client.out.flush(&client.stream).is_err() {
                client.gone = true;
            }
        }
        self.clients.retain(|client| !client.gone);
    }
}
