//! A restart remembers which packets have been here.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::time::{Duration, Instant};

use motemix_directory::Epoch;
use motemix_host::store::ReplayLogs;
use motemix_os::store::{StoreError, StoreProblem};

/// All digests of an epoch.
fn load(logs: &mut ReplayLogs, epoch: u32) -> Vec<u64> {
    let mut digests = Vec::new();
    let loaded: Result<(), StoreError> = logs.load(Epoch(epoch), |digest| {
        digests.push(digest);
        Ok(())
    });
    loaded.unwrap();
    digests
}

#[test]
fn tags_come_back_after_a_restart_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    assert!(load(&mut logs, 7).is_empty());
    logs.append(Epoch(7), &[1, u64::MAX]).unwrap();
    logs.append(Epoch(8), &[5]).unwrap();
    logs.append(Epoch(7), &[]).unwrap();
    logs.append(Epoch(7), &[3]).unwrap();
    drop(logs);

    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    assert_eq!(load(&mut logs, 7), [1, u64::MAX, 3]);
    assert_eq!(load(&mut logs, 8), [5]);
    logs.append(Epoch(7), &[4]).unwrap();
    assert_eq!(load(&mut logs, 7), [1, u64::MAX, 3, 4]);
}

#[test]
fn a_torn_tail_is_cut_off_wherever_it_tore() {
    for torn in 0..8 + 16 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("replay-7.log");
        let mut logs = ReplayLogs::open(folder.path()).unwrap();
        logs.append(Epoch(7), &[1, 2]).unwrap();
        drop(logs);
        let whole = fs::read(&path).unwrap();
        let kept = whole.len() - torn;
        fs::write(&path, &whole[..kept]).unwrap();

        let mut logs = ReplayLogs::open(folder.path()).unwrap();
        let mut expected = [1, 2][..kept.saturating_sub(16) / 8].to_vec();
        assert_eq!(load(&mut logs, 7), expected, "{torn} bytes torn");
        logs.append(Epoch(7), &[9]).unwrap();
        expected.push(9);
        assert_eq!(load(&mut logs, 7), expected, "{torn} bytes torn");
    }
}

#[test]
fn an_empty_or_half_header_is_a_log_without_tags() {
    for len in 0..16 {
        let folder = tempfile::tempdir().unwrap();
        let header = [&b"mmdigest"[..], &7_u64.to_le_bytes()].concat();
        fs::write(folder.path().join("replay-7.log"), &header[..len]).unwrap();
        let mut logs = ReplayLogs::open(folder.path()).unwrap();
        assert!(load(&mut logs, 7).is_empty());
        logs.append(Epoch(7), &[3]).unwrap();
        assert_eq!(load(&mut logs, 7), [3]);
    }
}

#[test]
fn the_log_of_another_epoch_or_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    ReplayLogs::open(folder.path()).unwrap().append(Epoch(7), &[1]).unwrap();
    fs::rename(folder.path().join("replay-7.log"), folder.path().join("replay-8.log")).unwrap();
    fs::write(folder.path().join("replay-9.log"), "something else entirely").unwrap();

    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    for epoch in [8, 9] {
        let error = logs.append(Epoch(epoch), &[2]).unwrap_err();
        assert!(matches!(error.problem, StoreProblem::Damaged(_)), "{error:?}");
        let line = error.to_string();
        assert!(
            line.contains(&format!("replay-{epoch}.log: damaged")) && line.contains("; move it away"),
            "{line}"
        );
    }
}

#[test]
fn two_nodes_do_not_share_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut one = ReplayLogs::open(folder.path()).unwrap();
    one.append(Epoch(7), &[1]).unwrap();
    let error = ReplayLogs::open(folder.path()).unwrap().append(Epoch(7), &[2]).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::InUse), "{error:?}");
}

#[test]
fn logs_go_with_their_epochs() {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    for epoch in 5..10 {
        logs.append(Epoch(epoch), &[u64::from(epoch)]).unwrap();
    }
    fs::write(folder.path().join("replay-x.log"), "not ours").unwrap();
    logs.remove_older_than(Epoch(8)).unwrap();

    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["replay-8.log", "replay-9.log", "replay-x.log"]);
    assert_eq!(load(&mut logs, 8), [8]);
}

