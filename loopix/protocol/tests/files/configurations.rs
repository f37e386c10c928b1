//! `config.json`.

use crate::network::says;
use motemix_loopix::files::Config;
use motemix_loopix::files::config::{Form, LONGEST_TIME};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

fn load(text: &str) -> (Result<Config, motemix_loopix::files::FileError>, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    fs::write(&path, text).unwrap();
    (Config::load(&path), path)
}

#[track_caller]
fn read(text: &str) -> Config {
    load(text).0.unwrap()
}

fn written(config: &Config, form: Form) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    config.save(&path, form).unwrap();
    fs::read_to_string(path).unwrap()
}

/// Nothing here is as it is by default.
fn unusual() -> Config {
    let mut config = Config { noise_len: 321, ..Config::default() };
    let seconds = Duration::from_millis;
    config.clients.loops = seconds(1_500);
    config.clients.drop = seconds(2_500);
    config.clients.payload = seconds(250);
    config.clients.delay = Duration::ZERO;
    config.clients.pull = seconds(3_000);
    config.clients.database = "../example.db".into();
    config.mixes.loops = config.clients.loops;
    config.mixes.delay = config.clients.delay;
    config.mixes.database = config.clients.database.clone();
    config.providers.max_retrieve = 7;
    config.providers.push = Some(true);
    config
}

#[test]
fn the_sections_of_the_python_nodes_are_read() {
    let config = read(
        r#"{
        "parametersClients": {
            "EXP_PARAMS_LOOPS": "1.5", "EXP_PARAMS_DROP": "2.5", "EXP_PARAMS_PAYLOAD": "0.25",
            "EXP_PARAMS_DELAY": "0", "TIME_PULL": "3.0", "DATABASE_NAME": "../example.db",
            "PATH_LENGTH": "3", "MAX_DELAY_TIME": "-432000", "NOISE_LENGTH": "9999", "COMMENT": [1] },
        "parametersMixnodes": {
            "EXP_PARAMS_LOOPS": "1.5", "EXP_PARAMS_DELAY": "0.0", "NOISE_LENGTH": "321",
            "DATABASE_NAME": "../example.db" },
        "parametersProviders": {
            "EXP_PARAMS_LOOPS": "not read by anybody", "MAX_RETRIEVE": "7", "DATA_DIR": "tmp/mail",
            "PUSH_MESSAGES": true } }"#,
    );
    assert_eq!(config, unusual());
}

#[test]
fn the_flat_form_of_the_java_client_is_read() {
    let config = read(
        r#"{ "EXP_PARAMS_LOOPS": 1.5, "EXP_PARAMS_DROP": 2.5, "EXP_PARAMS_PAYLOAD": 0.25, "EXP_PARAMS_DELAY": 0,
             "TIME_PULL": 3, "DATABASE_NAME": "../example.db", "NOISE_LENGTH": 321, "MAX_RETRIEVE": 7,
             "PUSH_MESSAGES": true }"#,
    );
    assert_eq!(config, unusual());
}

#[test]
fn what_is_missing_has_its_default() {
    for text in [r#"{ "parametersMixnodes": {} }"#, r#"{ "MAX_RETRIEVE": 50 }"#] {
        let config = read(text);
        assert_eq!(config, Config::default());
        assert_eq!(config.clients.payload, Duration::from_secs(2));
        assert_eq!(config.mixes.delay, Duration::from_millis(1));
        assert_eq!(config.clients.pull, Duration::from_secs(10));
        assert_eq!((config.providers.max_retrieve, config.providers.push), (50, None));
        assert_eq!((config.noise_len, config.mixes.database), (500, "example.db".into()));
    }
}

#[test]
fn both_forms_say_the_same() {
    for config in [Config::default(), unusual()] {
        for form in [Form::Sections, Form::Flat] {
            assert_eq!(read(&written(&config, form)), config);
        }
    }
}

#[test]
fn numbers_are_text_for_python_and_numbers_for_java() {
    let json = |form| serde_json::from_str::<Value>(&written(&unusual(), form)).unwrap();
    let sections = json(Form::Sections);
    let clients = &sections["parametersClients"];
    assert_eq!(clients["EXP_PARAMS_LOOPS"], "1.5");
    assert_eq!(clients["TIME_PULL"], "3.0");
    assert_eq!(sections["parametersMixnodes"]["NOISE_LENGTH"], "321");
    assert_eq!(sections["parametersProviders"]["MAX_RETRIEVE"], "7");
    assert_eq!(sections["parametersProviders"]["PUSH_MESSAGES"], true);
    for section in sections.as_object().unwrap().values() {
        let others = section.as_object().unwrap().iter().filter(|(key, _)| *key != "PUSH_MESSAGES");
        assert!(
            others.clone().count() >= 7 && others.clone().all(|(_, value)| value.is_string()),
            "{section}"
        );
    }
    let flat = json(Form::Flat);
    assert_eq!(flat["EXP_PARAMS_LOOPS"], json!(1.5));
    assert_eq!(flat["TIME_PULL"].to_string(), "3", "the Java client reads an integer");
    assert_eq!(flat["NOISE_LENGTH"], json!(321));
}

