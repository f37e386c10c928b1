//! What others get from a package registry: which crates, with what beside their sources.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// The laboratory's crates, what tests share, and drivers of chips. All others of the workspace are published.
const UNPUBLISHED: [&str; 10] = [
    "motemix-air",
    "motemix-lab",
    "motemix-mcu",
    "motemix-sim",
    "motemix-testbed",
    "motemix-at86rf231",
    "motemix-cc2538-crypto",
    "motemix-csma",
    "motemix-stm32f1-thermometer",
    "motemix-write-once",
];

/// What each package has beside its sources.
const BESIDE: [&str; 3] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// No file of a package is longer: known answers stay in the repository.
const LONGEST: u64 = 100_000;

fn metadata() -> Metadata {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().expect("cargo metadata")
}

fn is_published(package: &Package) -> bool {
    package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
}

fn published(metadata: &Metadata) -> Vec<&Package> {
    metadata.workspace_packages().into_iter().filter(|package| is_published(package)).collect()
}

/// The files of a package, without what cargo adds.
fn files(package: &Package) -> Vec<String> {
    let list = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--manifest-path"])
        .arg(&package.manifest_path)
        .output()
        .expect("cargo runs");
    assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
    let text = String::from_utf8(list.stdout).expect("names of files");
    let added = ["Cargo.toml.orig", "Cargo.lock", ".cargo_vcs_info.json"];
    text.lines().filter(|file| !added.contains(file)).map(str::to_owned).collect()
}

#[test]
fn all_crates_but_the_laboratory_and_drivers_are_published_and_need_nothing_of_these() {
    let metadata = metadata();
    let packages = published(&metadata);
    let names: BTreeSet<_> = packages.iter().map(|package| package.name.as_str()).collect();
    let all: BTreeSet<_> =
        metadata.workspace_packages().iter().map(|package| package.name.as_str()).collect();
    assert_eq!(&all - &names, BTreeSet::from(UNPUBLISHED));
    for package in packages {
        let needs = package.dependencies.iter().filter(|needed| needed.kind != DependencyKind::Development);
        for needed in needs.filter(|needed| needed.name.starts_with("motemix")) {
            assert!(names.contains(needed.name.as_str()), "{} needs {}", package.name, needed.name);
        }
    }
}

#[test]
fn each_manifest_says_what_a_registry_shows() {
    for package in published(&metadata()) {
        let name = &package.name;
        assert!(package.description.is_some() && package.repository.is_some(), "{name}");
        assert_eq!(package.license.as_deref(), Some("Apache-2.0 OR MIT"), "{name}");
        assert!((3..=5).contains(&package.keywords.len()), "{name}: {:?}", package.keywords);
        assert!(package.keywords.iter().all(|keyword| keyword.len() <= 20), "{name}: {:?}", package.keywords);
        assert!((1..=5).contains(&package.categories.len()), "{name}: {:?}", package.categories);
        assert!(
            package.metadata["docs"]["rs"]["targets"].is_array(),
            "{name}: no [package.metadata.docs.rs]"
        );
    }
}

#[test]
fn each_package_has_its_front_page_and_licences_and_nothing_from_outside() {
    for package in published(&metadata()) {
        let (name, files) = (&package.name, files(package));
        for file in BESIDE {
            assert!(files.iter().any(|there| there == file), "{name} lacks {file}");
        }
        let folder = package.manifest_path.parent().expect("a manifest is in a folder");
        for file in &files {
            let known =
                ["src/", "examples/", "include/", "page/dist/"].iter().any(|folder| file.starts_with(folder))
                    || BESIDE.contains(&file.as_str())
                    || ["Cargo.toml", "build.rs", "cbindgen.toml"].contains(&file.as_str());
            assert!(known, "{name}: {file} is no part of a package");
            let path = folder.join(file);
            let len = path.metadata().expect("it is there").len();
            assert!(len <= LONGEST, "{name}: {file} has {len} bytes");
            if path.extension() == Some("rs") {
                let text = std::fs::read_to_string(&path).expect("source is UTF-8");
                for included in included(&text) {
                    let from = Path::new(file).parent().expect("a file is in a folder");
                    assert!(stays_inside(from, included), "{name}: {file} includes {included}");
                }
            }
        }
    }
}

/// The paths that a source includes when it is compiled.
fn included(text: &str) -> impl Iterator<Item = &str> {
    ["include_str!(\"", "include_bytes!(\"", "include!(\""]
        .into_iter()
        .flat_map(|macro_call| text.split(macro_call).skip(1))
        .filter_map(|after| after.split('"').next())
}

/// Whether a path from a folder of the package ends inside the package.
fn stays_inside(from: &Path, included: &str) -> bool {
    let mut depth = from.components().count();
    included.split('/').all(|part| {
        let next = if part == ".." { depth.checked_sub(1) } else { Some(depth + 1) };
        next.inspect(|next| depth = *next).is_some()
    })
}

#[test]
fn a_path_that_leaves_the_package_is_found() {
    assert_eq!(included("const A: &str = include_str!(\"../a.md\");").collect::<Vec<_>>(), ["../a.md"]);
    assert!(stays_inside(Path::new("src"), "../README.md"));
    assert!(!stays_inside(Path::new("src"), "../../README.md"));
    assert!(!stays_inside(Path::new("src/store"), "../../../vectors/packet.json"));
}
