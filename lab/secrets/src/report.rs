//! What valgrind reports, from its XML (protocol 4).

use std::fmt;

use anyhow::Context as _;

/// A branch or an address that depends on a secret; or another fault that valgrind found.
pub struct Report {
    kind: String,
    what: String,
    /// Innermost first; functions that were inlined have frames of their own.
    pub frames: Vec<Frame>,
}

/// One function on the stack.
pub struct Frame {
    pub function: String,
    /// Absolute, as the compiler noted it; empty for code without notes.
    pub file: String,
    pub line: usize,
}

/// Reads all reports of a run.
///
/// # Errors
/// If it is no XML: valgrind was ended before it had written all.
pub fn parse(xml: &str) -> anyhow::Result<Vec<Report>> {
    let document = roxmltree::Document::parse(xml).context("valgrind's reports are not sound XML")?;
    let errors = document.root_element().children().filter(|node| node.has_tag_name("error"));
    Ok(errors.map(report).collect())
}

type Node<'a> = roxmltree::Node<'a, 'a>;

fn report(error: Node) -> Report {
    let stack = error.children().find(|node| node.has_tag_name("stack"));
    let frames =
        stack.into_iter().flat_map(|stack| stack.children()).filter(|node| node.has_tag_name("frame"));
    let text_of = |name| text(error, name).to_owned();
    Report { kind: text_of("kind"), what: text_of("what"), frames: frames.map(frame).collect() }
}

fn frame(frame: Node) -> Frame {
    let file = match (text(frame, "dir"), text(frame, "file")) {
        (_, "") => String::new(),
        (directory, file) => format!("{directory}/{file}"),
    };
    Frame { function: text(frame, "fn").to_owned(), file, line: text(frame, "line").parse().unwrap_or(0) }
}

fn text<'a>(node: Node<'a>, name: &str) -> &'a str {
    node.children().find(|child| child.has_tag_name(name)).and_then(|child| child.text()).unwrap_or("")
}

impl Report {
    /// Whether it is of a branch or an address, and not of memory that was misused.
    pub fn is_dependence(&self) -> bool {
        matches!(self.kind.as_str(), "UninitCondition" | "UninitValue")
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "       {}", self.what)?;
        for frame in self.frames.iter().take_while(|frame| !frame.file.ends_with("/trial.rs")) {
            writeln!(f, "         at {} ({}:{})", frame.function, frame.file, frame.line)?;
        }
        Ok(())
    }
}
