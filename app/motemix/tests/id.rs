//! Identities of devices, from the key to the label and to the proof.

#[path = "id/labels.rs"]
mod labels;
mod program;

use program::{Run, mode, motemix};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder with two devices' keys, `a` and `b`, and their cards.
struct Kit(TempDir);

impl Kit {
    fn new() -> Self {
        let kit = Self(tempfile::tempdir().expect("a folder"));
        for (name, algorithm) in [("a", "ed25519"), ("b", "es256")] {
            let key = kit.path(name);
            motemix([
                "id",
                "new",
                &key,
                "--algorithm",
                algorithm,
                "--serial",
                name,
                "--model",
                "thermometer <2>",
            ])
            .succeeds();
            let card = motemix(["id", "show", "--card", &key]).succeeds();
            fs::write(kit.path(&format!("{name}.card")), card).expect("a card");
        }
        kit
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("UTF-8").to_owned()
    }

    fn write(&self, name: &str, text: &str) -> String {
        fs::write(self.path(name), text).expect("a file");
        self.path(name)
    }

    fn json(&self, name: &str) -> Value {
        json(&motemix(["id", "show", "--json", &self.path(name)]).succeeds())
    }

    /// All digits.
    fn identity(&self, name: &str) -> String {
        self.json(name)["identity"].as_str().expect("an identity").to_owned()
    }

    /// The group of both, in a file `box`.
    fn group(&self) -> Value {
        let (a, b) = (self.path("a.card"), self.path("b.card"));
        json(&motemix(["id", "group", "new", "--json", &self.path("box"), &a, &b]).succeeds())
    }

