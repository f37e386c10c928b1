//! `docs/explanation/broker-attacks.md` names tests and counters: each of them is there. So are the
//! tests of the directory's and OSCORE's own tables.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use motemix_broker::serve::statistics::Statistics;

/// A row of a table: its cells, without the ones that are headings or lines.
fn rows(document: &str) -> Vec<Vec<&str>> {
    let tables = document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| attack |"));
    tables.map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// What stands in backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn find_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            find_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Names of functions that are tests and are not left out.
fn tests_in(source: &str) -> impl Iterator<Item = &str> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let name = |line: &str| -> Option<usize> { line.find("fn ").map(|at| at + 3) };
    (1..lines.len()).filter_map(move |at| {
        let line = lines[at];
        let rest = &line[name(line)?..];
        let attributes = lines[..at].iter().rev().take_while(|line| line.starts_with("#["));
        let attributes: Vec<_> = attributes.collect();
        let is_test =
            attributes.iter().any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"));
        let is_left_out = attributes.iter().any(|line| line.starts_with("#[ignore"));
        rest.split('(').next().filter(|_| is_test && !is_left_out)
    })
}

#[test]
fn each_test_and_each_counter_of_the_table_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| fs::read_to_string(root.join("docs").join(name)).expect("a document");
    let mut files = Vec::new();
    for member in ["things/broker", "things/coap", "app/motemix"] {
        for part in ["src", "tests"] {
            find_sources(&root.join(member).join(part), &mut files);
        }
    }
    let sources: Vec<String> = files.iter().map(|file| fs::read_to_string(file).expect("text")).collect();
    let tests: BTreeSet<&str> = sources.iter().flat_map(|source| tests_in(source)).collect();
    let statistics = Statistics { oscore: Some(Default::default()), ..Statistics::default() };
    let counters: BTreeSet<String> = statistics
        .groups()
        .iter()
        .flat_map(|(group, names)| names.iter().map(move |(name, _)| format!("{group}.{name}")))
        .collect();

    let has_its_tests = |row: &[&str]| {
        let named: Vec<&str> = quoted(row.last().expect("cells")).collect();
        assert!(!named.is_empty(), "{row:?} names no test");
        // A file is named where the test's name is not enough.
        for test in named.into_iter().filter(|name| !name.contains('/')) {
            assert!(tests.contains(test), "{}: there is no test {test}", row[0]);
        }
    };
    for document in ["spec/resource-directory.md", "spec/oscore.md"].map(read) {
        let (_, attacks) = document.split_once("## Attacks").expect("a chapter");
        let attacks = attacks.split("\n## ").next().expect("its text");
        for row in rows(attacks) {
            has_its_tests(&row);
        }
    }
    let document = read("explanation/broker-attacks.md");
    let rows = rows(&document);
    assert!(rows.len() > 30, "{} rows", rows.len());
    for row in &rows {
        has_its_tests(row);
        if let [_, _, _, counter, _] = row[..] {
            assert!(counter.contains('`'), "{} names no counter", row[0]);
            for counter in quoted(counter) {
                assert!(counters.contains(counter), "{}: there is no counter {counter}", row[0]);
            }
        }
    }
}

#[test]
fn a_test_that_is_none_or_is_left_out_is_not_found() {
    let source =
        "#[test]\nfn is_one() {}\n\nfn is_none() {}\n#[test]\n#[ignore = \"long\"]\nfn is_left_out() {}";
    assert_eq!(tests_in(source).collect::<Vec<_>>(), ["is_one"]);
}

/// The number that a constant, or a default of a setting, has in a source.
fn number_in(source: &str, name: &str) -> Option<u64> {
    let digits = |text: &str| text.trim().replace('_', "").parse::<u64>().ok();
    let number = |text: &str| {
        let text = text.split([';', ',', '}']).next()?;
        match text.split_once("<<") {
            Some((base, shift)) => Some(digits(base)? << digits(shift)?),
            None => digits(text),
        }
    };
    let constant = source.split(&format!("const {name}: ")).nth(1);
    let constant = constant.and_then(|rest| number(rest.split(" = ").nth(1)?));
    let field = format!(" {name}: ");
    let defaults = source.split("fn default() -> Self {").skip(1).filter_map(|body| body.split("\n}").next());
    let mut fields = defaults.flat_map(|body| body.split(&field).skip(1)).filter_map(number);
    constant.or_else(|| fields.next())
}

#[test]
fn each_bound_of_the_list_is_the_one_in_the_code() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let document = fs::read_to_string(root.join("docs/reference/bounded-tables.md")).expect("the list");
    let mut seen = 0;
    for row in document.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| table |")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [what, places, counted_by, rule, code] = cells[..] else { panic!("{row}: not five cells") };
        assert!(!counted_by.is_empty() && !rule.is_empty(), "{what}: neither key nor rule");
        let code: Vec<&str> = quoted(code).collect();
        let [file, name] = code[..] else { panic!("{what}: a file and a name") };
        let source = fs::read_to_string(root.join(file)).expect("the file");
        let found = number_in(&source, name).unwrap_or_else(|| panic!("{file}: no number {name}"));
        let said: String = places.chars().take_while(|it| it.is_ascii_digit() || *it == ',').collect();
        let said: u64 = said.replace(',', "").parse().unwrap_or_else(|_| panic!("{what}: no number"));
        let unit = if places.contains("MiB") && found >= 1 << 20 { 1 << 20 } else { 1 };
        assert_eq!(found, said * unit, "{what}: {file} says {found}");
        seen += 1;
    }
    assert!(seen > 30, "{seen} rows");
}
