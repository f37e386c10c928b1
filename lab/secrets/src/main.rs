//! Runs what motemix does with secrets under valgrind's memcheck, the secrets marked as undefined:
//! valgrind then reports each branch and each address that depends on one (A. Langley, "ctgrind",
//! 2010). A branch on what is disclosed anyway says so in its source, `// Disclosed: …`; any other
//! is a leak, and fails the run. `docs/explanation/constant-time.md` has the table of what is
//! checked and what that does not show.
//!
//! The program starts itself inside valgrind, once for each operation. Then it builds a copy of the
//! sources in which secrets leak on purpose, one by one, and runs the operations that must notice
//! (`mutations`). With an argument, only the operations whose names contain it are run.

mod controls;
mod curves;
mod ed25519;
mod edhoc;
#[path = "../../../base/os/src/curve.rs"]
mod host_curve;
mod key_files;
mod loopix;
mod marks;
mod oscore;
mod p224;
mod p256;
mod packets;
mod pairing;
mod surbs;
mod symmetric;
mod trial;
mod vectors;

use std::path::Path;
use std::process::{Command, ExitCode, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, ensure};

use host_curve::HostCurve;
use motemix_secrets::mutations::{self, Mutated, Mutation};
use motemix_secrets::places::Places;
use motemix_secrets::report::{self, Report};
use trial::{Expected, Operation};

/// Instead of a number: says which curve the host's is.
const BACKEND: &str = "backend";

/// Said when the program ends because variants are not treated alike.
const UNEVEN: u8 = 2;
/// Said when it ends because the outputs are not marked.
const UNMARKED: u8 = 3;

fn main() -> anyhow::Result<ExitCode> {
    if marks::are_followed() {
        return inside();
    }
    ensure_same_curve()?;
    let only = std::env::args().nth(1).unwrap_or_default();
    let mut places = Places::default();
    let mut failed = 0;
    let mut passed = 0;
    let mut tell = |verdicts: Vec<(String, Verdict)>| {
        for (what, found) in verdicts {
            let (count, word) = if found.is_ok() { (&mut passed, "ok    ") } else { (&mut failed, "FAILED") };
            *count += 1;
            println!("{word} {what}: {}", found.unwrap_or_else(|wrong| wrong));
        }
    };
    tell(unchanged(&only, &mut places)?);
    tell(mutations(&only)?);
    println!("\nThese branches depend on a secret and are disclosed:");
    for (place, reason) in places.seen() {
        println!("  {place}: {reason}");
    }
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed;");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is wrong with a run, or what it showed.
type Verdict = Result<String, String>;

/// Runs the operations on the sources as they are.
fn unchanged(only: &str, places: &mut Places) -> anyhow::Result<Vec<(String, Verdict)>> {
    let this = std::env::current_exe().context("this program cannot find its own file")?;
    let meant: Vec<(usize, &Operation)> =
        operations().enumerate().filter(|(_, operation)| operation.name.contains(only)).collect();
    let runs = side_by_side(&meant, |(number, _)| start_inside(&this, *number, 0))?;
    let verdict = |((_, operation), run): (&(usize, &Operation), &Run)| {
        (format!("{} [{}]", operation.name, operation.secret), judge(operation, run, places))
    };
    Ok(meant.iter().zip(&runs).map(verdict).collect())
}

/// Runs what must fail: each operation that a mutation names, with the mutation active.
fn mutations(only: &str) -> anyhow::Result<Vec<(String, Verdict)>> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let this = std::env::current_exe().context("this program cannot find its own file")?;
    let folder = this.with_file_name("mutated");
    let options: &[&str] = if IS_OF_BOARDS { &["--config", "boards.toml"] } else { &[] };
    let mutated = Mutated::build(&project, &folder, options)?;

    let mut controls = Vec::new();
    for (number, mutation) in mutations::numbered() {
        let is_meant = |name: &&&str| control_name(mutation, name).contains(only);
        for name in mutation.operations.iter().filter(is_meant) {
            if let Some(operation) = operations().position(|operation| operation.name == *name) {
                controls.push((number, mutation, operation));
                continue;
            }
            let is_of_hosts = OF_HOSTS.into_iter().flatten().any(|operation| operation.name == *name);
            ensure!(is_of_hosts, "there is no operation {name:?} for the mutation {:?}", mutation.name);
        }
    }
    let runs = side_by_side(&controls, |(number, _, operation)| {
        start_inside(&mutated.program, *operation, *number)
    })?;
    // Disclosures of the copy are not told.
    let mut places = Places::default();
    let verdicts = controls.iter().zip(&runs).map(|((number, mutation, operation), run)| {
        let name = operations().nth(*operation).map_or("", |operation| operation.name);
        let leaks = run.reports.iter().filter(|report| !places.discloses(report)).count();
        let is_of_it = run.reports.iter().any(|report| mutated.is_of(*number, report));
        let verdict = match &run.complaint {
            _ if !is_of_it => Err("is not reported where it is: nothing here is to be trusted".into()),
            // A leak takes the marks off: what is copied by a branch or from a table does not carry
            // them.
            Some(complaint) if complaint.is_uneven || complaint.is_unmarked => {
                Ok(format!("noticed: {}", complaint.text))
            }
            Some(complaint) => Err(complaint.text.clone()),
            None if leaks == 0 => Err("is not noticed: nothing here is to be trusted".into()),
            None => Ok(format!("noticed: branches or addresses that depend on the secret: {leaks}")),
        };
        (control_name(mutation, name), verdict)
    });
    Ok(verdicts.collect())
}

