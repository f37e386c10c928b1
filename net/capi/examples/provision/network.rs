//! A network for boards: keys, a document signed by one authority, and what each node has to be
//! given.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use motemix_crypto::{Portable, Secret};
use motemix_directory::{
    AuthoritySecret, BuildError, DocumentBuilder, Draft, Epoch, NewNode, Parameters, ProfileName, Role,
    UnixTime, document_len_limit,
};
use motemix_sphinx::MixKey;

/// A node that is to be.
pub struct Planned {
    /// 1 to 32 bytes of `[a-z0-9-]`.
    pub name: String,
    /// Where the others send to.
    pub address: SocketAddr,
}

/// What all nodes agree on.
pub struct Plan {
    /// Every one of them forwards for the others. Four at least: two ends and two mixes.
    pub nodes: Vec<Planned>,
    /// The document's epoch.
    pub epoch: Epoch,
    /// From when on the document counts, and until when.
    pub valid: (UnixTime, UnixTime),
    /// Mean delay at a mix.
    pub mean_delay: Duration,
    /// What a hop may take besides.
    pub hop_allowance: Duration,
    /// Tries of a message.
    pub transmissions: u8,
    /// The packets' profile. Boards take `mote`.
    pub profile: ProfileName,
}

/// What came of it.
pub struct Provisioned {
    /// The signed network document.
    pub document: Vec<u8>,
    /// The public key of the one authority that signed it.
    pub authority_key: [u8; 32],
    /// The nodes' mix keys, in their order.
    pub secrets: Vec<[u8; 32]>,
}

impl Plan {
    /// Draws keys, describes the nodes, signs.
    pub fn provision(&self, mut random: impl FnMut() -> [u8; 32]) -> Result<Provisioned, BuildError> {
        let authority = AuthoritySecret::from_bytes(&random());
        let secrets: Vec<[u8; 32]> = self.nodes.iter().map(|_| random()).collect();
        let mut parameters = Parameters::new(3, 3);
        parameters.mean_delay = self.mean_delay;
        parameters.hop_allowance = self.hop_allowance;
        parameters.transmissions = self.transmissions;
        let draft = Draft {
            network_name: "motes",
            epoch: self.epoch,
            valid_after: self.valid.0,
            valid_until: self.valid.1,
            profile: self.profile,
            parameters,
        };
        let nodes = self.nodes.iter().zip(&secrets).map(|(node, secret)| NewNode {
            name: &node.name,
            role: Role::Mix { layer: 0 },
            mix_key: MixKey::new(Secret::new(*secret)).public_key::<Portable>(),
            addresses: std::slice::from_ref(&node.address),
        });
        let mut buffer = vec![0; document_len_limit(self.nodes.len(), 1)];
        let mut builder = DocumentBuilder::encode(&mut buffer, &draft, nodes)?;
        builder.sign(&authority)?;
        let document = builder.finish()?.to_vec();
        Ok(Provisioned { document, authority_key: authority.public_key().to_bytes(), secrets })
    }
}

impl Provisioned {
    /// Writes what one node has to be given: three files of bytes, and the same as C arrays.
    pub fn write(&self, directory: &Path, secret: &[u8; 32]) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        fs::write(directory.join("document"), &self.document)?;
        fs::write(directory.join("authority"), self.authority_key)?;
        fs::write(directory.join("secret"), secret)?;
        fs::write(directory.join("motemix_network.h"), self.header(secret))
    }

    fn header(&self, secret: &[u8; 32]) -> String {
        let note =
            "/* Holds a secret: for one board, and for nobody else to see. */\n\n#include <stdint.h>\n";
        let arrays = [
            ("document", self.document.as_slice()),
            ("authority", self.authority_key.as_slice()),
            ("secret", secret.as_slice()),
        ];
        note.to_owned() + &arrays.map(|(name, bytes)| array(name, bytes)).concat()
    }
}

/// A C array, sixteen bytes a line.
pub fn array(name: &str, bytes: &[u8]) -> String {
    let line = |line: &[u8]| {
        let bytes: Vec<_> = line.iter().map(|byte| format!("0x{byte:02x}")).collect();
        format!("    {},\n", bytes.join(", "))
    };
    let lines: String = bytes.chunks(16).map(line).collect();
    format!("\nstatic const uint8_t motemix_network_{name}[{}] = {{\n{lines}}};\n", bytes.len())
}
