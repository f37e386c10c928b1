//! The Python nodes in scripts/loopix, to be measured in the same way.

use crate::failure::Failure;
use motemix_loopix::files::{Profile, Role};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where they are.
#[derive(Debug, Clone)]
pub struct Peer {
    interpreter: PathBuf,
    scripts: PathBuf,
}

impl Peer {
    /// Looks for them in the project's folder.
    pub fn find(project: &Path) -> Result<Self, Failure> {
        let interpreter = project.join(".venv-loopix/bin/python");
        let scripts = project.join("scripts/loopix");
        if !interpreter.exists() || !scripts.join("peer").is_dir() {
            return Err(Failure::broken(format!(
                "{}: no Python nodes here; run `scripts/setup loopix_peer` in the project's folder, and name it with --python",
                project.display()
            )));
        }
        // Relative paths would be looked for in the nodes' folders.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Ok(Self { interpreter: absolute(interpreter), scripts: absolute(scripts) })
    }

    /// The command that runs a node.
    pub fn node(&self, role: Role, dir: &Path, profile: Profile) -> Command {
        // By way of util-linux, which becomes it: it ends with this process, however that ends.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(&self.interpreter);
        command.current_dir(&self.scripts).args(["-m", "peer", role.name()]).arg(dir);
        command.args(["--profile", &profile.to_string()]);
        command
    }
}
