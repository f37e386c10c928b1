//! A device's folder belongs to the user of a service, and root has commands for it. Links that the
//! user put there change no other file of the machine, and give none away.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::Path;

use super::Desk;
use crate::program::motemix;

/// Whose a file is, who may read it, and what it has.
fn look(path: &Path) -> (u32, u32, u32, Vec<u8>) {
    let found = fs::metadata(path).unwrap();
    (found.uid(), found.gid(), found.mode(), fs::read(path).unwrap())
}

#[test]
fn what_root_does_in_the_folder_of_a_service_changes_no_file_behind_a_link() {
    let (desk, elsewhere) = (Desk::new(), tempfile::tempdir().unwrap());
    // As another user this looks at what is followed alone: nothing can be given away.
    let is_root = chown(desk.folder.path(), Some(1234), Some(1235)).is_ok();
    if is_root {
        chown(desk.path("mote.key"), Some(1234), Some(1235)).unwrap();
    }
    let [victim, absent] = ["victim", "absent"].map(|name| elsewhere.path().join(name));
    fs::write(&victim, "\0 what only its owner may change").unwrap();
    fs::set_permissions(&victim, Permissions::from_mode(0o600)).unwrap();
    let before = look(&victim);
    let key = desk.text("mote.key");
    let mark = desk.path(&format!("mote.key.{}.counter.mark", &desk.identity()[..8]));
    let (retiring, successor) = (desk.path("mote.key.retiring"), desk.path("mote.key.successor"));
    let commands: [(&Path, &[&str]); 5] = [
        (&mark, &["object", "register", &key, "--next", "1000"]),
        (&mark, &["object", "sign", &key, &desk.text("reading.cbor")]),
        (&retiring, &["id", "rotate", &key]),
        (&successor, &["id", "rotate", &key]),
        (
            &desk.path("devices.db"),
            &["object", "authorise", "--devices", &desk.text("devices.db"), "--first-use", "0"],
        ),
    ];
    for (link, words) in commands {
        for (target, is_hard) in [(&victim, false), (&absent, false), (&victim, true)] {
            if is_hard {
                // A second name of the file itself, for which some systems ask for more rights.
                fs::hard_link(target, link).unwrap();
            } else {
                symlink(target, link).unwrap();
            }
            let run = motemix(words);
            assert_ne!(run.status(), 0, "{words:?}");
            fs::remove_file(link).unwrap();
            assert_eq!(look(&victim), before, "{words:?}: {}", run.stderr());
            assert!(!absent.exists(), "{words:?}: {}", run.stderr());
        }
    }
    // Without them each command goes on, and the service has what was made.
    for (link, words) in &commands[..2] {
        motemix(*words).succeeds();
        let owner = if is_root { 1234 } else { before.0 };
        assert_eq!(fs::metadata(link).unwrap().uid(), owner);
    }
}
