//! Private sockets by which a running program is asked and told what to do.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{UnixListener, UnixStream};

/// Why the control socket cannot be used; prints as one line with the path and a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", socket.display())]
pub struct ControlError {
    /// The socket.
    pub socket: PathBuf,
    /// What is wrong.
    pub problem: ControlProblem,
}

/// What is wrong with a control socket.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ControlProblem {
    /// No node listens there.
    #[error("no node is running here; start it with `motemix node`")]
    NotRunning,
    /// Another node listens there.
    #[error(
        "in use{}: a node runs here already, or a `motemix send` does its work; stop it or wait for its end, or give \
         this one a `state` of its own", .by.as_ref().map_or_else(String::new, |by| format!(" by {by}"))
    )]
    InUse {
        /// Its process, as far as the system tells.
        by: Option<String>,
    },
    /// Unix-domain sockets have short names.
    #[error("the path is longer than a socket's may be; choose a shorter `state`")]
    TooLong,
    /// The node did not answer in time.
    #[error("no answer in time; the node is overloaded, or the message is still under way")]
    Timeout,
    /// The other side speaks something else.
    #[error("not understood: {0}; use the same version of motemix on both sides")]
    Protocol(String),
    /// The system refuses.
    #[error("{0}; check the folder and its permissions")]
    Io(io::Error),
}

impl ControlError {
    /// What is wrong with a socket.
    pub fn new(socket: &Path, problem: ControlProblem) -> Self {
        Self { socket: socket.to_owned(), problem }
    }

    /// What the system says of one.
    pub fn io(socket: &Path, error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        let problem = match error.kind() {
            Kind::NotFound | Kind::ConnectionRefused => ControlProblem::NotRunning,
            Kind::WouldBlock | Kind::TimedOut => ControlProblem::Timeout,
            Kind::InvalidInput => ControlProblem::TooLong,
            _ => ControlProblem::Io(error),
        };
        Self::new(socket, problem)
    }
}

/// Listens at `path`, with mode 0600; takes the place of a socket that a killed process left
/// behind.
///
/// # Errors
/// Somebody listens there already, the path is too long, or the system refuses.
pub fn bind_private(path: &Path) -> Result<UnixListener, ControlError> {
    let failed = |error| ControlError::io(path, error);
    if let Ok(stream) = StdStream::connect(path) {
        return Err(ControlError::new(path, ControlProblem::InUse { by: who_listens(stream) }));
    }
    // Private before it has the name that others look for.
    let mut early = path.as_os_str().to_owned();
    early.push(".new");
    let early = PathBuf::from(early);
    match fs::remove_file(&early) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener = listen(&early).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => ControlError::new(path, ControlProblem::TooLong),
        _ => ControlError::new(path, ControlProblem::Io(error)),
    })?;
    fs::rename(&early, path).map_err(failed)?;
    Ok(listener)
}

/// The process at the other end, and which command of this program it is.
fn who_listens(stream: StdStream) -> Option<String> {
    stream.set_nonblocking(true).ok()?;
    let pid = UnixStream::from_std(stream).ok()?.peer_cred().ok()?.pid()?;
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // No more of the line: it may have a message.
    let mut words = line.split(|byte| *byte == 0);
    let program = words.next().and_then(|path| path.rsplit(|byte| *byte == b'/').next()).unwrap_or_default();
    let words: Vec<_> = words.chain(program.strip_prefix(b"motemix-")).collect();
    let command =
        ["send", "node", "loopix", "broker"].into_iter().find(|command| words.contains(&command.as_bytes()));
    let command = command.map_or_else(String::new, |command| format!(" (`motemix {command}`)"));
    Some(format!("process {pid}{command}"))
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 1024;

/// Listens at a path where nothing is, with mode 0600.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // Linux makes the file with the mode of the socket. A mode that is set by the path later is
    // that of whatever has the name then: the owner of the folder can put a link there.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    socket.bind(&SockAddr::unix(path)?)?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    UnixListener::from_std(socket.into())
}
