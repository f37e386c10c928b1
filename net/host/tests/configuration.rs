//! A configuration says what is wrong with it, where, and what to do.

use std::fs;
use std::path::Path;
use std::time::Duration;

use motemix_host::NodeConfig;
use motemix_host::config::{Faults, Limits, MetricsConfig, ReadingsConfig};

/// The public key of RFC 8032's first test vector.
const AUTHORITY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

fn good() -> String {
    format!(
        "name = \"mix-1\"\n\
         id = 3\n\
         listen = [\"[::1]:41001\"]\n\
         key = \"node.key\"\n\
         documents = \"../documents\"\n\
         authorities = [\"{AUTHORITY}\"]\n\
         threshold = 1\n\
         state = \"state\"\n\
         network = \"field\"\n"
    )
}

fn load(text: &str) -> Result<NodeConfig, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("node.toml");
    fs::write(&file, text).unwrap();
    NodeConfig::load(&file).map_err(|error| {
        let line = error.to_string();
        assert!(!line.contains('\n'), "one line: {line}");
        line.strip_prefix(&format!("{}/", folder.path().display())).expect("the file is named").to_owned()
    })
}

#[test]
fn what_is_not_said_has_a_sane_default() {
    let config = load(&good()).unwrap();
    assert_eq!(config.id, Some(3));
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.faults, Faults::of_loss(0.0));
    assert_eq!(config.metrics, None);
    assert_eq!(config.readings, None);
    assert_eq!(hex::encode(config.authorities[0]), AUTHORITY);
}

#[test]
fn paths_are_relative_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("node.toml");
    fs::write(&file, good()).unwrap();

    let config = NodeConfig::load(&file).unwrap();

    assert_eq!(config.key, folder.path().join("node.key"));
    assert_eq!(config.documents, folder.path().join("../documents"));
    assert_eq!(config.control_socket(), folder.path().join("state/control.sock"));
    assert_eq!(config.inbox_file(), folder.path().join("state/inbox.db"));
}

#[test]
fn a_saved_configuration_loads_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("node.toml");
    fs::write(&file, good()).unwrap();
    let mut config = NodeConfig::load(&file).unwrap();
    config.metrics = Some(MetricsConfig::new("127.0.0.1:0".parse().unwrap()));
    config.limits.queue = 17;
    config.faults.loss = 0.25;
    config.readings = Some(ReadingsConfig::new("receiver", Duration::from_millis(1500)));

    config.save(&file).unwrap();

    assert_eq!(NodeConfig::load(&file).unwrap(), config);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("key = \"node.key\""), "paths stay relative: {text}");
}

#[test]
fn durations_are_written_as_people_write_them() {
    let config = load(&(good() + "[readings]\nto = \"receiver\"\nevery = \"500ms\"\n")).unwrap();
    assert_eq!(config.readings.unwrap().every, Duration::from_millis(500));
}

#[test]
fn a_command_that_measures_runs_in_the_folder_of_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("node.toml");
    let text = good() + "[readings]\nto = \"receiver\"\nevery = \"1s\"\ncommand = \"./measure\"\n";
    fs::write(&file, text).unwrap();
    let config = NodeConfig::load(&file).unwrap();
    let readings = config.readings.as_ref().unwrap();
    assert_eq!((readings.command.as_deref(), &*readings.folder), (Some("./measure"), folder.path()));
    config.save(&file).unwrap();
    assert_eq!(NodeConfig::load(&file).unwrap(), config);
}

