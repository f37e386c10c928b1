//! The handshakes that are compared: how they talk, and what each side computes on a board.

use super::conversation::{self, Conversation, Side};
use super::published::{FLIGHTS, SOURCE};
use super::report::DIGITS;
use crate::boards::board::Board;
use crate::boards::measure::good;
use crate::failure::Failure;
use crate::firmware::Purpose;
use crate::report::rounded;
use motemix_mcu::{FlashTiming, Image, Machine};
use serde::Serialize;
use std::time::Duration;

/// A handshake.
#[derive(Debug, Serialize)]
pub struct Handshake {
    pub name: &'static str,
    /// Where its bytes are from.
    pub source: &'static str,
    #[serde(flatten)]
    pub conversation: Conversation,
    #[serde(skip)]
    pub steps: Option<&'static Steps>,
}

/// What it computes, in an image.
#[derive(Debug)]
pub struct Steps {
    pub purpose: Purpose,
    /// What is there before the handshake.
    prepare: &'static str,
    /// In their order, each on the machine of the one before.
    steps: &'static [(Side, &'static str)],
    /// What both do afterwards, on a machine of its own.
    then: Option<&'static str>,
}

const I: Side = Side::Initiator;
const R: Side = Side::Responder;

static LITERAL: Steps = Steps {
    purpose: Purpose::DietSteps,
    prepare: "prepare_sensor_generates",
    steps: &[(I, "sensor_generates"), (R, "router_generates"), (I, "sensor_meets"), (R, "router_meets")],
    then: None,
};

static SETTLED: Steps = Steps {
    purpose: Purpose::DietSteps,
    prepare: "prepare_hello",
    steps: &[(I, "hello"), (R, "answer"), (I, "finish")],
    then: None,
};

const THREE_MESSAGES: [(Side, &str); 9] = [
    (I, "begin"),
    (R, "ephemeral"),
    (R, "agree"),
    (R, "authenticate"),
    (I, "read_message_2"),
    (I, "verify_responder"),
    (I, "message_3"),
    (R, "read_message_3"),
    (R, "verify_initiator"),
];

static EDHOC: Steps = Steps {
    purpose: Purpose::Edhoc,
    prepare: "prepare_begin",
    steps: &THREE_MESSAGES,
    then: Some("exporter"),
};

static EDHOC_SIGNED: Steps = Steps { purpose: Purpose::EdhocSigned, ..EDHOC };

const FOUR_MESSAGES: [(Side, &str); 11] = {
    let [a, b, c, d, e, f, g, h, i] = THREE_MESSAGES;
    [a, b, c, d, e, f, g, h, i, (R, "message_4"), (I, "read_message_4")]
};

/// The keyed hash of the cookie is not in it.
static LINK: Steps = Steps { steps: &FOUR_MESSAGES, ..EDHOC };

/// Has every handshake on this host.
pub fn all() -> Result<Vec<Handshake>, Failure> {
    let ran = "both sides on this host";
    let mut all = vec![
        Handshake {
            name: "IoT-CryptoDiet, to the letter",
            source: ran,
            conversation: conversation::literal()?,
            steps: Some(&LITERAL),
        },
        Handshake {
            name: "IoT-CryptoDiet, settled",
            source: ran,
            conversation: conversation::settled()?,
            steps: Some(&SETTLED),
        },
        Handshake {
            name: "EDHOC, method 0, P-256",
            source: ran,
            conversation: conversation::edhoc_signatures()?,
            steps: Some(&EDHOC_SIGNED),
        },
        Handshake {
            name: "EDHOC, method 3, X25519",
            source: ran,
            conversation: conversation::edhoc_static()?,
            steps: Some(&EDHOC),
        },
        Handshake {
            name: "a protected link: cookie, EDHOC, message_4",
            source: ran,
            conversation: conversation::protected_link()?,
            steps: Some(&LINK),
        },
    ];
    for published in &FLIGHTS {
        all.push(Handshake {
            name: published.name,
            source: SOURCE,
            conversation: conversation::flights(published)?,
            steps: None,
        });
    }
    Ok(all)
}

/// What a handshake costs on a board.
#[derive(Clone, Debug, Serialize)]
pub struct Cost {
    pub handshake: &'static str,
    /// What the initiator computes, and the responder; `None` if nobody has its code here.
    pub cycles: Option<[u64; 2]>,
    /// What both take together for computing.
    pub computing_millijoules: Option<f64>,
    /// What both take together for sending and receiving, without listening in between.
    pub radio_millijoules: f64,
}

impl Cost {
    /// Counts the steps in an image that has them.
    pub fn measure(
        handshake: &Handshake,
        board: &Board,
        image: Option<&Image>,
        flash: FlashTiming,
    ) -> Result<Self, Failure> {
        let steps = handshake.steps.zip(image);
        let cycles = steps.map(|(steps, image)| steps.cycles(board, image, flash)).transpose()?;
        let computing = cycles.map(|cycles| cycles.iter().map(|side| board.millijoules(*side)).sum::<f64>());
        let [mut sends, mut receives] = [Duration::ZERO; 2];
        for message in &handshake.conversation.messages {
            let [frames, acknowledgements] = message.air.durations();
            // What one of the two sends, the other one receives.
            sends += frames + acknowledgements;
            receives += frames + acknowledgements;
        }
        Ok(Self {
            handshake: handshake.name,
            cycles,
            computing_millijoules: computing.map(|millijoules| rounded(millijoules, DIGITS)),
            radio_millijoules: rounded(board.radio_millijoules(sends, receives), DIGITS),
        })
    }
}

impl Steps {
    fn cycles(&self, board: &Board, image: &Image, flash: FlashTiming) -> Result<[u64; 2], Failure> {
        let mut cycles = [0; 2];
        let mut machine = Machine::new(image, board.core, flash);
        good(board, image, &mut machine, self.prepare, 0)?;
        for (side, step) in self.steps {
            cycles[side.index()] += good(board, image, &mut machine, &format!("bench_{step}"), 0)?.cycles;
        }
        if let Some(then) = self.then {
            let mut machine = Machine::new(image, board.core, flash);
            good(board, image, &mut machine, &format!("prepare_{then}"), 0)?;
            let run = good(board, image, &mut machine, &format!("bench_{then}"), 0)?;
            for side in &mut cycles {
                *side += run.cycles;
            }
        }
        Ok(cycles)
    }
}
