//! Signalling messages (RFC 8323 §5): what two sides of a connection say of the connection itself.

use std::fmt;

use super::frame::Frame;
use super::options::{NoOptions, Options, uint};
use crate::Token;

/// Signalling codes have class 7.
pub const CLASS: u8 = 7;

const CSM: u8 = 0xe1;
const PING: u8 = 0xe2;
const PONG: u8 = 0xe3;
const RELEASE: u8 = 0xe4;
const ABORT: u8 = 0xe5;

/// A number means another option in each signalling message.
const MAX_MESSAGE_SIZE: u16 = 2;
const BLOCK_WISE_TRANSFER: u16 = 4;
const CUSTODY: u16 = 2;
const ALTERNATIVE_ADDRESS: u16 = 2;
const HOLD_OFF: u16 = 4;
const BAD_CSM_OPTION: u16 = 2;

/// A text for people, of what somebody else sent: so long at most is kept.
const MAX_DIAGNOSTIC_LEN: usize = 256;
/// So many other addresses are kept of a Release.
const MAX_ALTERNATIVES: usize = 8;

/// A signalling message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// 7.01: what the sender can do. What is not said stays as it was.
    Csm {
        /// The longest message that it takes.
        max_message_size: Option<u32>,
        /// It has blocks.
        block_wise: bool,
    },
    /// 7.02: are you there?
    Ping {
        /// Answer once all before this was worked on.
        custody: bool,
    },
    /// 7.03: yes.
    Pong {
        /// All before the Ping was worked on.
        custody: bool,
    },
    /// 7.04: let us end this.
    Release {
        /// Connect to these instead.
        alternatives: Vec<String>,
        /// Not again before so many seconds.
        hold_off: Option<u32>,
    },
    /// 7.05: this ends now.
    Abort {
        /// The option of a CSM that was not understood.
        bad_csm_option: Option<u16>,
        /// Why, for people.
        diagnostic: String,
    },
}

/// Why a signalling message ends the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadSignal {
    /// No options.
    Options(NoOptions),
    /// A critical option that is unknown.
    Critical {
        /// The message's code.
        code: u8,
        /// The option's number.
        option: u16,
    },
    /// An option whose value is too long.
    Value {
        /// The message's code.
        code: u8,
        /// The option's number.
        option: u16,
    },
}

impl BadSignal {
    /// The number for Bad-CSM-Option.
    pub fn csm_option(self) -> Option<u16> {
        match self {
            Self::Critical { code: CSM, option } | Self::Value { code: CSM, option } => Some(option),
            _ => None,
        }
    }
}

impl fmt::Display for BadSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = |code: u8| format!("{}.{:02}", code >> 5, code & 0x1f);
        match self {
            Self::Options(why) => fmt::Display::fmt(why, f),
            Self::Critical { code: of, option } => {
                write!(f, "{} has the critical option {option}, which is unknown here", code(*of))
            }
            Self::Value { code: of, option } => {
                write!(f, "{} has a value of option {option} that it cannot have", code(*of))
            }
        }
    }
}

impl std::error::Error for BadSignal {}

impl Signal {
    /// What a frame of class 7 says; `None`, if its code is unknown.
    ///
    /// # Errors
    /// The connection ends: see [`BadSignal`].
    pub fn of_frame(frame: &Frame) -> Result<Option<Self>, BadSignal> {
        let code = frame.code;
        let Options { options, payload } = Options::read(&frame.rest).map_err(BadSignal::Options)?;
        let mut signal = match code {
            CSM => Self::Csm { max_message_size: None, block_wise: false },
            PING => Self::Ping { custody: false },
            PONG => Self::Pong { custody: false },
            RELEASE => Self::Release { alternatives: Vec::new(), hold_off: None },
            ABORT => Self::Abort { bad_csm_option: None, diagnostic: diagnostic(&payload) },
            _ => return Ok(None),
        };
        for (option, value) in options {
            let is_bad = match (&mut signal, option) {
                (Self::Csm { max_message_size, .. }, MAX_MESSAGE_SIZE) => {
                    *max_message_size = uint(&value);
                    max_message_size.is_none()
                }
                (Self::Csm { block_wise, .. }, BLOCK_WISE_TRANSFER) => {
                    *block_wise = true;
                    !value.is_empty()
                }
                (Self::Ping { custody } | Self::Pong { custody }, CUSTODY) => {
                    *custody = true;
                    !value.is_empty()
                }
                (Self::Release { alternatives, .. }, ALTERNATIVE_ADDRESS) => {
                    let address =
                        String::from_utf8(value).ok().filter(|address| (1..=255).contains(&address.len()));
                    let is_bad = address.is_none();
                    alternatives.extend(address.filter(|_| alternatives.len() < MAX_ALTERNATIVES));
                    is_bad
                }
                (Self::Release { hold_off, .. }, HOLD_OFF) => {
                    *hold_off = uint(&value).filter(|_| value.len() <= 3);
                    hold_off.is_none()
                }
                (Self::Abort { bad_csm_option, .. }, BAD_CSM_OPTION) => {
                    *bad_csm_option = uint(&value).and_then(|number| number.try_into().ok());
                    false
                }
                _ if option % 2 == 1 => return Err(BadSignal::Critical { code, option }),
                _ => false,
            };
            if is_bad {
                return Err(BadSignal::Value { code, option });
            }
        }
        Ok(Some(signal))
    }

    /// The frame that says it. A Ping has the token that its Pong is to have.
    pub fn to_frame(&self, token: Token) -> Frame {
        let mut options = Options::default();
        let code = match self {
            Self::Csm { max_message_size, block_wise } => {
                if let Some(size) = max_message_size {
                    options.push_uint(MAX_MESSAGE_SIZE, *size);
                }
                if *block_wise {
                    options.push(BLOCK_WISE_TRANSFER, []);
                }
                CSM
            }
            Self::Ping { custody } | Self::Pong { custody } => {
                if *custody {
                    options.push(CUSTODY, []);
                }
                if matches!(self, Self::Ping { .. }) { PING } else { PONG }
            }
            Self::Release { alternatives, hold_off } => {
                for address in alternatives {
                    options.push(ALTERNATIVE_ADDRESS, address.as_bytes());
                }
                if let Some(seconds) = hold_off {
                    options.push_uint(HOLD_OFF, *seconds);
                }
                RELEASE
            }
            Self::Abort { bad_csm_option, diagnostic } => {
                if let Some(option) = bad_csm_option {
                    options.push_uint(BAD_CSM_OPTION, u32::from(*option));
                }
                options.payload = diagnostic.as_bytes().to_vec();
                ABORT
            }
        };
        Frame { code, token, rest: options.write() }
    }
}

/// Without what could write on a terminal.
fn diagnostic(payload: &[u8]) -> String {
    let payload = &payload[..payload.len().min(MAX_DIAGNOSTIC_LEN)];
    let text = String::from_utf8_lossy(payload);
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
