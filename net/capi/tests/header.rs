//! The header that C programs include is the one that the crate gives.

use std::fs;
use std::path::Path;

/// Set it to write the header instead of comparing it.
const WRITE: &str = "MOTEMIX_WRITE_HEADER";

fn generated() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    let builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/lib.rs"));
    let mut text = Vec::new();
    builder.generate().expect("C bindings").write(&mut text);
    for_c(&String::from_utf8(text).expect("text"))
}

/// The paragraph on safety is for Rust; what it asks, the header asks at its beginning.
fn for_c(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let before_safety = line == "//" && lines.peek() == Some(&"// # Safety");
        if before_safety {
            while lines.next_if(|line| line.starts_with("//")).is_some() {}
        } else {
            kept.push_str(line.trim_end());
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn the_header_is_what_the_crate_gives() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/motemix.h");
    let generated = generated();
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &generated).expect("the header can be written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let differs = committed.lines().zip(generated.lines()).position(|(one, other)| one != other);
    assert!(
        committed == generated,
        "include/motemix.h is not what the crate gives, from line {differs:?} on; run\n  \
         {WRITE}=1 cargo test -p motemix-capi --test header"
    );
}

#[test]
fn the_header_speaks_of_every_function() {
    let header = generated();
    let sources = [
        "node_face.rs",
        "journal.rs",
        "document_face.rs",
        "status.rs",
        "counters.rs",
        "diet/functions_face.rs",
        "diet/settled_face.rs",
        "mote/face.rs",
        "mote/readings.rs",
        "mote/terminal.rs",
        "reading_face.rs",
    ];
    let mut functions = 0;
    for source in sources {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(source);
        let text = fs::read_to_string(path).expect("a source");
        for after in text.split("extern \"C\" fn motemix_").skip(1) {
            let name = after.split('(').next().unwrap_or_default();
            let count = header.matches(&format!("motemix_{name}(")).count();
            assert_eq!(count, 1, "motemix_{name} is there once");
            functions += 1;
        }
    }
    assert!(functions > 20, "the sources were not read: {functions} functions");
}

/// The sizes that depend on the machine, which the header has by hand: in the order of the source,
/// for long pointers and for short ones.
#[test]
fn the_sizes_in_the_header_are_those_of_the_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(root.join(path)).expect("a file of the crate");
    let limits = read("src/limits.rs");
    let mut in_crate: Vec<(String, String)> = limits
        .lines()
        .filter_map(|line| line.trim().strip_prefix("pub const ")?.split_once(": usize = "))
        .map(|(name, number)| (name.to_owned(), number.trim_end_matches(';').to_owned()))
        .filter(|(name, _)| SIZES.contains(&name.as_str()))
        .collect();
    let header = read("include/motemix.h");
    let mut in_header: Vec<(String, String)> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define MOTEMIX_")?.split_once(' '))
        .map(|(name, number)| (name.to_owned(), number.to_owned()))
        .filter(|(name, _)| SIZES.contains(&name.as_str()))
        .collect();
    assert_eq!(in_crate.len(), 2 * SIZES.len());
    // The first half is for long pointers in both.
    for half in [&mut in_crate, &mut in_header] {
        let (long, short) = half.split_at_mut(SIZES.len());
        long.sort();
        short.sort();
    }
    assert_eq!(in_crate, in_header);
}

const SIZES: [&str; 8] = [
    "NODE_BASE_SIZE",
    "MOTE_BASE_SIZE",
    "NEIGHBOURS_SIZE",
    "SESSION_SIZE",
    "PACKET_SIZE",
    "MESSAGE_SIZE",
    "RETURN_SIZE",
    "HEADER_SIZE",
];
