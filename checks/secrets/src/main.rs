//! Runs what motemix does with secrets under valgrind's memcheck, the secrets marked as undefined: valgrind
//! then reports each branch and each address that depends on one (A. Langley, "ctgrind", 2010). A branch on
//! what is disclosed anyway says so in its source, `// Disclosed: …`; any other is a leak, and fails the run.
//! `docs/constant-time.md` has the table of what is checked and what that does not show.
//!
//! The program starts itself inside valgrind, once for each operation.

mod controls;
mod curves;
#[path = "../../../crates/motemix-host/src/curve.rs"]
mod host_curve;
mod marks;
mod p224;
mod packets;
mod surbs;
mod symmetric;
mod trial;

use std::process::{Command, ExitCode, Output};

use anyhow::{Context as _, ensure};

use host_curve::HostCurve;
use motemix_secrets::places::Places;
use motemix_secrets::report::{self, Report};
use trial::{Expected, Operation};

/// Instead of a number: says which curve the host's is.
const BACKEND: &str = "backend";

fn main() -> anyhow::Result<ExitCode> {
    if marks::are_followed() {
        return inside();
    }
    ensure_same_curve()?;
    let mut places = Places::default();
    let (mut passed, mut failed) = (0, 0);
    for (number, operation) in operations().enumerate() {
        let run = start_inside(number)?;
        let (disclosed, leaks): (Vec<&Report>, Vec<&Report>) =
            run.reports.iter().partition(|report| places.discloses(report));
        let (word, found) = match judge(operation, &run, leaks.len(), disclosed.len()) {
            Ok(found) => {
                passed += 1;
                ("ok    ", found)
            }
            Err(found) => {
                failed += 1;
                for leak in leaks {
                    print!("{leak}");
                }
                ("FAILED", found)
            }
        };
        println!("{word} {} [{}]: {found}", operation.name, operation.secret);
    }
    println!("\nThese branches depend on a secret and are disclosed:");
    for (place, reason) in places.seen() {
        println!("  {place}: {reason}");
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed;");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Says what is compiled in. The host's curve looks what the processor has, and valgrind's has less: it must
/// not be another curve that is checked.
fn ensure_same_curve() -> anyhow::Result<()> {
    let portable = if cfg!(curve25519_dalek_bits = "32") { "32-bit limbs" } else { "the host's limbs" };
    let stream = if cfg!(chacha20_backend = "soft") { "without vector units" } else { "with vector units" };
    let outside = HostCurve::backend();
    println!("the portable curve has {portable}; ChaCha20 is {stream}; the host's curve is {outside}\n");
    let output = valgrind(&[], BACKEND)?;
    let inside = String::from_utf8_lossy(&output.stdout);
    ensure!(
        inside.trim() == outside,
        "inside valgrind the host's curve is {inside:?}: run from checks/secrets, whose .cargo/config.toml has the \
         flags that it needs, and without RUSTFLAGS in the environment"
    );
    Ok(())
}

fn operations() -> impl Iterator<Item = &'static Operation> {
    [
        controls::OPERATIONS,
        curves::OPERATIONS,
        p224::OPERATIONS,
        symmetric::OPERATIONS,
        packets::OPERATIONS,
        surbs::OPERATIONS,
    ]
    .into_iter()
    .flatten()
}

/// What an operation showed; `Err` if that is not what it must show.
fn judge(operation: &Operation, run: &Run, leaks: usize, disclosed: usize) -> Result<String, String> {
    if let Some(complaint) = &run.complaint {
        return Err(complaint.clone());
    }
    match (operation.expected, leaks) {
        (Expected::Leak, 0) => {
            Err("leaks on purpose, and was not reported: nothing here is to be trusted".into())
        }
        (Expected::Leak, leaks) => Ok(format!("leaks on purpose, and was reported: {leaks}")),
        (_, 0) => Ok(format!("no leak; branches on what is disclosed: {disclosed}")),
        (_, leaks) => Err(format!("branches or addresses that depend on it: {leaks}, see above")),
    }
}

/// One operation inside valgrind.
struct Run {
    reports: Vec<Report>,
    /// Why the run itself shows nothing.
    complaint: Option<String>,
}

/// Runs the operation whose number is this program's only argument.
fn inside() -> anyhow::Result<ExitCode> {
    let argument = std::env::args().nth(1).context("the number of an operation is missing")?;
    if argument == BACKEND {
        println!("{}", HostCurve::backend());
        return Ok(ExitCode::SUCCESS);
    }
    let number: usize = argument.parse()?;
    let operation = operations().nth(number).context("there are not so many operations")?;
    Ok(match trial::run(operation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            println!("{complaint}");
            ExitCode::FAILURE
        }
    })
}

fn start_inside(number: usize) -> anyhow::Result<Run> {
    let reports = tempfile::NamedTempFile::new().context("a temporary file cannot be made")?;
    let to_file = format!("--xml-file={}", reports.path().display());
    let output = valgrind(
        &["--error-limit=no", "--num-callers=24", "--read-inline-info=yes", "--xml=yes", &to_file],
        &number.to_string(),
    )?;
    let said = [output.stdout, output.stderr].concat();
    let xml = std::fs::read_to_string(reports.path()).context("what valgrind reported cannot be read")?;
    ensure!(!xml.is_empty(), "valgrind reported nothing at all: {}", String::from_utf8_lossy(&said));
    let complaint = (!output.status.success()).then(|| String::from_utf8_lossy(&said).trim().to_owned());
    Ok(Run { reports: report::parse(&xml)?, complaint })
}

/// Runs this program inside valgrind.
fn valgrind(options: &[&str], argument: &str) -> anyhow::Result<Output> {
    let this = std::env::current_exe().context("this program cannot find its own file")?;
    Command::new("valgrind")
        .arg("--quiet")
        .args(options)
        .arg(this)
        .arg(argument)
        .output()
        .context("valgrind cannot be started; scripts/setup memcheck installs it")
}
