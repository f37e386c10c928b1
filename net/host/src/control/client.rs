//! The command-line program's side of the control socket; it blocks.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{ControlError, ControlProblem, REQUEST_LEN, RESPONSE_LEN, Request, Response};

/// How long an answer may take unless [`ControlClient::set_patience`] says otherwise.
const PATIENCE: Duration = Duration::from_secs(10);

/// A connection to a running node.
#[derive(Debug)]
pub struct ControlClient {
    socket: PathBuf,
    stream: BufReader<UnixStream>,
}

impl ControlClient {
    /// Connects to the node whose control socket is at `path`.
    ///
    /// # Errors
    /// No node listens there, or the system refuses.
    pub fn connect(path: impl AsRef<Path>) -> Result<Self, ControlError> {
        let path = path.as_ref();
        let failed = |error| ControlError::io(path, error);
        let stream = UnixStream::connect(path).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        let client = Self { socket: path.to_owned(), stream: BufReader::new(stream) };
        client.set_patience(Some(PATIENCE))?;
        Ok(client)
    }

    /// How long an answer may take; `None` waits for ever, as a [`Request::Send`] that waits may
    /// need.
    ///
    /// # Errors
    /// The duration is zero, or the system refuses.
    pub fn set_patience(&self, patience: Option<Duration>) -> Result<(), ControlError> {
        self.stream
            .get_ref()
            .set_read_timeout(patience)
            .map_err(|error| ControlError::io(&self.socket, error))
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The request is too long, the answer does not come in time or is not understood, or the node
    /// has gone.
    pub fn request(&mut self, request: &Request) -> Result<Response, ControlError> {
        let protocol = |problem: String| ControlError::new(&self.socket, ControlProblem::Protocol(problem));
        let failed = |error| ControlError::io(&self.socket, error);
        let mut line = serde_json::to_vec(request).map_err(|error| protocol(error.to_string()))?;
        line.push(b'\n');
        if line.len() > REQUEST_LEN {
            return Err(protocol("the request is longer than 64 KiB".to_owned()));
        }
        let written = self.stream.get_mut().write_all(&line);
        line.clear();
        let limit = RESPONSE_LEN as u64;
        // A node that takes no request of this connection may have said why before it closed it.
        let read = self.stream.by_ref().take(limit).read_until(b'\n', &mut line);
        if line.last() != Some(&b'\n') {
            written.and(read.map(drop)).map_err(failed)?;
        }
        if line.last() != Some(&b'\n') {
            return Err(protocol("the connection ended before the answer did".to_owned()));
        }
        serde_json::from_slice(&line).map_err(|error| protocol(error.to_string()))
    }
}
