//! Stories of `motemix net init` and `motemix net renew`.

mod program;

use motemix_readings::Counter;
use motemix_readings::keys::DeviceKey;
use program::{Network, Run, Running, edit, mode, motemix, wait_until};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn init_makes_keys_that_only_their_owner_may_read() {
    let network = Network::init(&[]);
    assert_eq!(mode(&network.path("authority.key")), 0o600);
    let nodes: Vec<_> = fs::read_dir(network.path("nodes")).unwrap().map(|node| node.unwrap()).collect();
    assert_eq!(nodes.len(), 6 + 4 + 1);
    for node in nodes {
        assert_eq!(mode(&node.path().join("node.key")), 0o600);
        assert!(node.path().join("node.toml").is_file());
    }
    assert_eq!(mode(&network.dir), 0o700);
    assert_eq!(network.documents().len(), 3);
    assert_eq!(fs::read_dir(network.dir.parent().unwrap()).unwrap().count(), 1, "something was left behind");
}

/// All that the program makes, and what is public for everybody to read.
#[test]
fn nobody_else_may_write_what_a_command_makes_whatever_the_umask() {
    for mask in ["000", "077"] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let run = |words: &[&str]| {
            let script = format!("umask {mask}; exec \"$0\" \"$@\"");
            let mut shell = Command::new("sh");
            Run::by(
                shell
                    .args(["-c", &script, motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix"))])
                    .args(words),
            )
            .succeeds()
        };
        let (north, plant, loops, key) = (at("north"), at("plant"), at("loops"), at("key"));
        run(&["authority", "init", &north, "--network", "orchard", "--listen", "127.0.0.1:0"]);
        run(&["net", "init", &plant, "--epochs", "1", "--base-port", "0"]);
        run(&["net", "renew", &plant, "--epochs", "2"]);
        run(&["loopix", "net", "init", &loops]);
        run(&["id", "new", &key]);
        run(&["id", "qr", &key, "--svg", &at("a.svg"), "--png", &at("a.png")]);
        run(&["man", &at("man")]);
        let config = format!("{plant}/nodes/mix-1/node.toml");
        run(&["backup", "--config", &config, &at("backup")]);
        run(&["restore", &at("backup"), "--to", &at("restored")]);
        let authority = fs::read_to_string(format!("{north}/authority.pub")).unwrap();
        let node =
            ["node", "init", &at("node"), "--name", "n", "--network", "orchard", "--listen", "127.0.0.1:9"];
        run(&[&node[..], &["--directory", "127.0.0.1:8", "--authority", authority.trim()]].concat());
        let keys: Vec<_> = (1..=4)
            .map(|n| format!("{}=[fe80::{n}]:61616,{}", ["a", "b", "c", "d"][n - 1], hex(n)))
            .collect();
        let motes = at("motes");
        let sign = ["directory", "sign", &motes].into_iter().chain(keys.iter().map(String::as_str));
        run(&sign.collect::<Vec<_>>());
        let mut folders = vec![folder.path().to_owned()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let mode = mode(&path);
                assert_eq!(mode & 0o022, 0, "{} has mode {mode:o} under umask {mask}", path.display());
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files += 1;
                    if path.extension().is_some_and(|end| end == "pub" || end == "descriptor") {
                        assert_eq!(mode, 0o644, "{} under umask {mask}", path.display());
                    }
                }
            }
        }
        assert!(files > 60, "{files}");
    }
}

/// A public key, the same at each call.
fn hex(number: usize) -> String {
    format!("{number:02x}").repeat(31) + "00"
}

#[test]
fn init_overwrites_nothing() {
    let network = Network::init(&[]);
    let before = fs::read(network.path("authority.key")).unwrap();
    let dir = network.dir.to_str().unwrap();
    motemix(["net", "init", dir]).fails(1, &[dir, "not empty", "choose another folder"]);
    assert_eq!(fs::read(network.path("authority.key")).unwrap(), before);

    let file = network.path("authority.pub");
    motemix(["net", "init", file.to_str().unwrap()]).fails(1, &["authority.pub", "nothing is overwritten"]);
}

