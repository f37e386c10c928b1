//! A network made by the program `motemix`: one of its mixes runs, and the generator takes the
//! place of the receiver behind it.

use std::ffi::OsStr;
use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use motemix_directory::{Epoch, UnixTime};
use motemix_host::NodeConfig;
use motemix_host::config::Processing;
use motemix_host::documents::{Documents, Network};
use motemix_sphinx::PathHop;
use tempfile::TempDir;

use crate::load::process::{Cores, UnderLoad};
use crate::machine::Machine;

/// Epochs begin at multiples of their length since 1970, so the first one may end in a second.
const EPOCHS: &str = "6";
const MIX: &str = "mix-1";
const RECEIVER: &str = "receiver";

/// A folder with a network whose mixes add no delay and send no cover, over plain links: only
/// forwarding is measured. What a link's protection costs has rows of its own.
pub struct TestNetwork {
    folder: TempDir,
    documents: Documents,
    network: Network,
}

impl TestNetwork {
    /// Makes one with `program`; `profile` as on its command line.
    pub fn make(program: &Path, profile: &str) -> Result<Self> {
        let folder = TempDir::new().context("making a temporary folder")?;
        let mut command = Command::new(program);
        command.args([
            "net",
            "init",
            "--profile",
            profile,
            "--mixes",
            "9",
            "--motes",
            "1",
            "--receivers",
            "1",
        ]);
        command.args(["--mean-delay", "0s", "--loop-cover", "0s", "--drop-cover", "0s"]);
        // The generator sends packets as they are, and the peers' loops know no protection.
        command.arg("--plain-links");
        command.args(["--host", "127.0.0.1", "--base-port", "0", "--epochs", EPOCHS]);
        // More than is driven through it: a filter that has to last for longer would keep some of
        // its places.
        command.args(["--rate", "60000", "--epoch-length", "20min"]);
        let output = command.arg(folder.path()).output();
        let output = output.with_context(|| format!("starting {}", program.display()))?;
        ensure!(output.status.success(), "motemix net init: {}", String::from_utf8_lossy(&output.stderr));

        let config = NodeConfig::load(folder.path().join("nodes").join(RECEIVER).join("node.toml"))?;
        std::fs::create_dir_all(&config.state)?;
        let documents = Documents::open(&config)?;
        let network = in_force(&documents)?;
        Ok(Self { folder, documents, network })
    }

    /// Starts the mix, which is to use its processor like this.
    pub fn start_mix(
        &self,
        cores: Cores,
        processing: Processing,
        machine: &Machine,
        program: &Path,
    ) -> Result<UnderLoad> {
        let config = self.folder.path().join("nodes").join(MIX).join("node.toml");
        let mut changed = NodeConfig::load(&config)?;
        changed.processing = processing;
        changed.save(&config)?;
        let arguments = [OsStr::new("node"), OsStr::new("--config"), config.as_os_str()];
        UnderLoad::start_on(cores, machine, program.as_os_str(), &arguments)
    }

    /// Where the mix listens.
    pub fn mix(&self) -> Result<SocketAddr> {
        self.address(MIX)
    }

    /// The receiver's socket.
    pub fn receiver(&self) -> Result<UdpSocket> {
        UdpSocket::bind(self.address(RECEIVER)?).context("taking the receiver's place")
    }

    /// From the mix to the receiver, with the mix keys of the present epoch: those of an epoch that
    /// has ended open nothing any more.
    pub fn path(&self) -> Result<[PathHop; 2]> {
        let network = in_force(&self.documents)?;
        let hop = |name| {
            let id = network.find(name)?;
            Some(PathHop { id, mix_key: network.node(id)?.mix_key })
        };
        let hops = hop(MIX).zip(hop(RECEIVER)).map(|(mix, receiver)| [mix, receiver]);
        hops.context("the network has no mix or no receiver")
    }

    fn address(&self, name: &str) -> Result<SocketAddr> {
        let node = self.network.find(name).and_then(|id| self.network.node(id));
        node.and_then(|node| node.addresses.first()).copied().with_context(|| format!("no address of {name}"))
    }
}

fn in_force(documents: &Documents) -> Result<Network> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    documents.current(UnixTime(now.as_secs()), Epoch(0), |_| anyhow::Ok(()))
}
