//! Publishes what came from MQTT in the broker here, one after the other.

use std::collections::HashMap;

use motemix_coap::{Code, Method, Request, Response, format};
use tokio::sync::mpsc;

use crate::serve::Inner;
use crate::state::TopicId;

/// Names whose topics were made a moment ago: the state that the bridge sees is a little older.
const MAX_MADE: usize = 1024;

/// What to publish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Order {
    /// To the topic of this name.
    pub(super) name: String,
    /// Which has this identifier, if there is one.
    pub(super) id: Option<TopicId>,
    /// In this content format.
    pub(super) format: u16,
    /// What.
    pub(super) payload: Vec<u8>,
    /// Whether a topic that does not exist is created.
    pub(super) create: bool,
    /// Whether it is a command.
    pub(super) command: bool,
    /// The topic of MQTT.
    pub(super) from: String,
}

/// How it went.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) command: bool,
    /// Why it was refused.
    pub(super) result: Result<(), Refusal>,
}

/// Why something was refused.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) from: String,
    pub(super) name: String,
    pub(super) why: String,
}

/// Until the bridge ends.
pub(super) async fn publish(
    inner: Inner,
    mut orders: mpsc::Receiver<Order>,
    outcomes: mpsc::Sender<Outcome>,
) {
    let mut made: HashMap<String, String> = HashMap::new();
    while let Some(order) = orders.recv().await {
        let result = one(&inner, &mut made, &order).await;
        let result = result.map_err(|why| Refusal { from: order.from, name: order.name, why });
        if outcomes.send(Outcome { command: order.command, result }).await.is_err() {
            return;
        }
    }
}

async fn one(inner: &Inner, made: &mut HashMap<String, String>, order: &Order) -> Result<(), String> {
    let id = match (&order.id, made.get(&order.name)) {
        (Some(TopicId(id)), _) => id.to_string(),
        (None, Some(id)) => id.clone(),
        (None, None) if order.create => {
            let id = create(inner, order).await?;
            if made.len() >= MAX_MADE {
                made.clear();
            }
            made.insert(order.name.clone(), id.clone());
            id
        }
        (None, None) => return Err("there is no topic of this name, and create is false".to_owned()),
    };
    let mut request = Request::new(Method::Put, &["ps", "data", &id]);
    request.content_format = Some(order.format);
    request.payload.clone_from(&order.payload);
    let response = inner.ask(request).await;
    if response.code.is_success() {
        return Ok(());
    }
    if response.code == Code::NOT_FOUND {
        made.remove(&order.name);
    }
    Err(text_of(&response))
}

async fn create(inner: &Inner, order: &Order) -> Result<String, String> {
    let mut request = Request::new(Method::Post, &["ps"]);
    request.content_format = Some(format::CORE_PUBSUB_CBOR);
    request.payload = properties(&order.name, order.format);
    let response = inner.ask(request).await;
    if response.code != Code::CREATED {
        return Err(text_of(&response));
    }
    response.location_path.last().cloned().ok_or_else(|| "the topic has no place".to_owned())
}

/// Topic-name, resource-type and topic-content-format (draft-ietf-core-coap-pubsub, 5).
fn properties(name: &str, content_format: u16) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = minicbor::Encoder::new(&mut bytes);
    // A vector takes all that is written.
    let _ = encoder
        .map(3)
        .and_then(|map| map.u8(0)?.str(name)?.u8(2)?.str("core.ps.data")?.u8(3)?.u16(content_format));
    bytes
}

/// In one line.
fn text_of(response: &Response) -> String {
    let text: String = String::from_utf8_lossy(&response.payload)
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .take(300)
        .collect();
    format!("{:?} {text}", response.code)
}
