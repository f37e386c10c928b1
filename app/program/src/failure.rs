//! How a command ends when it does not succeed.

use crate::report::printable;
use std::fmt;
use std::path::Path;
use std::process::ExitCode;

/// Why a command did not do its work. Prints as one line.
#[derive(Debug)]
pub enum Failure {
    /// What the command was given is broken: a configuration, a key, a document. Exit status 2.
    Broken(anyhow::Error),
    /// The work itself failed. Exit status 1.
    Failed(anyhow::Error),
}

impl Failure {
    pub fn broken(what: impl fmt::Display) -> Self {
        Self::Broken(anyhow::anyhow!("{what}"))
    }

    pub fn failed(what: impl fmt::Display) -> Self {
        Self::Failed(anyhow::anyhow!("{what}"))
    }

    /// The same, and before it what came to nothing because of it.
    #[must_use]
    pub fn context(self, what: String) -> Self {
        match self {
            Self::Broken(error) => Self::Broken(error.context(what)),
            Self::Failed(error) => Self::Failed(error.context(what)),
        }
    }

    /// The same, told of the folder `path` where it was met in `stand_in`.
    #[must_use]
    pub fn about(self, path: &Path, stand_in: &Path) -> Self {
        let told = |error: &anyhow::Error| {
            let text = format!("{error:#}");
            anyhow::anyhow!(text.replace(&*stand_in.to_string_lossy(), &path.to_string_lossy()))
        };
        match self {
            Self::Broken(error) => Self::Broken(told(&error)),
            Self::Failed(error) => Self::Failed(told(&error)),
        }
    }

    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Broken(_) => ExitCode::from(2),
            Self::Failed(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Broken(error) | Self::Failed(error)) = self;
        let text = format!("{error:#}");
        f.write_str(&printable(&text.lines().map(str::trim).collect::<Vec<_>>().join(", ")))
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}
