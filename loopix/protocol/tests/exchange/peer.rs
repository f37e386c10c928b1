//! sphinxmix itself, in a process of the Python peer that is asked in JSON lines;
//! `scripts/loopix/peer/exchange.py` has the questions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use motemix_loopix::pack;
use motemix_loopix::packet::{BodyTag, Flags, Format};
use rmpv::Value as Packed;
use serde_json::{Value, json};

use super::sphinx::{Given, Kept, Keys, Opened, Processed, Refused, Sphinx, Step};

/// The Python peer's.
pub struct There {
    process: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl There {
    pub fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join(".venv-loopix/bin/python");
        assert!(
            python.exists(),
            "there is no .venv-loopix for sphinxmix; make it with: scripts/setup loopix_peer"
        );
        let mut process = Command::new(python)
            .args(["-m", "peer", "exchange"])
            .current_dir(root.join("scripts/loopix"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let questions = process.stdin.take();
        let answers = BufReader::new(process.stdout.take().expect("it was asked for"));
        Self { process, questions, answers }
    }

    fn ask(&mut self, op: &str, format: Option<&Format>, more: Value) -> Result<Value, Refused> {
        let mut question = more;
        question["op"] = op.into();
        if let Some(format) = format {
            question["flags"] = if format.flags == Flags::Bin { "bin" } else { "str" }.into();
            question["body_tag"] = if format.body_tag == BodyTag::Zero { "zero" } else { "hmac" }.into();
            question["header_len"] = format.header_len.into();
            question["body_len"] = format.body_len.into();
        }
        let questions = self.questions.as_mut().expect("it is open until the end");
        writeln!(questions, "{question}").expect("the peer reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the peer answers");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer.get("error"), None, "{question}");
        // Of a packet that arrived, only the payload may have been refused; that is for the caller.
        match answer.get("refused") {
            // The point of another curve may be unreadable, or be read and then refused: that
            // depends on its bytes.
            Some(reason) if reason == "bad_point" => Err(Refused("malformed".into())),
            Some(reason) if answer.get("kind").is_none() => Err(Refused(string(reason))),
            _ => Ok(answer),
        }
    }
}

impl Drop for There {
    /// The end of its questions is the end of it.
    fn drop(&mut self) {
        drop(self.questions.take());
        let ended = self.process.wait();
        if !std::thread::panicking() {
            assert!(ended.expect("the peer can be waited for").success());
        }
    }
}

impl Sphinx for There {
    fn name(&self) -> &'static str {
        "there"
    }

    fn keys(&mut self) -> Keys {
        let answer = self.ask("keys", None, json!({})).expect("keys");
        Keys { secret: array(&answer["secret"]), public: array(&answer["public"]) }
    }

    fn create(
        &mut self,
        format: &Format,
        path: &[Step],
        destination: &[u8],
        message: &[u8],
    ) -> Result<Vec<u8>, Refused> {
        let words = json!({"path": steps(path), "destination": hex::encode(destination), "message": hex::encode(message)});
        Ok(bytes(&self.ask("create", Some(format), words)?["datagram"]))
    }

    fn process(&mut self, format: &Format, keys: &Keys, datagram: &[u8]) -> Result<Processed, Refused> {
        let words = json!({"secret": hex::encode(keys.secret), "datagram": hex::encode(datagram)});
        let answer = self.ask("process", Some(format), words)?;
        let tag = array(&answer["replay_tag"]);
        let routing = pack::decode(&bytes(&answer["routing"])).expect("a packed routing string");
        Ok(match answer["kind"].as_str().expect("a kind") {
            "relay" => {
                let [_flag, command] = fields(routing);
                Processed::Relay { tag, command, datagram: bytes(&answer["datagram"]) }
            }
            "destination" => {
                let [_flag] = fields(routing);
                let opened = match answer.get("refused") {
                    Some(reason) => Err(Refused(string(reason))),
                    None => Ok(Opened {
                        destination: bytes(&answer["destination"]),
                        message: bytes(&answer["message"]),
                    }),
                };
                Processed::Destination { tag, opened }
            }
            "surb" => {
                let [_flag, destination, id] = fields(routing);
                let named = (bytes(&answer["surb_id"]), bytes(&answer["destination"]));
                assert_eq!((id, pack::encode(&destination)), (pack::binary(&*named.0), named.1));
                Processed::Surb {
                    tag,
                    id: array(&answer["surb_id"]),
                    destination,
                    body: bytes(&answer["body"]),
                }
            }
            kind => panic!("what is {kind}?"),
        })
    }

    fn surb(&mut self, format: &Format, path: &[Step], destination: &[u8]) -> Result<(Kept, Given), Refused> {
        let words = json!({"path": steps(path), "destination": hex::encode(destination)});
        let answer = self.ask("surb", Some(format), words)?;
        let keys = answer["keys"].as_array().expect("keys").iter().map(array).collect();
        let surb = &answer["surb"];
        let given =
            Given { first: bytes(&surb["first"]), header: bytes(&surb["header"]), key: array(&surb["key"]) };
        Ok((Kept { id: array(&answer["surb_id"]), keys }, given))
    }

    fn reply(&mut self, format: &Format, given: &Given, message: &[u8]) -> Result<Vec<u8>, Refused> {
        let surb = json!({
            "first": hex::encode(&given.first), "header": hex::encode(&given.header), "key": hex::encode(given.key),
        });
        let words = json!({"surb": surb, "message": hex::encode(message)});
        let answer = self.ask("reply", Some(format), words)?;
        assert_eq!(bytes(&answer["first"]), given.first);
        Ok(bytes(&answer["datagram"]))
    }

    fn receive(&mut self, format: &Format, kept: &Kept, body: &[u8]) -> Result<Vec<u8>, Refused> {
        let keys: Vec<_> = kept.keys.iter().map(hex::encode).collect();
        let answer = self.ask("receive", Some(format), json!({"keys": keys, "body": hex::encode(body)}))?;
        Ok(bytes(&answer["message"]))
    }
}

fn steps(path: &[Step]) -> Vec<Value> {
    path.iter()
        .map(|step| json!({"public": hex::encode(step.public), "routing": hex::encode(&step.routing)}))
        .collect()
}

fn fields<const N: usize>(routing: Packed) -> [Packed; N] {
    let Packed::Array(fields) = routing else { panic!("no array: {routing}") };
    fields.try_into().unwrap_or_else(|fields| panic!("not {N}: {fields:?}"))
}

fn string(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().expect("hex")).expect("hex")
}

fn array<const N: usize>(value: &Value) -> [u8; N] {
    bytes(value).try_into().unwrap_or_else(|bytes| panic!("not {N} bytes: {bytes:?}"))
}
