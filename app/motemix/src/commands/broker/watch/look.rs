//! Which topics there are.

use super::follow::{Follower, Numbers, Topics};
use super::{AGAIN, Short, Shown, heard};
use motemix_broker_client::client::{Client, ClientError, topics};
use motemix_coap::link_format::{self, Link};
use motemix_coap::{Code, Method, Request, Response};
use motemix_program::failure::Failure;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio::time::sleep;

/// Topics that are followed at a time.
const MOST: usize = 2048;
/// Links of a page, if there are too many for one answer. A power of two: it is halved.
const OF_A_PAGE: usize = 64;
/// How often all pages are asked for; nobody observes those.
const PAGES_AGAIN: Duration = Duration::from_secs(10);

/// What is looked for, and who is shown what comes.
pub struct Looking {
    pub client: Client,
    pub audience: String,
    /// No other device.
    pub only: Option<Short>,
    pub show: mpsc::Sender<Shown>,
    /// Whether the broker has answered.
    pub is_known: Arc<AtomicBool>,
    pub topics: Arc<Topics>,
}

/// Follows all topics that the directory has, or those of one device. Ends with what is wrong.
pub async fn look(looking: Looking) -> Failure {
    let mut followed = Followed::default();
    let mut told = false;
    let is_known = || looking.is_known.load(Ordering::Relaxed);
    loop {
        let mut observation = match looking.client.observe(looking.request(MOST)).await {
            Ok(observation) => observation,
            Err(problem) => return Failure::failed(problem),
        };
        let mut answered = false;
        while let Some(response) = heard(&mut observation).await {
            (answered, told) = (true, false);
            looking.is_known.store(true, Ordering::Relaxed);
            if response.code == Code::BAD_REQUEST {
                if let Err(problem) = looking.follow_pages(&mut followed).await {
                    return problem;
                }
                sleep(PAGES_AGAIN).await;
                continue;
            }
            match looking.links_in(&response) {
                Ok(links) => followed.follow(&looking, &links),
                Err(problem) => return problem,
            }
        }
        if !answered && (!is_known() || looking.client.is_over()) {
            return Failure::failed(ClientError::Silent(looking.client.address().clone()));
        }
        if !answered && !std::mem::replace(&mut told, true) {
            eprintln!("motemix: {} does not answer; it is asked again and again", looking.client.address());
        }
        sleep(AGAIN).await;
    }
}

impl Looking {
    fn request(&self, count: usize) -> Request {
        let mut request = Request::new(Method::Get, &["rd-lookup", "res"]);
        // Links without a key cost nobody a proof, and say nothing here.
        request.query =
            vec![format!("rt={}", topics::DATA_TYPE), "key=*".to_owned(), format!("count={count}")];
        request.query.extend(self.only.map(|only| format!("ep=MOTEMIX:ID:{}", hex::encode(only))));
        request
    }

    fn links_in(&self, response: &Response) -> Result<Vec<Link>, Failure> {
        let broker = self.client.address();
        if !response.code.is_success() {
            let said = topics::text(response);
            return Err(Failure::failed(format!("{broker} says {}: {said}", response.code)));
        }
        let said = String::from_utf8_lossy(&response.payload);
        link_format::parse(&said, MOST).map_err(|fault| Failure::failed(format!("{broker}: {fault}")))
    }

    /// Follows what is on pages (RFC 9176 §6.3). A link that is too long for a page of its own is
    /// passed over.
    async fn follow_pages(&self, followed: &mut Followed) -> Result<(), Failure> {
        let (mut count, mut seen, mut passed, mut links) = (OF_A_PAGE, 0, 0, Vec::new());
        while links.len() < MOST {
            let mut request = self.request(count);
            request.query.push(format!("page={}", seen / count));
            let response = self.client.ask(request).await.map_err(Failure::failed)?;
            match response.code {
                Code::BAD_REQUEST if count > 1 => count /= 2,
                Code::BAD_REQUEST if passed < MOST => (seen, passed) = (seen + 1, passed + 1),
                Code::TOO_MANY_REQUESTS | Code::SERVICE_UNAVAILABLE => {
                    sleep(Duration::from_secs(response.max_age.unwrap_or(1).into())).await;
                }
                _ => {
                    let page = self.links_in(&response)?;
                    if page.is_empty() {
                        break;
                    }
                    seen += count;
                    links.extend(page);
                }
            }
        }
        followed.follow(self, &links);
        Ok(())
    }
}

/// Tasks that follow a topic each, by target and key.
#[derive(Default)]
struct Followed {
    tasks: HashMap<(String, String), AbortHandle>,
    told: bool,
    numbers: Numbers,
}

impl Followed {
    /// Follows these and no others.
    fn follow(&mut self, looking: &Looking, links: &[Link]) {
        if links.len() >= MOST && !std::mem::replace(&mut self.told, true) {
            eprintln!(
                "motemix: there are more topics than {MOST}, which are followed at a time; name one with --device"
            );
        }
        let links: HashMap<_, _> = links.iter().filter_map(|link| Some((key_of(link)?, link))).collect();
        self.tasks.retain(|key, task| {
            links.contains_key(key) || {
                task.abort();
                false
            }
        });
        looking.topics.count.store(links.len() as u32, Ordering::Relaxed);
        for (key, link) in links {
            // One that has ended, because its topic was gone, is begun anew.
            if self.tasks.get(&key).is_none_or(AbortHandle::is_finished)
                && let Some(follower) = Follower::new(
                    &looking.client,
                    &looking.audience,
                    link,
                    &mut self.numbers,
                    &looking.topics,
                )
                && looking.only.is_none_or(|only| follower.device().short() == only)
            {
                let task = tokio::spawn(follower.run(looking.show.clone()));
                self.tasks.insert(key, task.abort_handle());
            }
        }
    }
}

/// Tells one device's topic from all others.
fn key_of(link: &Link) -> Option<(String, String)> {
    Some((link.target.to_string(), link.value("key")?.to_owned()))
}