    fn proof(&self, words: &[&str], challenge: &str) -> String {
        let words = ["id", "prove"].iter().chain(words).copied().chain(["--challenge", challenge]);
        self.write("proof", &motemix(words).succeeds())
    }
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn challenge() -> String {
    motemix(["id", "challenge"]).succeeds().trim().to_owned()
}

#[test]
fn a_drawing_takes_the_place_of_no_key_and_no_card() {
    let kit = Kit::new();
    let key = fs::read(kit.path("a")).expect("a key");
    let card = fs::read(kit.path("a.card")).expect("a card");
    // The word for the sheet was forgotten.
    motemix(["id", "sheet", &kit.path("a"), &kit.path("b")]).fails(2, &["no drawing", "remove"]);
    motemix(["id", "sheet", &kit.path("a.card"), &kit.path("b.card")]).fails(2, &["a.card", "no drawing"]);
    for format in ["--svg", "--png"] {
        motemix(["id", "qr", &kit.path("b"), format, &kit.path("a")]).fails(2, &["no drawing"]);
    }
    assert_eq!(fs::read(kit.path("a")).expect("a key"), key);
    assert_eq!(fs::read(kit.path("a.card")).expect("a card"), card);
    for _ in 0..2 {
        motemix(["id", "sheet", &kit.path("labels.svg"), &kit.path("a")]).succeeds();
        motemix(["id", "qr", &kit.path("a"), "--png", &kit.path("a.png")]).succeeds();
    }
}

#[test]
fn what_people_read_fits_a_hundred_columns() {
    let kit = Kit::new();
    kit.group();
    let said = motemix(["id", "group", "show", &kit.path("box")]).succeeds();
    assert!(said.lines().all(|line| line.chars().count() <= 100), "{said}");
    let whole = motemix(["id", "group", "show", "--full", &kit.path("box")]).succeeds();
    assert!(whole.contains(kit.json("a")["public_key"].as_str().expect("a key")), "{whole}");
}

#[test]
fn a_device_makes_its_identity_and_its_card_says_the_same_without_the_secret() {
    let kit = Kit::new();
    for name in ["a", "b"] {
        let key = fs::read_to_string(kit.path(name)).unwrap();
        let secret = key.lines().last().unwrap().strip_prefix("seed ").unwrap();
        let card = fs::read_to_string(kit.path(&format!("{name}.card"))).unwrap();
        assert!(!card.contains(secret));
        assert_eq!(mode(&PathBuf::from(kit.path(name))), 0o600);
        assert_eq!(kit.json(name), kit.json(&format!("{name}.card")));

        let json = kit.json(name);
        let (full, shown) = (kit.identity(name), motemix(["id", "show", &kit.path(name)]).succeeds());
        assert_eq!(full.len(), 64);
        assert!(shown.contains(&full[..32]) && !shown.contains(&full), "{shown}");
        assert!(shown.contains("thermometer <2>"), "{shown}");
        assert_eq!(json["others"][0]["text"], *name);
        assert!(motemix(["id", "show", "--full", &kit.path(name)]).succeeds().contains(&full));
    }
    motemix(["id", "new", &kit.path("a")]).fails(2, &["there is a key already"]);
    let long = motemix(["id", "new", &kit.path("c"), "--serial", &"x".repeat(65)]);
    assert_eq!(long.status(), 2);
    assert!(long.stderr().contains("64 are the most"), "{}", long.stderr());
    assert!(!PathBuf::from(kit.path("c")).exists());
}

#[test]
fn what_else_names_a_device_is_shown_on_demand() {
    let kit = Kit::new();
    let words = ["--json", "--rfc8387", "--cose", "--temporary"];
    let show = |period: &str| {
        json(&motemix(["id", "show", &kit.path("a")].into_iter().chain(words).chain([period])).succeeds())
    };
    let (one, next) = (show("1"), show("2"));
    assert_eq!(one["rfc8387_identity"], next["rfc8387_identity"]);
    assert_ne!(one["rfc8387_identity"], one["identity"]);
    assert_ne!(one["temporary_identity"], next["temporary_identity"]);
    let cose = one["cose_key"].as_str().unwrap();
    assert_eq!(cose, format!("a301012006215820{}", one["public_key"].as_str().unwrap()));
}

#[test]
fn a_proof_holds_for_its_identity_challenge_and_audience_alone() {
    let kit = Kit::new();
    let once = challenge();
    let proof = kit.proof(&["possession", &kit.path("a"), "--audience", "plant"], &once);
    let check = |identity: &str, challenge: &str, audience: &str| {
        motemix([
            "id",
            "check",
            "possession",
            &proof,
            "--identity",
            identity,
            "--challenge",
            challenge,
            "--audience",
            audience,
            "--json",
        ])
    };
    let full = kit.identity("a");
    let code = format!("MOTEMIX:ID:{}", full.to_uppercase());
    let grouped = full.as_bytes()[..32].chunks(4).map(|group| str::from_utf8(group).unwrap());
    let grouped = grouped.collect::<Vec<_>>().join(" ");
    for identity in [&full, &full[..32], &code, &grouped, &kit.path("a.card")] {
        assert_eq!(json(&check(identity, &once, "plant").succeeds())["identity"], *full);
    }
    check(&kit.path("b.card"), &once, "plant").fails(1, &["proof", "another identity"]);
    check(&full, &challenge(), "plant").fails(1, &["proof", "does not hold"]);
    check(&full, &once, "").fails(1, &["proof", "does not hold"]);
    check("cellar", &once, "plant").fails(2, &["cellar", "32 or 64 hex digits"]);
}

#[test]
fn devices_of_a_box_are_one_group_in_whatever_order_they_were_scanned() {
    let kit = Kit::new();
    let group = kit.group();
    let (a, b) = (kit.path("a"), kit.path("b"));
    let other = json(&motemix(["id", "group", "new", "--json", &kit.path("other"), &b, &a]).succeeds());
    assert_eq!(group, other);
    assert_eq!(group, json(&motemix(["id", "group", "show", "--json", &kit.path("box")]).succeeds()));
    motemix(["id", "group", "new", &kit.path("box"), &a, &b]).fails(2, &["box", "remove it first"]);
    motemix(["id", "group", "new", &kit.path("more"), &a, &kit.path("a.card")])
        .fails(2, &["a.card", "same key", "once"]);
}

#[test]
fn a_device_proves_to_be_of_the_box_and_a_stranger_cannot() {
    let kit = Kit::new();
    let group = kit.group();
    let once = challenge();
    let stranger = kit.path("stranger");
    motemix(["id", "new", &stranger]).succeeds();
    for device in ["a", "b"] {
        let proof = kit.proof(&["membership", &kit.path(device), &kit.path("box")], &once);
        let check = |identity: &str| {
            motemix([
                "id",
                "check",
                "membership",
                &proof,
                "--identity",
                identity,
                "--challenge",
                &once,
                "--json",
            ])
        };
        for identity in [&group["identity"].as_str().unwrap()[..32], &kit.path("box")] {
            let said = json(&check(identity).succeeds());
            assert_eq!(said["public_key"], kit.json(device)["public_key"]);
            assert_eq!(said["members"], 2);
        }
        check(&kit.identity(device)).fails(1, &["another identity"]);
    }
    motemix(["id", "prove", "membership", &stranger, &kit.path("box"), "--challenge", &once])
        .fails(2, &["stranger", "not in the group"]);
    // It may make a group of its own; the box says another one.
    let forged = kit.path("forged");
    motemix(["id", "group", "new", &forged, &kit.path("a.card"), &kit.path("b.card"), &stranger]).succeeds();
    let proof = kit.proof(&["membership", &stranger, &forged], &once);
    motemix(["id", "check", "membership", &proof, "--identity", &kit.path("box"), "--challenge", &once])
        .fails(1, &["another identity"]);
}

#[test]
fn a_proof_goes_through_a_pipe() {
    let kit = Kit::new();
    let once = challenge();
    let proof = motemix(["id", "prove", "possession", &kit.path("a"), "--challenge", &once]).succeeds();
    let file = kit.write("proof", &proof.replace('\n', "\r\n").to_uppercase());
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    let card = kit.path("a.card");
    command.args(["id", "check", "possession", "-", "--identity", &card, "--challenge", &once]);
    let said = Run::by(command.stdin(Stdio::from(fs::File::open(file).unwrap()))).succeeds();
    assert!(said.starts_with("valid: "), "{said}");
}

#[test]
fn a_new_owner_gets_a_new_identity_that_the_old_one_names() {
    let kit = Kit::new();
    let (key, before, once) = (kit.path("a"), kit.identity("a"), challenge());
    let said = json(&motemix(["id", "rotate", &key, "--json"]).succeeds());
    assert_eq!(said["before"], *before);
    assert_eq!(said["identity"], *kit.identity("a"));
    let statement = said["statement"].as_str().unwrap();
    assert_eq!(statement, format!("{key}.{}.retired", &before[..8]));
    let check = |identity: &str, more: &str| {
        motemix(["id", "check", "retirement", statement, "--identity", identity, more])
    };
    let checked = json(&check(&kit.path("a.card"), "--json").succeeds());
    assert_eq!(checked["successor"], kit.json("a"));
    assert_eq!(check(&before, "--card").succeeds(), motemix(["id", "show", "--card", &key]).succeeds());
    check(&kit.path("b.card"), "--json").fails(1, &["another identity"]);
    check(&kit.identity("a"), "--json").fails(1, &["another identity"]);
    // The device no longer has the old key.
    let proof = kit.proof(&["possession", &key], &once);
    let card = kit.path("a.card");
    motemix(["id", "check", "possession", &proof, "--identity", &card, "--challenge", &once])
        .fails(1, &["another identity"]);
}

#[test]
fn a_rotation_that_is_killed_leaves_the_old_key_or_the_new_one_with_the_statement() {
    let kit = Kit::new();
    let key = kit.path("a");
    let mut rotations = 0;
    for turn in 0..12 {
        let before = kit.identity("a");
        let statement = kit.path(&format!("statement-{turn}"));
        let rotate = ["id", "rotate", &key, "--statement", &statement];
        let mut child = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")))
            .args(rotate)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Killed as soon as it has written this; each fourth one is let go.
        let seen = [&kit.path("a.successor"), &statement, &kit.path("a.retiring")].map(PathBuf::from);
        while child.try_wait().unwrap().is_none() {
            if seen.get(turn % 4).is_some_and(|file| file.exists()) {
                // It may have ended meanwhile.
                let _ = child.kill();
            }
        }

        let after = kit.identity("a");
        let successor = || {
            let words = ["id", "check", "retirement", &statement, "--identity", &before, "--json"];
            json(&motemix(words).succeeds())["successor"]["identity"].as_str().unwrap().to_owned()
        };
        if after != before {
            assert_eq!(successor(), after);
        }
        // Whatever was left is brought to its end.
        let left = fs::read_dir(kit.0.path()).unwrap().map(|entry| entry.unwrap().file_name());
        if left.into_iter().any(|name| name == "a.successor" || name == "a.retiring") {
            motemix(rotate).succeeds();
            assert!(!PathBuf::from(kit.path("a.successor")).exists());
            assert!(!PathBuf::from(kit.path("a.retiring")).exists());
            if PathBuf::from(&statement).exists() {
                assert_eq!(successor(), kit.identity("a"));
            }
        }
        rotations += usize::from(kit.identity("a") != before);
    }
    assert!(rotations >= 3, "{rotations}: those that were let go");
}

#[test]
fn two_rotations_at_once_leave_one_line_of_successors() {
    let kit = Kit::new();
    let (key, before) = (kit.path("a"), kit.identity("a"));
    // As another rotation holds it.
    let file = fs::File::open(&key).unwrap();
    file.lock().unwrap();
    let refused = motemix(["id", "rotate", &key]);
    refused.fails(1, &["another rotation of this key is at work", "wait until it has ended"]);
    assert_eq!(kit.identity("a"), before);
    drop(file);

    let rotate = || motemix(["id", "rotate", &key, "--json"]);
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(rotate)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (rotated, refused): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.status() == 0);
    for run in refused {
        run.fails(1, &["another rotation of this key is at work"]);
    }
    // Each statement names the one identity that follows, and the last one is there.
    let mut identity = before;
    for _ in &rotated {
        let statement = kit.path(&format!("a.{}.retired", &identity[..8]));
        let words = ["id", "check", "retirement", &statement, "--identity", &identity, "--json"];
        identity = json(&motemix(words).succeeds())["successor"]["identity"].as_str().unwrap().to_owned();
    }
    assert!(!rotated.is_empty());
    assert_eq!(identity, kit.identity("a"));
}