#[test]
fn a_value_that_cannot_be_meant_is_named_with_its_key() {
    let client = |key: &str, value: &str| format!(r#"{{ "parametersClients": {{ "{key}": {value} }} }}"#);
    for (text, words) in [
        (
            client("EXP_PARAMS_LOOPS", r#""0""#),
            &["parametersClients.EXP_PARAMS_LOOPS", "is \"0\"", "seconds"][..],
        ),
        (client("EXP_PARAMS_LOOPS", "1e-12"), &["EXP_PARAMS_LOOPS", "1e-12"]),
        (client("EXP_PARAMS_DELAY", "-0.5"), &["EXP_PARAMS_DELAY", "-0.5", "for example 0.001"]),
        (client("EXP_PARAMS_DROP", r#""nan""#), &["EXP_PARAMS_DROP", "nan"]),
        (client("EXP_PARAMS_PAYLOAD", r#""inf""#), &["EXP_PARAMS_PAYLOAD", "inf"]),
        (client("TIME_PULL", r#""ten""#), &["TIME_PULL", "ten"]),
        (client("TIME_PULL", "[]"), &["TIME_PULL", "[]"]),
        (client("TIME_PULL", "1e10"), &["TIME_PULL", "1e9 is never"]),
        (client("TIMEPULL", "10"), &["parametersClients.TIMEPULL", "not known", "perhaps TIME_PULL"]),
        (client("DATABASE_NAME", r#""""#), &["DATABASE_NAME", "name a file"]),
        (client("DATABASE_NAME", "7"), &["DATABASE_NAME", "is 7"]),
        (r#"{ "NOISE_LENGTH": 994 }"#.into(), &["NOISE_LENGTH", "is 994", "0 to 993"]),
        (r#"{ "NOISE_LENGTH": "5.0" }"#.into(), &["NOISE_LENGTH", "5.0"]),
        (r#"{ "MAX_RETRIEVE": -1 }"#.into(), &["MAX_RETRIEVE", "is -1"]),
        (r#"{ "MAX_RETRIEVE": 99999999999 }"#.into(), &["MAX_RETRIEVE", "choose 0 to 65536"]),
        (r#"{ "PUSH_MESSAGES": "false" }"#.into(), &["PUSH_MESSAGES", "without quotation marks"]),
        (r#"{ "parametersClients": 5 }"#.into(), &["parametersClients", "is no object"]),
        ("[]".into(), &["no JSON object"]),
        (r#"{ "name": "motemix" }"#.into(), &["neither sections nor keys"]),
        ("{ \"TIME_PULL\": 5,\n }".into(), &["config.json:2", "is no JSON"]),
        ("[".repeat(1 << 15), &["is no JSON"]),
        (" ".repeat(1 << 17), &["longer than 65536 bytes"]),
    ] {
        let (loaded, path) = load(&text);
        says(&loaded.unwrap_err(), &path, words);
    }
}

#[test]
fn what_a_form_cannot_say_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.json");
    let mut config = unusual();
    config.clients.pull = Duration::from_millis(1_500);
    says(&config.save(&path, Form::Flat).unwrap_err(), &path, &["TIME_PULL", "1.5 s", "whole seconds"]);
    config = unusual();
    config.mixes.delay = Duration::from_secs(1);
    says(&config.save(&path, Form::Flat).unwrap_err(), &path, &["EXP_PARAMS_DELAY", "differs"]);
    config.mixes.loops = Duration::ZERO;
    let error = config.save(&path, Form::Sections).unwrap_err();
    says(&error, &path, &["parametersMixnodes.EXP_PARAMS_LOOPS", "is \"0.0\""]);
    assert!(!path.exists());
}

proptest! {
    #[test]
    fn times_survive_their_text(nanoseconds in 1_u64..=1_000_000_000_000_000) {
        let mut config = Config::default();
        config.clients.payload = Duration::from_nanos(nanoseconds);
        prop_assert!(config.clients.payload <= LONGEST_TIME);
        for form in [Form::Sections, Form::Flat] {
            prop_assert_eq!(read(&written(&config, form)).clients.payload, config.clients.payload);
        }
    }

    #[test]
    fn any_text_is_a_configuration_or_refused(text in r#"[\[\]{}:,"0-9a-zA-Z_ .-]{0,200}"#) {
        let (loaded, path) = load(&text);
        if let Err(error) = loaded {
            says(&error, &path, &[]);
        }
    }
}