#[test]
fn init_takes_an_empty_folder_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let said = motemix(["net", "init", path, "--epochs", "1", "--base-port", "0"]).succeeds();
    assert!(said.contains("11 nodes in") && said.contains("1 epoch;"), "{said}");
    assert!(folder.path().join("authority.key").is_file());
}

#[test]
fn init_refuses_a_folder_whose_sockets_would_have_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join("x".repeat(80));
    let dir = long.to_str().unwrap();
    motemix(["net", "init", dir, "--base-port", "0"]).fails(2, &[dir, "too long by", "shorter path"]);
    motemix(["loopix", "net", "init", dir]).fails(2, &[dir, "too long by", "shorter path"]);
    assert!(!long.exists());
}

#[test]
fn init_refuses_sizes_that_have_no_paths() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("net");
    let at = ["net", "init", dir.to_str().unwrap(), "--base-port", "0"];
    let init = |more: &[&str]| motemix([&at[..], more].concat());
    init(&["--mixes", "2"]).fails(2, &["--mixes 2", "--layers 3"]);
    init(&["--mixes", "3", "--profile", "host1k"]).fails(2, &["--mixes 3", "use 6 mixes"]);
    motemix(["net", "init", dir.to_str().unwrap(), "--base-port", "65530"]).fails(2, &["--base-port 65530"]);
    init(&["--epoch-length", "90500ms"]).fails(2, &["--epoch-length", "whole seconds"]);
    init(&["--mean-delay", "5h"]).fails(2, &["mean_delay", "out of range"]);
    init(&["--name", "My Plant"]).fails(2, &["motemix: --name: \"My Plant\"", "a-z"]);
    // An address that no machine has (RFC 5737), with and without ports of one's own.
    let elsewhere = ["--host", "192.0.2.1"];
    init(&elsewhere).fails(1, &["192.0.2.1", "with --host"]);
    motemix([&at[..3], &elsewhere].concat()).fails(1, &["192.0.2.1", "with --host"]);
    assert!(!dir.exists());
}

#[test]
fn init_refuses_an_epoch_that_no_replay_filter_lasts_for_and_says_what_one_needs() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("net");
    let at = ["net", "init", dir.to_str().unwrap(), "--base-port", "0"];
    let init = |more: &[&str]| motemix([&at[..], more].concat());
    init(&["--rate", "20000"])
        .fails(2, &["--epoch-length 1day", "20000 packets", "300 MiB", "use epochs of"]);
    init(&["--rate", "1"]).fails(2, &["--rate 1:", "cover alone makes"]);
    assert!(!dir.exists());
    let said = init(&["--rate", "20000", "--epoch-length", "1h"]).succeeds();
    assert!(said.contains("20000 packets a second") && said.contains("MiB of disk"), "{said}");
    let config = fs::read_to_string(dir.join("nodes/mix-1/node.toml")).unwrap();
    assert!(
        config.contains("replay_tags = 72000000") && config.contains("network = \"motemix\""),
        "{config}"
    );
}

#[test]
fn an_epoch_that_begins_early_has_a_number_of_its_own_and_leaves_the_others_alone() {
    let network = Network::init(&[]);
    let dir = network.dir.to_str().unwrap();
    let before: Vec<_> =
        network.documents().iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    let said = motemix(["net", "renew", dir, "--early"]).succeeds();
    assert!(said.starts_with("signed epoch "), "{said}");
    assert_eq!(network.documents().len(), before.len() + 1);
    let said = motemix(["net", "renew", dir, "--early"]).succeeds();
    assert!(said.ends_with("already; nothing was signed\n"), "no number is wasted: {said}");
    assert_eq!(network.documents().len(), before.len() + 1);
    // As if three had begun since.
    let (present, _) = &before[0];
    let number: u32 = present.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    for early in number + 1..=number + 3 {
        fs::copy(present, network.path(&format!("documents/{early}.cbor"))).unwrap();
    }
    motemix(["net", "renew", dir, "--early"]).fails(1, &["--early", "no number is left", "--epoch-length"]);
    assert!(
        before.iter().all(|(path, bytes)| fs::read(path).unwrap() == *bytes),
        "each epoch has one document"
    );
    let said = motemix(["net", "renew", dir, "--epochs", "4"]).succeeds();
    assert!(said.starts_with("signed 1 epoch,"), "the calendar goes on: {said}");
}

