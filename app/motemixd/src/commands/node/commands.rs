//! What servers command, as it comes back in replies.

use anyhow::Context as _;
use motemix_host::Heard;
use motemix_object::Identity;
use motemix_os::store::file;
use motemix_program::failure::Failure;
use motemix_program::reading;
use motemix_program::report;
use motemix_readings::Servers;
use motemix_readings::keys::DeviceKey;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// Replies that wait for the disk; a reply that finds no place comes again with the next reading.
const WAITING: usize = 4;

/// Whom the device obeys, and where it is written what they commanded.
struct Commands {
    device: Identity,
    servers: Servers,
    file: PathBuf,
    /// A receiver says a command again and again, until another takes its place.
    last: Vec<u8>,
}

/// Obeys the servers of the device with this key (`motemix id servers`): what they command is
/// written to `file`, on a thread of its own, because the node does not wait for a disk.
///
/// # Errors
/// The key cannot be read, or the system has no thread.
pub fn obey(key: &Path, file: &Path) -> Result<Heard, Failure> {
    let device = DeviceKey::load(key).map_err(Failure::broken)?.identity();
    let servers = Servers::beside(key, &device);
    // Whether it can be read is told now, and not when the first command comes.
    servers.all().map_err(Failure::broken)?;
    let commands = Commands { device, servers, file: file.to_owned(), last: Vec::new() };
    let (say, hear) = sync_channel::<Vec<u8>>(WAITING);
    let thread = thread::Builder::new().name("commands".to_owned());
    thread.spawn(move || commands.run(&hear)).context("cannot start a thread")?;
    Ok(Box::new(move |reply| {
        let _ = say.try_send(reply.to_vec());
    }))
}

impl Commands {
    fn run(mut self, replies: &Receiver<Vec<u8>>) {
        for reply in replies {
            if reply != self.last {
                let heeded = self.heed(&reply);
                self.last = reply;
                if let Err(failure) = heeded {
                    eprintln!("motemix: a command is not obeyed: {failure}");
                }
            }
        }
    }

    fn heed(&self, reply: &[u8]) -> Result<(), Failure> {
        let obeyed = self.servers.obey(&self.device, reply).map_err(Failure::failed)?;
        let server = obeyed.server.known.map_or_else(String::new, |(identity, _)| identity.to_string());
        let text = report::json(&json!({
            "server": server,
            "sequence": obeyed.sequence,
            "senml": reading::decode(&obeyed.senml).ok(),
            "data_hex": hex::encode(&obeyed.senml),
        }))?;
        file::replace(&self.file, 0o600, text.as_bytes()).with_context(|| {
            format!("{}: cannot be written; let the server sign the command again", self.file.display())
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_object::{Algorithm, Audience, Command, command};
    use serde_json::Value;

    /// `[{"n": "valve", "v": 1}]`
    const OPEN: &[u8] = b"\x81\xa2\x00\x65valve\x02\x01";

    #[test]
    fn a_command_is_obeyed_once_and_a_strangers_never() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let device = DeviceKey::create(path("device.key"), Algorithm::Ed25519, &[]).unwrap().identity();
        let sign = |name: &str, sequence| {
            let file = path(name);
            let made = DeviceKey::load(&file);
            let mut server =
                made.unwrap_or_else(|_| DeviceKey::create(&file, Algorithm::Ed25519, &[]).unwrap());
            let mut out = [0; 512];
            let (signer, credential) = server.parts();
            let what = Command { sequence, senml: OPEN };
            let len =
                command(signer, &credential, true, &device, Audience::default(), what, &mut out).unwrap();
            (out[..len].to_vec(), credential.identity().unwrap())
        };
        let (opens, server) = sign("server.key", 7);
        let (forged, _) = sign("stranger.key", 8);
        let servers = Servers::beside(path("device.key"), &device);
        servers.add(server.short(), None, None).unwrap();
        let file = path("commands.json");
        let commands = Commands { device, servers, file: file.clone(), last: Vec::new() };

        let refused = commands.heed(&forged).unwrap_err().to_string();
        assert!(!file.exists(), "{refused}");
        commands.heed(&opens).unwrap();
        let done: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((&done["sequence"], &done["senml"][0]["n"]), (&7.into(), &"valve".into()));
        std::fs::remove_file(&file).unwrap();
        assert!(commands.heed(&opens).is_err() && !file.exists(), "it was recorded and said again");
    }
}
