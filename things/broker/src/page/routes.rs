//! What is asked for, and what is answered (`docs/reference/broker-api.md`).

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use futures_util::stream::{self, Stream};
use motemix_coap::Source;
use motemix_object::{Identity, IdentityLabel};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::sync::Semaphore;

use super::assets::{ASSETS, Asset};
use super::guard::guard;
use super::lists::{List, Places, listed};
use super::qr::Drawings;
use super::{Feed, View, json};
use crate::browser::Names;
use crate::state::TopicId;

/// Values of a topic in one answer.
const MOST_VALUES: usize = 1000;
const USUAL_VALUES: usize = 300;
/// Questions to the store at a time; others wait.
const STORE_QUESTIONS: usize = 2;
/// Answers of the store that somebody reads, or waits for.
const STORE_ANSWERS: usize = 32;
/// One source reads at most this part of these, and of the lists that differ.
const OF_A_SOURCE: usize = 4;

struct Shared {
    view: Arc<dyn View>,
    feed: Arc<Feed>,
    store: Arc<Semaphore>,
    histories: Places,
    devices: List,
    topics: List,
    drawings: Drawings,
}

type Broker = State<Arc<Shared>>;

/// `lists`: so many lists that differ, while somebody reads them.
pub(super) fn routes(names: Names, lists: usize, view: Arc<dyn View>, feed: Arc<Feed>) -> Router {
    let places = Places::new(lists, lists / OF_A_SOURCE);
    let shared = Arc::new(Shared {
        view,
        store: Arc::new(Semaphore::new(STORE_QUESTIONS)),
        histories: Places::new(STORE_ANSWERS, STORE_ANSWERS / OF_A_SOURCE),
        devices: List::new(feed.clone(), places.clone()),
        topics: List::new(feed.clone(), places),
        drawings: Drawings::new(),
        feed,
    });
    let mut routes = Router::new()
        .route("/api/status", get(status))
        .route("/api/counters", get(counters))
        .route("/api/devices", get(devices))
        .route("/api/topics", get(topics))
        .route("/api/topics/{id}/history", get(history))
        .route("/api/feed", get(feed_events))
        .route("/identity/{file}", get(identity))
        .fallback(|| async { problem(StatusCode::NOT_FOUND, "there is nothing of that name here") })
        .with_state(shared);
    for asset in ASSETS.iter() {
        routes =
            routes.route(asset.path, get(move |headers: HeaderMap| async move { file(asset, &headers) }));
    }
    routes.layer(middleware::from_fn_with_state(names, guard))
}

fn answer(json: &Json) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json.to_string()).into_response()
}

fn problem(status: StatusCode, what: &str) -> Response {
    (status, answer(&json!({ "problem": what }))).into_response()
}

/// Browsers ask each time whether it is still the same, and get it only if not.
fn file(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let validity = [(header::ETAG, asset.etag.as_str()), (header::CACHE_CONTROL, "no-cache")];
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|tag| tag.trim() == asset.etag)) {
        return (StatusCode::NOT_MODIFIED, validity).into_response();
    }
    (validity, [(header::CONTENT_TYPE, asset.media_type)], asset.bytes).into_response()
}

async fn status(State(broker): Broker) -> Response {
    let Shared { view, feed, .. } = &*broker;
    answer(&json!({
        "now": view.now().as_millis(),
        "network": json::short(&view.network()),
        "version": env!("CARGO_PKG_VERSION"),
        "store": json::store(&view.store()),
        "listeners": feed.listeners(),
        "most_listeners": feed.limits().listeners,
    }))
}

