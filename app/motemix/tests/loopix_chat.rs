//! People who talk: over pipes, and on a terminal.

mod program;
#[path = "loopix_nodes/world.rs"]
mod world;

use program::wait_until;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use world::World;

/// A network without the clients.
fn quiet_world(profile: &str, clients: &str) -> World {
    let mut world = World::init(profile, &["--clients", clients]);
    for name in ["Mix1", "Mix2", "Mix3", "Provider1", "Provider2"] {
        world.start(name, &[]);
    }
    world.wait_until_ready();
    world
}

fn chat(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(motemix_testbed::among_programs(env!("CARGO_BIN_EXE_motemix")));
    command.args(["loopix", "chat", "--dir"]).arg(folder).args(more).env_remove("MOTEMIX_LOG");
    command.stderr(Stdio::null());
    command
}

/// Somebody who chats over pipes.
struct Plain {
    child: Child,
    input: ChildStdin,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Plain {
    fn start(folder: &Path, more: &[&str]) -> Self {
        let mut child = chat(folder, more).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let lines = Arc::<Mutex<Vec<String>>>::default();
        let kept = Arc::clone(&lines);
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line);
            }
        });
        Self { input: child.stdin.take().unwrap(), child, lines }
    }

    fn says(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Waits for a line that ends so.
    #[track_caller]
    fn hears(&self, end: &str) {
        wait_until(&format!("{end:?} is printed"), || {
            self.lines.lock().unwrap().iter().any(|line| line.ends_with(end))
        });
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody who chats on a terminal.
struct OnTerminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl OnTerminal {
    const ROWS: u16 = 30;
    const COLUMNS: u16 = 110;

    fn start(folder: &Path) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let size = Winsize { ws_row: Self::ROWS, ws_col: Self::COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&controller, size).unwrap();
        let name = ptsname(&controller, Vec::new()).unwrap();
        let terminal: OwnedFd =
            rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let mut command = chat(folder, &[]);
        command.stdin(Stdio::from(terminal.try_clone().unwrap())).stdout(Stdio::from(terminal));
        let child = command.process_group(0).spawn().unwrap();
        // Its copies of the terminal's end are closed, so that reading ends with the child.
        drop(command);
        let [rows, columns] = [Self::ROWS, Self::COLUMNS].map(|count| count.try_into().unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let keyboard = File::from(controller);
        let (mut output, draws) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(len @ 1..) = output.read(&mut bytes) {
                draws.lock().unwrap().process(&bytes[..len]);
            }
        });
        Self { child, keyboard, screen }
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    #[track_caller]
    fn sees(&self, text: &str) {
        wait_until(&format!("{text:?} is on the screen"), || self.screen().contains(text));
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn what_is_said_reaches_everybody_else() {
    for profile in ["ucl-2017", "hardened"] {
        let world = quiet_world(profile, "3");
        let mut people: Vec<_> =
            (1..=3).map(|number| Plain::start(&world.folder(&format!("Client{number}")), &[])).collect();
        for (index, person) in people.iter_mut().enumerate() {
            person.hears("others in the directory: 2");
            person.says(&format!("hello from {index}"));
        }
        for (index, person) in people.iter().enumerate() {
            for other in (0..3).filter(|other| *other != index) {
                person.hears(&format!(" <Client{}> hello from {other}", other + 1));
            }
            let lines = person.lines.lock().unwrap();
            let mine = lines.iter().filter(|line| line.ends_with(&format!("hello from {index}"))).count();
            assert_eq!(mine, 0, "what one says is not sent to oneself: {lines:?}");
        }
    }
}

#[test]
fn a_chat_and_a_client_understand_each_other() {
    let mut world = quiet_world("fork-2018", "2");
    world.start("Client1", &[]);
    world.wait_until_ready();
    let mut ann = Plain::start(&world.folder("Client2"), &["--name", "Ann"]);
    ann.says("all is well");
    let client = world.node("Client1");
    wait_until("it arrives", || !client.texts().is_empty());
    let text = client.texts().remove(0);
    let (time, rest) = text.strip_prefix("CHAT").unwrap().split_at(8);
    assert!(time.chars().enumerate().all(|(at, c)| if at % 3 == 2 { c == ':' } else { c.is_ascii_digit() }));
    assert_eq!(rest, " <Ann> all is well");

    client.write("send Client2 CHAT10:10:50 <Bob> fine");
    ann.hears("10:10:50 <Bob> fine");
    client.write("send Client2 CHAT10:10:50 <E\u{1b}[2Jve> \u{7}!");
    ann.hears(r"10:10:50 <E\u{1b}[2Jve> \u{7}!");
    client.write("send Client2 no chat");
    ann.hears("* a message that is no chat: no chat");
    let long = "x".repeat(1100);
    ann.says(&long);
    ann.hears("* not sent to Client1: too long");
}

#[test]
fn a_provider_that_is_gone_is_told_and_that_it_is_back_as_well() {
    let mut world = quiet_world("hardened", "2");
    let person = Plain::start(&world.folder("Client1"), &[]);
    person.hears("others in the directory: 1");
    world.kill("Provider1");
    person.hears("requests are unanswered: messages may not arrive");
    world.start("Provider1", &[]);
    person.hears("* the provider answers again");
}

#[test]
fn a_terminal_keeps_what_is_said_apart_from_what_is_typed() {
    let world = quiet_world("hardened", "2");
    let mut other = Plain::start(&world.folder("Client2"), &[]);
    let mut person = OnTerminal::start(&world.folder("Client1"));
    person.sees("others in the directory: 1");
    person.sees("Client2");
    person.types("half a li");
    person.sees("half a li");
    other.says("while somebody types");
    person.sees("<Client2> while somebody types");
    person.sees("Client2 heard");
    assert!(person.screen().contains("half a li"), "{}", person.screen());
    person.types("ne\r");
    other.hears(" <Client1> half a line");
    person.sees("<Client1> half a line");
    person.sees("reached");
    person.sees("queued: 0");
    wait_until("cover is shown", || {
        let screen = person.screen();
        let count = |name: &str| {
            let after = screen.split_once(name)?.1.trim_start();
            after.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
        };
        ["loops sent", "loops back", "drops sent", "dummies"].iter().all(|name| count(name) > Some(0))
    });
    // Ctrl-C
    person.types("\u{3}");
    wait_until("it ends", || person.child.try_wait().unwrap().is_some());
    assert!(person.child.wait().unwrap().success());
    let screen = person.screen.lock().unwrap();
    assert!(!screen.screen().alternate_screen(), "the terminal is as it was");
}
