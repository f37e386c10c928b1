//! `motemix directory sign`: a document for nodes that made their keys themselves, as motes do.
//!
//! ```text
//! DIR/authority.key           signs the documents; made at the first time
//! DIR/authority.pub           its public key
//! DIR/documents/<epoch>.cbor  the document
//! DIR/documents/<epoch>.txt   the same as lines for a mote's console
//! ```

use anyhow::{Context, Result};
use motemix_crypto::PublicKey;
use motemix_directory::{Draft, Epoch, NewNode, Parameters, ProfileName, Role, UnixTime};
use motemix_host::AuthorityKeyFile;
use motemix_os::store::file;
use motemix_program::cli::{DirectorySign, SignedNode};
use motemix_program::failure::Failure;
use motemix_program::network::documents::{now, publish, sign as sign_document};
use motemix_program::network::{NetworkDir, check_name};
use motemix_program::report;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Bytes of a document in one line of a console: the shortest lines that there are have 128
/// characters.
const PIECE: usize = 48;

pub fn sign(args: &DirectorySign) -> Result<(), Failure> {
    check_name("--name", &args.name)?;
    let network = NetworkDir::new(&args.dir);
    fs::create_dir_all(network.documents())
        .with_context(|| format!("cannot make {}", network.documents().display()))?;
    let authority = authority(&network)?;
    let length = args.epoch_length.as_secs().max(1);
    let now = now();
    let number = args.epoch.map_or_else(|| u32::try_from(now.0 / length).ok(), Some);
    let epoch =
        Epoch(number.ok_or_else(|| Failure::broken("--epoch-length: too short; take an hour or more"))?);
    let path = network.document(epoch);
    if path.exists() {
        return Err(Failure::broken(format!(
            "{}: there is a document of epoch {epoch} already; give the next one with --epoch {}, or remove the file",
            path.display(),
            epoch.0.saturating_add(1)
        )));
    }
    let from = args.epoch.map_or(now.0 / length * length, |epoch| u64::from(epoch) * length);
    let mut parameters = Parameters::new(3, 3);
    parameters.mean_delay = args.mean_delay;
    parameters.hop_allowance = args.hop_allowance;
    parameters.transmissions = args.transmissions;
    parameters.protected_links = !args.plain_links;
    let draft = Draft {
        network_name: &args.name,
        epoch,
        valid_after: UnixTime(from),
        valid_until: UnixTime(from + length),
        profile: ProfileName::Mote,
        parameters,
    };
    if let Some(stranger) =
        args.endpoints.iter().find(|name| args.nodes.iter().all(|node| node.name != **name))
    {
        return Err(Failure::broken(format!("--endpoint {stranger}: none of the nodes; name one of them")));
    }
    let nodes = args.nodes.iter().map(|node| NewNode {
        name: &node.name,
        role: if args.endpoints.contains(&node.name) { Role::Endpoint } else { Role::Mix { layer: 0 } },
        mix_key: PublicKey(node.key),
        addresses: std::slice::from_ref(&node.address),
    });
    let document = sign_document(authority.secret(), &draft, nodes)?;
    publish(&network, epoch, &document)?;
    let lines = network.document(epoch).with_extension("txt");
    let text = console(&authority.public_key().to_bytes(), &document);
    file::replace(&lines, 0o644, text.as_bytes())
        .with_context(|| format!("cannot write {}", lines.display()))?;
    report::print(told(&network.document(epoch), &lines, &args.nodes, epoch, draft.valid_until).as_bytes())?;
    Ok(())
}

fn authority(network: &NetworkDir) -> Result<AuthorityKeyFile, Failure> {
    let path = network.authority_key();
    if path.exists() {
        return AuthorityKeyFile::load(path).map_err(Failure::broken);
    }
    let authority = AuthorityKeyFile::create(path).map_err(Failure::failed)?;
    let public = network.authority_public_key();
    let key = hex::encode(authority.public_key().to_bytes()) + "\n";
    file::replace(&public, 0o644, key.as_bytes())
        .with_context(|| format!("cannot write {}", public.display()))?;
    Ok(authority)
}

/// What is typed at a mote that is to take the document.
fn console(authority: &[u8; 32], document: &[u8]) -> String {
    let mut text = format!("trust 1 {}\ndocument begin\n", hex::encode(authority));
    for piece in document.chunks(PIECE) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "document {}", hex::encode(piece));
    }
    text + "document end\n"
}

fn told(document: &Path, lines: &Path, nodes: &[SignedNode], epoch: Epoch, until: UnixTime) -> String {
    format!(
        "epoch {epoch}, {} nodes, until {until}\n{}\n{}: the same for consoles; set their clocks first\n",
        nodes.len(),
        document.display(),
        lines.display()
    )
}
