//! The program teaches its own use.

mod program;

use program::motemix;

const COMMANDS: [&[&str]; 41] = [
    &["net"],
    &["net", "init"],
    &["net", "up"],
    &["net", "down"],
    &["net", "status"],
    &["net", "renew"],
    &["node"],
    &["send"],
    &["inbox"],
    &["directory"],
    &["directory", "show"],
    &["directory", "verify"],
    &["demo"],
    &["bench"],
    &["air"],
    &["boards"],
    &["boards", "cycles"],
    &["sim"],
    &["sim", "run"],
    &["sim", "trace"],
    &["sim", "sweep"],
    &["sim", "plot"],
    &["sim", "validate"],
    &["reproduce"],
    &["reproduce", "thesis"],
    &["loopix"],
    &["loopix", "advise"],
    &["loopix", "renew"],
    &["loopix", "cost"],
    &["loopix", "anonymity"],
    &["loopix", "policies"],
    &["loopix", "measure"],
    &["loopix", "measure", "energy"],
    &["loopix", "measure", "bandwidth"],
    &["loopix", "measure", "mix-throughput"],
    &["loopix", "measure", "latency"],
    &["loopix", "measure", "pull"],
    &["loopix", "load"],
    &["completions"],
    &["man"],
    &[],
];

#[test]
fn every_command_that_does_something_shows_an_example() {
    for command in COMMANDS {
        let help = motemix(command.iter().chain(&["--help"])).succeeds();
        assert!(help.contains("Usage: motemix"), "{command:?}: {help}");
        let only_groups = matches!(
            command,
            ["net" | "directory" | "boards" | "sim" | "reproduce" | "loopix"] | ["loopix", "measure"]
        );
        assert!(
            only_groups || help.contains("Example") || help.contains("First steps"),
            "{command:?}: {help}"
        );
    }
}

#[test]
fn a_misspelt_command_gets_a_suggestion() {
    let run = motemix(["ibox"]);
    assert_eq!(run.status(), 2);
    assert!(run.stderr().contains("inbox"), "{}", run.stderr());
}

#[test]
fn a_log_filter_that_is_none_is_one_line() {
    motemix(["--log", "a=b=c", "completions", "bash"]).fails(2, &["--log", "try `info`"]);
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = motemix(["completions", shell]).succeeds();
        for word in ["inbox", "demo", "completions"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
}

#[test]
fn each_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    motemix(["man", pages.to_str().unwrap()]).succeeds();
    for command in COMMANDS {
        let name = format!("{}.1", [&["motemix"], command].concat().join("-"));
        let page = std::fs::read_to_string(pages.join(&name)).unwrap_or_else(|_| panic!("no page {name}"));
        assert!(page.contains(".SH NAME"), "{name}");
    }
}
