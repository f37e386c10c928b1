//! The tutorials, as a reader types them. The commands of a page run in one shell, in an empty folder
//! of a machine of their own, as far as networks and processes go. What they print is what the page
//! shows.

mod program;

use program::{Run, build_nodes};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the shell prints between the output of one block and that of the next.
const END_OF_BLOCK: &str = "-- end of block --";

/// Commands of a page, and the lines that the page shows below them.
#[derive(Debug, Default, PartialEq)]
struct Block {
    commands: String,
    shown: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of `sh`, each with the block of `text` that follows it.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut fence = None;
    for line in page.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(language)) => {
                fence = Some(language);
                if language == "sh" {
                    blocks.push(Block::default());
                }
            }
            (Some(_), Some(_)) => fence = None,
            (Some("sh"), None) => {
                let block = blocks.last_mut().expect("a fence began it");
                writeln!(block.commands, "{line}").expect("memory");
            }
            (Some("text"), None) => {
                blocks.last_mut().expect("commands stand above what they print").shown.push(line.to_owned());
            }
            _ => {}
        }
    }
    blocks
}

/// A line without what is another in each run: numbers, times, identities, the width of columns.
fn settled(line: &str) -> String {
    let is_digit = |c: char| c.is_ascii_hexdigit() && !c.is_ascii_uppercase();
    let number = |word: &str| word.len() >= 8 && word.chars().all(is_digit);
    let words = line.split_whitespace().map(|word| {
        if number(word) {
            return "0".to_owned();
        }
        let mut settled = String::new();
        for c in word.chars() {
            if !c.is_ascii_digit() {
                settled.push(c);
            } else if !settled.ends_with('0') {
                settled.push('0');
            }
        }
        settled
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Whether a line is as the page shows it, where `…` stands for anything.
fn is_shown(line: &str, shown: &str) -> bool {
    let (line, shown) = (settled(line), settled(shown));
    let mut parts = shown.split('…').map(str::trim);
    let Some(mut rest) = line.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

/// Why the output of a block is not what the page shows: the first line that did not come. A line of
/// `…` alone stands for any number of lines.
fn missing<'a>(output: &str, shown: &'a [String]) -> Option<&'a str> {
    let mut lines = output.lines().filter(|line| !line.trim().is_empty());
    let mut anywhere = false;
    for expected in shown.iter().filter(|line| !line.trim().is_empty()) {
        if expected.trim() == "…" {
            anywhere = true;
            continue;
        }
        let found = if anywhere {
            lines.any(|line| is_shown(line, expected))
        } else {
            lines.next().is_some_and(|line| is_shown(line, expected))
        };
        if !found {
            return Some(expected);
        }
        anywhere = false;
    }
    (!anywhere && lines.next().is_some()).then_some("the end")
}

/// Runs the blocks in one shell, after `before`, and compares what each prints.
fn run(blocks: &[Block], before: &str) {
    build_nodes();
    assert!(!blocks.is_empty(), "the page has no commands");
    let folder = tempfile::tempdir().expect("a folder");
    let mut script = format!("set -eu\nip link set lo up\n{before}\n");
    for block in blocks {
        writeln!(script, "{}echo '{END_OF_BLOCK}'", block.commands).expect("memory");
    }
    fs::write(folder.path().join("story.sh"), script).expect("written");
    std::os::unix::fs::symlink(root().join("scenarios"), folder.path().join("scenarios")).expect("a link");
    let programs = Path::new(env!("CARGO_BIN_EXE_motemix-lab")).parent().expect("a folder");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::iter::once(programs.to_owned()).chain(std::env::split_paths(&path));
    let mut unshare = Command::new("unshare");
    // What the page leaves running ends with the shell.
    unshare.args(["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    unshare.args(["sh", "story.sh"]).current_dir(&folder);
    unshare.env("PATH", std::env::join_paths(path).expect("a path"));
    let said = Run::by(&mut unshare).succeeds();
    let outputs: Vec<_> = said.split(&format!("{END_OF_BLOCK}\n")).collect();
    assert_eq!(outputs.len(), blocks.len() + 1, "{said}");
    for (block, output) in blocks.iter().zip(outputs) {
        if let Some(line) = missing(output, &block.shown).filter(|_| !block.shown.is_empty()) {
            panic!("{}printed\n{output}and the page shows {line:?}", block.commands);
        }
    }
}

fn tutorial(name: &str) -> Vec<Block> {
    let page = root().join("docs/tutorials").join(name);
    blocks(&fs::read_to_string(&page).expect("a tutorial"))
}

#[test]
fn the_five_lines_of_the_front_page() {
    let page = fs::read_to_string(root().join("README.md")).expect("the front page");
    let (_, section) = page.split_once("## Try it").expect("a section to try");
    let first = blocks(section).into_iter().next().expect("commands");
    assert_eq!(first.commands.lines().count(), 5, "{first:?}");
    run(&[first], "");
}

#[test]
fn a_first_message() {
    run(&tutorial("first-message.md"), "");
}

#[test]
fn a_sensor_on_a_small_computer() {
    run(&tutorial("sensor.md"), "");
}

#[test]
fn readings_in_home_assistant() {
    // As Debian starts it, and as whoever runs this.
    let mosquitto = "printf 'listener 1883 localhost\\nallow_anonymous true\\nuser root\\n' > mosquitto.conf
        mosquitto -c mosquitto.conf > mosquitto.log 2>&1 &";
    run(&tutorial("home-assistant.md"), mosquitto);
}

#[test]
fn a_simulation() {
    run(&tutorial("simulation.md"), "");
}

#[test]
fn each_tutorial_has_its_story() {
    let mut pages: Vec<_> = fs::read_dir(root().join("docs/tutorials"))
        .expect("tutorials")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    pages.sort_unstable();
    assert_eq!(pages, ["first-message.md", "home-assistant.md", "sensor.md", "simulation.md"]);
}

#[test]
fn a_page_that_shows_something_else_is_found() {
    let page =
        "```sh\necho one\necho 2 after 31 ms\n```\n\n```text\none\n…after 29 ms\n```\n```toml\nx = 1\n```\n";
    let [block] = &blocks(page)[..] else { panic!("one block") };
    assert_eq!(block.commands, "echo one\necho 2 after 31 ms\n");
    assert_eq!(missing("one\n2 after 31 ms\n", &block.shown), None);
    assert_eq!(missing("one\n2 before 31 ms\n", &block.shown), Some("…after 29 ms"));
    assert_eq!(missing("one\n2 after 31 ms\nthree\n", &block.shown), Some("the end"));
    assert_eq!(missing("two\n", &block.shown), Some("one"));
    let anywhere = ["…".to_owned(), "last".to_owned()];
    assert_eq!(missing("1\n2\nlast\n", &anywhere), None);
    assert_eq!(missing("1\n2\n", &anywhere), Some("last"));
    assert!(is_shown("mote-1  7b370bef2b68ecc9 believed", "mote-3 0123456789ab believed"));
    assert!(!is_shown("mote-1 refused", "mote-1 believed"));
}