#[test]
fn renew_signs_what_is_missing_and_keeps_what_is_there() {
    let network = Network::init(&["--readings", "10s"]);
    let dir = network.dir.to_str().unwrap();
    let before: Vec<_> = network.documents().iter().map(|path| fs::read(path).unwrap()).collect();
    let said = motemix(["net", "renew", dir, "--epochs", "5"]).succeeds();
    assert!(said.starts_with("signed 2 epochs"), "{said}");
    let documents = network.documents();
    assert_eq!(documents.len(), 5);
    for (path, bytes) in documents.iter().zip(before) {
        assert_eq!(fs::read(path).unwrap(), bytes);
    }
    let last = documents[4].to_str().unwrap();
    let at = (fs::metadata(last).unwrap().modified().unwrap() + std::time::Duration::from_hours(4 * 24))
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let at = humantime::format_rfc3339_seconds(std::time::UNIX_EPOCH + at).to_string();
    motemix(["directory", "verify", last, "--authority", &network.authority(), "--at", &at]).succeeds();
    let said = motemix(["net", "renew", dir, "--epochs", "5"]).succeeds();
    assert!(said.contains("all documents are there already"), "{said}");
}

#[test]
fn renew_signs_anew_what_names_keys_that_a_node_has_no_more() {
    let network = Network::init(&[]);
    let config = network.config("mix-1");
    motemix(["node", "renew-keys", "--config", config.to_str().unwrap()]).succeeds();
    let read = || network.documents().iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>();
    let before = read();
    let renew = || {
        let said =
            motemix(["net", "renew", network.dir.to_str().unwrap(), "--epochs", "1", "--json"]).succeeds();
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        said["signed"].as_array().unwrap().len()
    };
    // The first has begun.
    assert_eq!(renew(), 2);
    let after = read();
    assert!(before[0] == after[0] && before[1] != after[1] && before[2] != after[2]);
    assert_eq!(renew(), 0);
    assert!(read() == after);
}

#[test]
fn renew_turns_the_protection_of_links_on_for_all_epochs_that_have_not_begun() {
    let network = Network::init(&["--plain-links"]);
    let dir = network.dir.to_str().unwrap();
    let links = || {
        let shown = |path: &std::path::PathBuf| {
            let path = path.to_str().unwrap();
            let said = motemix(["directory", "show", path, "--json"]).succeeds();
            let document: serde_json::Value = serde_json::from_str(&said).unwrap();
            document["parameters"]["protected_links"].as_bool().unwrap()
        };
        network.documents().iter().map(shown).collect::<Vec<_>>()
    };
    assert_eq!(links(), [false; 3]);
    let said = motemix(["net", "renew", dir, "--epochs", "4", "--links", "protected"]).succeeds();
    assert!(said.starts_with("signed 3 epochs") && said.contains("links are protected from epoch"), "{said}");
    assert_eq!(links(), [false, true, true, true], "the present one is in force");
    let said = motemix(["net", "renew", dir, "--epochs", "2", "--links", "protected"]).succeeds();
    assert!(said.contains("all documents are there already"), "{said}");
    let said = motemix(["net", "renew", dir, "--epochs", "1", "--links", "plain"]).succeeds();
    assert!(said.starts_with("signed 3 epochs") && said.contains("links are plain from epoch"), "{said}");
    assert_eq!(links(), [false; 4]);
    let said = motemix(["net", "renew", dir, "--links", "protected", "--early"]).succeeds();
    assert!(said.contains("which begins in"), "{said}");
    assert_eq!(links(), [false, true, true, true, true], "the early one is the second");
}

