//! The keys of protected links beside a capture, as Wireshark takes them.

use crate::failure::Failure;
use anyhow::Context;
use motemix_crypto::Secret;
use motemix_host::link::KeyLog;
use motemix_host::link::key_log::{FILES, VARIABLE};
use motemix_link::protection::KEY_LEN;
use motemix_link::serial::ExtendedAddress;
use motemix_link::stack::{HANDSHAKE_PORT, PORT};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Where the keys of a capture go.
pub struct LinkKeys {
    capture: PathBuf,
    folder: PathBuf,
    log: Option<KeyLog>,
}

impl LinkKeys {
    /// In a folder of the capture's name and `.keys`, without the keys of a run before; or in that
    /// which the user has named for hosts, beside what is there.
    pub fn beside(capture: &Path) -> Result<Self, Failure> {
        let named = std::env::var_os(VARIABLE).map(PathBuf::from);
        let is_named = named.is_some();
        let folder = named.unwrap_or_else(|| Self::folder_of(capture));
        // Hosts may run elsewhere.
        let folder = std::path::absolute(&folder)
            .with_context(|| format!("{} is no place for keys", folder.display()))?;
        for file in FILES.map(|name| folder.join(name)).iter().filter(|_| !is_named) {
            match fs::remove_file(file) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Failure::failed(format!("cannot remove {}: {error}", file.display())));
                }
                _ => {}
            }
        }
        Ok(Self { capture: capture.to_owned(), folder, log: None })
    }

    /// The folder beside a capture.
    pub fn folder_of(capture: &Path) -> PathBuf {
        let mut folder = capture.as_os_str().to_owned();
        folder.push(".keys");
        folder.into()
    }

    /// What hosts get in the variable.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the frames.
    pub fn capture(&self) -> &Path {
        &self.capture
    }

    /// Writes the key of two stations down.
    pub fn add(&mut self, stations: [ExtendedAddress; 2], key: &Secret<KEY_LEN>) -> Result<(), Failure> {
        let cannot = |error| {
            Failure::failed(format!(
                "cannot write keys to {}: {error}; make room there, or name another folder in {VARIABLE}",
                self.folder.display()
            ))
        };
        if self.log.is_none() {
            self.log = Some(KeyLog::open(&self.folder).map_err(cannot)?);
        }
        self.log.as_mut().map_or(Ok(()), |log| log.key(stations, key)).map_err(cannot)
    }

    /// How to read the capture, if there are keys. Packets and handshakes look like random bytes,
    /// in which Wireshark would find other protocols now and then.
    pub fn usage(&self) -> Option<String> {
        self.folder.join(FILES[0]).exists().then(|| {
            let (capture, folder) = (self.capture.display(), self.folder.display());
            format!(
                "keys of links: WIRESHARK_CONFIG_DIR={folder} \
                 tshark -d udp.port=={PORT}-{HANDSHAKE_PORT},data -r {capture}\n"
            )
        })
    }
}
