//! A run of a program, and what it said.

use std::ffi::OsStr;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// For what has to happen in the end; a story that waits this long has failed.
const PATIENCE: Duration = Duration::from_mins(3);

/// What it did.
pub struct Run(Output);

impl Run {
    /// Runs a program with these words.
    pub fn of<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(program: &str, words: I) -> Self {
        Self::by(Command::new(program).args(words))
    }

    /// Runs a program as the command says.
    pub fn by(command: &mut Command) -> Self {
        Self(command.env_remove("MOTEMIX_LOG").output().expect("the program starts"))
    }

    /// The same, with stdout where the command has it.
    pub fn by_into(command: &mut Command) -> Self {
        let child = command.env_remove("MOTEMIX_LOG").stderr(Stdio::piped()).spawn();
        Self(child.and_then(Child::wait_with_output).expect("the program starts"))
    }

    pub fn status(&self) -> i32 {
        self.0.status.code().expect("it was not killed")
    }

    pub fn stdout(&self) -> String {
        String::from_utf8(self.0.stdout.clone()).expect("text on stdout")
    }

    pub fn stderr(&self) -> String {
        String::from_utf8(self.0.stderr.clone()).expect("text on stderr")
    }

    #[track_caller]
    pub fn succeeds(self) -> String {
        assert_eq!(self.status(), 0, "{}", self.stderr());
        self.stdout()
    }

    /// Ends with this status and exactly one line, which has all of these words. It shows nothing.
    #[track_caller]
    pub fn fails(self, status: i32, words: &[&str]) {
        assert_eq!(self.shows_and_fails(status, words), "");
    }

    /// Shows what it could, which is returned, and then fails as `fails` says.
    #[track_caller]
    pub fn shows_and_fails(self, status: i32, words: &[&str]) -> String {
        let stderr = self.stderr();
        assert_eq!(self.status(), status, "{stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        for word in words {
            assert!(stderr.contains(word), "{word:?} is not in {stderr}");
        }
        assert!(says_nothing_twice(&stderr), "{stderr}");
        self.stdout()
    }
}

/// Whether each part between colons is another one: an error that prints its cause, and names it
/// as its cause too, would have it twice in a line.
fn says_nothing_twice(line: &str) -> bool {
    let mut parts: Vec<_> = line.trim_end().split(": ").collect();
    let all = parts.len();
    parts.sort_unstable();
    parts.dedup();
    parts.len() == all
}

/// Looks more seldom as time goes by: a look may be a program that starts.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let (end, mut pause) = (Instant::now() + PATIENCE, Duration::from_millis(10));
    while !holds() {
        assert!(Instant::now() < end, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(160));
    }
}
