//! The broker and resource directory in the foreground.

use anyhow::Context as _;
use motemix_broker::bridge::{Bridge, Plan, Status};
use motemix_broker::page::{self, Page};
use motemix_broker::serve::{Listen, OwnIdentity, ServeError, Server, Shown, inside};
use motemix_broker::store::{Sqlite, Store, StoreError};
use motemix_broker::{Moment, Policy};
#[cfg(feature = "nats")]
use motemix_broker_nats::{JetStream, Settings};
use motemix_os::address::text;
use motemix_os::clock::unix_time;
use motemix_os::control::{ControlError, ControlProblem};
use motemix_os::key_file::KeyProblem;
use motemix_os::memory;
use motemix_os::rng::HostRng;
use motemix_os::supervisor::Supervisor;
use motemix_program::cli::{BrokerServer as Args, address};
use motemix_program::failure::Failure;
use motemix_program::foreground::end_with_parent;
use motemix_program::foreground::{alive_until, stopped};
use motemix_program::owner::refuse_root;
use rand_core::Rng as _;
use std::path::Path;
use tokio::runtime::Builder;
use tokio::sync::{oneshot, watch};

/// The socket for receivers of this machine, in the folder of the data.
const LOCAL: &str = "local.sock";

pub fn serve(args: &Args) -> Result<(), Failure> {
    if args.with_parent {
        end_with_parent()?;
    }
    memory::tell();
    let data = args.data.as_deref().ok_or_else(|| Failure::broken("--data: name the broker's folder"))?;
    refuse_root(data)?;
    let read = args.config.as_deref().map(Policy::read_with_bridge).transpose();
    let (policy, bridge) = read.map_err(Failure::broken)?.unwrap_or_default();
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start")?;
    #[cfg(feature = "nats")]
    if let Some(url) = &args.store {
        let mut seed = HostRng::new().context("the system has no random numbers")?;
        let mut settings = Settings::new(&url.name, url.servers.iter(), seed.next_u64());
        settings.replicas = args.replicas.unwrap_or(settings.replicas);
        let store = JetStream::open(&settings, data, policy.retention).map_err(store_failure)?;
        return runtime.block_on(run(args, data, store, policy, bridge));
    }
    #[cfg(not(feature = "nats"))]
    if args.store.is_some() {
        return Err(Failure::broken(
            "--store: this program was built without NATS; build it with the feature `nats`",
        ));
    }
    let store = Sqlite::open(data, policy.retention).map_err(store_failure)?;
    runtime.block_on(run(args, data, store, policy, bridge))
}

async fn run(
    args: &Args,
    data: &Path,
    store: impl Store,
    policy: Policy,
    bridge: Option<Plan>,
) -> Result<(), Failure> {
    let mut listen = Listen::default();
    listen.coap = address::all(&args.listen);
    listen.local = Some(data.join(LOCAL));
    listen.keys = Some(data.to_owned());
    let (inner, inside) = inside();
    let network = policy.audience.clone();
    let supervisor = Supervisor::of_environment();
    let stop = alive_until(&supervisor, stopped()?);
    let (server, opened) = Server::open(policy, store, &listen, inside).map_err(serve_failure)?;
    for address in opened.coap.iter().map(|address| text(*address)) {
        eprintln!("motemix: coap://{address}, coap+tcp://{address} and coap+ws://{address}");
    }
    eprintln!(
        "motemix: {}",
        match &*network {
            "" =>
                "of no network: what is signed for one is refused; `network` in --config names it".to_owned(),
            network => format!("of the network {network}"),
        }
    );
    for OwnIdentity { identity, algorithm } in &opened.identities {
        eprintln!("motemix: identity {identity} ({})", algorithm.name());
    }
    let bridge = bridge.map(|plan| match args.page {
        Some(address) => Bridge::new(plan.with_page(address)),
        None => Bridge::new(plan),
    });
    if let Some(address) = args.page {
        let mut settings = page::Settings::default();
        settings.listen = address;
        let reader = Sqlite::open_to_read(data).map_err(store_failure)?;
        let shown =
            Shown::new(inner.clone(), &network, reader, bridge.as_ref().map(|(_, status)| status.clone()));
        let started = Moment::from_millis(u64::try_from(unix_time().as_millis()).unwrap_or(u64::MAX));
        let feed = page::Feed::new(page::Limits::default(), started);
        let tell = shown.clone().tell(feed.clone());
        let address = Page::start(settings, shown, feed, tell).with_context(|| {
            format!("--page: {}: choose an address that no other program uses", text(address))
        })?;
        eprintln!("motemix: http://{}/", text(address));
    }
    let listens: Vec<_> = opened.coap.iter().map(|address| format!("coap://{}", text(*address))).collect();
    supervisor.ready(&format!("serves at {}", listens.join(" and ")));
    let Some((bridge, status)) = bridge else { return server.serve(stop).await.map_err(serve_failure) };
    let mut rng = HostRng::new().context("the system has no random numbers")?;
    tokio::spawn(tell(status));
    let (end, ended) = oneshot::channel::<()>();
    let stop_bridge = async {
        // Dropping the other end says it too.
        let _ = ended.await;
    };
    let bridge = bridge.keeping_records_in(data);
    let bridging = tokio::spawn(bridge.run(inner, move || rng.next_u64(), stop_bridge));
    let outcome = server.serve(stop).await.map_err(serve_failure);
    drop(end);
    // It says goodbye to the MQTT broker, so that what it retained is marked as offline.
    let _ = bridging.await;
    outcome
}

/// Says on the terminal when what was wrong between the bridge and MQTT is over: what it is, the
/// bridge logs.
async fn tell(mut status: watch::Receiver<Status>) {
    let mut told = None;
    while status.changed().await.is_ok() {
        let trouble = status.borrow_and_update().trouble.clone();
        if trouble != told {
            if trouble.is_none() {
                eprintln!("motemix: mqtt: connected");
            }
            told = trouble;
        }
    }
}

/// What can be mended in a file is broken; what the system refuses has failed.
fn store_failure(error: StoreError) -> Failure {
    match error {
        StoreError::Unreadable { .. } => Failure::broken(error),
        _ => Failure::failed(error),
    }
}

fn serve_failure(error: ServeError) -> Failure {
    match error {
        ServeError::Store(error) => store_failure(error),
        ServeError::Local(ControlError { ref socket, problem: ControlProblem::InUse { .. } }) => {
            let said =
                "a broker runs on this folder already; stop it, or give this one another folder (--data)";
            Failure::failed(format!("{}: {said}", socket.display()))
        }
        ServeError::OneFamily(..) | ServeError::OtherKey { .. } | ServeError::Shared { .. } => {
            Failure::broken(error)
        }
        ServeError::Key(ref key) => match key.problem {
            KeyProblem::Read(_) | KeyProblem::Write(_) => Failure::failed(error),
            _ => Failure::broken(error),
        },
        _ => Failure::failed(error),
    }
}
