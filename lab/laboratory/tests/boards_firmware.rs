//! Where the laboratory finds images for boards, and what it says if it does not.

mod program;

use program::{Installed, Run, lab};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const OWN: &str = env!("CARGO_PKG_VERSION");

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A folder that says it has images of this version.
fn folder(path: &Path, version: &str) {
    fs::create_dir_all(path).unwrap();
    fs::write(path.join("VERSION"), format!("{version}\n")).unwrap();
}

/// A workspace of this version with nothing in it.
fn workspace(path: &Path, version: &str) {
    fs::create_dir_all(path).unwrap();
    let manifest = format!("[workspace]\nmembers = []\n[workspace.package]\nversion = \"{version}\"\n");
    fs::write(path.join("Cargo.toml"), manifest).unwrap();
}

/// Needs an image, and nothing else.
fn needs_an_image(installed: &Installed, more: &[&str], variables: &[(&str, &Path)]) -> Run {
    let words = ["boards", "secrets", "--secrets", "2", "--board", "samr21-xpro"];
    Run::by(installed.command().args(words).args(more).envs(variables.iter().copied()))
}

#[test]
fn an_installed_laboratory_without_images_says_where_it_looked_and_what_makes_them() {
    let installed = Installed::new();
    let [source, share, home] =
        ["boards/firmware", "share/motemix/firmware", "home/.local/share/motemix/firmware"]
            .map(|place| installed.path().join(place));
    let command = format!("motemix-lab boards build --firmware TREE/firmware --out {}", home.display());
    let words = [text(&source), text(&share), text(&home), &command, "MOTEMIX_FIRMWARE"];
    needs_an_image(&installed, &[], &[]).fails(2, &words);
    Run::by(installed.command().args(["boards", "build"])).fails(2, &words);
    // Hidden is the tree that it was built from, and no other.
    let said = needs_an_image(&installed, &[], &[]).stderr();
    assert!(!said.contains(env!("CARGO_MANIFEST_DIR")), "{said}");
}

/// Each place has images of another version, and the first one that counts is the one that is told
/// of.
#[test]
fn places_count_in_their_order_and_other_versions_are_told_apart() {
    let installed = Installed::new();
    let place = |name: &str| installed.path().join(name);
    let [source, data] = ["tree", "data"].map(place);
    let [flag, elf, variable] = ["flag", "elf", "variable"].map(place);
    folder(&data.join("motemix/firmware"), "0.0.1");
    folder(&installed.images(), "0.0.2");
    workspace(&place("boards/firmware"), "0.0.3");
    workspace(&source.join("boards/firmware"), "0.0.4");
    workspace(&variable, "0.0.5");
    folder(&flag, "0.0.6");
    folder(&elf, "0.0.7");
    let all = [("MOTEMIX_FIRMWARE", &*variable), ("MOTEMIX_SOURCE", &*source), ("XDG_DATA_HOME", &*data)];
    let told = |run: Run, place: &Path, version: &str| {
        run.fails(2, &[text(place), &format!("version {version}, and this program is {OWN}")]);
    };
    told(needs_an_image(&installed, &["--elf", text(&elf)], &all), &elf, "0.0.7");
    told(needs_an_image(&installed, &["--firmware", text(&flag)], &all), &flag, "0.0.6");
    told(needs_an_image(&installed, &[], &all), &variable, "0.0.5");
    told(needs_an_image(&installed, &[], &all[1..]), &source.join("boards/firmware"), "0.0.4");
    told(needs_an_image(&installed, &[], &all[2..]), &place("boards/firmware"), "0.0.3");
    fs::remove_dir_all(place("boards/firmware")).unwrap();
    told(needs_an_image(&installed, &[], &all[2..]), &installed.images(), "0.0.2");
    fs::remove_dir_all(installed.images()).unwrap();
    told(needs_an_image(&installed, &[], &all[2..]), &data.join("motemix/firmware"), "0.0.1");
}

/// Not where the program was built: there are other checkouts.
#[test]
fn images_are_built_in_the_source_tree_that_one_stands_in() {
    let installed = Installed::new();
    let firmware = installed.path().join("boards/firmware");
    let inside = installed.path().join("net/mote");
    workspace(&firmware, "0.0.1");
    fs::create_dir_all(&inside).unwrap();
    for place in [installed.path(), &inside] {
        let mut command = installed.command();
        command.env_remove("MOTEMIX_SOURCE").current_dir(place).args(["boards", "build"]);
        Run::by(&mut command).fails(2, &[text(&firmware), "version 0.0.1"]);
    }
}

#[test]
fn a_folder_that_lacks_an_image_says_which_and_what_makes_it() {
    let installed = Installed::new();
    folder(&installed.images(), OWN);
    let image = installed.images().join("thumbv6m-none-eabi/mote_secrets");
    let command = format!("motemix-lab boards build --out {}", installed.images().display());
    needs_an_image(&installed, &[], &[]).fails(2, &[text(&image), &command]);
    // A folder of ELF files need not say its version.
    let elf = installed.path().join("elf");
    needs_an_image(&installed, &["--elf", text(&elf)], &[])
        .fails(2, &[text(&elf), "mote_secrets: not found"]);
    // What a flag names is not passed over.
    let none = installed.path().join("none");
    needs_an_image(&installed, &["--firmware", text(&none)], &[]).fails(2, &[text(&none), "--elf"]);
}

#[test]
fn the_table_is_printed_for_people_and_for_programs() {
    let table = lab(["boards", "list"]).succeeds();
    let found: Vec<Value> = serde_json::from_str(&lab(["boards", "list", "--json"]).succeeds()).unwrap();
    assert_eq!(table.lines().count(), 1 + found.len());
    let network: Vec<Value> =
        serde_json::from_str(&lab(["boards", "list", "network", "--json"]).succeeds()).unwrap();
    let machines: Vec<_> = network.iter().map(|program| program["machine"].as_str().unwrap()).collect();
    assert_eq!(machines, ["microbit", "mps2-an385", "mps2-an386"]);
    let run = lab(["boards", "build", "lamp"]);
    assert_eq!(run.status(), 2);
    assert!(run.stderr().contains("network"), "{}", run.stderr());
}

/// What a panic says names a source file, and nobody's folders.
#[test]
fn an_image_does_not_say_where_it_was_built() {
    let made = tempfile::tempdir().unwrap();
    lab(["boards", "build", "network", "mote", "--out", text(made.path())]).succeeds();
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.unwrap_or_else(|| std::env::home_dir().unwrap().join(".cargo"));
    let (mut count, mut named) = (0, 0);
    for target in fs::read_dir(made.path()).unwrap().map(|entry| entry.unwrap().path()) {
        for image in fs::read_dir(&target).into_iter().flatten().map(|entry| entry.unwrap().path()) {
            let image = fs::read(image).unwrap();
            let has = |words: &str| image.windows(words.len()).any(|part| part == words.as_bytes());
            named += usize::from(has("net/node/src/"));
            for place in [tree, &cargo] {
                assert!(!has(text(place)), "{}", place.display());
            }
            count += 1;
        }
    }
    assert_eq!(count, 5, "images");
    assert!(named >= 3, "{named} images say the source file of a panic");
}
