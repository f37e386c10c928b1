//! What an authority answers over HTTP.

use motemix_directory::{Epoch, MAX_DESCRIPTOR_LEN};
use motemix_host::metrics::Format;
use motemix_os::clock::unix_seconds;
use motemix_os::web::{Answer, Asked, Site};

use super::{Authority, State, hex, status};
use crate::ceremony::{Ceremony, Said};
use crate::store::Taken;
use crate::transcript::{Transcript, Word};
use crate::vote::{Round, described};

impl Site for Authority {
    fn takes(&self, path: &str) -> Option<usize> {
        (path == "/descriptors").then_some(MAX_DESCRIPTOR_LEN)
    }

    fn answer(&self, asked: Asked) -> Answer {
        if let Some(file) = asked.handed_in {
            return self.take_descriptor(&file);
        }
        let path = asked.path.as_str();
        match path {
            "/network" => json(&status::Network {
                network: &self.config.network,
                epoch_length_s: self.config.epoch_length.as_secs(),
                threshold: self.config.threshold,
                authorities: self.roster.keys().iter().map(hex).collect(),
            }),
            "/status" => self.status(),
            "/metrics" => self.figures(Format::accepted(&asked.accept)),
            "/healthz" => self.health(),
            "/readyz" => self.readiness(),
            _ => {
                if let Some(answer) = self.archive.folder().answer(path) {
                    return answer;
                }
                path.strip_prefix("/rounds/").map_or_else(Answer::nothing, |rest| self.transcript(rest))
            }
        }
    }
}

impl Authority {
    fn take_descriptor(&self, file: &[u8]) -> Answer {
        let Some(descriptor) = described(file) else {
            return Answer::text(400, "not a descriptor that its node signed; make it again\n");
        };
        if descriptor.network_name != self.config.network {
            let text = format!(
                "it is for the network {:?}, and this is {:?}\n",
                descriptor.network_name, self.config.network
            );
            return Answer::text(400, text);
        }
        // A node whose clock was ahead could say nothing new until its wrong time has come.
        let latest = self.config.latest_issue(unix_seconds());
        if descriptor.issued > latest {
            return Answer::text(400, "it was issued in the future; check the node's clock\n");
        }
        match self.store.keep(file, latest) {
            Ok(Taken::New | Taken::Known) => Answer::text(200, "taken\n"),
            Ok(Taken::Older) => {
                Answer::text(409, "a later descriptor of this node is here; check the node's clock\n")
            }
            Ok(Taken::Stranger) => Answer::text(
                403,
                "this node is not admitted; ask the authority's operator for `motemix authority add`\n",
            ),
            Ok(Taken::Renamed) => Answer::text(403, "this node was admitted by another name\n"),
            Err(error) => Answer::text(503, format!("{error}\n")),
        }
    }

    fn transcript(&self, rest: &str) -> Answer {
        let round = rest.split_once('/').and_then(|(epoch, attempt)| {
            Some(Round { epoch: Epoch(epoch.parse().ok()?), attempt: attempt.parse().ok()? })
        });
        let State { rounds, given, .. } = &mut *self.state.borrow_mut();
        let Some(ceremony) = rounds.iter().find(|ceremony| Some(ceremony.round()) == round) else {
            return Answer::nothing();
        };
        // Anybody may ask, as often as it likes: what was made is given until something is new.
        let key = (ceremony.round(), ceremony.taken());
        given.retain(|(round, _), _| rounds.iter().any(|ceremony| ceremony.round() == *round));
        let transcript = given.entry(key).or_insert_with(|| transcript_of(ceremony).into());
        let answer = Answer::found("application/cbor", transcript.clone());
        given.retain(|(round, taken), _| *round != key.0 || *taken == key.1);
        answer
    }

    /// How many epochs from the present one on have a document, without a gap.
    pub(super) fn lasts(&self) -> usize {
        let present = self.present();
        let have = self.archive.epochs().unwrap_or_default();
        let later = have.iter().filter(|epoch| **epoch >= present);
        later.zip(present.0..).take_while(|(epoch, expected)| epoch.0 == *expected).count()
    }

