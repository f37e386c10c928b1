//! Modules of `motemix-os` and `motemix-loopix` that handle secrets, compiled from their own
//! files. What else is in those crates, sockets, files and databases, would take minutes to build
//! and touches no secret.

#![forbid(unsafe_code)]
#![allow(dead_code, reason = "not all of a module is checked")]

/// The text of key files, of `motemix-os`.
#[path = "../../../../base/os/src/key_file.rs"]
mod key_file;

/// What no check calls: texts are in memory.
mod store {
    pub(crate) mod file {
        use std::fs::File;
        use std::io::{self, Write as _};
        use std::path::{Path, PathBuf};

        pub(crate) fn open(path: &Path) -> io::Result<File> {
            File::open(path)
        }

        pub(crate) fn folder_open_to_all(_: &Path) -> io::Result<Option<(PathBuf, u32)>> {
            Ok(None)
        }

        pub(crate) fn create(path: &Path, _: u32, text: &[u8]) -> io::Result<()> {
            File::create_new(path)?.write_all(text)
        }
    }
}

/// Key files in memory.
pub mod keys {
    use std::path::Path;

    use zeroize::Zeroizing;

    use crate::key_file::{Kind, Lines, push_seed};

    const KIND: Kind = Kind { title: "a key", remedy: "make another" };

    /// The text of a key file with this seed.
    pub fn write(seed: &[u8; 32]) -> Zeroizing<Vec<u8>> {
        let mut text = Zeroizing::new([KIND.title.as_bytes(), b"\n"].concat());
        push_seed(&mut text, "seed", seed);
        text
    }

    /// The seed in a key file.
    pub fn read(text: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
        Lines::below(Path::new(""), text, KIND).ok()?.last_seed("seed", "a seed").ok()
    }
}

/// The secret key files of `motemix-loopix`.
#[path = "../../../../loopix/protocol/src/files/secret.rs"]
pub mod loopix_key;

#[path = "../../../../loopix/protocol/src/pack.rs"]
pub mod pack;

/// The packet of Loopix.
#[path = "../../../../loopix/protocol/src/packet"]
pub mod packet {
    pub mod body;
    pub mod format;
    pub mod forward;
    pub mod header;
    pub mod keys;
    pub mod process;
    pub mod surb;

    pub use format::{Blinding, BodyTag, Flag, Flags, Format};
    pub use forward::create;
    pub use header::{CreateError, Header, Hop};
    pub use keys::HopKeys;
    pub use process::{Arrival, Authenticated, Fresh, Layer, Packet, ProcessError, Relay, SurbArrival};
    pub use surb::{Surb, SurbKeys};
}

/// What Loopix' nodes say to each other.
#[path = "../../../../loopix/protocol/src/wire"]
pub mod wire {
    pub mod command;
    pub mod hardened;
}