#[test]
fn mix_keys_change_with_the_epoch() {
    let network = Network::init(&[]);
    let keys: Vec<_> = network
        .documents()
        .iter()
        .map(|path| {
            let json = motemix(["directory", "show", path.to_str().unwrap(), "--json"]).succeeds();
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            json["nodes"][0]["mix_key"].as_str().unwrap().to_owned()
        })
        .collect();
    assert!(keys[0] != keys[1] && keys[1] != keys[2] && keys[0] != keys[2]);
}

#[test]
fn a_broken_configuration_is_one_line_with_file_field_and_remedy() {
    for (from, to, words) in [
        ("threshold = 1", "threshold = 7", &["node.toml", "threshold", "choose"][..]),
        ("threshold = 1", "treshold = 1", &["node.toml", "treshold", "remove"]),
        ("id = 10", "id = \"ten\"", &["node.toml", "id", "correct"]),
        ("name = ", "name ", &["node.toml"]),
    ] {
        let network = Network::init(&[]);
        let config = network.config("receiver");
        edit(&config, from, to);
        let config = config.to_str().unwrap();
        motemix(["node", "--config", config]).fails(2, words);
        motemix(["send", "--config", config, "text"]).fails(2, words);
        motemix(["inbox", "--config", config]).fails(2, words);
        motemix(["net", "up", network.dir.to_str().unwrap()]).fails(2, words);
        let shown = motemix(["net", "status", network.dir.to_str().unwrap()]).shows_and_fails(2, words);
        assert_eq!((shown.matches(" unknown").count(), shown.matches(" down").count()), (1, 10), "{shown}");
    }
    motemix(["node", "--config", "/nowhere/node.toml"]).fails(2, &["/nowhere/node.toml", "check the path"]);
}

#[test]
fn a_folder_without_a_network_is_named_with_a_remedy() {
    for command in ["up", "down", "status"] {
        motemix(["net", command, "/nowhere"]).fails(2, &["/nowhere/nodes", "motemix net init"]);
    }
    motemix(["net", "renew", "/nowhere"]).fails(2, &["/nowhere/authority.key"]);
}

#[test]
fn root_leaves_nothing_in_the_folder_of_another_user() {
    let network = Network::init(&[]);
    let folder = network.path("..");
    let at = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (loops, north, broker) = (at("loops"), at("north"), at("broker"));
    motemix(["loopix", "net", "init", &loops]).succeeds();
    motemix(["authority", "init", &north, "--network", "net", "--listen", "[::1]:0"]).succeeds();
    fs::create_dir(&broker).unwrap();
    fs::create_dir(network.path("nodes/mix-1/state")).unwrap();
    // As another user there is nobody whose folder it could be.
    let give = Command::new("chown").args(["-R", "nobody"]).arg(&folder).stderr(Stdio::null()).status();
    if !give.unwrap().success() {
        return;
    }
    let (dir, mix, mote) =
        (at("net"), network.config("mix-1"), network.config("mote-1").to_str().unwrap().to_owned());
    let mix = mix.to_str().unwrap();
    let peer = fs::read_to_string(at("north/authority.pub")).unwrap().trim().to_owned() + "@localhost:1";
    let (client, map) = (at("loops/nodes/Client1"), at("loops/example.db"));
    let commands: [&[&str]; 16] = [
        &["net", "up", &dir],
        &["net", "renew", &dir],
        &["node", "--config", mix],
        // Its state is to be made yet.
        &["node", "--config", &mote],
        &["node", "renew-keys", "--config", mix],
        &["send", "--config", mix, "all is well"],
        &["broker", "--listen", "[::1]:0", "--data", &broker],
        &["authority", "serve", &north],
        &["authority", "peers", &north, "--threshold", "2", &peer],
        &["authority", "add", &north, "any.descriptor"],
        &["authority", "remove", &north, "any"],
        &["loopix", "net", "up", &loops],
        &["loopix", "client", "--dir", &client],
        &["loopix", "chat", "--dir", &client],
        &["loopix", "renew", "--dir", &client],
        &["loopix", "directory", "install", &map, "--dir", &client],
    ];
    for command in commands {
        motemix(command).fails(2, &["it belongs to nobody", "`sudo -u nobody …`"]);
    }
    let found = Command::new("find").arg(&folder).args(["-user", "root"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    // What only looks and ends processes goes on.
    motemix(["net", "down", &dir]).succeeds();
}

#[test]
fn a_network_that_does_not_run_has_nothing_to_stop() {
    let network = Network::init(&[]);
    let dir = network.dir.to_str().unwrap();
    let said = motemix(["net", "down", dir, "--json"]).succeeds();
    let rows: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row["stopped"] == "not_running"), "{said}");
    let said = motemix(["net", "status", dir]).shows_and_fails(1, &["11 down"]);
    assert_eq!(said.matches(" down").count(), 11, "{said}");
}

