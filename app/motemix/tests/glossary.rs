//! Public names keep to `docs/explanation/glossary.md`: one word for one thing.

use std::fs;
use std::path::{Path, PathBuf};

/// A word that names do not have, and what to say in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Banned {
    word: String,
    instead: String,
    /// The crate that has the word all the same, for the protocol that it speaks has it.
    except: Option<String>,
}

/// Words that are cut, or that say nothing: the last lines of the page.
const SAY_NOTHING: &str = "Words are not cut: no ";

/// The last column of each table, and the list of words at the page's end.
fn banned_words(page: &str) -> Vec<Banned> {
    let mut banned = Vec::new();
    for line in page.lines() {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        if line.starts_with('|')
            && let [term, .., not] = cells[..]
            && !["not", ""].contains(&not)
            && !not.starts_with("---")
        {
            let words = not.split(',').map(str::trim).filter(|word| !word.is_empty());
            banned.extend(words.map(|word| {
                let (word, except) =
                    word.split_once(" (").map_or((word, None), |(word, name)| (word, Some(name)));
                let except = except.map(|name| name.trim_end_matches(')').to_owned());
                Banned { word: word.into(), instead: term.into(), except }
            }));
        }
        if let Some(list) = line.trim_start_matches("- ").strip_prefix(SAY_NOTHING) {
            let words = list.split('`').skip(1).step_by(2);
            let instead = "the whole word";
            banned.extend(words.map(|word| Banned {
                word: word.into(),
                instead: instead.into(),
                except: None,
            }));
        }
    }
    banned
}

/// The names that a file makes public, within its crate or beyond.
fn public_names(code: &str) -> impl Iterator<Item = &str> {
    const KEYWORDS: [&str; 11] =
        ["const", "unsafe", "async", "fn", "struct", "enum", "trait", "type", "static", "mod", "mut"];
    code.lines().map(str::trim_start).filter_map(|line| {
        let rest = line.strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            Some(inside) => inside.split_once(')')?.1,
            None => rest,
        };
        let mut words = rest.strip_prefix(' ')?.split(|c: char| !c.is_alphanumeric() && c != '_');
        words.find(|word| !word.is_empty() && !KEYWORDS.contains(word)).filter(|word| *word != "use")
    })
}

/// `SourceAddress` and `source_address` are two words each.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c != '_' {
            words.last_mut().expect("one at least").extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// What a file says that the glossary does not have.
fn violations(path: &str, code: &str, banned: &[Banned]) -> Vec<String> {
    let mut found = Vec::new();
    for name in public_names(code) {
        let words = words(name);
        for Banned { word, instead, except } in banned {
            let is_in = |name: &str| path.contains(&format!("/{name}/"));
            let is_excepted = except.as_ref().is_some_and(|names| names.split(" and ").any(is_in));
            if words.contains(word) && !is_excepted {
                found.push(format!("{path}: {name}: the glossary has \"{instead}\" for \"{word}\""));
            }
        }
    }
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("app/motemix in a checkout").to_owned()
}

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the checkout") {
        let path = entry.expect("its entry").path();
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn public_names_have_the_words_of_the_glossary() {
    let banned = banned_words(&fs::read_to_string(root().join("docs/explanation/glossary.md")).unwrap());
    assert!(banned.len() > 20, "the page was read wrongly: {banned:?}");
    let mut files = Vec::new();
    let workspace: toml::Table =
        toml::from_str(&fs::read_to_string(root().join("Cargo.toml")).unwrap()).unwrap();
    let members = workspace["workspace"]["members"].as_array().unwrap();
    for member in members.iter().filter_map(|member| member.as_str()) {
        if !member.starts_with("boards/") {
            source_files(&root().join(member).join("src"), &mut files);
        }
    }
    assert!(files.len() > 300, "{} files", files.len());
    let mut found = Vec::new();
    for file in files {
        found.extend(violations(&file.display().to_string(), &fs::read_to_string(&file).unwrap(), &banned));
    }
    assert!(found.is_empty(), "\n  {}\n", found.join("\n  "));
}

#[test]
fn a_page_bans_the_words_of_its_last_column() {
    let page = "| word | what | not |\n|---|---|---|\n| mix | | relay (loopix), router |\n| hop | one | |\n\
                - Words are not cut: no `msg`, `ctx`.\n";
    let banned = banned_words(page);
    let words: Vec<_> = banned.iter().map(|banned| &*banned.word).collect();
    assert_eq!(words, ["relay", "router", "msg", "ctx"]);
    assert_eq!(violations("/loopix/protocol/src/a.rs", "pub fn relay() {}", &banned), Vec::<String>::new());
    assert_eq!(violations("/net/node/src/a.rs", "pub fn relay() {}", &banned).len(), 1);
}

#[test]
fn a_name_with_a_banned_word_is_found() {
    let banned = [Banned { word: "relay".into(), instead: "mix".into(), except: None }];
    for (code, name) in [
        ("    pub(crate) const fn next_relay(&self) {}", "next_relay"),
        ("pub struct RelayTable<'a> {", "RelayTable"),
        ("    pub relay: Mix,", "relay"),
        ("pub const RELAY_LEN: usize = 1;", "RELAY_LEN"),
    ] {
        let found = violations("a.rs", code, &banned);
        assert_eq!(found, [format!("a.rs: {name}: the glossary has \"mix\" for \"relay\"")]);
    }
    for code in ["pub use relay::Mix;", "let relay = 1;", "/// A relay.", "pub struct Relayed;"] {
        assert_eq!(violations("a.rs", code, &banned), Vec::<String>::new(), "{code}");
    }
}
