//! What a program of motemix does with its process: logs, signals, the manual, and its end.

use crate::failure::Failure;
use crate::report::printable_json;
use anyhow::Context;
use rustix::fs::Mode;
use std::ffi::OsString;
use std::fs;
use std::io::IsTerminal;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// What lines on stderr look like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object in each line: `timestamp`, `level`, `target`, `message` and further fields.
    Json,
}

/// What was asked for when the program started.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Sets logs up, does the work, and says on stderr why it failed.
pub fn run(name: &str, log: &str, work: impl FnOnce() -> Result<(), Failure>) -> ExitCode {
    run_in_format(name, log, LogFormat::Text, work)
}

/// The same with lines of another form.
pub fn run_in_format(
    name: &str,
    log: &str,
    format: LogFormat,
    work: impl FnOnce() -> Result<(), Failure>,
) -> ExitCode {
    FORMAT.get_or_init(|| format);
    // Nobody else writes what a program makes, whatever the shell that starts it allows.
    let mask = rustix::process::umask(Mode::empty());
    rustix::process::umask(mask | Mode::WGRP | Mode::WOTH);
    match log_to_stderr(log, format).and_then(|()| work()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(name, "ERROR", &failure.to_string());
            failure.exit_code()
        }
    }
}

/// A line on stderr that no filter holds back, in the form of all others.
pub fn say(name: &str, level: &str, words: &str) {
    if FORMAT.get() != Some(&LogFormat::Json) {
        return eprintln!("{name}: {words}");
    }
    let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
    let line = serde_json::json!({ "timestamp": time, "level": level, "message": words, "target": name });
    eprintln!("{}", printable_json(&line.to_string()));
}

fn log_to_stderr(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let filter = log_filter(filter)?;
    // A line that a full disk refuses is lost. To say that on stderr would fail as well, and end
    // the program.
    let for_people =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(for_people && format == LogFormat::Text)
        .log_internal_errors(false);
    let log = tracing_subscriber::registry();
    match format {
        LogFormat::Text => log.with(lines.with_filter(filter)).init(),
        LogFormat::Json => log.with(lines.json().flatten_event(true).with_filter(filter)).init(),
    }
    Ok(())
}

/// Levels, each for everything or for a part: `info` or `warn,motemix_host=debug`.
fn log_filter(text: &str) -> Result<Targets, Failure> {
    // A word that is no level would name a part, and let everything of it through.
    let is_level = |part: &str| {
        part.rsplit('=').next().is_some_and(|level| !level.is_empty() && level.parse::<LevelFilter>().is_ok())
    };
    match text.parse() {
        Ok(filter) if text.split(',').all(is_level) => Ok(filter),
        _ => Err(Failure::broken(format!(
            "--log {text}: not a level, nor levels of parts; the levels are off, error, warn, info, debug and \
             trace; try `info` or `warn,motemix_host=debug`"
        ))),
    }
}

/// A flag that Ctrl-C and SIGTERM raise, so that what was started is stopped in order.
///
/// # Errors
/// The system takes no handler.
pub fn on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let raised = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // A second one ends this process at once; its children follow it.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&raised))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&raised)))
            .map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))?;
    }
    Ok(raised)
}

/// The program whose processes are nodes: this one, or the `motemix` of the same version beside it.
///
/// # Errors
/// This is another program, and there is none beside it, or one of another version.
pub fn of_nodes() -> anyhow::Result<PathBuf> {
    beside("motemix")
}

/// A program of motemix: this one, or the one of the same version beside it.
///
/// # Errors
/// This is another program, and there is none beside it, or one of another version.
pub fn beside(name: &'static str) -> anyhow::Result<PathBuf> {
    // Networks start it once for each node; its version is asked once.
    static IS_OURS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let own = std::env::current_exe();
    let own = own.with_context(|| format!("cannot find this program's own file; start {name} itself"))?;
    let found = own.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if found == own {
        return Ok(found);
    }
    if !found.is_file() {
        anyhow::bail!(
            "{}: not found; this runs in the program {name}, which belongs beside this one; {}",
            found.display(),
            how_to_get(name)
        );
    }
    check_owner(&own, &found)?;
    let mut ours = IS_OURS.lock().unwrap_or_else(PoisonError::into_inner);
    if !ours.contains(&found) {
        check_version(name, &found)?;
        ours.push(found.clone());
    }
    Ok(found)
}