async fn counters(State(broker): Broker) -> Response {
    let groups = broker.view.counters();
    let group = |(name, group): (&str, Vec<(&'static str, u64)>)| {
        (
            name.to_owned(),
            Json::Object(group.into_iter().map(|(name, count)| (name.to_owned(), count.into())).collect()),
        )
    };
    answer(&Json::Object(groups.into_iter().map(group).collect()))
}

async fn devices(State(broker): Broker, Extension(source): Extension<Source>) -> Response {
    let list = broker.devices.get(source, || {
        let mut devices = broker.view.registrations();
        devices.retain(|(_, registration)| registration.device.is_some());
        listed("devices", &devices, |(id, registration)| json::device_event(id, Some(registration)))
    });
    sent(list.await)
}

async fn topics(State(broker): Broker, Extension(source): Extension<Source>) -> Response {
    sent(broker.topics.get(source, || listed("topics", &broker.view.topics(), json::topic)).await)
}

fn sent(list: Option<Bytes>) -> Response {
    match list {
        Some(list) => ([(header::CONTENT_TYPE, "application/json")], list).into_response(),
        None => later(StatusCode::SERVICE_UNAVAILABLE, "others read what they asked for too slowly"),
    }
}

/// It is worth asking again.
fn later(status: StatusCode, why: &str) -> Response {
    ([(header::RETRY_AFTER, "2")], problem(status, why)).into_response()
}

#[derive(Deserialize)]
struct Last {
    last: Option<usize>,
}

async fn history(
    State(broker): Broker,
    Extension(source): Extension<Source>,
    Path(id): Path<String>,
    last: Result<Query<Last>, axum::extract::rejection::QueryRejection>,
) -> Response {
    let Ok(Query(Last { last })) = last else {
        return problem(StatusCode::BAD_REQUEST, "last is how many values you want, such as last=300");
    };
    let most = last.unwrap_or(USUAL_VALUES).min(MOST_VALUES);
    let place = broker.histories.take();
    let place = place.and_then(|place| Some((broker.histories.begin(source, place.number)?, place)));
    let Some((reading, place)) = place else {
        return later(StatusCode::SERVICE_UNAVAILABLE, "as much is asked as this broker answers at a time");
    };
    // Never closed.
    let Ok(turn) = Arc::clone(&broker.store).acquire_owned().await else {
        return problem(StatusCode::SERVICE_UNAVAILABLE, "the broker ends");
    };
    let asked = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let id = TopicId(id.into());
        broker.view.history(&id, most).map(|values| values.map(|values| json::history(&id, &values)))
    });
    match asked.await {
        Ok(Ok(Some(history))) => sent(Some(reading.of(place.keep(history.to_string().into_bytes())))),
        Ok(Ok(None)) => problem(StatusCode::NOT_FOUND, "there is no such topic"),
        Ok(Err(why)) => problem(StatusCode::SERVICE_UNAVAILABLE, &why),
        Err(_) => problem(StatusCode::INTERNAL_SERVER_ERROR, "the broker could not look that up"),
    }
}

async fn feed_events(
    State(broker): Broker,
    Extension(source): Extension<Source>,
    headers: HeaderMap,
) -> Response {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let Some(listener) = broker.feed.listen(source, last) else {
        let full = problem(StatusCode::SERVICE_UNAVAILABLE, "as many pages are open as this broker allows");
        return ([(header::RETRY_AFTER, "10")], full).into_response();
    };
    let view = Arc::clone(&broker.view);
    Sse::new(events(listener, view)).into_response()
}

fn events(
    listener: super::feed::Listener,
    view: Arc<dyn View>,
) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold((listener, view), |(mut listener, view)| async move {
        let event = listener.next(|| view.now().as_millis()).await?;
        Some((Ok(event), (listener, view)))
    })
}

/// `/identity/<64 hex digits>.svg`: the same for ever.
async fn identity(State(broker): Broker, Path(file): Path<String>) -> Response {
    let label = file.strip_suffix(".svg").filter(|digits| digits.len() == 2 * Identity::LEN);
    let Some(Ok(IdentityLabel::Full(identity))) = label.map(IdentityLabel::parse) else {
        return problem(
            StatusCode::NOT_FOUND,
            "an identity has 64 hex digits; ask for /identity/<digits>.svg",
        );
    };
    let Some(drawing) = broker.drawings.get(identity) else {
        return later(StatusCode::TOO_MANY_REQUESTS, "so many codes are not drawn at a time");
    };
    match drawing {
        Ok(drawing) => {
            let kept = "private, max-age=31536000, immutable";
            ([(header::CONTENT_TYPE, "image/svg+xml"), (header::CACHE_CONTROL, kept)], drawing)
                .into_response()
        }
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}