#[test]
fn what_is_broken_is_named_with_its_place_and_a_remedy() {
    let kit = Kit::new();
    let once = challenge();
    let card = fs::read_to_string(kit.path("a.card")).unwrap();
    let changed = kit.write("changed", &card.replacen("other 1 61", "other 1 62", 1));
    motemix(["id", "show", &changed]).fails(2, &["changed", "line 5", "was changed", "--card"]);
    motemix(["id", "show", &kit.path("nowhere")]).fails(2, &["nowhere", "cannot read", "check the path"]);
    motemix(["id", "show", &kit.write("notes", "hello\n")]).fails(2, &["notes", "line 1", "motemix id new"]);
    motemix(["id", "show", &kit.write("long", &"x".repeat(1 << 20))]).fails(2, &["long", "check the path"]);
    motemix(["id", "group", "show", &kit.path("a.card")]).fails(2, &["a.card", "one device", "group new"]);
    kit.group();
    let group = fs::read_to_string(kit.path("box")).unwrap();
    let lines: Vec<_> = group.lines().collect();
    let forged = kit.write("forged", &[lines[0], lines[1], lines[3]].join("\n"));
    motemix(["id", "group", "show", &forged]).fails(2, &["forged", "line 3", "group new"]);
    motemix(["id", "show", &kit.path("box")]).fails(2, &["box", "a group", "one device"]);

    let proof = fs::read_to_string(kit.proof(&["possession", &kit.path("a")], &once)).unwrap();
    for (text, words) in [
        (String::new(), &["empty"][..]),
        (format!("{}\nxyz", proof.trim()), &["line 2", "column 1", "hex digit"]),
        (proof.trim()[1..].to_owned(), &["odd number"]),
        (proof.trim()[..80].to_owned(), &["byte", "copy all of it"]),
        (format!("{}00", proof.trim()), &["follows the end"]),
    ] {
        let broken = kit.write("broken", &text);
        for kind in ["possession", "membership"] {
            let identity = kit.path("a.card");
            let words = if kind == "possession" { words } else { &[] };
            let words = [&["broken"][..], words].concat();
            motemix(["id", "check", kind, &broken, "--identity", &identity, "--challenge", &once])
                .fails(2, &words);
        }
        motemix(["id", "check", "retirement", &broken, "--identity", &kit.path("a.card")])
            .fails(2, &["broken"]);
    }
}

#[test]
fn the_story_of_the_page_works_as_it_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    let page = include_str!("../../../docs/how-to/devices.md");
    let (_, section) = page.split_once("## From the key to a command").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let commands: String = section.split("```").skip(1).step_by(2).collect();
    let programs = PathBuf::from(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    let path = std::env::join_paths(
        std::iter::once(programs.parent().unwrap().to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut shell = Command::new("sh");
    shell.args(["-euc", &commands]).current_dir(&folder).env("PATH", path.unwrap());
    let said = Run::by(&mut shell).succeeds();
    assert!(said.contains("valid: whoever made the proof has a key of this group"), "{said}");
    assert!(said.contains("(reading 0): t 21.5 Cel"), "{said}");
    assert!(said.contains("(command 1): vent true"), "{said}");
    motemix(["id", "rotate", folder.path().join("cellar.key").to_str().unwrap()]).succeeds();
}