#[test]
fn a_pid_file_of_another_process_stops_nobody() {
    let network = Network::init(&[]);
    let mut bystander = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::write(network.path("nodes/mix-1/node.pid"), format!("{} 1 {boot}", bystander.id())).unwrap();
    motemix(["net", "down", network.dir.to_str().unwrap()]).succeeds();
    assert!(bystander.try_wait().unwrap().is_none(), "the bystander was stopped");
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}

#[test]
fn an_inbox_that_was_never_opened_is_empty_and_stays_away() {
    let network = Network::init(&[]);
    let config = network.config("receiver");
    let said = motemix(["inbox", "--config", config.to_str().unwrap()]).succeeds();
    assert_eq!(said, "no messages\n");
    assert!(!network.path("nodes/receiver/state").exists());
}

#[test]
fn a_network_whose_mixes_send_no_cover_is_said_to_be_one() {
    let folder = tempfile::tempdir().unwrap();
    let init = |name: &str, more: &[&str]| {
        let dir = folder.path().join(name);
        let words = ["net", "init", dir.to_str().unwrap(), "--epochs", "1", "--base-port", "0"];
        motemix([&words[..], more].concat()).succeeds()
    };
    assert!(init("few", &["--mixes", "3"]).contains("\nwarning: mixes send no cover: "));
    assert!(!init("enough", &[]).contains("warning"));
    assert!(!init("none", &["--mixes", "3", "--loop-cover", "0s", "--drop-cover", "0s"]).contains("warning"));
    let said: serde_json::Value = serde_json::from_str(&init("json", &["--mixes", "3", "--json"])).unwrap();
    assert!(said["warnings"][0].as_str().unwrap().contains("--mixes 6"), "{said}");
}

#[test]
fn metrics_are_where_init_says_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("net");
    let words = ["net", "init", dir.to_str().unwrap(), "--base-port", "0", "--metrics"];
    let said = motemix(words).succeeds();
    let config = fs::read_to_string(dir.join("nodes/mix-1/node.toml")).unwrap();
    let config: toml::Table = toml::from_str(&config).unwrap();
    let listen = config["metrics"]["listen"].as_str().unwrap();
    let row = said.lines().find(|line| line.trim_start().starts_with("mix-1 ")).unwrap();
    assert!(row.ends_with(&format!("http://{listen}/metrics")) && !listen.ends_with(":0"), "{said}");
}