fn control_name(mutation: &Mutation, operation: &str) -> String {
    format!("mutation: {} [{operation}]", mutation.name)
}

/// Does a piece of work for each item, as many at a time as there are cores; the outcomes are in
/// the items' order.
fn side_by_side<I: Sync, O: Send>(
    items: &[I],
    work: impl Fn(&I) -> anyhow::Result<O> + Sync,
) -> anyhow::Result<Vec<O>> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return anyhow::Ok(done) };
            done.push((index, work(item)?));
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut outcomes = Vec::new();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            outcomes.extend(worker.join().expect("no worker panics")?);
        }
        anyhow::Ok(())
    })?;
    outcomes.sort_by_key(|(index, _)| *index);
    Ok(outcomes.into_iter().map(|(_, outcome)| outcome).collect())
}

/// Says what is compiled in. The host's curve looks what the processor has, and valgrind's has
/// less: it must not be another curve that is checked.
fn ensure_same_curve() -> anyhow::Result<()> {
    let portable = if IS_OF_BOARDS { "32-bit limbs" } else { "the host's limbs" };
    let stream = if cfg!(chacha20_backend = "soft") { "without vector units" } else { "with vector units" };
    let outside = HostCurve::backend();
    println!("the portable curve has {portable}; ChaCha20 is {stream}; the host's curve is {outside}\n");
    let this = std::env::current_exe().context("this program cannot find its own file")?;
    let output = valgrind(&this, &[], &[BACKEND])?;
    let inside = String::from_utf8_lossy(&output.stdout);
    // Valgrind has no AVX-512, so batches have other lanes inside: those of AVX2 are checked.
    let library = |backend: &str| backend.trim().split(',').next().map(str::to_owned);
    ensure!(
        library(&inside) == library(outside),
        "inside valgrind the host's curve is {inside:?}: run from lab/secrets, whose .cargo/config.toml has the \
         flags that it needs, and without RUSTFLAGS in the environment"
    );
    Ok(())
}

/// Which form this is: of boards, or of hosts.
const IS_OF_BOARDS: bool = cfg!(curve25519_dalek_bits = "32");

/// What boards do not have.
const OF_HOSTS: [&[Operation]; 3] = [key_files::OPERATIONS, loopix::OPERATIONS, oscore::OPERATIONS];

fn operations() -> impl Iterator<Item = &'static Operation> {
    let of_both = [
        controls::OPERATIONS,
        curves::OPERATIONS,
        p224::OPERATIONS,
        p256::OPERATIONS,
        ed25519::OPERATIONS,
        symmetric::OPERATIONS,
        packets::OPERATIONS,
        surbs::OPERATIONS,
        vectors::OPERATIONS,
        edhoc::OPERATIONS,
        pairing::OPERATIONS,
    ];
    of_both.into_iter().chain(OF_HOSTS.into_iter().filter(|_| !IS_OF_BOARDS)).flatten()
}

