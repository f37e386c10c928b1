//! State that was emptied, cut, taken away, put back or copied is never taken for what was left:
//! lists of devices, counters and lists of servers, each as the real program has them.

use std::fs;
use std::path::Path;

use super::Desk;
use crate::program::motemix;

/// What happens to a file, with whose copies of before are in a folder.
type Deed = fn(&Path, &Path);

fn mark(file: &Path) -> std::path::PathBuf {
    let mut mark = file.as_os_str().to_owned();
    mark.push(".mark");
    mark.into()
}

/// Keeps the name's file and what stands beside it, as a backup of the folder does.
fn keep(from: &Path, name: &str, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for found in fs::read_dir(from).unwrap() {
        let found = found.unwrap();
        let file = found.file_name();
        if file.to_str().unwrap().starts_with(name) && found.file_type().unwrap().is_file() {
            fs::copy(found.path(), to.join(file)).unwrap();
        }
    }
}

/// Truncated, gone, replaced by a copy of before: in place or by a new file, with its mark or alone.
const DEEDS: [(Deed, &str); 7] = [
    (|file, _| fs::write(file, "").unwrap(), "it is empty"),
    (|file, _| fs::remove_file(file).unwrap(), "it is gone"),
    (
        |file, backup| {
            fs::copy(backup.join(file.file_name().unwrap()), file).unwrap();
        },
        "",
    ),
    (
        |file, backup| {
            fs::remove_file(file).unwrap();
            fs::copy(backup.join(file.file_name().unwrap()), file).unwrap();
        },
        "put back from a copy",
    ),
    (
        |file, backup| {
            for file in [file, &mark(file)] {
                fs::copy(backup.join(file.file_name().unwrap()), file).unwrap();
            }
        },
        "put back from a copy",
    ),
    (
        |file, backup| {
            for file in [file, &mark(file)] {
                fs::rename(backup.join(file.file_name().unwrap()), file).unwrap();
            }
        },
        "put back from a copy",
    ),
    (
        |file, backup| {
            fs::remove_file(mark(file)).unwrap();
            fs::copy(backup.join(file.file_name().unwrap()), file).unwrap();
        },
        "put back from a copy",
    ),
];

impl Desk {
    /// A device that is believed, with one reading that was believed before a backup and one after.
    fn with_a_backup() -> Self {
        let desk = Self::new();
        desk.authorise();
        desk.message("registration", &["register", "@mote.key"]);
        desk.verify("registration", &[]).succeeds();
        for (name, backup) in [("before", "backup"), ("after", "later")] {
            desk.message(name, &["sign", "@mote.key", "@reading.cbor"]);
            desk.verify(name, &[]).succeeds();
            for kept in ["devices.db", "mote.key"] {
                keep(desk.folder.path(), kept, &desk.path(backup));
            }
        }
        desk
    }
}

#[test]
fn a_list_of_devices_that_vanished_believes_nothing_a_second_time() {
    for (number, (deed, says)) in DEEDS.into_iter().enumerate() {
        let desk = Desk::with_a_backup();
        let list = desk.path("devices.db");
        deed(&list, &desk.path("backup"));
        let says = if says.is_empty() { "it is older than it was" } else { says };
        let words = ["devices.db: ", says, "believed again", "motemix adopt "];
        desk.verify("after", &[]).fails(2, &words);
        // It is no new list for whoever adds a device either.
        desk.object(&["authorise", "--devices", "@devices.db", "@kit.csv"]).fails(2, &words);
        desk.object(&["devices", "--devices", "@devices.db"]).fails(2, &words);
        let said = motemix(["adopt", &desk.text("devices.db")]).succeeds();
        if number < 2 {
            assert!(said.contains("begins anew") && said.contains("authorise` puts each device"), "{said}");
            desk.object(&["devices", "--devices", "@devices.db"]).fails(2, &["no such list"]);
            desk.authorise();
            continue;
        }
        // Whoever adopts it has been told so, and what is to be done then.
        assert!(said.contains("used as it is") && said.contains("`motemix object register KEY |"), "{said}");
        let again = motemix(["adopt", &desk.text("devices.db")]).succeeds();
        assert!(again.contains("nothing is to be done"), "{again}");
        desk.verify("before", &[]).fails(1, &["it arrived before"]);
        desk.verify("after", &[]).succeeds();
    }
}

#[test]
fn a_list_of_devices_that_was_cut_or_copied_elsewhere_is_not_used() {
    let desk = Desk::with_a_backup();
    let there = desk.path("later");
    let copied = there.join("devices.db").to_str().unwrap().to_owned();
    desk.object(&["verify", "--devices", &copied, "@after"]).fails(2, &["it was copied", "motemix adopt"]);
    let list = desk.path("devices.db");
    let len = fs::metadata(&list).unwrap().len();
    fs::File::options().write(true).open(&list).unwrap().set_len(len / 2).unwrap();
    desk.verify("after", &[]).fails(2, &["devices.db", "damaged"]);
    motemix(["adopt", &desk.text("devices.db")]).fails(2, &["devices.db", "damaged"]);
    // What is no store of ours is not adopted, nor is what never was.
    motemix(["adopt", &desk.text("mote.key")]).fails(2, &["mote.key: it is a key, which is no store"]);
    motemix(["adopt", &desk.text("reading.cbor")]).fails(2, &["reading.cbor"]);
    motemix(["adopt", &desk.text("nothing")]).fails(2, &["there is no store", "check the path"]);
    // The file itself, put back in its place, is what it was.
    let desk = Desk::with_a_backup();
    fs::rename(desk.path("devices.db"), desk.path("elsewhere")).unwrap();
    desk.verify("after", &[]).fails(2, &["it is gone"]);
    fs::rename(desk.path("elsewhere"), desk.path("devices.db")).unwrap();
    desk.verify("after", &[]).fails(1, &["it arrived before"]);
}

#[test]
fn a_counter_that_vanished_or_was_restored_twice_gives_no_number_twice() {
    for (deed, says) in DEEDS {
        let desk = Desk::with_a_backup();
        let says = if says.is_empty() { "put back from a copy" } else { says };
        let words = [".counter: ", says, "used again", "mote.key --next N"];
        let counter = desk.counter();
        deed(&counter, &desk.path("backup"));
        let sign = || desk.object(&["sign", "@mote.key", "@reading.cbor"]);
        sign().fails(1, &words);
        desk.object(&["register", "@mote.key"]).fails(2, &words);
        desk.message("registration", &["register", "@mote.key", "--next", "2"]);
        desk.verify("registration", &[]).succeeds();
        fs::write(desk.path("next"), sign().succeeds()).unwrap();
        assert!(desk.verify("next", &[]).succeeds().contains("(reading 2)"));
    }
    // The whole folder of a device, on two other machines.
    let desk = Desk::with_a_backup();
    for folder in ["backup", "later"] {
        let key = desk.path(folder).join("mote.key").to_str().unwrap().to_owned();
        desk.object(&["sign", &key, "@reading.cbor"]).fails(1, &["it was copied", "--next N"]);
    }
}
