//! Documents lead where they say: each link between them to a file and a heading that are there, and
//! each page that code names to a page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below a folder with one of these endings, without what is built and what git keeps.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let name = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if entry.is_dir() {
            // What is built here, or was fetched to build the page, is none of ours.
            if name != "target" && name != "node_modules" && !name.starts_with('.') {
                files(&entry, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(entry);
        }
    }
}

/// Targets of `[text](target)`.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://") && !target.contains(char::is_whitespace))
}

/// What headings are called in links: lower case, hyphens for spaces, and nothing but words.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let headings = page.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    let anchor = |line: &str| {
        let text = line.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// Why a link of the page at `from` leads nowhere.
fn missing(from: &Path, link: &str) -> Option<String> {
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let to = if path.is_empty() { from.to_owned() } else { from.parent()?.join(path) };
    if !to.exists() {
        return Some(format!("{}: {link}: there is no such file", from.display()));
    }
    let is_page = to.extension().is_some_and(|extension| extension == "md");
    let is_there = anchor.is_empty() || !is_page || {
        let page = fs::read_to_string(&to).expect("a page");
        anchors(&page).contains(anchor)
    };
    (!is_there).then(|| format!("{}: {link}: there is no such heading", from.display()))
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let mut pages = Vec::new();
    files(&root(), &[".md"], &mut pages);
    let mut count = 0;
    let mut wrong = Vec::new();
    for page in &pages {
        let text = fs::read_to_string(page).expect("a page");
        for link in links(&text) {
            count += 1;
            wrong.extend(missing(page, link));
        }
    }
    assert!(count > 100, "only {count} links were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_page_that_code_names_is_there() {
    let mut sources = Vec::new();
    for folder in ["base", "net", "things", "loopix", "boards", "lab", "app"] {
        files(&root().join(folder), &[".rs", ".c", ".h"], &mut sources);
    }
    let mut named = BTreeSet::new();
    for source in sources {
        let text = fs::read_to_string(&source).unwrap_or_default();
        for rest in text.split("docs/").skip(1) {
            let name: String =
                rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '/' | '-' | '.')).collect();
            if let Some((name, _)) = name.split_once(".md") {
                named.insert(format!("docs/{name}.md"));
            }
        }
    }
    assert!(named.len() > 10, "only {named:?} were found");
    let gone: Vec<_> = named.iter().filter(|page| !root().join(page).exists()).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

#[test]
fn every_page_of_the_book_is_once_in_its_table_of_contents() {
    let docs = root().join("docs");
    let contents = fs::read_to_string(docs.join("SUMMARY.md")).expect("a table of contents");
    let listed: Vec<_> = links(&contents).map(|link| docs.join(link)).collect();
    let mut pages = Vec::new();
    files(&docs, &[".md"], &mut pages);
    pages.retain(|page| !page.ends_with("SUMMARY.md"));
    let others: Vec<_> =
        pages.iter().filter(|page| listed.iter().filter(|other| other == page).count() != 1).collect();
    assert!(others.is_empty(), "not once in docs/SUMMARY.md: {others:#?}");
    assert_eq!(listed.len(), pages.len(), "docs/SUMMARY.md lists what is no page of the book");
}

/// A newcomer reads it whole.
#[test]
fn the_front_page_is_short() {
    let page = fs::read_to_string(root().join("README.md")).expect("the front page");
    assert!(page.len() <= 9_000, "README.md has {} bytes", page.len());
}

#[test]
fn what_leads_nowhere_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("page.md");
    let text = "# A page, with `code`\n```\n# no heading\n```\n[a](#a-page-with-code) [b](other.md) [c](#no-heading) \
                [d](https://example.org/x)";
    fs::write(&page, text).expect("written");
    assert_eq!(links(text).collect::<Vec<_>>(), ["#a-page-with-code", "other.md", "#no-heading"]);
    let found: Vec<_> = links(text).map(|link| missing(&page, link).is_some()).collect();
    assert_eq!(found, [false, true, true]);
}
