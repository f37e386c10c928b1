//! What is full: the replay filter, the inbox, the disk, the table of file descriptors.

use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::loopback::{FIRST_EPOCH, Network, RECEIVER, Running, SENDER, ask_http, hours, parameters, start};
use crate::{healthz, wait_until, words};
use motemix_host::control::{ControlClient, NodeStatus, Request, Response};
use motemix_host::health::{Concern, Health, State};
use motemix_host::{NodeConfig, Setup, run};
use motemix_os::clock::unix_seconds;
use motemix_os::store::Inbox;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};

#[test]
fn a_replay_filter_that_is_too_small_is_told() {
    let network = Network::new();
    let now = unix_seconds().0;
    let mut parameters = parameters();
    parameters.loop_mean = Some(Duration::from_millis(20));
    network.publish(FIRST_EPOCH, now - 10, now + 48 * 3600, parameters);
    let mut nodes = vec![start(network.config_with(0, |config| config.limits.replay_tags = 64))];
    nodes.extend((1..6).map(|index| start(network.config(index))));
    wait_until("it fails", || nodes[0].status().health.of_concern(Concern::ReplayFilter) == State::Failing);
    let answer = healthz(&nodes[0].started.metrics_socket);
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("limits.replay_tags"), "{answer}");
    assert_eq!(nodes[5].status().health.of_concern(Concern::ReplayFilter), State::Ok);
    nodes.into_iter().for_each(Running::stop);
}

#[test]
fn an_inbox_takes_what_its_quota_allows_and_a_node_without_one_takes_nothing() {
    let network = Network::new();
    hours(&network);
    let receiver = network.config_with(RECEIVER, |config| config.limits.inbox_messages = 3);
    let mut mixes = vec![start(network.config_with(0, |config| config.limits.inbox_messages = 0))];
    mixes.extend((1..4).map(|index| start(network.config(index))));
    let inbox_file = receiver.inbox_file();
    let (receiver, sender) = (start(receiver), start(network.config(SENDER)));
    for number in 0..3_u8 {
        assert!(matches!(sender.send(&[number; 10]), Response::Acknowledged { .. }));
    }
    thread::scope(|scope| {
        let fourth = scope.spawn(|| sender.send(&[3; 10]));
        wait_until("it is refused", || receiver.status().counters["inbox_refusals"] > 0);
        wait_until("it fails", || receiver.status().health.of_concern(Concern::Inbox) == State::Failing);
        assert!(healthz(&receiver.started.metrics_socket).starts_with("HTTP/1.1 503 "));
        assert_eq!(Inbox::open(&inbox_file).unwrap().remove_all_but(1).unwrap(), 2);
        let answer = fourth.join().unwrap();
        assert!(matches!(answer, Response::Acknowledged { tries: 2.., .. }), "a later try: {answer:?}");
    });
    assert_eq!(receiver.inbox(), [vec![2; 10], vec![3; 10]]);
    wait_until("it is well again", || receiver.status().health.of_concern(Concern::Inbox) == State::Ok);

    let to_a_mix = Request::Send { to: "mix-1".into(), data_hex: "2a".into(), wait: false };
    assert!(matches!(sender.ask(&to_a_mix), Response::Sent { .. }));
    wait_until("the mix refuses it", || mixes[0].status().counters["inbox_refusals"] > 0);
    assert!(!network.path("mix-1/state/inbox.db").exists());
    assert_eq!(mixes[0].status().inbox, 0);
    mixes.into_iter().chain([receiver, sender]).for_each(Running::stop);
}

/// A node in a process of its own, whose limits can be changed while it runs.
struct Process {
    child: Child,
    config: NodeConfig,
}

const CONFIG: &str = "MOTEMIX_TEST_NODE";

#[test]
#[ignore = "run by the stories whose node is a process of its own"]
fn child_that_runs_a_node() {
    let Some(file) = std::env::var_os(CONFIG) else { return };
    run(&NodeConfig::load(file).unwrap(), Setup::default(), |_| {}).unwrap();
}

