//! The programs of motemix start each other: a test of one needs those beside it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Once;

/// The packages that have them, and their names.
const PROGRAMS: [(&str, &str); 4] = [
    ("motemix", "motemix"),
    ("motemix-broker-program", "motemix-broker"),
    ("motemix-loopix-program", "motemix-loopix"),
    ("motemixd", "motemixd"),
];

/// The program at this path, with the others beside it, none older than its sources.
/// `scripts/run-tests` has built them with the tests of all packages; alone they have other
/// features, and are built anew.
pub fn among_programs(program: &'static str) -> &'static str {
    static BUILT: Once = Once::new();
    BUILT.call_once(|| {
        let own = Path::new(program);
        let folder = own.parent().expect("a folder");
        let is_missing = |name: &str| !own.ends_with(name) && !is_current(&folder.join(name));
        if std::env::var_os("MOTEMIX_PROGRAMS_ARE_BUILT").is_some() {
            return;
        }
        let missing: Vec<_> = PROGRAMS.iter().filter(|(_, name)| is_missing(name)).collect();
        if missing.is_empty() {
            return;
        }
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.args(["build", "--locked", "--quiet"]);
        for (package, name) in missing {
            build.args(["--package", package, "--bin", name]);
        }
        build.arg("--target-dir").arg(folder.parent().expect("a folder of folders"));
        if folder.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo starts").success(), "the programs are not built");
    });
    program
}

/// Whether a program is newer than every source that cargo has noted beside it.
fn is_current(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Ok(noted) = fs::read_to_string(program.with_extension("d")) else { return false };
    let built = changed(program);
    let sources = noted.split_once(": ").map_or("", |(_, sources)| sources);
    built.is_some() && sources.split_whitespace().all(|source| changed(Path::new(source)) <= built)
}
