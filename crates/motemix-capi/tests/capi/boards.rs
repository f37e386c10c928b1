//! The library as boards link it: how much stack its calls take, on an emulated Cortex-M3.

use std::path::{Path, PathBuf};
use std::process::Command;

use motemix_directory::ProfileName;

use crate::{built_for, provision, root, succeed};

/// What the port's own frames and the network stack may take of the stack of RIOT's thread.
const OTHERS: u32 = 1536;

/// The bytes that RIOT's thread has.
fn reserved() -> u32 {
    let header = root().join("../../ports/riot/modules/motemix/include/motemix_riot.h");
    let text = std::fs::read_to_string(header).expect("the module's header");
    let mut sizes = text.lines().filter_map(|line| line.strip_prefix("#define CONFIG_MOTEMIX_STACK_SIZE "));
    sizes.next().and_then(|size| size.parse().ok()).expect("the size of the thread's stack")
}

fn link(library: &Path, node: &Path) -> PathBuf {
    let program = node.join("stack.elf");
    let source = root().join("tests/capi/stack.c");
    let mut gcc = Command::new("arm-none-eabi-gcc");
    gcc.args(["-mthumb", "-mcpu=cortex-m3", "-std=gnu11", "-Os", "-Wall", "-Wextra", "-Werror"]);
    gcc.args(["-ffreestanding", "-nostdlib", "-fno-tree-loop-distribute-patterns"]);
    gcc.arg("-I").arg(root().join("include")).arg("-I").arg(node);
    gcc.arg("-T").arg(source.with_extension("ld")).arg("-o").arg(&program);
    succeed(gcc.arg(&source).arg(library).arg("-lgcc"));
    program
}

#[test]
fn no_call_takes_more_stack_than_the_thread_on_riot_has() {
    let (_place, nodes) = provision(4, ProfileName::Mote);
    let program = link(&built_for("thumbv7m-none-eabi"), &nodes[0]);
    let size = succeed(Command::new("arm-none-eabi-size").arg(&program));
    println!("{}", String::from_utf8_lossy(&size.stdout));
    let mut qemu = Command::new("qemu-system-arm");
    qemu.args(["-machine", "mps2-an385", "-display", "none", "-monitor", "none", "-serial", "none"]);
    qemu.args(["-semihosting-config", "enable=on,target=native", "-kernel"]).arg(program);
    let output = succeed(&mut qemu);
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    println!("{said}");
    let calls = said.lines().filter_map(|line| {
        let (call, bytes) = line.split_once(' ')?;
        Some((call, bytes.parse::<u32>().ok()?))
    });
    let mut measured = 0;
    for (call, bytes) in calls {
        let most = reserved() - OTHERS;
        assert!(bytes < most, "{call} takes {bytes} bytes of stack; RIOT's thread leaves {most}");
        measured += 1;
    }
    assert_eq!(measured, 8, "calls measured:\n{said}");
}
