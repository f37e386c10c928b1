//! C programs that use the header and the static library: as C99 and as C++, under the sanitizers
//! of gcc and under valgrind; and the ports to RIOT and Contiki-NG, which are C programs too.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::time::Duration;

use motemix_directory::{Epoch, ProfileName, UnixTime};
use tempfile::TempDir;

mod boards;
mod contiki;
mod diet;
mod left;
#[path = "../../examples/provision/network.rs"]
mod network;
mod ports;
mod readings;
mod riot;
mod shell;
mod signed;
mod strangers;
mod systems;

use network::{Plan, Planned};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-Wpedantic"];
const SANITIZERS: [&str; 3] = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
/// What Rust's standard library needs of the system.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The directory of builds that this test is part of: …/debug/deps/capi-… is two below its
/// profile's.
fn target_directory() -> PathBuf {
    let test = env::current_exe().expect("the test's own path");
    test.ancestors().nth(3).expect("a target directory").to_owned()
}

fn build(arguments: &[&str]) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--locked", "--lib", "--package", "motemix-capi", "--crate-type", "staticlib"]);
    // What the tests are built with is not what a board is built with.
    for name in ["CARGO_INCREMENTAL", "CARGO_ENCODED_RUSTFLAGS", "RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER"] {
        cargo.env_remove(name);
    }
    succeed(cargo.arg("--target-dir").arg(target_directory()).args(arguments));
}

/// The static library for this machine: the workspace's, or built here, where its dependencies have
/// fewer features and are therefore compiled anew.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let built = || {
            build(&[]);
            target_directory().join("debug/libmotemix_capi.a")
        };
        env::var_os("MOTEMIX_C_LIBRARY").map_or_else(built, PathBuf::from)
    })
}

/// The static library for boards.
fn built_for(target: &str) -> PathBuf {
    build(&["--profile", "board", "--target", target]);
    target_directory().join(target).join("board/libmotemix_capi.a")
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?} does not start ({error}); scripts/setup c installs what is missing")
    });
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// A network of `nodes` in files, one directory for each.
fn provision(nodes: usize, profile: ProfileName) -> (TempDir, Vec<PathBuf>) {
    let address = |node| format!("[fd00::{}]:4050", node + 1).parse().expect("an address");
    provision_at(&(0..nodes).map(address).collect::<Vec<_>>(), profile)
}

/// The same, with the nodes at these addresses.
fn provision_at(addresses: &[SocketAddr], profile: ProfileName) -> (TempDir, Vec<PathBuf>) {
    let place = tempfile::tempdir().expect("a temporary directory");
    let named =
        |(node, address): (usize, &SocketAddr)| Planned { name: format!("node-{node}"), address: *address };
    let plan = Plan {
        nodes: addresses.iter().enumerate().map(named).collect(),
        epoch: Epoch(7),
        valid: (UnixTime(1_000_000), UnixTime(2_000_000)),
        mean_delay: Duration::from_millis(50),
        hop_allowance: Duration::from_millis(100),
        transmissions: 5,
        profile,
    };
    let mut drawn = 0;
    let made = plan.provision(|| {
        drawn += 1;
        [drawn; 32]
    });
    let made = made.expect("a network");
    let directories = (plan.nodes.iter().zip(&made.secrets))
        .map(|(node, secret)| {
            let directory = place.path().join(&node.name);
            made.write(&directory, secret).expect("files for a node");
            directory
        })
        .collect();
    (place, directories)
}

/// Compiles `source` and links it with the library.
fn compile(source: &str, to: &Path, flags: &[&str]) -> PathBuf {
    let name: PathBuf = Path::new(source).file_stem().expect("a name").into();
    let program = to.join(name);
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-g", "-O1"]).args(WARNINGS).args(flags);
    gcc.arg("-I").arg(root().join("include")).arg("-o").arg(&program);
    gcc.arg(root().join(source)).arg(library()).args(SYSTEM);
    succeed(&mut gcc);
    program
}

fn with_sanitizers(source: &str, arguments: &[PathBuf]) -> Output {
    let place = tempfile::tempdir().expect("a temporary directory");
    succeed(Command::new(compile(source, place.path(), &SANITIZERS)).args(arguments))
}

fn under_valgrind(source: &str, arguments: &[PathBuf]) -> Output {
    let place = tempfile::tempdir().expect("a temporary directory");
    let program = compile(source, place.path(), &[]);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]).arg(program).args(arguments);
    succeed(&mut valgrind)
}

