//! What goes wrong between a bridge and its MQTT broker, in one line each: what, and what to do.

use std::fmt;
use std::io;

use rumqttc::v5::mqttbytes::Error as MqttError;
use rumqttc::v5::mqttbytes::v5::{ConnectReturnCode, DisconnectReasonCode};
use rumqttc::v5::{ConnectionError, StateError};

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The connection broke.
    Closed,
    /// There is no connection.
    Unreachable(String),
    /// Name or password are wrong.
    LoginRefused,
    /// The MQTT broker takes no more connections, or is overloaded.
    Full(String),
    /// It is not of MQTT 5.
    OldVersion,
    /// Somebody else connects under the same name.
    TakenOver,
    /// It ended the connection for another reason.
    Ended(String),
    /// The password cannot be read.
    Password(String),
    /// It lets nobody publish there.
    TopicDenied(String),
    /// It has no room for what is published there.
    TopicFull(String),
    /// It refuses what is published there for another reason.
    TopicRefused(String, String),
    /// It lets nobody subscribe to that.
    SubscriptionDenied(String),
}

impl Trouble {
    /// Whether a person has to do something before it can be better.
    pub const fn is_for_people(&self) -> bool {
        matches!(self, Self::LoginRefused | Self::OldVersion | Self::TakenOver | Self::Password(_))
    }

    pub(super) fn of(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::ConnectionRefused(code) => Self::of_code(*code),
            ConnectionError::MqttState(StateError::ConnFail { reason }) => Self::of_code(*reason),
            ConnectionError::MqttState(StateError::ServerDisconnect { reason_code, .. }) => {
                Self::of_disconnect(*reason_code)
            }
            ConnectionError::MqttState(StateError::ConnectionAborted | StateError::AwaitPingResp) => {
                Self::Closed
            }
            ConnectionError::Io(error)
            | ConnectionError::MqttState(
                StateError::Io(error) | StateError::Deserialization(MqttError::Io(error)),
            ) => Self::of_io(error),
            ConnectionError::Timeout(_) => Self::Unreachable("it does not answer in time".to_owned()),
            // As it stands in the library's words, cut to one line.
            other => Self::Ended(other.to_string().lines().next().unwrap_or_default().to_owned()),
        }
    }

    fn of_io(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::Unreachable("nothing listens there".to_owned()),
            io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::UnexpectedEof => Self::Closed,
            _ => Self::Unreachable(error.to_string()),
        }
    }

    /// A broker of MQTT that is full closes the connection without a word.
    #[must_use]
    pub(super) fn before_an_answer(self, before: bool) -> Self {
        match self {
            Self::Closed if before => Self::Full("it closes the connection without an answer".to_owned()),
            other => other,
        }
    }

    fn of_code(code: ConnectReturnCode) -> Self {
        match code {
            ConnectReturnCode::BadUserNamePassword
            | ConnectReturnCode::NotAuthorized
            | ConnectReturnCode::BadAuthenticationMethod
            | ConnectReturnCode::Banned
            | ConnectReturnCode::BadClientId
            | ConnectReturnCode::ClientIdentifierNotValid => Self::LoginRefused,
            ConnectReturnCode::ServerUnavailable
            | ConnectReturnCode::ServiceUnavailable
            | ConnectReturnCode::ServerBusy
            | ConnectReturnCode::QuotaExceeded
            | ConnectReturnCode::ConnectionRateExceeded => Self::Full(format!("{code:?}")),
            ConnectReturnCode::RefusedProtocolVersion | ConnectReturnCode::UnsupportedProtocolVersion => {
                Self::OldVersion
            }
            other => Self::Ended(format!("{other:?}")),
        }
    }

    fn of_disconnect(code: DisconnectReasonCode) -> Self {
        match code {
            DisconnectReasonCode::SessionTakenOver => Self::TakenOver,
            DisconnectReasonCode::NotAuthorized => Self::LoginRefused,
            DisconnectReasonCode::ServerBusy
            | DisconnectReasonCode::QuotaExceeded
            | DisconnectReasonCode::MessageRateTooHigh
            | DisconnectReasonCode::ConnectionRateExceeded => Self::Full(format!("{code:?}")),
            DisconnectReasonCode::ServerShuttingDown => Self::Unreachable("it is shutting down".to_owned()),
            other => Self::Ended(format!("{other:?}")),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str(
                "the MQTT broker closed the connection; look whether it still runs (the newest values are \
                 sent when it is back)",
            ),
            Self::Unreachable(why) => write!(
                f,
                "the MQTT broker cannot be reached: {why}; check that it runs, and mqtt.host and mqtt.port \
                 (the newest values are sent when it is back)"
            ),
            Self::LoginRefused => f.write_str(
                "the MQTT broker refuses the login; check mqtt.user and mqtt.password_file, and that the \
                 MQTT broker knows this user",
            ),
            Self::Full(why) => write!(
                f,
                "the MQTT broker takes no more ({why}); raise its limits, in mosquitto max_connections, or \
                 wait until it has less to do"
            ),
            Self::OldVersion => {
                f.write_str("the MQTT broker does not know MQTT 5; use one that does, such as mosquitto 2")
            }
            Self::TakenOver => f.write_str(
                "somebody else connects to the MQTT broker as this bridge; give each bridge its own mqtt.name",
            ),
            Self::Ended(why) => write!(
                f,
                "the MQTT broker ended the connection: {why}; look into the log of the MQTT broker"
            ),
            Self::Password(why) => {
                write!(f, "mqtt.password_file cannot be read: {why}; check the path and its permissions")
            }
            Self::TopicDenied(topic) => write!(
                f,
                "the MQTT broker does not let this bridge publish to {topic:?}; allow it there, in mosquitto \
                 with `topic readwrite` in the file of acl_file"
            ),
            Self::TopicFull(topic) => write!(
                f,
                "the MQTT broker has no room for {topic:?}; raise its limits, in mosquitto \
                 max_queued_messages and memory_limit"
            ),
            Self::TopicRefused(topic, why) => write!(
                f,
                "the MQTT broker refuses what is published to {topic:?}: {why}; look into the log of the MQTT broker"
            ),
            Self::SubscriptionDenied(filter) => write!(
                f,
                "the MQTT broker does not let this bridge subscribe to {filter:?}; allow it there, in \
                 mosquitto with `topic readwrite` in the file of acl_file"
            ),
        }
    }
}
