//! Builds images, by cargo, in the firmware's workspace.

use super::program::{Program, Purpose};
use crate::failure::Failure;
use crate::report::Progress;
use anyhow::{Context, Result};
use std::env;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Variables with which cargo is told how and where to build for a host.
const OF_HOSTS: [&str; 4] =
    ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET", "CARGO_TARGET_DIR"];
/// Where cargo builds, below the workspace; whoever asks gets the same images.
const TARGET: &str = "target";

/// Builds these programs one after the other, for cargo uses all cores by itself, and returns their
/// images in the same order. What is built already says nothing.
///
/// # Errors
/// Cargo is missing, or a program cannot be built.
pub fn build(workspace: &Path, programs: &[Program]) -> Result<Vec<PathBuf>, Failure> {
    let workspace =
        workspace.canonicalize().with_context(|| format!("cannot find {}", workspace.display()))?;
    let count = programs.len();
    let mut progress = Progress::new(count as u64);
    let begin = Instant::now();
    let mut has_built = false;
    for (index, program) in programs.iter().enumerate() {
        let heading = format!("firmware {} of {count}: {} for {}", index + 1, program.bin, program.target);
        let built = cargo(&workspace, program, |line| match compiled(line) {
            Some(package) => {
                has_built = true;
                let message = format!("{heading}: {package}, after {}", elapsed(begin));
                progress.at(index as u64, &message);
            }
            None => progress.note(line),
        })?;
        if !built.success() {
            let hint = match program.purpose {
                Purpose::Baseline => {
                    "; it needs arm-none-eabi-gcc (scripts/setup arm_gcc); `boards measure --no-baseline` does \
                     without"
                }
                _ => "; it needs the compiler's target (scripts/setup boards)",
            };
            let Program { bin, target, .. } = program;
            return Err(Failure::failed(format!("{bin} was not built for {target}{hint}")));
        }
    }
    if has_built {
        progress.note(&format!("firmware: {count} of {count}, after {}", elapsed(begin)));
    }
    progress.finish();
    Ok(programs.iter().map(|program| workspace.join(TARGET).join(program.built())).collect())
}

fn elapsed(begin: Instant) -> humantime::FormattedDuration {
    humantime::format_duration(Duration::from_secs(begin.elapsed().as_secs()))
}

/// Runs cargo for one program; `hear` gets what it says, but for its last line.
fn cargo(workspace: &Path, program: &Program, mut hear: impl FnMut(&str)) -> Result<ExitStatus> {
    let mut command = Command::new("cargo");
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_PROFILE_") || OF_HOSTS.contains(&name)) {
            command.env_remove(name);
        }
    }
    let mut child = command
        // Code that is compiled in pieces is other code, by a little.
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_TERM_COLOR", "never")
        // The configuration beside the firmware counts, not that of whoever calls.
        .current_dir(workspace)
        .args(["build", "--locked", "--package", program.package, "--bin", program.bin])
        .args(["--target", program.target, "--profile", program.profile, "--target-dir", TARGET])
        .args(["--config", &without_places(workspace)])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run cargo to build the firmware; install Rust, see https://rustup.rs")?;
    if let Some(words) = child.stderr.take() {
        for line in BufReader::new(words).split(b'\n') {
            let line = line.context("cannot read what cargo says")?;
            let line = String::from_utf8_lossy(&line);
            if !line.trim_start().starts_with("Finished ") {
                hear(&line);
            }
        }
    }
    child.wait().context("cannot wait for cargo")
}

/// Cargo's setting that keeps the folders of whoever builds out of the image. What a panic says has
/// the path of its source file, with the names of this folder and of cargo's own. It is joined to
/// the flags beside the firmware.
fn without_places(firmware: &Path) -> String {
    // It is `boards/firmware` there.
    let sources = firmware.ancestors().nth(2).map(Path::to_owned);
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let places = [sources, home.map(|home| home.join("registry").join("src"))];
    let remap = |place: &PathBuf| format!("--remap-path-prefix={}/=", place.display());
    let flags: Vec<_> = places.iter().flatten().map(remap).collect();
    format!("target.'cfg(target_os = \"none\")'.rustflags = {flags:?}")
}

/// The package that cargo says it compiles.
fn compiled(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("Compiling ")?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::compiled;

    #[test]
    fn what_is_compiled_is_told_from_what_is_wrong() {
        assert_eq!(compiled("   Compiling motemix-crypto v0.1.0 (/motemix/crates)"), Some("motemix-crypto"));
        assert_eq!(compiled("error: could not compile `motemix-crypto`"), None);
        assert_eq!(compiled("    Blocking waiting for file lock on build directory"), None);
    }
}