/// What an operation showed; `Err` if that is not what it must show.
fn judge(operation: &Operation, run: &Run, places: &mut Places) -> Verdict {
    let (disclosed, leaks): (Vec<&Report>, Vec<&Report>) =
        run.reports.iter().partition(|report| places.discloses(report));
    match (&run.complaint, operation.expected) {
        (Some(complaint), Expected::Uneven) if complaint.is_uneven => {
            return Ok(format!("leaks on purpose, and was noticed: {}", complaint.text));
        }
        (Some(complaint), _) => return Err(complaint.text.clone()),
        (None, Expected::Uneven) => {
            return Err("leaks on purpose, and was not noticed: nothing here is to be trusted".into());
        }
        (None, _) => {}
    }
    match (operation.expected, leaks.len()) {
        (Expected::Leak, 0) => {
            Err("leaks on purpose, and was not reported: nothing here is to be trusted".into())
        }
        (Expected::Leak, leaks) => Ok(format!("leaks on purpose, and was reported: {leaks}")),
        (_, 0) => Ok(format!("no leak; branches on what is disclosed: {}", disclosed.len())),
        (_, count) => {
            let stacks: String = leaks.iter().map(ToString::to_string).collect();
            Err(format!("branches or addresses that depend on it: {count}\n{stacks}"))
        }
    }
}

/// One operation inside valgrind.
struct Run {
    reports: Vec<Report>,
    complaint: Option<Complaint>,
}

/// What a run said of itself instead of succeeding.
struct Complaint {
    text: String,
    /// Variants were told apart.
    is_uneven: bool,
    /// The outputs do not depend on the secret.
    is_unmarked: bool,
}

/// Runs the operation whose number is this program's first argument, with the mutation whose number
/// is its second.
fn inside() -> anyhow::Result<ExitCode> {
    let argument = std::env::args().nth(1).context("the number of an operation is missing")?;
    if argument == BACKEND {
        println!("{}", HostCurve::backend());
        return Ok(ExitCode::SUCCESS);
    }
    let number: usize = argument.parse()?;
    let operation = operations().nth(number).context("there are not so many operations")?;
    activate(std::env::args().nth(2).context("the number of a mutation is missing")?.parse()?);
    Ok(match trial::run(operation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            println!("{complaint}");
            match complaint {
                trial::Complaint::Uneven { .. } => ExitCode::from(UNEVEN),
                trial::Complaint::Unmarked => ExitCode::from(UNMARKED),
                trial::Complaint::Void(_) => ExitCode::FAILURE,
            }
        }
    })
}

/// Makes a mutation active. These sources have none; their mutated copy has.
const fn activate(_number: usize) {}

fn start_inside(program: &Path, number: usize, mutation: usize) -> anyhow::Result<Run> {
    let reports = tempfile::NamedTempFile::new().context("a temporary file cannot be made")?;
    let to_file = format!("--xml-file={}", reports.path().display());
    let output = valgrind(
        program,
        &["--error-limit=no", "--num-callers=24", "--read-inline-info=yes", "--xml=yes", &to_file],
        &[&number.to_string(), &mutation.to_string()],
    )?;
    let said = [output.stdout, output.stderr].concat();
    let xml = std::fs::read_to_string(reports.path()).context("what valgrind reported cannot be read")?;
    ensure!(!xml.is_empty(), "valgrind reported nothing at all: {}", String::from_utf8_lossy(&said));
    let complaint = (!output.status.success()).then(|| Complaint {
        text: String::from_utf8_lossy(&said).trim().to_owned(),
        is_uneven: output.status.code() == Some(UNEVEN.into()),
        is_unmarked: output.status.code() == Some(UNMARKED.into()),
    });
    Ok(Run { reports: report::parse(&xml)?, complaint })
}

/// Runs this program, or a copy of it, inside valgrind.
fn valgrind(program: &Path, options: &[&str], arguments: &[&str]) -> anyhow::Result<Output> {
    Command::new("valgrind")
        .arg("--quiet")
        .args(options)
        .arg(program)
        .args(arguments)
        .output()
        .context("valgrind cannot be started; scripts/setup memcheck installs it")
}
