//! What a node answers on its control socket.

use motemix_sphinx::Profile;

use super::driver::Driver;
use super::mailroom::Mailroom;
use crate::control::{Call, INBOX_MOST, InboxEntry, Request, Response};

/// The newest messages that have arrived.
pub(super) fn inbox(mailroom: &Mailroom, last: u32) -> Response {
    let entry = |message: motemix_os::store::Message| InboxEntry {
        number: message.number,
        received_at_ms: u64::try_from(message.received_at.as_millis()).unwrap_or(u64::MAX),
        data_hex: hex::encode(message.data),
    };
    match mailroom.recent(last.min(INBOX_MOST)) {
        Ok(messages) => Response::Inbox { messages: messages.into_iter().map(entry).collect() },
        Err(error) => Response::Error { message: error.to_string() },
    }
}

impl<P: Profile + 'static> Driver<'_, P> {
    /// Answers a request, or keeps it until there is an answer. `true` if the node is to end.
    pub(super) fn answer(&mut self, call: Call) -> bool {
        let Call { request, reply } = call;
        let mut stop = false;
        let response = match request {
            Request::Status {} => Response::Status(self.status()),
            Request::Quiet {} => {
                self.readings = None;
                Response::Quiet {}
            }
            Request::Inbox { last } => inbox(&self.mailroom, last),
            Request::Stop {} => {
                stop = true;
                Response::Stopping {}
            }
            Request::Send { to, data_hex, wait } => match self.send(&to, &data_hex) {
                Err(refusal) => Response::Error { message: refusal },
                Ok(message) if wait => {
                    self.waiting.insert(message, reply);
                    return false;
                }
                Ok(message) => Response::Sent { message: message.number() },
            },
        };
        // A client that has gone needs no answer.
        let _ = reply.send(response);
        stop
    }

    fn send(&mut self, to: &str, data_hex: &str) -> Result<motemix_node::MessageHandle, String> {
        if !self.in_force {
            // As health has it, with what to do.
            let words = self.examination.nothing_in_force();
            return Err(words.unwrap_or_else(|| "no network document is in force; try again".to_owned()));
        }
        if let Some(words) = self.folder.moved() {
            return Err(words);
        }
        if *to == *self.config.name {
            return Err(format!("{to} is this node itself; name another one with --to"));
        }
        let data = hex::decode(data_hex)
            .map_err(|_| "data_hex is not hexadecimal; give two digits for each byte".to_owned())?;
        let to = self
            .network
            .find(to)
            .ok_or_else(|| format!("there is no node {to:?} in the network document; check the name"))?;
        self.node.send(self.clock.now(), to, &data).map_err(|refusal| refusal.to_string())
    }
}
