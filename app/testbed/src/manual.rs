//! What a program says of itself, read as a user reads it.

use crate::Run;

/// A program's commands, found by asking each for its help.
pub struct Manual {
    name: &'static str,
    program: &'static str,
    /// The words of each command, and its help. The first is the program itself.
    pages: Vec<(Vec<String>, String)>,
}

impl Manual {
    pub fn read(name: &'static str, program: &'static str) -> Self {
        let mut manual = Self { name, program, pages: Vec::new() };
        manual.turn(&[]);
        manual
    }

    fn turn(&mut self, words: &[String]) {
        let help = Run::of(self.program, words.iter().map(String::as_str).chain(["--help"])).succeeds();
        self.pages.push((words.to_vec(), help.clone()));
        for command in commands(&help) {
            self.turn(&[words, &[command]].concat());
        }
    }

    /// Each command shows how it is used; what only groups others shows those.
    pub fn shows_examples(&self) {
        for (words, help) in &self.pages {
            assert!(help.contains(&format!("Usage: {}", self.name)), "{words:?}: {help}");
            let groups = commands(help).next().is_some() && !words.is_empty();
            assert!(
                groups || help.contains("Example") || help.contains("First steps"),
                "{words:?} shows no example: {help}"
            );
        }
    }

    /// Every shell completes each command.
    pub fn is_completed(&self) {
        for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
            let script = Run::of(self.program, ["completions", shell]).succeeds();
            for word in self.pages.iter().filter_map(|(words, _)| words.last()) {
                assert!(script.contains(word), "{shell} does not complete {word}");
            }
        }
    }

    pub fn has_pages(&self) {
        let folder = tempfile::tempdir().expect("a folder");
        let pages = folder.path().join("man1");
        Run::of(self.program, ["man", pages.to_str().expect("UTF-8")]).succeeds();
        for (words, _) in &self.pages {
            let mut name = self.name.to_owned();
            for word in words {
                name.extend(["-", word]);
            }
            let page = std::fs::read_to_string(pages.join(name.clone() + ".1"));
            assert!(page.unwrap_or_else(|_| panic!("no page {name}")).contains(".SH NAME"), "{name}");
        }
    }

    /// How many commands do something.
    pub fn commands(&self) -> usize {
        self.pages.iter().filter(|(_, help)| commands(help).next().is_none()).count()
    }
}

/// The commands that a help lists between its usage and its options, under whatever headings,
/// without `help` itself.
fn commands(help: &str) -> impl Iterator<Item = String> {
    let listed = help
        .lines()
        .skip_while(|line| !line.starts_with("Usage:"))
        .skip(1)
        .take_while(|line| !["Options:", "Arguments:"].contains(line));
    let words = listed.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
    words.filter_map(|line| line.split_whitespace().next()).filter(|word| *word != "help").map(str::to_owned)
}
