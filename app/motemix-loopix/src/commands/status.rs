//! `motemix loopix status`: what a running node counts.

use motemix_host::control::{ControlClient, Request, Response};
use motemix_loopix::files::NodeFiles;
use motemix_loopix::runtime::control_socket;
use motemix_os::control::{ControlError, ControlProblem};
use motemix_os::store::file;
use motemix_program::cli::LoopixStatus;
use motemix_program::failure::Failure;
use motemix_program::report::{self, Table};
use serde_json::json;
use std::path::Path;

pub fn status(args: &LoopixStatus) -> Result<(), Failure> {
    let mut node = ControlClient::connect(control_socket(&args.folder.path))
        .map_err(|error| not_connected(&args.folder.path, error))?;
    let status = match node.request(&Request::Status {}).map_err(Failure::failed)? {
        Response::Status(status) => status,
        other => return Err(Failure::failed(format!("the node does not say how it is doing: {other:?}"))),
    };
    if args.json {
        return Ok(report::print_json(&json!({
            "name": status.name,
            "listen": status.listen,
            "uptime_s": status.uptime_s,
            "counters": status.counters,
        }))?);
    }
    let mut table = Table::new([status.name.as_str(), ""]);
    table.row(["listens on".to_owned(), status.listen.join(", ")]);
    table.row(["runs for".to_owned(), report::length(status.uptime_s)]);
    for (name, count) in &status.counters {
        table.row([name.replace('_', " "), count.to_string()]);
    }
    Ok(table.print()?)
}

/// A node that does not run is started with a word of its role.
fn not_connected(dir: &Path, error: ControlError) -> Failure {
    match (&error.problem, NodeFiles::open(dir)) {
        (ControlProblem::NotRunning, Ok(files)) => Failure::failed(format!(
            "{dir}: {} does not run; start it with `motemix loopix {} --dir {}`",
            files.own.name(),
            files.role.name(),
            file::typed(dir),
            dir = dir.display()
        )),
        (ControlProblem::NotRunning, Err(broken)) => Failure::broken(broken),
        _ => Failure::failed(error),
    }
}
