//! How many files the system lets the broker have open, and how many of them connections may take.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that are no connection's of anybody: sockets that listen, the store, the page and its
/// browsers (128), receivers and bridges of this machine.
const RESERVE: u64 = 256;

/// Raises what the system gives a program at first, as far as it may be raised and is of use; how
/// many connections there may be, at most as many as are wanted.
pub(super) fn connections(wanted: usize) -> usize {
    let now = getrlimit(Resource::Nofile);
    let needed = wanted as u64 + RESERVE;
    let raised = raised(now.current, now.maximum, needed);
    let files = match raised {
        Some(files) if setrlimit(Resource::Nofile, Rlimit { current: Some(files), ..now }).is_ok() => {
            Some(files)
        }
        _ => now.current,
    };
    let places = places(files, wanted);
    if places < wanted {
        tracing::warn!(
            connections = places,
            wanted,
            files,
            "fewer connections than there may be; raise the limit of open files (ulimit -H -n)"
        );
    }
    places
}

/// To what the limit is raised, if it is; none stands for no limit.
fn raised(current: Option<u64>, maximum: Option<u64>, needed: u64) -> Option<u64> {
    let possible = maximum.map_or(needed, |maximum| maximum.min(needed));
    current.filter(|current| *current < possible).map(|_| possible)
}

/// What is left for connections. With few files it is half of them.
fn places(files: Option<u64>, wanted: usize) -> usize {
    let Some(files) = files else { return wanted };
    let places = files - RESERVE.min(files / 2);
    usize::try_from(places).map_or(wanted, |places| places.min(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_files_for_everything_else() {
        let both = |current, maximum| {
            let raised = raised(current, maximum, 4096 + RESERVE);
            (raised, places(raised.or(current), 4096))
        };
        // What systems have: 1,024 that may be raised, or not.
        assert_eq!(both(Some(1024), Some(1 << 20)), (Some(4352), 4096));
        assert_eq!(both(Some(1024), Some(1024)), (None, 768));
        assert_eq!(both(Some(1024), Some(2000)), (Some(2000), 1744));
        assert_eq!(both(Some(256), Some(256)), (None, 128));
        // What is more than enough stays as it is.
        assert_eq!(both(Some(1 << 20), Some(1 << 20)), (None, 4096));
        assert_eq!(both(Some(1024), None), (Some(4352), 4096));
        assert_eq!(both(None, None), (None, 4096));
    }
}
