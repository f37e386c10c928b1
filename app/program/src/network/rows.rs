//! What `net up` and `net down` tell of each node.

use super::{NodeDir, Stopped};
use crate::failure::Failure;
use crate::report::{self, Table};
use serde::Serialize;

/// How it came to be there.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    Started,
    #[serde(rename = "was_running")]
    Ran,
    #[serde(rename = "no_answer")]
    Silent,
}

impl How {
    pub fn words(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Ran => "was running",
            Self::Silent => "no answer",
        }
    }
}

/// What `net down` tells: of each node, how it ended or why it did not.
#[derive(Default)]
pub struct DownRows(Vec<DownRow>);

#[derive(Serialize)]
struct DownRow {
    name: String,
    /// `null` if it was not stopped.
    stopped: Option<Stopped>,
    problem: Option<String>,
}

impl DownRows {
    pub fn add(&mut self, node: &NodeDir, stopped: anyhow::Result<Stopped>) {
        let problem = stopped.as_ref().err().map(|error| format!("{error:#}"));
        self.0.push(DownRow { name: node.name(), stopped: stopped.ok(), problem });
    }

    /// Prints them, and fails if nodes were not stopped.
    pub fn finish(self, json: bool) -> Result<(), Failure> {
        let mut table = Table::new(["node", "how"]);
        for row in &self.0 {
            table.row([row.name.clone(), row.stopped.map_or("not stopped", Stopped::words).to_owned()]);
        }
        if json { report::print_json(&self.0) } else { table.print() }?;
        let problems: Vec<_> = self.0.into_iter().filter_map(|row| row.problem).collect();
        if problems.is_empty() { Ok(()) } else { Err(Failure::failed(problems.join("; "))) }
    }
}
