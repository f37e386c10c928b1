//! The listener: so many connections, and none that holds its place without using it.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use axum::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use motemix_coap::{Account, FairTable, Source};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::JoinSet;

use super::timeout::WriteTimeout;
use super::{Feed, View, routes};

/// Where and for whom the page is served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Loopback unless somebody decides otherwise: whoever reaches it reads all values.
    pub listen: SocketAddr,
    /// Names of this broker, beside its addresses and `localhost`. Requests for other names are
    /// refused: a stranger's page could have itself resolved to this machine (DNS rebinding).
    pub names: Vec<String>,
    /// Connections at a time. A further one takes the place of the oldest of the source that has
    /// most.
    pub connections: usize,
    /// Lists that differ, while somebody reads them: each has 4 MiB at most.
    pub lists: usize,
    /// How long a request may take to come, and how long a browser may take nothing of an answer.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: (Ipv4Addr::LOCALHOST, 8680).into(),
            names: Vec::new(),
            connections: 128,
            lists: 16,
            patience: Duration::from_secs(30),
        }
    }
}

/// Bound, and ready to be served.
#[derive(Debug)]
pub struct Page {
    listener: TcpListener,
    settings: Settings,
}

impl Page {
    /// Takes the address, and answers on a thread of its own until `until` is done: whatever
    /// browsers ask for, nobody but browsers waits for it.
    ///
    /// # Errors
    /// Somebody else has the address, it is none of this machine, or there is no thread.
    pub fn start(
        settings: Settings,
        view: Arc<dyn View>,
        feed: Arc<Feed>,
        until: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<SocketAddr> {
        let (tell, told) = mpsc::sync_channel(1);
        let serve = async move |tell: mpsc::SyncSender<io::Result<SocketAddr>>| {
            let bound = Self::bind(settings).await.and_then(|page| Ok((page.address()?, page)));
            let (address, page) = match bound {
                Ok((address, page)) => (Ok(address), Some(page)),
                Err(error) => (Err(error), None),
            };
            // Whoever started it waits.
            let _ = tell.send(address);
            let Some(page) = page else { return };
            tokio::select! {
                () = page.serve(view, feed) => {}
                () = until => {}
            }
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        thread::Builder::new().name("page".to_owned()).spawn(move || runtime.block_on(serve(tell)))?;
        told.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }

    /// Takes the address.
    ///
    /// # Errors
    /// Somebody else has it, or it is none of this machine.
    pub async fn bind(settings: Settings) -> io::Result<Self> {
        Ok(Self { listener: TcpListener::bind(settings.listen).await?, settings })
    }

    /// The address, with the port that the system chose if the settings name none.
    ///
    /// # Errors
    /// The system does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until it is dropped, which ends all connections.
    pub async fn serve(self, view: Arc<dyn View>, feed: Arc<Feed>) {
        let Self { listener, settings } = self;
        let routes = routes::routes(settings.names.into(), settings.lists, view, Arc::clone(&feed));
        let mut connections = FairTable::new(settings.connections);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { feed.run().await });
        loop {
            let Ok((stream, from)) = listener.accept().await else {
                // Out of file descriptors, or the other side has left: neither is for ever.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            let _ = stream.set_nodelay(true);
            let source = Source::from(from);
            // Whose the connection is counts in other tables as well.
            let service = TowerToHyperService::new(routes.clone().layer(Extension(source)));
            let stream = TokioIo::new(WriteTimeout::new(stream, settings.patience));
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(settings.patience)
                .max_buf_size(64 << 10)
                .serve_connection(stream, service);
            while let Some(ended) = tasks.try_join_next_with_id() {
                let id = ended.map_or_else(|error| error.id(), |(id, ())| id);
                connections.remove(&id);
            }
            let task = tasks.spawn(async move {
                // What a browser does wrong ends its connection, and is nobody else's matter.
                let _ = connection.await;
            });
            if let Some((_, oldest)) = connections.insert(task.id(), Account::certain(source), task) {
                oldest.abort();
            }
        }
    }
}
