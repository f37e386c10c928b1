//! What is drawn is read back by two readers that nobody here wrote: ZXing-C++ and ZBar.

use super::{Kit, motemix};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What both readers see in an image, each code once.
fn read(image: &str) -> BTreeSet<String> {
    let zxing = read_by_zxing(image);
    let zbar = said(Command::new("zbarimg").args(["--raw", "--quiet", image]));
    assert_eq!(zxing, zbar, "the readers do not agree on {image}");
    zxing
}

fn read_by_zxing(image: &str) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join(".venv-objects/bin/python");
    assert!(python.exists(), "there is no .venv-objects; make it with: scripts/setup objects_peer");
    said(Command::new(python).arg(root.join("scripts/objects/read_qr.py")).arg(image))
}

fn said(command: &mut Command) -> BTreeSet<String> {
    let output = command.output().expect("a reader; install it with: scripts/setup objects_peer");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(|line| line.strip_prefix("QR-Code:").unwrap_or(line).to_owned()).collect()
}

/// The drawing on paper, at 200 dots an inch.
fn printed(svg: &str) -> String {
    let image = format!("{svg}.png");
    let drawn = Command::new("rsvg-convert").args(["-d", "200", "-p", "200", svg, "-o", &image]).status();
    assert!(drawn.expect("rsvg-convert; install it with: scripts/setup objects_peer").success());
    image
}

/// Half blocks as a picture (Netpbm), as a terminal with dark or light letters shows them.
fn photographed(text: &str, light_letters: bool) -> Vec<u8> {
    const SIDE: usize = 6;
    let rows: Vec<Vec<bool>> = text
        .lines()
        .flat_map(|line| {
            let upper = line.chars().map(|c| matches!(c, '█' | '▀')).collect();
            let lower = line.chars().map(|c| matches!(c, '█' | '▄')).collect();
            [upper, lower]
        })
        .collect();
    let width = rows[0].len() * SIDE;
    let mut image = format!("P5\n{width} {}\n255\n", rows.len() * SIDE).into_bytes();
    for row in &rows {
        let line = row.iter().flat_map(|filled| [if *filled == light_letters { 255 } else { 0 }; SIDE]);
        image.extend(line.collect::<Vec<u8>>().repeat(SIDE));
    }
    image
}

fn code(identity: &str) -> BTreeSet<String> {
    BTreeSet::from([format!("MOTEMIX:ID:{}", identity.to_uppercase())])
}

#[test]
fn a_camera_reads_the_identity_off_paper_screen_and_terminal() {
    let kit = Kit::new();
    let full = kit.identity("a");
    let (svg, png, pgm) = (kit.path("a.svg"), kit.path("a.png"), kit.path("a.pgm"));
    for (identity, short) in [(&full[..], None), (&full[..32], Some("--short"))] {
        let key = kit.path("a");
        let words = ["id", "qr", &key].into_iter().chain(short);
        motemix(words.clone().chain(["--svg", &svg, "--png", &png])).succeeds();
        assert_eq!(read(&png), code(identity));
        assert_eq!(read(&printed(&svg)), code(identity));
        let text = motemix(words).succeeds();
        // Light letters on dark, as most terminals have them.
        fs::write(&pgm, photographed(&text, true)).unwrap();
        assert_eq!(read(&pgm), code(identity));
        // What the readers see is what the program takes.
        assert_eq!(motemix(["id", "qr", read(&pgm).first().unwrap()]).succeeds(), text);
    }
}

/// Without colours the letters are light; with them the program says which they are, black on
/// white.
#[test]
fn a_terminal_is_read_with_colours_and_without() {
    let kit = Kit::new();
    let command = format!(
        "'{}' id qr '{}'",
        motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")),
        kit.path("a.card")
    );
    for (colours, no_color) in [(true, ""), (false, "1")] {
        // `script` gives the program a terminal.
        let mut script = Command::new("script");
        script.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
        let output = script.env("NO_COLOR", no_color).output().expect("script of util-linux");
        let text = String::from_utf8(output.stdout).expect("text").replace('\r', "");
        assert_eq!(text.contains("\x1b[38;5;16;48;5;231m"), colours, "{text}");
        let text = text.replace("\x1b[38;5;16;48;5;231m", "").replace("\x1b[0m", "");
        let pgm = kit.path("a.pgm");
        fs::write(&pgm, photographed(&text, !colours)).unwrap();
        assert_eq!(read(&pgm), code(&kit.identity("a")));
    }
}

#[test]
fn a_code_is_small_because_its_letters_are_those_of_the_standard() {
    let kit = Kit::new();
    for (more, modules) in [(None, 33), (Some("--short"), 29)] {
        let words =
            ["id".to_owned(), "qr".to_owned(), kit.path("a")].into_iter().chain(more.map(str::to_owned));
        let text = motemix(words).succeeds();
        assert!(text.lines().all(|line| line.chars().count() == modules + 8), "{text}");
    }
}

#[test]
fn a_sheet_has_a_label_for_each_device_and_for_the_box() {
    let kit = Kit::new();
    let group = kit.group()["identity"].as_str().unwrap().to_owned();
    let labels = kit.path("labels.svg");
    motemix(["id", "sheet", &labels, &kit.path("a.card"), &kit.path("b.card")]).succeeds();
    let expected = [&group, &kit.identity("a"), &kit.identity("b")];
    let expected: BTreeSet<_> = expected.into_iter().flat_map(|identity| code(identity)).collect();
    assert_eq!(read_by_zxing(&printed(&labels)), expected);
    let drawing = fs::read_to_string(&labels).unwrap();
    assert!(
        drawing.contains("width=\"210mm\" height=\"297mm\"") && drawing.contains("thermometer &lt;2&gt;")
    );
    for identity in [&group, &kit.identity("a")] {
        assert!(drawing.contains(&format!(">{} {}<", &identity[..4], &identity[4..8])));
    }
}

#[test]
fn a_kit_of_many_devices_has_several_sheets() {
    let kit = Kit::new();
    let mut words = vec!["id".to_owned(), "sheet".to_owned(), kit.path("labels.svg")];
    for device in 0..24 {
        let key = kit.path(&format!("device-{device}"));
        motemix(["id", "new", &key]).succeeds();
        words.push(key);
    }
    let said = motemix(&words).succeeds();
    assert_eq!(said.lines().count(), 2);
    assert!(PathBuf::from(kit.path("labels-2.svg")).exists());
    // ZBar overlooks one of so many now and then.
    let read: usize = said.lines().map(|sheet| read_by_zxing(&printed(sheet)).len()).sum();
    assert_eq!(read, 25);
}