fn says(output: &Output, text: &str) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains(text), "the program does not say {text:?}:\n{stdout}");
}

/// 7 · 6 messages from everybody to everybody, and 4 others.
const ALL_ACKNOWLEDGED: &str = "46 messages acknowledged";

#[test]
fn nodes_exchange_messages_under_the_sanitizers() {
    let (_place, nodes) = provision(7, ProfileName::Mote);
    says(&with_sanitizers("examples/network.c", &nodes), ALL_ACKNOWLEDGED);
}

#[test]
fn nodes_exchange_messages_under_valgrind() {
    let (_place, nodes) = provision(7, ProfileName::Mote);
    says(&under_valgrind("examples/network.c", &nodes), ALL_ACKNOWLEDGED);
}

#[test]
fn misuse_is_told_under_the_sanitizers() {
    let (_place, nodes) = provision(5, ProfileName::Mote);
    says(&with_sanitizers("tests/capi/misuse.c", &nodes[..1]), "expectations met");
}

#[test]
#[ignore = "ten seconds under valgrind"]
fn misuse_is_told_under_valgrind() {
    let (_place, nodes) = provision(5, ProfileName::Mote);
    says(&under_valgrind("tests/capi/misuse.c", &nodes[..1]), "expectations met");
}

/// The files for `misuse_mote.c`, whose mote says its key first.
fn misused_mote() -> TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    let output = succeed(&mut Command::new(compile("tests/capi/misuse_mote.c", place.path(), &[])));
    let key = String::from_utf8(output.stdout).expect("hex digits");
    let member = |(node, key)| signed::Member {
        name: format!("node-{node}"),
        address: format!("[fe80::{}]:61616", node + 1).parse().expect("an address"),
        key,
    };
    let own = signed::from_hex(key.trim()).try_into().expect("a key of 32 bytes");
    let network =
        |first: [u8; 32]| [first, [2; 32], [3; 32], [4; 32]].into_iter().enumerate().map(member).collect();
    let (authority, with, without): (_, Vec<_>, Vec<_>) =
        (signed::Authority::new(1), network(own), network([5; 32]));
    let present = (signed::BEGINS, signed::BEGINS + signed::EPOCH_LEN);
    for (name, bytes) in [
        ("authority", authority.key().to_vec()),
        ("document", authority.sign(signed::FIRST, &with)),
        ("others", authority.sign(signed::FIRST, &without)),
        ("far", authority.sign_for(Epoch(4_000_000_000), present, &without)),
    ] {
        fs::write(place.path().join(name), bytes).expect("a file");
    }
    place
}

#[test]
fn misuse_of_a_mote_is_told_under_the_sanitizers() {
    let place = misused_mote();
    says(&with_sanitizers("tests/capi/misuse_mote.c", &[place.path().to_owned()]), "expectations met");
}

#[test]
#[ignore = "a minute under valgrind"]
fn misuse_of_a_mote_is_told_under_valgrind() {
    let place = misused_mote();
    says(&under_valgrind("tests/capi/misuse_mote.c", &[place.path().to_owned()]), "expectations met");
}

#[test]
fn a_network_of_another_profile_is_refused() {
    let (_place, nodes) = provision(7, ProfileName::Mote5);
    let place = tempfile::tempdir().expect("a temporary directory");
    let program = compile("examples/network.c", place.path(), &[]);
    let output = Command::new(program).args(&nodes).output().expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("another profile than mote"), "{stderr}");
}

#[test]
fn the_header_is_c_and_cpp() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let source = place.path().join("only-the-header.c");
    fs::write(
        &source,
        "#include \"motemix.h\"\n#include \"motemix.h\"\n\
         uint64_t memory[MOTEMIX_NODE_SIZE(MOTEMIX_MOTE_MIX) / 8];\n\
         extern const motemix_limits limits;\nconst motemix_limits limits = { MOTEMIX_MOTE_MIX };\n",
    )
    .expect("a source");
    for (language, standard) in [("c", "c99"), ("c", "c11"), ("c", "c2x"), ("c++", "c++11"), ("c++", "c++20")]
    {
        let standard = OsString::from(format!("-std={standard}"));
        let mut gcc = Command::new("gcc");
        gcc.args(["-x", language, "-fsyntax-only"]).arg(standard).args(WARNINGS);
        succeed(gcc.arg("-I").arg(root().join("include")).arg(&source));
    }
}
