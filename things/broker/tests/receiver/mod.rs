//! A served broker and a receiver's folder: what stories of handing over have in common.
#![allow(dead_code, reason = "each story uses a part")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use motemix_broker::Policy;
use motemix_broker::serve::{Listen, Opened, Server, inside};
use motemix_broker::store::Retention;
use motemix_broker::store::sqlite::Sqlite;
use motemix_broker_client::client::{Address, Client};
use motemix_broker_client::handover::{Commands, Handover, Replier, Settings};
use motemix_coap::link_format::{self, Link};
use motemix_coap::{Method, Request, Response};
use motemix_object::Credential;
use motemix_os::store::{Inbox, Message};
use motemix_readings::Devices;
use motemix_readings::devices::Admitted;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::building::*;

pub struct Served {
    pub opened: Opened,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Served {
    pub fn start(folder: &Path) -> Self {
        Self::start_with(folder, policy())
    }

    pub fn start_with(folder: &Path, policy: Policy) -> Self {
        std::fs::create_dir_all(folder.join("broker")).unwrap();
        let mut listen = Listen::default();
        listen.coap = vec!["127.0.0.1:0".parse().unwrap()];
        listen.local = Some(folder.join("broker/local.sock"));
        let store = Sqlite::open(&folder.join("broker"), Retention::default()).unwrap();
        let (_, inside) = inside();
        let (server, opened) = Server::open(policy, store, &listen, inside).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::task::spawn_local(async move {
            let stopped = async { drop(stopped.await) };
            server.serve(stopped).await.unwrap();
        });
        Self { opened, stop, serving }
    }

    pub async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }

    pub async fn client(&self) -> Client {
        let [address] = self.opened.coap[..] else { panic!("one address") };
        Client::connect(format!("coap://{address}").parse().unwrap()).await.unwrap()
    }
}

/// A receiver's folder.
pub struct Receiver<'f> {
    pub folder: &'f Path,
    pub inbox: Inbox,
    arrived: u8,
}

impl<'f> Receiver<'f> {
    pub fn new(folder: &'f Path, devices: &[&Device]) -> Self {
        let mut list = Devices::open(folder.join("devices.db")).unwrap();
        for (number, device) in devices.iter().enumerate() {
            let place = format!("room {number}");
            list.authorise(device.identity.short(), &place, "temperature", Admitted::ByList).unwrap();
            let credential = Credential::parse(device.credential()).unwrap();
            list.introduce(&device.identity, &credential).unwrap();
        }
        Self { folder, inbox: Inbox::open(folder.join("inbox.db")).unwrap(), arrived: 0 }
    }

    /// One more device is in the list, and has shown its key.
    pub fn lists(&self, device: &Device) {
        let mut list = Devices::open(self.folder.join("devices.db")).unwrap();
        list.authorise(device.identity.short(), "", "", Admitted::ByList).unwrap();
        list.introduce(&device.identity, &Credential::parse(device.credential()).unwrap()).unwrap();
    }

    pub fn arrives(&mut self, data: &[u8]) -> Message {
        self.arrived += 1;
        self.inbox.accept([self.arrived; 16], Duration::from_secs(9), data).unwrap();
        self.inbox.recent(1).unwrap().remove(0)
    }

    /// Waits until so many messages are handed over.
    pub async fn has_handed_over(&self, messages: u64) {
        let mark = self.folder.join("handed-over");
        while std::fs::read_to_string(&mark).unwrap_or_default() != format!("{messages}\n") {
            a_moment().await;
        }
    }

    pub fn handover(&self, commands: &Commands) -> Handover {
        let settings = Settings {
            socket: self.folder.join("broker/local.sock"),
            inbox: self.folder.join("inbox.db"),
            devices: self.folder.join("devices.db"),
            mark: self.folder.join("handed-over"),
            network: NETWORK.to_owned(),
            keep: 2,
        };
        Handover::new(settings, commands.clone(), Arc::new(Notify::new())).unwrap()
    }

    pub fn hand_over(&self, commands: &Commands) -> JoinHandle<()> {
        tokio::spawn(self.handover(commands).run())
    }

    pub fn replier(&self, commands: &Commands) -> Replier {
        let list = self.folder.join("devices.db");
        Replier::new(&list, NETWORK, commands.clone(), Arc::new(Notify::new())).unwrap()
    }
}

/// A client on the socket of the broker that this folder has.
pub async fn socket_client(folder: &Path) -> Client {
    Client::connect(Address::Local(folder.join("broker/local.sock"))).await.unwrap()
}

/// Between two looks at what somebody else does.
pub async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}

/// Where the first device's readings are whose key is among the links.
pub fn readings_in(links: &[Link]) -> String {
    links.iter().find(|link| link.has("key")).unwrap().target.to_string()
}

pub async fn links(client: &Client, query: &str) -> Vec<Link> {
    let mut request = Request::new(Method::Get, &["rd-lookup", "res"]);
    request.query.push(query.to_owned());
    let response = client.ask(request).await.unwrap();
    link_format::parse(&text(&response), 64).unwrap()
}

/// Asks until the broker answers as it is to.
pub async fn until(client: &Client, request: Request, is: impl Fn(&Response) -> bool) -> Response {
    loop {
        let response = client.ask(request.clone()).await.unwrap();
        if is(&response) {
            return response;
        }
        a_moment().await;
    }
}

pub fn path(target: &str) -> Vec<&str> {
    target.trim_start_matches('/').split('/').collect()
}
