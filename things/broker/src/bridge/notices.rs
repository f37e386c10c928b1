//! Lines for people about what is left out: each once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What of one kind is told line by line; the rest is counted alone.
const MOST: usize = 64;

/// Lines that wait to be logged. What was said once is not said again.
#[derive(Debug, Default)]
pub struct Notices {
    said: BTreeMap<&'static str, BTreeSet<String>>,
    lines: VecDeque<String>,
}

impl Notices {
    /// Says something of a kind about a subject, unless that was said.
    pub(super) fn say(&mut self, kind: &'static str, subject: &str, line: impl FnOnce() -> String) {
        let said = self.said.entry(kind).or_default();
        if said.len() > MOST || said.contains(subject) {
            return;
        }
        said.insert(subject.to_owned());
        self.lines.push_back(if said.len() > MOST {
            format!("{kind}: more than {MOST} of these; further ones are counted alone")
        } else {
            line()
        });
    }

    /// The next line.
    pub fn next_line(&mut self) -> Option<String> {
        self.lines.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_said_once_and_many_of_a_kind_end_with_one_line() {
        let mut notices = Notices::default();
        for _ in 0..3 {
            for number in 0..1000 {
                notices.say("commands", &number.to_string(), || format!("line {number}"));
            }
            notices.say("topics", "a", || "line of a topic".to_owned());
        }
        let lines: Vec<String> = std::iter::from_fn(|| notices.next_line()).collect();
        assert_eq!(lines.len(), MOST + 2);
        assert_eq!(lines[0], "line 0");
        assert!(lines[MOST].contains("counted alone"));
        assert_eq!(lines[MOST + 1], "line of a topic");
    }
}
