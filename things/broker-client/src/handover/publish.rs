//! Puts believed messages where their devices' readings are.

use futures_util::future::join_all;
use motemix_coap::{Code, Method, Request, format};
use motemix_object::{SealedReading, UnverifiedRegistration};
use motemix_os::store::Message;
use motemix_readings::devices::Verdict;

use super::HandoverError;
use super::announce::Announced;
use crate::client::{Client, topics};

/// What became of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The broker has those that it takes.
    Done,
    /// It does not know a device.
    Unknown,
}

/// Publishes all of these. Those that the broker has already change nothing.
///
/// # Errors
/// The broker has ended, or takes nothing now: all of these are to be published again.
pub(super) async fn publish(
    client: &Client,
    announced: &Announced,
    believed: &[(&Message, Verdict)],
) -> Result<Outcome, HandoverError> {
    let requests = believed.iter().filter_map(|(message, verdict)| {
        let data = announced.data_of(verdict)?;
        let request = request(&message.data, verdict.sequence, data)?;
        Some(async move { (message.number, client.ask(request).await) })
    });
    let mut outcome = Outcome::Done;
    for (number, answered) in join_all(requests).await {
        let response = answered?;
        match response.code {
            code if code.is_success() => {}
            // The topic has it, from before it was asked the last time, or has gone on by more than
            // a window. What another topic took first is taken here all the same.
            Code::CONFLICT => {}
            Code::UNAUTHORIZED | Code::NOT_FOUND => outcome = Outcome::Unknown,
            Code::SERVICE_UNAVAILABLE | Code::TOO_MANY_REQUESTS => {
                return Err(HandoverError::Later(topics::text(&response)));
            }
            _ => {
                let problem = topics::text(&response);
                tracing::warn!(message = number, %problem, "the broker refuses a message of the inbox");
            }
        }
    }
    Ok(outcome)
}

/// A reading or a registration as it was signed; `None` for what says nothing to a broker.
fn request(message: &[u8], sequence: Option<u64>, data: &[String]) -> Option<Request> {
    let (format, payload, is_reading) = if SealedReading::parse(message).is_ok() {
        (format::COSE_SIGN1, message, true)
    } else if message.starts_with(b"ey") {
        (format::TEXT, message, true)
    } else if UnverifiedRegistration::parse(message).is_ok() {
        (format::COSE_SIGN1, message, false)
    } else {
        return None;
    };
    let mut request = topics::request(Method::Put, data);
    request.content_format = Some(format);
    request.payload = payload.to_vec();
    request.query.extend(sequence.filter(|_| is_reading).map(|sequence| format!("sequence={sequence}")));
    Some(request)
}