#[test]
fn a_folder_that_others_may_write_to_is_refused_with_a_remedy() {
    let network = Network::init(&[]);
    let config = network.config("mix-1");
    let words = ["node", "--config", config.to_str().unwrap()];
    let state = network.path("nodes/mix-1/state");
    fs::create_dir(&state).unwrap();
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    for mode in [0o777, 0o770] {
        set(&state, mode);
        let shown = format!("mode {mode:04o}");
        motemix(words).fails(1, &["mix-1/state: others may change", &shown, "chmod go-w "]);
    }
    set(&state, 0o755);
    set(&network.path("nodes/mix-1"), 0o777);
    motemix(words).fails(2, &["node.key: everybody may change", "mode 0777", "chmod go-w "]);
}

#[test]
fn a_pipe_in_the_place_of_a_file_holds_no_command_up() {
    let network = Network::init(&[]);
    let dir = network.dir.to_str().unwrap().to_owned();
    for (file, commands) in [
        ("nodes/mix-1/node.pid", &["status", "down", "up"][..]),
        ("nodes/mix-1/node.toml", &["status", "down", "up"]),
    ] {
        let path = network.path(file);
        // There may be none.
        let _ = fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        for command in commands {
            let run = motemix(["net", command, &dir]);
            assert_ne!(run.status(), 0);
            assert!(run.stderr().contains("not a regular file"), "{}", run.stderr());
        }
    }
    let config = network.config("mix-1");
    motemix(["node", "--config", config.to_str().unwrap()]).fails(2, &["node.toml", "not a regular file"]);

    let network = Network::init(&[]);
    let log = network.path("nodes/mix-1/node.log");
    assert!(std::process::Command::new("mkfifo").arg(&log).status().unwrap().success());
    motemix(["net", "up", network.dir.to_str().unwrap()]).fails(1, &["node.log", "not a regular file"]);
}

#[test]
fn a_node_without_its_configuration_is_missed() {
    let network = Network::init(&[]);
    fs::remove_file(network.config("mix-2")).unwrap();
    let dir = network.dir.to_str().unwrap();
    motemix(["net", "up", dir]).fails(2, &["mix-2/node.toml"]);
    let shown = motemix(["net", "status", dir]).shows_and_fails(2, &["mix-2/node.toml"]);
    assert_eq!((shown.matches(" unknown").count(), shown.matches(" down").count()), (1, 10), "{shown}");
}

#[test]
fn the_commands_of_loopix_leave_the_network_alone() {
    let network = Network::init(&[]);
    for command in ["up", "down", "status"] {
        let run = motemix(["loopix", "net", command, network.dir.to_str().unwrap()]);
        run.fails(2, &["is no Loopix network", "motemix net"]);
    }
}

#[test]
fn one_command_at_a_time_starts_or_stops_nodes() {
    let network = Network::init(&[]);
    let dir = network.dir.to_str().unwrap();
    let other = fs::File::open(&network.dir).unwrap();
    other.lock().unwrap();
    for command in ["up", "down"] {
        motemix(["net", command, dir]).fails(1, &["another command", "wait"]);
    }
    motemix(["net", "status", dir]).shows_and_fails(1, &["11 down"]);
    drop(other);
    motemix(["net", "down", dir]).succeeds();
}

/// The folder of a mix is lost, and comes back out of its backup.
#[test]
fn what_restore_says_to_do_next_lets_a_node_take_part_in_its_network_again() {
    let running = Running::up(Network::init(&["--mixes", "3", "--motes", "1", "--mean-delay", "10ms"]));
    let file = running.0.path("mix-1.backup");
    let file = file.to_str().unwrap();
    motemix(["backup", "--config", running.0.config("mix-1").to_str().unwrap(), file]).succeeds();
    running.kill("mix-1");
    fs::rename(running.0.path("nodes/mix-1"), running.0.path("lost")).unwrap();
    let to = running.0.path("nodes/mix-1");
    let said = motemix(["restore", file, "--to", to.to_str().unwrap()]).succeeds();
    assert!(!to.join("documents").exists(), "all nodes of a network have one folder");
    let commands: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("  motemix ")).collect();
    assert_eq!(commands.len(), 2, "{said}");
    for command in commands {
        motemix(command.split(' ')).succeeds();
    }
    wait_until("all nodes are in the epoch that began early", || {
        let status = running.status();
        let epochs: Vec<_> = status.iter().map(|row| row["status"]["epoch"].as_u64()).collect();
        let waits = |row: &Value| row["status"]["detail"]["document"].is_null();
        !status.iter().any(waits) && epochs.iter().all(|epoch| *epoch == epochs[0])
    });
    running.send("mote-1", "all is well").succeeds();
    // Elsewhere it cannot, and is told where it could.
    let elsewhere = running.0.path("elsewhere");
    let said = motemix(["restore", file, "--to", elsewhere.to_str().unwrap()]).succeeds();
    assert!(said.contains("restore this one to DIR/nodes/mix-1, and"), "{said}");
}

