//! The library as boards link it: how much stack its calls take, on emulated cores.

use std::path::{Path, PathBuf};
use std::process::Command;

use motemix_directory::{Epoch, ProfileName};

use crate::contiki::left_by_contiki;
use crate::network::array;
use crate::signed::{Authority, BEGINS, EPOCH_LEN, FIRST, Member, from_hex};
use crate::{built_for, provision, root, succeed};

/// What a call may take in a program with one stack.
const WITHOUT_THREADS: u32 = 8192;
/// The least that RIOT gives to every thread on a Cortex-M, `THREAD_STACKSIZE_DEFAULT`.
const OF_EACH_THREAD: u32 = 1024;
/// What the port's own frames, RIOT's under them, and an interrupt take of it.
const OTHERS: u32 = 1024;

/// The bytes that RIOT's thread leaves to a call.
pub(crate) fn left_by_riot() -> u32 {
    let header = root().join("../../boards/ports/riot/modules/motemix/include/motemix_riot.h");
    let text = std::fs::read_to_string(header).expect("the module's header");
    let mut sizes = text.lines().filter_map(|line| line.strip_prefix("#define CONFIG_MOTEMIX_STACK_EXTRA "));
    // The first is a PC's.
    let extra =
        sizes.next_back().and_then(|size| size.parse::<u32>().ok()).expect("the size of the thread's stack");
    extra + OF_EACH_THREAD - OTHERS
}

/// The epoch after the first.
const NEXT: Epoch = Epoch(FIRST.0 + 1);

/// A core that is emulated: how it is named by Rust, gcc and QEMU.
pub(crate) struct Core {
    pub(crate) target: &'static str,
    gcc: &'static [&'static str],
    machine: &'static str,
}

const M3: Core = Core { target: "thumbv7m-none-eabi", gcc: &["-mcpu=cortex-m3"], machine: "mps2-an385" };
/// The first runs on a Cortex-M3, which knows all of its instructions.
pub(crate) const CORES: [Core; 3] = [
    Core { target: "thumbv6m-none-eabi", gcc: &["-mcpu=cortex-m0plus"], machine: "mps2-an385" },
    M3,
    Core {
        target: "thumbv7em-none-eabihf",
        gcc: &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        machine: "mps2-an386",
    },
];

impl Core {
    /// Links a program with the library and runs it.
    pub(crate) fn run(&self, source: &str, includes: &Path) -> String {
        let program = self.link(source, includes);
        let mut qemu = Command::new("qemu-system-arm");
        qemu.args(["-machine", self.machine, "-display", "none", "-monitor", "none", "-serial", "none"]);
        qemu.args(["-semihosting-config", "enable=on,target=native", "-kernel"]).arg(program);
        let output = succeed(&mut qemu);
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    fn link(&self, source: &str, includes: &Path) -> PathBuf {
        let program = includes.join("stack.elf");
        let sources = root().join("tests/capi");
        let mut gcc = Command::new("arm-none-eabi-gcc");
        gcc.args(["-mthumb", "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror"]).args(self.gcc);
        gcc.args(["-ffreestanding", "-nostdlib", "-fno-tree-loop-distribute-patterns"]);
        gcc.arg("-I").arg(root().join("include")).arg("-I").arg(includes);
        gcc.arg("-T").arg(sources.join("stack.ld")).arg("-o").arg(&program);
        succeed(gcc.arg(sources.join(source)).arg(built_for(self.target)).arg("-lgcc"));
        program
    }
}

/// Checks what each call takes, and that `calls` of them were measured.
pub(crate) fn check(said: &str, calls: usize, most: u32) {
    let bytes_of = |line: &str| {
        let (call, bytes) = line.split_once(' ')?;
        call.starts_with(|first: char| first.is_ascii_lowercase()).then_some(())?;
        Some((call.to_owned(), bytes.parse::<u32>().ok()?))
    };
    let measured: Vec<_> = said.lines().filter_map(bytes_of).collect();
    println!("{measured:?}");
    assert_eq!(measured.len(), calls, "calls measured:\n{said}");
    let too_deep: Vec<_> = measured.iter().filter(|(_, bytes)| *bytes > most).collect();
    assert!(too_deep.is_empty(), "{most} bytes of stack are left to a call; too much: {too_deep:?}\n{said}");
}

#[test]
fn no_call_of_a_node_takes_more_stack_than_a_program_without_threads_has() {
    let (_place, nodes) = provision(4, ProfileName::Mote);
    check(&M3.run("stack.c", &nodes[0]), 8, WITHOUT_THREADS);
}

#[test]
fn no_call_of_a_mote_takes_more_stack_than_riots_thread_or_contikis_module_has() {
    measure_motes(&Authority::new(9));
}

#[test]
fn nor_does_one_where_links_are_protected() {
    let mut authority = Authority::new(9);
    authority.parameters.protected_links = true;
    measure_motes(&authority);
}

fn measure_motes(authority: &Authority) {
    for core in CORES {
        // The same random bytes in both runs, and so the same keys.
        let keys = run_motes(&core, authority, [FIRST, NEXT].map(|_| vec![0]));
        let documents = [FIRST, NEXT].map(|epoch| authority.sign(epoch, &members(&keys, epoch)));
        println!("{}", core.target);
        check(&run_motes(&core, authority, documents), 17, left_by_riot().min(left_by_contiki()));
    }
}

#[test]
fn no_call_of_two_neighbours_takes_more_stack_than_the_application_on_contiki_has() {
    let settings = root().join("../../boards/ports/contiki-ng/diet/project-conf.h");
    let settings = std::fs::read_to_string(settings).expect("the application's settings");
    let size = settings.lines().find_map(|line| line.strip_prefix("#define MOTEMIX_CONF_STACK_SIZE "));
    let size: u32 = size.and_then(|size| size.parse().ok()).expect("the size of its stack");
    for core in CORES {
        let place = tempfile::tempdir().expect("a temporary directory");
        println!("{}", core.target);
        check(&core.run("stack_diet.c", place.path()), 16, size - OF_THE_APPLICATION);
    }
}

/// The frames of the application in front of a call, and an interrupt.
const OF_THE_APPLICATION: u32 = 512;

fn run_motes(core: &Core, authority: &Authority, [document, next]: [Vec<u8>; 2]) -> String {
    let place = tempfile::tempdir().expect("a temporary directory");
    let arrays = [("document", &*document), ("next", &next), ("authority", &authority.key())];
    let arrays = arrays.map(|(name, bytes)| array(name, bytes)).concat();
    let times = format!("#define BEGINS {BEGINS}\n#define NEXT_BEGINS {}\n", BEGINS + EPOCH_LEN);
    std::fs::write(place.path().join("motemix_network.h"), format!("#include <stdint.h>\n{times}{arrays}"))
        .expect("a header");
    core.run("stack_mote.c", place.path())
}

/// The motes that have said `EPOCH KEY`.
fn members(keys: &str, epoch: Epoch) -> Vec<Member> {
    let of_epoch = keys.lines().filter_map(|line| line.strip_prefix(&format!("{epoch} ")));
    let member = |(node, key)| Member {
        name: format!("node-{node}"),
        address: format!("[fe80::{}]:61616", node + 1).parse().expect("an address"),
        key: from_hex(key).try_into().expect("a key of 32 bytes"),
    };
    of_epoch.enumerate().map(member).collect()
}
