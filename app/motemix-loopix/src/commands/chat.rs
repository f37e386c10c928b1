//! `motemix loopix chat`: the demonstration of the dissertation.
//!
//! The node runs on a thread of its own. What happens comes from there, what the user types from
//! here; `talk` knows what is said and who is there, and either `screen` draws that on a terminal
//! or `plain` prints it as lines.

mod editor;
mod line;
mod plain;
mod screen;
mod talk;

use super::node::{failure, open};
use crate::chosen;
use anyhow::Context;
use motemix_loopix::files::Role;
use motemix_loopix::runtime::{self, Event, Handle, Options, RuntimeError};
use motemix_program::cli::LoopixChat;
use motemix_program::failure::Failure;
use motemix_program::owner::refuse_root;
use std::io::IsTerminal;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use talk::Talk;

/// How often the counters come.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// The client, and what it tells.
struct Running {
    handle: Handle,
    events: Receiver<Event>,
    thread: JoinHandle<Result<(), RuntimeError>>,
}

pub fn chat(args: &LoopixChat) -> Result<(), Failure> {
    let files = open(&args.folder.path, Role::Client)?;
    refuse_root(&args.folder.path)?;
    let name = args.name.clone().unwrap_or_else(|| files.own.name().to_owned());
    let talk = Talk::new(&name, files.own.name());
    let mut options = Options::default();
    options.profile = args.profile.map(chosen::profile);
    options.listen = args.listen;
    options.report_every = Some(REPORT_EVERY);
    let (handle, requests) = runtime::handle();
    // Unbounded: the screen takes what comes at once, and what comes is bounded by what the network
    // carries.
    let (tell, events) = mpsc::channel();
    let dir = args.folder.path.clone();
    let run = move || {
        runtime::run(&dir, files, &options, requests, |event| {
            // Whoever listened may have gone.
            let _ = tell.send(event);
        })
    };
    let thread =
        thread::Builder::new().name("node".to_owned()).spawn(run).context("cannot start a thread")?;
    let running = Running { handle, events, thread };
    let chatted = if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        screen::chat(&running, talk)
    } else {
        plain::chat(&running, talk)
    };
    running.handle.stop();
    let ended = running.thread.join().map_err(|_| Failure::failed("the node ended unexpectedly"))?;
    ended.map_err(failure)?;
    chatted
}