#[test]
fn a_log_that_is_gone_or_shorter_than_it_was_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    for epoch in 5..8 {
        logs.open_log(Epoch(epoch)).unwrap();
        logs.append(Epoch(epoch), &[1, 2, 3]).unwrap();
    }
    logs.sync().unwrap();
    logs.remove_older_than(Epoch(6)).unwrap();
    assert_eq!(logs.lost(), []);
    drop(logs);

    let path = |epoch: u32| folder.path().join(format!("replay-{epoch}.log"));
    fs::OpenOptions::new().write(true).open(path(6)).unwrap().set_len(16 + 16).unwrap();
    fs::remove_file(path(7)).unwrap();
    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    assert_eq!(logs.lost(), [Epoch(6), Epoch(7)]);
    // A restart does not make up for it.
    logs.open_log(Epoch(7)).unwrap();
    logs.append(Epoch(7), &[4]).unwrap();
    logs.sync().unwrap();
    assert!(logs.is_lost(Epoch(7)));
    drop(logs);
    // One that is killed has written down what the disk had.
    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    logs.open_log(Epoch(9)).unwrap();
    logs.append(Epoch(9), &[1, 2]).unwrap();
    let start = Instant::now();
    for seconds in [2, 20] {
        logs.due_for_sync(start + Duration::from_secs(seconds)).unwrap();
    }
    drop(logs);
    fs::OpenOptions::new().write(true).open(path(9)).unwrap().set_len(16 + 8).unwrap();
    let logs = ReplayLogs::open(folder.path()).unwrap();
    assert!(logs.is_lost(Epoch(9)));
    // Lists of earlier versions name no lengths.
    fs::write(folder.path().join("replay-logs"), "6\n7\n8\n").unwrap();
    assert_eq!(logs.lost(), [Epoch(8)]);
}

#[test]
fn the_disk_is_asked_once_a_second_and_only_for_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    let start = Instant::now();
    logs.append(Epoch(7), &[1]).unwrap();
    assert!(logs.due_for_sync(start).unwrap().is_empty(), "too early");
    let later = start + Duration::from_secs(2);
    let files = logs.due_for_sync(later).unwrap();
    assert_eq!(files.len(), 1);
    for file in &files {
        file.sync_data().unwrap();
    }
    assert!(logs.due_for_sync(later + Duration::from_secs(2)).unwrap().is_empty(), "nothing new");
    logs.append(Epoch(7), &[2]).unwrap();
    logs.sync().unwrap();
    assert!(logs.due_for_sync(later + Duration::from_secs(4)).unwrap().is_empty(), "synced already");
}

#[test]
fn what_others_append_to_the_file_is_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    ReplayLogs::open(folder.path()).unwrap().append(Epoch(7), &[1]).unwrap();
    let path = folder.path().join("replay-7.log");
    OpenOptions::new().append(true).open(path).unwrap().write_all(&2_u64.to_le_bytes()).unwrap();
    assert_eq!(load(&mut ReplayLogs::open(folder.path()).unwrap(), 7), [1, 2]);
}

/// What an earlier version wrote: tags in place of digests.
fn log_of_tags(tags: &[u64]) -> Vec<u8> {
    let mut log = [&b"mmreplay"[..], &7_u64.to_le_bytes()].concat();
    log.extend(tags.iter().flat_map(|tag| tag.to_le_bytes()));
    log
}

#[test]
fn a_log_of_tags_becomes_one_of_digests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replay-7.log");
    // More than is read at a time, and a torn end.
    let tags: Vec<u64> = (0..200_000).collect();
    fs::write(&path, [log_of_tags(&tags), vec![1, 2, 3]].concat()).unwrap();

    let mut logs = ReplayLogs::open(folder.path()).unwrap();
    for _ in 0..2 {
        logs.convert(Epoch(7), |start| u64::from_le_bytes(*start) * 3).unwrap();
    }
    logs.append(Epoch(7), &[1]).unwrap();
    let expected: Vec<u64> = tags.iter().map(|tag| tag * 3).chain([1]).collect();
    assert!(load(&mut logs, 7) == expected, "converted once, in order");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn only_a_log_of_tags_is_converted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replay-7.log");
    let whole = log_of_tags(&[5, 6]);
    for len in 0..whole.len() {
        fs::write(&path, &whole[..len]).unwrap();
        let mut logs = ReplayLogs::open(folder.path()).unwrap();
        logs.convert(Epoch(7), |start| u64::from_le_bytes(*start)).unwrap();
        let expected = [5, 6][..len.saturating_sub(16) / 8].to_vec();
        assert_eq!(load(&mut logs, 7), expected, "{len} bytes");
    }
    for other in [&b"something else entirely"[..], &log_of_tags(&[5])[..]] {
        let logs = ReplayLogs::open(folder.path()).unwrap();
        let path = folder.path().join("replay-8.log");
        fs::write(&path, other).unwrap();
        logs.convert(Epoch(8), |_| panic!("there is nothing to convert")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), other);
    }
}

#[test]
fn a_log_of_tags_that_another_node_uses_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("replay-7.log");
    fs::write(&path, log_of_tags(&[5])).unwrap();
    let other = fs::File::open(&path).unwrap();
    other.lock().unwrap();
    let error = ReplayLogs::open(folder.path()).unwrap().convert(Epoch(7), |_| 0).unwrap_err();
    assert!(matches!(error.problem, StoreProblem::InUse), "{error:?}");
    assert_eq!(fs::read(&path).unwrap(), log_of_tags(&[5]));
}
