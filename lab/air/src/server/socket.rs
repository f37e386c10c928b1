//! Listening Unix sockets.

use super::AirError;
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A socket that listens, and is removed with its end.
pub(super) struct Listener {
    listener: UnixListener,
    path: PathBuf,
}

impl Listener {
    /// Listens at `path`, with mode 0600; takes the place of a socket on which nobody listens.
    pub fn bind(path: PathBuf) -> Result<Self, AirError> {
        let failed = |source: io::Error| AirError::Socket { path: path.clone(), source };
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.file_type().is_socket() => return Err(AirError::NoSocket { path }),
            Ok(_) if UnixStream::connect(&path).is_ok() => return Err(AirError::InUse { path }),
            _ => {}
        }
        // Private before it has the name that others look for.
        let early = path.with_added_extension("new");
        match fs::remove_file(&early) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&early).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        fs::set_permissions(&early, Permissions::from_mode(0o600)).map_err(failed)?;
        fs::rename(&early, &path).map_err(failed)?;
        Ok(Self { listener, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A connection that waits, if one does.
    pub fn accept(&self) -> Option<UnixStream> {
        match self.listener.accept() {
            Ok((stream, _)) => stream.set_nonblocking(true).is_ok().then_some(stream),
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    tracing::warn!(path = %self.path.display(), %error, "cannot accept a connection");
                }
                None
            }
        }
    }
}

/// Has what waits for the other end of a connection wait here, where it has an order, and not in
/// the system's buffer. A system that does not do so keeps a frame longer, and loses nothing.
pub(super) fn limit_send_buffer(stream: &UnixStream) {
    let _ = set_socket_send_buffer_size(stream, 1);
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // If it is gone already, so be it.
        let _ = fs::remove_file(&self.path);
    }
}
