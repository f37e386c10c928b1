//! What Wireshark makes of a capture, with the keys beside it.

use motemix_link::stack::{HANDSHAKE_PORT, PORT};
use std::path::Path;
use std::process::Command;

/// What Wireshark makes of one frame.
#[derive(Debug)]
pub struct Read {
    /// What it has to say of it beside what is in it.
    pub complaints: String,
    /// The port of a datagram that is whole with this frame, and what the datagram carries.
    pub datagram: Option<(u16, Vec<u8>)>,
    pub is_protected: bool,
}

/// Reads the frames of a capture that did not collide, with the keys in a folder and by no other
/// settings.
pub fn read(capture: &Path, keys: &Path) -> Vec<Read> {
    let fields = ["wpan.security", "_ws.expert.message", "udp.dstport", "udp.payload"];
    let output = Command::new("tshark")
        .env("WIRESHARK_CONFIG_DIR", keys)
        // What is carried looks like random bytes: it would find other protocols in one of a hundred.
        .args(["-n", "-d", &format!("udp.port=={PORT}-{HANDSHAKE_PORT},data"), "-r"])
        .arg(capture)
        .args(["-Y", "wpan.fcs_ok == 1", "-T", "fields", "-E", "separator=/t"])
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .output()
        .expect("tshark is there; install it with: scripts/setup wireshark");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let read = |line: &str| {
        let [security, complaints, port, payload] =
            line.split('\t').collect::<Vec<_>>().try_into().expect("four fields");
        Read {
            complaints: complaints.into(),
            datagram: port.parse().ok().map(|port| (port, hex::decode(payload).expect("hex"))),
            is_protected: ["1", "True"].contains(&security),
        }
    };
    text.lines().map(read).collect()
}

/// What datagrams to this port carry.
pub fn to_port(read: &[Read], port: u16) -> Vec<Vec<u8>> {
    let datagrams = read.iter().filter_map(|read| read.datagram.clone());
    datagrams.filter(|(to, _)| *to == port).map(|(_, carried)| carried).collect()
}
