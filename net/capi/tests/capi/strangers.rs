//! Whose datagrams a mote takes in where links are protected.

use std::fs;
use std::process::Command;

use crate::signed::{Authority, BEGINS, EPOCH_LEN, FIRST, Member, from_hex};
use crate::{SYSTEM, WARNINGS, library, root, says, succeed};

#[test]
fn a_stranger_with_a_neighbours_number_is_not_answered() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let program = place.path().join("strangers");
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=c99", "-g"]).args(WARNINGS).arg("-Wno-unused-function");
    gcc.arg(format!("-DBEGINS={BEGINS}")).arg(format!("-DEPOCH_LEN={EPOCH_LEN}"));
    gcc.arg("-I").arg(root().join("include")).arg("-o").arg(&program);
    succeed(gcc.arg(root().join("tests/capi/strangers.c")).arg(library()).args(SYSTEM));
    let key = String::from_utf8(succeed(&mut Command::new(&program)).stdout).expect("hex digits");
    let mut authority = Authority::new(1);
    authority.parameters.protected_links = true;
    let own = from_hex(key.trim()).try_into().expect("a key of 32 bytes");
    let member = |(node, key)| Member {
        name: format!("node-{node}"),
        address: format!("[fe80::{}]:61616", node + 1).parse().expect("an address"),
        key,
    };
    let members: Vec<_> = [own, [2; 32], [3; 32], [4; 32]].into_iter().enumerate().map(member).collect();
    for (name, bytes) in
        [("authority", authority.key().to_vec()), ("document", authority.sign(FIRST, &members))]
    {
        fs::write(place.path().join(name), bytes).expect("a file");
    }
    says(&succeed(Command::new(&program).arg(place.path())), "0 0 1 answers");
}
