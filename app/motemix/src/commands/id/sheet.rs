//! `motemix id sheet`: labels for a kit of devices, to be printed on a page of A4.

use super::draw::Code;
use super::{group, may_draw, source, write};
use motemix_object::{Identity, IdentityLabel, OtherKind};
use motemix_program::cli::IdSheet;
use motemix_program::failure::Failure;
use motemix_program::report;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Sheets of 24 labels, 70 × 37 mm, as stationers sell them; half a millimetre is left above and
/// below.
const COLUMNS: u8 = 3;
const ROWS: u8 = 8;
const LABEL: (f64, f64) = (70.0, 37.0);
const TOP: f64 = 0.5;
/// The code on a label, with its quiet zone, and the space around what is on the label.
const CODE: f64 = 29.0;
const MARGIN: f64 = 4.0;
/// The most characters of a line of text that fit beside the code.
const LINE: usize = 22;

/// What is printed on a label.
struct Label {
    identity: Identity,
    lines: Vec<String>,
}

pub fn sheet(args: &IdSheet) -> Result<(), Failure> {
    let kit = group::of(&args.devices)?;
    let mut labels = vec![Label {
        identity: kit.group().identity(),
        lines: vec!["box".to_owned(), report::counted(args.devices.len() as u64, "device", "devices")],
    }];
    for path in &args.devices {
        let card = source::card(path)?;
        let text = |kind| {
            let other = card.others().find(|other| other.kind == kind)?;
            Some(std::str::from_utf8(other.value).map_or_else(|_| hex::encode(other.value), str::to_owned))
        };
        let lines = [text(OtherKind::Serial), text(OtherKind::Model)];
        labels.push(Label { identity: card.identity(), lines: lines.into_iter().flatten().collect() });
    }
    let sheets: Vec<_> = labels.chunks(usize::from(COLUMNS * ROWS)).collect();
    let paths: Vec<_> = (1..=sheets.len()).map(|number| numbered(&args.labels, number)).collect();
    // All or none.
    paths.iter().try_for_each(|path| may_draw(path))?;
    let mut written = Vec::new();
    for (path, labels) in paths.into_iter().zip(sheets) {
        write(&path, page(labels)?.as_bytes())?;
        written.push(report::printable(&path.display().to_string()) + "\n");
    }
    Ok(report::print(written.concat().as_bytes())?)
}

/// `labels.svg`, `labels-2.svg`, …
fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 1 {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

fn page(labels: &[Label]) -> Result<String, Failure> {
    let mut page =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"210mm\" height=\"297mm\" viewBox=\"0 0 210 \
                    297\" font-family=\"monospace\" font-size=\"3\">\n<rect width=\"210\" height=\"297\" \
                    fill=\"#fff\"/>\n"
            .to_owned();
    for (at, label) in (0_u8..).zip(labels) {
        let (column, row) = (f64::from(at % COLUMNS), f64::from(at / COLUMNS));
        let (x, y) = (column * LABEL.0 + MARGIN, row * LABEL.1 + TOP + MARGIN);
        push(&mut page, label, x, y)?;
    }
    page.push_str("</svg>\n");
    Ok(page)
}

fn push(page: &mut String, label: &Label, x: f64, y: f64) -> Result<(), Failure> {
    // In full: a label is what an installer's list is made of.
    let code = Code::of(&IdentityLabel::Full(label.identity))?;
    let scale = CODE / code.scaled(1.0);
    let right = x + CODE;
    // Writing to a string cannot fail.
    let _ = writeln!(
        page,
        "<path transform=\"translate({x} {y}) scale({scale:.4})\" shape-rendering=\"crispEdges\" d=\"{}\"/>",
        code.path()
    );
    let digits = format!("{:.32}", label.identity);
    let groups: Vec<_> = digits.as_bytes().chunks(4).map(String::from_utf8_lossy).collect();
    let rows = groups.chunks(2).map(|pair| pair.join(" "));
    let lines = label.lines.iter().flat_map(|line| wrapped(line)).take(4);
    for (row, text) in (0_u8..).zip(rows.chain(lines)) {
        let baseline = y + 6.0 + 3.7 * f64::from(row);
        let size = if row < 4 { "" } else { " font-size=\"2.4\"" };
        let _ = writeln!(page, "<text x=\"{right}\" y=\"{baseline:.1}\"{size}>{}</text>", escaped(&text));
    }
    Ok(())
}

/// A line that is too long goes on in the next one.
fn wrapped(line: &str) -> Vec<String> {
    let characters: Vec<_> = line.chars().collect();
    characters.chunks(LINE).map(|chunk| chunk.iter().collect()).collect()
}

/// Text as it may stand in XML 1.0: nothing in it is markup, and no control is in it.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in report::printable(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}