/// The folder of a program in the checkout, which has its name but for the laboratory's.
fn how_to_get(name: &str) -> String {
    let package = match name {
        "motemix-broker" | "motemix-loopix" => format!("{name}-program"),
        _ => name.to_owned(),
    };
    format!(
        "`cargo build --package {package}` in the same profile puts it there, for an installed one `cargo install \
         --path app/{name}` in the sources, or `cargo install {package}`"
    )
}

/// A program that a stranger put beside this one, in a folder where everybody may, is not started.
fn check_owner(own: &Path, found: &Path) -> anyhow::Result<()> {
    let look = |path: &Path| fs::metadata(path).with_context(|| format!("{}", path.display()));
    let (own, other) = (look(own)?, look(found)?);
    let is_known = [0, own.uid(), rustix::process::geteuid().as_raw()].contains(&other.uid());
    if is_known && other.mode() & 0o002 == 0 {
        return Ok(());
    }
    anyhow::bail!(
        "{}: somebody else put it there, or everybody may change it; see who did, and install the programs in a \
         folder of root's or your own",
        found.display()
    )
}

/// Both speak over sockets and files whose forms change between versions.
fn check_version(name: &str, program: &Path) -> anyhow::Result<()> {
    let own = format!("{name} {}", env!("CARGO_PKG_VERSION"));
    let asked = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let asked = asked.with_context(|| format!("cannot run {}", program.display()))?;
    let said = String::from_utf8_lossy(&asked.stdout);
    let said = said.lines().next().unwrap_or("nothing");
    if said == own {
        return Ok(());
    }
    anyhow::bail!(
        "{}: of another version: asked for its own it says {said}, and this needs {own}; {}",
        program.display(),
        how_to_get(name)
    )
}

/// Has another program of motemix go on in this process, with the words that this one was given.
/// Comes back with the reason if it cannot.
pub fn become_program(name: &'static str) -> Failure {
    let program = match beside(name) {
        Ok(program) => program,
        Err(error) => return Failure::broken(format!("{error:#}")),
    };
    let words = std::env::args_os().skip(1);
    let error = Command::new(&program).arg0(MOTEMIX).args(words).exec();
    Failure::failed(format!("cannot run {}: {error}", program.display()))
}

/// What a program of motemix that became another one calls itself.
const MOTEMIX: &str = "motemix";

/// What a program was called, and what it was told.
pub struct Called {
    /// Its own name, or `motemix`.
    pub name: &'static str,
    pub words: Vec<OsString>,
}

/// What this process was given: the words of the program `name`, or those of `motemix` that became
/// it, with the command among them that says what it already is.
pub fn called(name: &'static str, command: &str) -> Called {
    let mut words: Vec<_> = std::env::args_os().collect();
    if words.first().is_none_or(|first| first != MOTEMIX) {
        return Called { name, words };
    }
    if let Some(at) = place_of(command, &words) {
        words.remove(at);
    }
    Called { name: MOTEMIX, words }
}

/// Where a command stands: no option that stands before it has a value of that name.
fn place_of(command: &str, words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    loop {
        let word = words.get(at)?;
        match word.to_str() {
            Some("--log" | "--log-format") => at += 2,
            Some(word) if word == command => return Some(at),
            _ => at += 1,
        }
    }
}

/// Prints the script with which a shell completes the words of a program.
///
/// # Errors
/// stdout cannot be written.
pub fn completions(command: &mut clap::Command, shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, command, name, &mut script);
    Ok(crate::report::print(&script)?)
}

/// Writes a manual page for each command of a program.
///
/// # Errors
/// The folder or a page cannot be written.
pub fn man(command: clap::Command, dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    clap_mangen::generate_to(command, dir)
        .with_context(|| format!("cannot write the pages to {}", dir.display()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::place_of;
    use std::ffi::OsString;

    #[test]
    fn a_command_is_found_behind_the_options_of_all_commands() {
        for (words, at) in [
            (&["motemix", "loopix", "chat"][..], Some(1)),
            (&["motemix", "--log", "loopix", "loopix"], Some(3)),
            (&["motemix", "--log-format=json", "loopix"], Some(2)),
            (&["motemix", "broker"], None),
            (&["motemix", "--log"], None),
        ] {
            let words: Vec<_> = words.iter().map(OsString::from).collect();
            assert_eq!(place_of("loopix", &words), at, "{words:?}");
        }
    }
}
