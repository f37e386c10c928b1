//! What devices and servers signed, as commands of this program print it and take it: in lines of
//! hexadecimal digits, as bytes (`--raw`), as JWS, and in the lines of `motemix inbox --json`.

use super::{MOST_MESSAGE, place};
use motemix_object::{Credential, Sign1, claimed_algorithm};
use motemix_program::failure::Failure;
use motemix_readings::jws;
use serde_json::Value;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

/// Hexadecimal digits as bytes, a JWS without the white space around it, anything else as it is. No
/// message of a device is of such digits alone: each begins with 0x82 or a higher byte.
pub fn unarmoured(bytes: Vec<u8>) -> Vec<u8> {
    let text = bytes.trim_ascii();
    match hex::decode(text) {
        Ok(message) => message,
        Err(_) if text.starts_with(b"ey") => text.to_vec(),
        Err(_) => bytes,
    }
}

/// What is to be sent: a signed object without its armour, anything else as it is. A text that is
/// an object by chance does not exist: an object has one form, and ends with a signature or a key.
pub fn one_to_send(data: Vec<u8>) -> Result<Vec<u8>, Failure> {
    let lines: Vec<_> =
        data.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()).collect();
    if let [first, _, ..] = lines[..]
        && object_in(first).is_some()
    {
        return Err(Failure::broken(format!(
            "{} messages, one a line; `send` sends one: give it each by itself",
            lines.len()
        )));
    }
    let object = if let [line] = lines[..] { object_in(line) } else { None };
    Ok(object.unwrap_or(data))
}

/// The object that a line is the armour of.
fn object_in(line: &[u8]) -> Option<Vec<u8>> {
    let object = unarmoured(line.to_vec());
    let is_binary = || {
        Sign1::parse(&object).is_ok()
            || Credential::parse(&object).is_ok()
            || claimed_algorithm(&object).is_ok()
    };
    let is_twin = || std::str::from_utf8(&object).is_ok_and(|text| jws::open(text).is_ok());
    (is_binary() || is_twin()).then_some(object)
}

/// One message, and in which line of the input it is; none if the input is that message.
pub struct Message {
    pub line: Option<u64>,
    pub bytes: Vec<u8>,
    /// An inbox has it, where anybody may have sent anything.
    pub is_of_inbox: bool,
}

/// The messages of an input, each when its line is there: it may be a pipe that does not end.
pub struct Messages {
    input: Box<dyn BufRead>,
    place: String,
    line: u64,
    ended: bool,
}

impl Messages {
    pub fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let place = place(path);
        let input: Box<dyn BufRead> = match path.filter(|path| *path != Path::new("-")) {
            None => Box::new(io::stdin().lock()),
            Some(path) => {
                let file = File::open(path);
                let file =
                    file.map_err(|error| Failure::broken(format!("{place}: {error}; check the path")))?;
                Box::new(BufReader::new(file))
            }
        };
        Ok(Self { input, place, line: 0, ended: false })
    }

    /// The next one. What does not begin with a line that has a message is one message to its end.
    pub fn next(&mut self) -> Result<Option<Message>, Failure> {
        loop {
            if self.ended {
                return Ok(None);
            }
            let mut bytes = Vec::new();
            self.read(&mut bytes, |input, bytes| input.read_until(b'\n', bytes))?;
            let is_first = self.line == 0;
            self.ended = !bytes.ends_with(b"\n");
            self.line += 1;
            if let Some(message) = message_of(&bytes) {
                let is_of_inbox = bytes.trim_ascii_start().starts_with(b"{");
                return Ok(Some(Message { line: Some(self.line), bytes: message, is_of_inbox }));
            }
            if is_first {
                self.ended = true;
                self.read(&mut bytes, |input, bytes| input.read_to_end(bytes))?;
                return Ok(Some(Message { line: None, bytes, is_of_inbox: false }));
            }
            if !bytes.trim_ascii().is_empty() {
                return Ok(Some(Message { line: Some(self.line), bytes, is_of_inbox: false }));
            }
        }
    }

    fn read(
        &mut self,
        bytes: &mut Vec<u8>,
        read: impl FnOnce(&mut io::Take<&mut Box<dyn BufRead>>, &mut Vec<u8>) -> io::Result<usize>,
    ) -> Result<(), Failure> {
        let most = (MOST_MESSAGE + 1).saturating_sub(bytes.len()) as u64;
        let place = &self.place;
        read(&mut (&mut self.input).take(most), bytes)
            .map_err(|error| Failure::broken(format!("{place}: {error}; check the path")))?;
        if bytes.len() > MOST_MESSAGE {
            let problem = format!("{place}: longer than {MOST_MESSAGE} bytes; is it the right file?");
            return Err(Failure::broken(problem));
        }
        Ok(())
    }

    /// Where a message is, for people.
    pub fn place(&self, line: Option<u64>) -> String {
        match line {
            Some(line) => format!("{}, line {line}", self.place),
            None => self.place.clone(),
        }
    }
}

/// The message of a line: digits, a JWS, or what `motemix inbox --json` says of one.
fn message_of(line: &[u8]) -> Option<Vec<u8>> {
    let line = line.trim_ascii();
    if line.starts_with(b"{") {
        let said: Value = serde_json::from_slice(line).ok()?;
        return hex::decode(said["data_hex"].as_str()?).ok();
    }
    let is_message = line.starts_with(b"ey") || !line.is_empty() && hex::decode(line).is_ok();
    is_message.then(|| unarmoured(line.to_vec()))
}