    /// Whether there is a document for whoever asks now.
    fn readiness(&self) -> Answer {
        if self.archive.epochs().is_ok_and(|epochs| epochs.contains(&self.present())) {
            return Answer::text(200, "ready\n");
        }
        Answer::text(503, "there is no document of this epoch\n")
    }

    /// Until when documents last, whether it takes part in making more, and what is wrong.
    fn health(&self) -> Answer {
        let state = self.state.borrow();
        let lasts = self.lasts();
        let mut lines = Vec::new();
        if lasts == 0 {
            lines.push("there is no document of this epoch".to_owned());
        } else if lasts * 2 <= self.config.ahead as usize {
            let ahead = self.config.ahead;
            lines.push(format!("there are documents for this epoch and {} after it, of {ahead}", lasts - 1));
        }
        lines.extend(state.idle());
        let status = if lines.is_empty() { 200 } else { 503 };
        if let Some(trouble) = state.trouble.as_ref().filter(|_| status == 503) {
            lines.push(trouble.clone());
        }
        lines.extend(warnings(&state));
        lines.extend(status::clocks(&state.clocks, self.config.phase));
        if lines.is_empty() {
            lines.push("ok".to_owned());
        }
        Answer::text(status, lines.join("\n") + "\n")
    }

    fn status(&self) -> Answer {
        let present = self.present();
        let mut state = self.state.borrow_mut();
        let members = match self.store.members() {
            Ok(members) => members,
            Err(error) => return Answer::text(503, format!("{error}\n")),
        };
        state.summaries.update(&members);
        let state = &*state;
        let nodes: Vec<_> =
            members.iter().map(|member| status::node(member, &state.summaries, present)).collect();
        let mut keys: Vec<_> = self.roster.keys().iter().map(hex).collect();
        keys.sort_unstable();
        let report = status::Report {
            network: &self.config.network,
            key: hex(&self.key.public_key()),
            epoch: present.0,
            documents: self.archive.epochs().unwrap_or_default().into_iter().map(|epoch| epoch.0).collect(),
            threshold: self.config.threshold,
            authorities: self.roster.len(),
            epoch_length_s: self.config.epoch_length.as_secs(),
            phase_ms: self.config.phase.as_millis(),
            ahead: self.config.ahead,
            keys,
            parameters: &self.config.parameters,
            trouble: state.trouble.as_deref(),
            idle: state.idle(),
            liars: state.liars.iter().map(ToString::to_string).collect(),
            silent: state.silent.values().collect(),
            clocks: status::clocks(&state.clocks, self.config.phase),
            left_out: &state.left_out,
            nodes,
        };
        json(&report)
    }
}

/// What is wrong though documents may be made.
fn warnings(state: &State) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(state.silent.values().map(|why| format!("an authority does not answer: {why}")));
    lines.extend(state.liars.iter().map(|liar| {
        format!(
            "authority {liar} voted or signed twice: two programs have its key, or it lies; ask its operator"
        )
    }));
    if !state.left_out.is_empty() {
        lines.push(format!(
            "a vote has no room for {} of the nodes: have nodes give keys of fewer epochs, or admit fewer; \
             `motemix authority status` names them",
            state.left_out.len()
        ));
    }
    lines
}

fn transcript_of(ceremony: &Ceremony) -> Vec<u8> {
    let mut transcript = Transcript::default();
    for said in ceremony.statements() {
        match said {
            Said::Sighting(file) => transcript.push(Word::Sighting(file)),
            Said::Vote(file) => transcript.push(Word::Vote(file)),
            Said::EarlierVote(file) => transcript.push(Word::EarlierVote(file)),
            Said::Preparation(file) => transcript.push(Word::Preparation(file)),
        }
    }
    for document in ceremony.signed_documents() {
        transcript.push(Word::Document(document));
    }
    transcript.into_bytes()
}

fn json(report: &impl serde::Serialize) -> Answer {
    match serde_json::to_vec(report) {
        Ok(body) => Answer::found("application/json", body),
        Err(error) => Answer::text(500, format!("{error}\n")),
    }
}
