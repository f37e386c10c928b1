//! Places in the source whose branches are disclosed: each has a comment `// Disclosed: …` right
//! above.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;

use crate::report::{Frame, Report};

const MARKER: &str = "// Disclosed: ";

/// A branch is at most so many lines below the end of its comment: a condition may take several.
const REACH: usize = 4;

/// Libraries whose small functions are inlined into ours; the branch counts as that of the caller.
const TRANSPARENT: [&str; 4] = ["/library/core/src/", "/library/alloc/src/", "/library/std/src/", "/subtle-"];

/// Where a library discloses: a part of its file's path, and the reason.
const OF_LIBRARIES: [(&str, &str, &str); 6] = [
    ("/base16ct-", "/src/lib.rs", "whether all digits of a key file are hexadecimal digits"),
    ("/ccm-", "/src/lib.rs", "whether a tag of AES-CCM is right, which whoever sent the message learns"),
    ("/chacha20poly1305-", "/src/cipher.rs", "whether a pairing's tag is right, which its operator learns"),
    ("/graviola-", "/src/mid/x25519.rs", "whether the shared secret is zero, as RFC 7748 §6.1 asks"),
    ("/rmp-", ".rs", READ),
    ("/rmpv-", ".rs", READ),
];

/// What a hop of Loopix is told is a msgpack value, of which even the length is secret to others.
/// These functions read it, by the end of a file's path and the function, and an empty name stands
/// for all of a file's.
const READERS: [(&str, &str); 5] = [
    ("/loopix/protocol/src/packet/process.rs", "peel"),
    ("/loopix/protocol/src/packet/process.rs", "read"),
    ("/loopix/protocol/src/packet/format.rs", "parse"),
    ("/loopix/protocol/src/pack.rs", ""),
    ("/lab/secrets/src/loopix.rs", "process"),
];
/// Frees it: how much there is depends on its length.
const DROPS: &str = "drop_in_place<rmpv::Value>";
const READ: &str = "what a hop of Loopix is told, to that hop";

/// Functions of the C library that have no lines of their own: they count as their caller's.
const OF_C: [&str; 8] = ["bcmp", "free", "malloc", "memcmp", "memcpy", "memmove", "memset", "realloc"];

/// Reads sources, and remembers which disclosures were seen.
#[derive(Default)]
pub struct Places {
    sources: HashMap<String, Vec<String>>,
    seen: BTreeMap<String, String>,
}

impl Places {
    /// Whether the report is of a branch that is disclosed where it is.
    pub fn discloses(&mut self, report: &Report) -> bool {
        if !report.is_dependence() {
            return false;
        }
        let frees = |frame: &Frame| frame.function.contains(DROPS);
        if report.frames.iter().any(frees) {
            self.seen.insert(DROPS.to_owned(), READ.to_owned());
            return true;
        }
        let transparent = |frame: &&Frame| {
            TRANSPARENT.iter().any(|part| frame.file.contains(part))
                || OF_C.contains(&frame.function.as_str())
        };
        let Some(frame) = report.frames.iter().find(|frame| !transparent(frame)) else { return false };
        let Some(reason) = self.reason(frame) else { return false };
        let place = fs::canonicalize(&frame.file).unwrap_or_else(|_| frame.file.clone().into());
        let project =
            fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap_or_default();
        let place = place.strip_prefix(project).unwrap_or(&place).display().to_string();
        // Of a library, what follows the directory that cargo keeps the registry's crates in.
        let place = place
            .split_once("/registry/src/")
            .and_then(|(_, rest)| rest.split_once('/'))
            .map_or(&*place, |(_, file)| file);
        self.seen.insert(format!("{place}:{}", frame.line), reason);
        true
    }

    /// Each place that was seen, and its reason.
    pub fn seen(&self) -> impl Iterator<Item = (&String, &String)> {
        self.seen.iter()
    }

    fn reason(&mut self, frame: &Frame) -> Option<String> {
        for (library, file, reason) in OF_LIBRARIES {
            if frame.file.contains(library) && frame.file.ends_with(file) {
                return Some(reason.to_owned());
            }
        }
        for (file, function) in READERS {
            let name = frame.function.split('<').next().unwrap_or_default();
            let name = name.rsplit("::").next().unwrap_or_default();
            if frame.file.ends_with(file) && (function.is_empty() || name.starts_with(function)) {
                return Some(READ.to_owned());
            }
        }
        let read =
            || fs::read_to_string(&frame.file).unwrap_or_default().lines().map(str::to_owned).collect();
        let lines = self.sources.entry(frame.file.clone()).or_insert_with(read);
        above(lines, frame.line)
    }
}

/// The reason in the comment above a line, counted from 1.
fn above(lines: &[String], line: usize) -> Option<String> {
    let is_comment = |line: &usize| lines.get(*line).is_some_and(|line| line.trim_start().starts_with("//"));
    let end = (line.saturating_sub(1 + REACH)..line).rev().find(is_comment)?;
    let begin = (0..=end).rev().take_while(is_comment).find(|line| lines[*line].contains(MARKER))?;
    let words = lines[begin..=end].iter().map(|line| line.trim_start().trim_start_matches('/').trim());
    Some(words.collect::<Vec<_>>().join(" ").trim_start_matches("Disclosed: ").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_comment_discloses_what_is_right_below_it_and_no_more() {
        let lines = source(
            "let a = secret;\n// Disclosed: whether it is zero,\n// as anybody sees.\nif a == 0\n    && b\n{\n}\nif a == 1 {\n}",
        );
        assert_eq!(above(&lines, 1), None);
        for line in 4..=6 {
            assert_eq!(above(&lines, line).as_deref(), Some("whether it is zero, as anybody sees."));
        }
        assert_eq!(above(&lines, 8), None);
        assert_eq!(above(&lines, 80), None);
    }

    #[test]
    fn another_comment_discloses_nothing() {
        assert_eq!(above(&source("// Compares.\nif a == 0 {}"), 2), None);
    }
}