#[test]
fn a_backup_that_is_restored_twice_uses_no_number_twice_and_says_what_it_forgets() {
    let network = Network::init(&["--readings", "1s"]);
    let next_of = |node: &Path| {
        let key = node.join("device.key");
        let identity = DeviceKey::load(&key).unwrap().identity();
        Counter::beside(&key, &identity).take().unwrap().number()
    };
    let mote = network.path("nodes/mote-1");
    let before = next_of(&mote);
    let backup = |node: &str| {
        let file = network.path(&format!("{node}.backup"));
        let config = network.config(node);
        motemix(["backup", "--config", config.to_str().unwrap(), file.to_str().unwrap()]).succeeds();
        file
    };
    let restored = |file: &Path, name: &str| {
        let to = network.path(name);
        let said = motemix(["restore", file.to_str().unwrap(), "--to", to.to_str().unwrap()]).succeeds();
        (to, said)
    };
    let file = backup("mote-1");
    let [(one, told), (other, _)] = ["one", "other"].map(|name| restored(&file, name));
    // What it is told to do lets the receiver believe it.
    let list = network.path("nodes/receiver/state/devices.db");
    let command = told.lines().find_map(|line| line.strip_prefix("  motemix object register ")).expect(&told);
    assert!(command.starts_with(&format!("{} | motemix object verify ", one.join("device.key").display())));
    let reads = |number: &str| {
        let verify = format!("object verify --devices {} --audience motemix {number}", list.display());
        motemix(verify.split(' '))
    };
    let signed = |name: &str| {
        let key = one.join("device.key");
        let senml = network.path("senml.json");
        fs::write(&senml, r#"[{"n":"t","u":"Cel","v":21.5}]"#).unwrap();
        let sign =
            ["object", "sign", key.to_str().unwrap(), senml.to_str().unwrap(), "--audience", "motemix"];
        let said = motemix(sign).succeeds();
        fs::write(network.path(name), said).unwrap();
        network.path(name).to_str().unwrap().to_owned()
    };
    assert_eq!(reads(&signed("unknown")).status(), 1);
    let registration = motemix(["object", "register", one.join("device.key").to_str().unwrap()]).succeeds();
    fs::write(network.path("registration"), registration).unwrap();
    let known =
        format!("object verify --devices {} {}", list.display(), network.path("registration").display());
    motemix(known.split(' ')).succeeds();
    reads(&signed("known")).succeeds();
    let [one, other] = [one, other].map(|folder| next_of(&folder));
    assert!(one > before + (1 << 24) && other > before + (1 << 24), "{before} {one} {other}");
    assert_ne!(one, other);
    // What was restored goes on, and its own copy does not.
    assert_eq!(next_of(&network.path("one")), one + 1);
    let (receiver, said) = restored(&backup("receiver"), "receiver");
    assert!(
        said.contains("readings that were believed after") && said.contains("may be taken again"),
        "{said}"
    );
    let list = receiver.join("state/devices.db");
    motemix(["object", "devices", "--devices", list.to_str().unwrap()]).succeeds();
}
