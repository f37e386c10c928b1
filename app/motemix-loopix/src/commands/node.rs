//! `motemix loopix mix`, `provider` and `client`: one node in the foreground, with JSON lines.

pub mod event;
mod input;
mod printer;

use crate::chosen;
use motemix_loopix::files::{FileError, MailboxLimits, NodeFiles, Profile, Role};
use motemix_loopix::runtime::{self, Options, RuntimeError};
use motemix_os::memory;
use motemix_os::store::file;
use motemix_program::cli::{LoopixClient, LoopixMix, LoopixNode, LoopixProvider};
use motemix_program::failure::Failure;
use motemix_program::foreground::end_with_parent;
use motemix_program::owner::refuse_root;
use printer::Printer;
use std::path::Path;

pub fn mix(args: &LoopixMix) -> Result<(), Failure> {
    let files = open(&args.node.folder.path, Role::Mix)?;
    run(&args.node, files, &options(&args.node))
}

pub fn provider(args: &LoopixProvider) -> Result<(), Failure> {
    let files = open(&args.node.folder.path, Role::Provider)?;
    let profile = args.node.profile.map_or(files.settings.profile, chosen::profile);
    if args.push && profile != Profile::Fork2018 {
        return Err(Failure::broken(format!(
            "--push: only nodes of fork-2018 know it; these speak {profile}: leave it out, or choose --profile fork-2018"
        )));
    }
    let told = files.settings.mailboxes;
    let mut options = options(&args.node);
    options.push = args.push;
    options.mailboxes = Some(MailboxLimits::new(
        args.mailbox.unwrap_or(told.packets_per_user),
        args.mailboxes.unwrap_or(told.bytes),
    ));
    run(&args.node, files, &options)
}

pub fn client(args: &LoopixClient) -> Result<(), Failure> {
    let files = open(&args.node.folder.path, Role::Client)?;
    let mut options = options(&args.node);
    options.probe = args.probe;
    run(&args.node, files, &options)
}

/// Opens the folder of a node that has to be of this role.
pub fn open(dir: &Path, role: Role) -> Result<NodeFiles, Failure> {
    let files = NodeFiles::open(dir).map_err(|error: FileError| Failure::broken(error))?;
    if files.role == role {
        return Ok(files);
    }
    let found = files.role.name();
    Err(Failure::broken(format!(
        "{}: is the folder of a {found}; run `motemix loopix {found} --dir {}`",
        dir.display(),
        file::typed(dir)
    )))
}

fn options(args: &LoopixNode) -> Options {
    let mut options = Options::default();
    options.profile = args.profile.map(chosen::profile);
    options.listen = args.listen;
    options.report_every = args.stats;
    options
}

fn run(args: &LoopixNode, files: NodeFiles, options: &Options) -> Result<(), Failure> {
    if args.with_parent {
        end_with_parent()?;
    }
    refuse_root(&args.folder.path)?;
    memory::tell();
    let (handle, requests) = runtime::handle();
    let printer = Printer::start()?;
    if files.role == Role::Client {
        input::obey(handle, printer.line_sender())?;
    }
    let ran =
        runtime::run(&args.folder.path, files, options, requests, |event| printer.say(&event::json(&event)));
    printer.finish();
    ran.map_err(failure)
}

/// What can be mended in a file is broken; what the system refuses has failed.
pub fn failure(error: RuntimeError) -> Failure {
    match error {
        RuntimeError::File(_) | RuntimeError::Setup(_) => Failure::broken(error),
        _ => Failure::failed(error),
    }
}