#[test]
fn each_error_names_the_line_the_field_and_a_remedy() {
    let stories = [
        (good().replace("id = 3", "id = \"three\""), "node.toml:2: id: invalid type", "; correct its value"),
        (good().replace("key = \"node.key\"\n", ""), "node.toml:1: key: missing field `key`", "; add it"),
        (good().replace("id = 3", "id = 20000"), "node.toml:2: id: is more than 16383", "; use the index"),
        (
            good() + "colour = \"red\"\n",
            "node.toml:10: colour: unknown field `colour`",
            "; correct or remove it",
        ),
        (
            good() + "[limits]\nqueues = 1\n",
            "node.toml:11: limits.queues: unknown field `queues`",
            "; correct or remove it",
        ),
        (
            good() + "[limits]\nqueue = -1\n",
            "node.toml:11: limits.queue: invalid value",
            "; correct its value",
        ),
        (good() + "\n[limits]\nqueue = 0\n", "node.toml:12: limits.queue: is 0", "; choose 1 to 1048576"),
        (
            good() + "[faults]\nloss = 1.5\n",
            "node.toml:11: faults.loss: is not a probability",
            "; choose 0.0 to",
        ),
        (
            good() + "[readings]\nevery = \"1s\"\n",
            "node.toml:10: readings.to: missing field `to`",
            "; add it",
        ),
        (
            good() + "[readings]\nto = \"r\"\nevery = \"soon\"\n",
            "node.toml:12: readings.every: ",
            "; correct its value",
        ),
        (
            good() + "[readings]\nto = \"r\"\nevery = \"1s\"\ncommand = \" \"\n",
            "node.toml:13: readings.command: is empty",
            "name a program",
        ),
        (
            good() + "[readings]\nto = \"r\"\nevery = \"0s\"\n",
            "node.toml:12: readings.every: is shorter than 1ms",
            "; for example \"500ms\"",
        ),
        (
            good().replace("threshold = 1", "threshold = 2"),
            "node.toml:7: threshold: is 2, with 1",
            "; choose at",
        ),
        (
            good().replace(AUTHORITY, "beef"),
            "node.toml:6: authorities: \"beef\" is not 64 hex digits",
            "; correct",
        ),
        (
            good().replace(AUTHORITY, &"0".repeat(64)),
            "node.toml:6: authorities: 0000",
            "; copy the authority's public key again",
        ),
        (
            good().replace("\"[::1]:41001\"", "\"[::1]:1\", \"[::1]:2\""),
            "node.toml:3: listen: has two addresses of one family",
            "; name one IPv4 and one IPv6 address",
        ),
        (good().replace("\"[::1]:41001\"", ""), "node.toml:3: listen: is not one or two", "; for example"),
        (good().replace("[::1]:41001", "localhost"), "node.toml:3: listen: ", "; correct its value"),
        (good().replace("= 3", "3"), "node.toml:2: ", "; correct"),
        (good().replace("mix-1", ""), "node.toml:1: name: is not 1 to 32 of", "; use the name in"),
    ];
    for (text, place, remedy) in stories {
        let error = load(&text).expect_err(place);
        assert!(error.starts_with(place), "«{error}» does not begin with «{place}»");
        assert!(error.contains(remedy), "«{error}» does not contain «{remedy}»");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = NodeConfig::load(Path::new("/nowhere/node.toml")).unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/node.toml: cannot read it: "), "{error}");
    assert!(error.ends_with("; check the path and its permissions"), "{error}");
}

/// A node of a network that several people run learns its id from documents, and gets these by
/// itself.
#[test]
fn where_documents_come_from_is_checked() {
    let without = good().replace("id = 3\n", "");
    let with = |more: &str| format!("{without}\n[directory]\nepoch_length = \"1h\"\n{more}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("node.toml");
    let load = |text: &str| {
        std::fs::write(&path, text).unwrap();
        NodeConfig::load(&path)
    };
    let config = load(&with("from = [\"north.example:7000\", \"[2001:db8::1]:7000\"]\n")).unwrap();
    assert_eq!(config.id, None);
    let directory = config.directory.unwrap();
    assert_eq!((directory.from.len(), directory.identity, directory.serve), (2, None, true));
    for (more, problem) in [
        ("from = []\n", "directory.from: names nobody"),
        ("from = [\"north.example\"]\n", "directory.from: has \"north.example\""),
        ("from = [\"http://north.example:7000\"]\n", "directory.from: has \"http://north.example:7000\""),
        ("from = [\"north.example:0\"]\n", "directory.from: has \"north.example:0\""),
        ("from = [\"n:1\"]\nidentity = \"i\"\naddresses = [\"0.0.0.0:9\"]\n", "directory.addresses: are not"),
        ("from = [\"n:1\"]\nserves = false\n", "serves"),
    ] {
        let error = load(&with(more)).unwrap_err().to_string();
        assert!(error.contains(problem) && !error.contains('\n'), "{error}");
    }
}