impl Process {
    fn start(network: &Network, index: usize) -> Self {
        let config = network.config(index);
        let file = network.path(&config.name).join("node.toml");
        config.save(&file).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "room::child_that_runs_a_node", "--ignored"]).env(CONFIG, file);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let process = Self { child, config };
        wait_until("the node answers", || process.ask().is_some());
        process
    }

    fn ask(&self) -> Option<NodeStatus> {
        let mut client = ControlClient::connect(self.config.control_socket()).ok()?;
        match client.request(&Request::Status {}).ok()? {
            Response::Status(status) => Some(status),
            _ => None,
        }
    }

    fn send(&self, data: &[u8]) -> Response {
        let mut client = ControlClient::connect(self.config.control_socket()).unwrap();
        client.set_patience(Some(Duration::from_mins(3))).unwrap();
        client
            .request(&Request::Send { to: "receiver".into(), data_hex: hex::encode(data), wait: true })
            .unwrap()
    }

    fn status(&mut self) -> NodeStatus {
        assert!(self.child.try_wait().unwrap().is_none(), "the node has ended");
        self.ask().expect("it answers")
    }

    fn is(&mut self, concern: Concern) -> State {
        self.status().health.of_concern(concern)
    }

    /// The highest over two seconds, because what is in reserve is set free for a moment of each.
    fn highest_descriptor(&self) -> u64 {
        let folder = format!("/proc/{}/fd", self.child.id());
        let highest = || {
            let open = std::fs::read_dir(&folder).unwrap();
            open.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok()).max().unwrap()
        };
        let looks = (0..100).map(|_| {
            thread::sleep(Duration::from_millis(20));
            highest()
        });
        looks.max().unwrap()
    }

    fn limit(&self, resource: Resource, most: u64) {
        let limits = Rlimit { current: Some(most), maximum: getrlimit(resource).maximum };
        prlimit(Pid::from_raw(self.child.id().cast_signed()), resource, limits).unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_disk_without_room_pauses_a_node_which_goes_on_when_there_is_some() {
    let network = Network::new();
    let now = unix_seconds().0;
    let mut parameters = parameters();
    parameters.loop_mean = Some(Duration::from_millis(20));
    network.publish(FIRST_EPOCH, now - 10, now + 48 * 3600, parameters);
    let mixes: Vec<_> = (0..4).map(|index| start(network.config(index))).collect();
    let sender = start(network.config(SENDER));
    let mut receiver = Process::start(&network, RECEIVER);
    // No file may grow beyond this: neither the replay log nor the inbox.
    receiver.limit(Resource::Fsize, 1000);
    wait_until("it fails", || receiver.is(Concern::Disk) == State::Failing);
    let answer = healthz(&receiver.config.metrics_socket());
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("failing: disk: "), "{answer}");
    let told = words(&receiver.status().health, Concern::Disk);
    wait_until("nothing is passed on", || {
        words(&receiver.status().health, Concern::Disk).contains("nothing is passed on")
    });
    assert!(told.contains("disk is full"), "{told}");
    let left = receiver.status().counters["udp_sent"];
    thread::sleep(Duration::from_millis(500));
    assert_eq!(receiver.status().counters["udp_sent"], left, "nothing leaves");

    receiver.limit(Resource::Fsize, u64::MAX / 2);
    wait_until("it is well again", || receiver.is(Concern::Disk) == State::Ok);
    assert!(matches!(sender.send(b"is there room?"), Response::Acknowledged { .. }));
    assert_eq!(receiver.status().inbox, 1);
    drop(receiver);
    mixes.into_iter().chain([sender]).for_each(Running::stop);
}

#[test]
fn a_node_without_room_for_its_first_replay_log_waits_and_begins_by_itself() {
    let network = Network::new();
    let now = unix_seconds().0;
    network.publish(FIRST_EPOCH, now - 100, now - 10, parameters());
    let mut others: Vec<_> = (0..4).map(|index| start(network.config(index))).collect();
    others.push(start(network.config(RECEIVER)));
    let mut sender = Process::start(&network, SENDER);
    // What it has made already stays as long as it is, and nothing else has any length.
    sender.limit(Resource::Fsize, 0);
    network.publish(FIRST_EPOCH + 1, now - 10, now + 48 * 3600, parameters());
    wait_until("it fails", || sender.is(Concern::Disk) == State::Failing);
    let told = words(&sender.status().health, Concern::Disk);
    assert!(told.contains("the first epoch waits") && told.contains("the disk is full"), "{told}");
    assert_eq!(sender.is(Concern::Documents), State::Ok);
    let socket = sender.config.metrics_socket();
    for path in ["/healthz", "/readyz"] {
        let answer = ask_http(UnixStream::connect(&socket).unwrap(), path);
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains(&told), "{answer}");
    }
    let refused = sender.send(b"too early");
    assert!(matches!(&refused, Response::Error { message } if message.contains(&told)), "{refused:?}");

    sender.limit(Resource::Fsize, u64::MAX / 2);
    wait_until("it begins", || sender.status().epoch == u64::from(FIRST_EPOCH) + 1);
    assert_eq!(sender.is(Concern::Disk), State::Ok);
    wait_until("the others have begun", || {
        others.iter().all(|node| node.status().epoch == u64::from(FIRST_EPOCH) + 1)
    });
    let sent = sender.send(b"is there room?");
    assert!(matches!(sent, Response::Acknowledged { .. }), "{sent:?}");
    drop(sender);
    others.into_iter().for_each(Running::stop);
}

#[test]
fn without_file_descriptors_a_node_waits_and_goes_on() {
    let network = Network::new();
    let now = unix_seconds().0;
    // It is alone, so no loop would come back.
    let mut parameters = parameters();
    parameters.loop_mean = None;
    for number in 0..8 {
        let begins = now + 5 * u64::from(number);
        network.publish(FIRST_EPOCH + number, begins, begins + 5, parameters);
    }
    network.publish(FIRST_EPOCH + 8, now + 40, now + 48 * 3600, parameters);
    let mut node = Process::start(&network, 0);

    // As many as are open, and one for who asks: what a boundary of epochs needs is kept in
    // reserve.
    node.limit(Resource::Nofile, node.highest_descriptor() + 2);
    // Whoever asks while the node still holds the connection before is the one too many.
    let later = u64::from(FIRST_EPOCH) + 2;
    wait_until("two boundaries", || node.ask().is_some_and(|status| status.epoch >= later));

    // None at all, over a boundary and more. Nobody can ask then.
    node.limit(Resource::Nofile, 3);
    thread::sleep(Duration::from_secs(8));
    assert!(node.child.try_wait().unwrap().is_none(), "the node has ended");
    node.limit(Resource::Nofile, 1024);
    wait_until("it is well again", || {
        let last = u64::from(FIRST_EPOCH) + 8;
        node.ask().is_some_and(|status| status.health == Health::default() && status.epoch == last)
    });
}
