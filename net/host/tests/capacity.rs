//! What a host holds: 20,000 packets a second for an hour, over a restart, beside the beginning of
//! the next epoch.
//!
//! `cargo test --release -p motemix-host --test capacity -- --ignored --nocapture` prints the
//! figures.

use std::fs;
use std::time::{Duration, Instant};

use motemix_crypto::Secret;
use motemix_directory::{Entry, Epoch, Role};
use motemix_host::config::Limits;
use motemix_host::store::ReplayLogs;
use motemix_node::{
    Admitted, Config, Digest, FingerprintBits, HeaderSlot, Instant as NodeInstant, MessageSlot, NoPaths,
    Node, PacketSlot, ReturnSlot, Storage,
};
use motemix_os::curve::HostCurve;
use motemix_os::rng::HostRng;
use motemix_os::store::StoreError;
use motemix_sphinx::{Host1k, MixKey, NodeId};

const AN_HOUR: u64 = 20_000 * 3600;
/// A tenth of an epoch.
const OVERLAP: u64 = AN_HOUR / 10;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): different numbers for different seeds.
fn digest(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Memory of this process in MiB that is really there.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[test]
#[ignore = "takes a minute, and 600 MB of disk"]
fn a_host_holds_an_hour_of_20000_packets_a_second_and_knows_them_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    // A hundredth of a second each: what a busy round takes in.
    let began = Instant::now();
    for batch in 0..AN_HOUR / 200 {
        let digests: Vec<u64> = (batch * 200..(batch + 1) * 200).map(digest).collect();
        logs.append(Epoch(1), &digests).unwrap();
    }
    let written = began.elapsed();
    drop(logs);

    let limits = Limits::default();
    let before = resident();
    let bytes = FingerprintBits::HOST.bytes_for(limits.replay_tags as usize).unwrap();
    let mut replay = vec![0; bytes];
    let mut slots =
        ([PacketSlot::new()], [0], [MessageSlot::new()], [ReturnSlot::new()], [HeaderSlot::new()]);
    let mut nodes = [Entry::default(); 2];
    let storage = Storage::<Host1k<HostCurve>> {
        packets: &mut slots.0,
        schedule: &mut slots.1,
        replay: &mut replay,
        fingerprint: FingerprintBits::HOST,
        window: [&mut [], &mut []],
        messages: &mut slots.2,
        returns: &mut slots.3,
        headers: &mut slots.4,
        loops: &mut [],
        nodes: &mut nodes,
        paths: NoPaths,
    };
    let me = NodeId::new(0).unwrap();
    let config = Config::thesis();
    let mut node = Node::new(me, HostRng::new().unwrap(), storage);
    let key = |byte| MixKey::new(Secret::new([byte; 32]));
    let entry = |byte| Entry { mix_key: key(byte).public_key::<HostCurve>(), role: Role::Mix { layer: 0 } };
    node.prepare_epoch(Epoch(1), key(1)).unwrap();
    let nodes = [entry(1), entry(2)];
    node.begin_epoch(NodeInstant::from_micros(0), Epoch(1), NodeInstant::NEVER, nodes.into_iter(), config)
        .unwrap();
    let idle = resident() - before;

    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    let began = Instant::now();
    let restored: Result<(), StoreError> = logs.load(Epoch(1), |bits| {
        node.restore_admitted(Admitted { epoch: Epoch(1), digest: Digest::from_bits(bits) }).unwrap();
        Ok(())
    });
    restored.unwrap();
    let loaded = began.elapsed();

    node.prepare_epoch(Epoch(2), key(2)).unwrap();
    let mut put = |epoch, number| {
        let admitted = Admitted { epoch: Epoch(epoch), digest: Digest::from_bits(digest(number)) };
        node.restore_admitted(admitted).unwrap();
    };
    for number in 0..OVERLAP {
        put(2, AN_HOUR + number);
    }
    let memory = resident() - before;
    let fill = node.replay_fill();
    // One that the filter knows, or thinks that it knows, takes no place.
    let taken_for_replays = AN_HOUR - u64::from(fill.current.tags);
    for number in (0..AN_HOUR).step_by(997) {
        let admitted = Admitted { epoch: Epoch(1), digest: Digest::from_bits(digest(number)) };
        node.restore_admitted(admitted).unwrap();
    }
    assert_eq!(node.replay_fill().current.tags, fill.current.tags, "it forgets nothing");

    println!("packets                  {AN_HOUR} and {OVERLAP} of the next epoch");
    println!("filter                   {} MiB lent, {idle} MiB idle, {memory} MiB full", bytes >> 20);
    println!("log                      {} MB, written in {written:.1?}", AN_HOUR * 8 / 1_000_000);
    println!("loaded and inserted      {loaded:.1?}, {:.0?} each", per(loaded, AN_HOUR));
    println!("new taken for replays    {taken_for_replays} while it filled");
    assert!(memory <= 300, "{memory} MiB");
    // One in 100,000 when it is full; while it fills, half of that on average.
    assert!(taken_for_replays <= AN_HOUR / 100_000, "{taken_for_replays}");
}

fn per(duration: Duration, count: u64) -> Duration {
    Duration::from_nanos(u64::try_from(duration.as_nanos() / u128::from(count)).unwrap_or(u64::MAX))
}
