//! What keeps secrets in a process's memory, and there no longer than they are of use.
//!
//! | against | what |
//! |---|---|
//! | a core dump; a debugger of the same user | [`protect`] |
//! | pages in swap | [`protect`], where the system allows it |
//! | memory that was freed, buffers that grew | the program's allocator, which wipes what it frees |
//! | copies that calls leave on the stack | [`wiped`], [`wipe_stack`] |
//!
//! A value that is moved leaves a copy behind. So a secret that lasts lies in a box of its own: it
//! is made by a call whose stack is [`wiped`], and dropped where it lies.

use std::sync::OnceLock;

use motemix_crypto::secret;

/// Bytes of the stack that are wiped: more than a call with secrets takes, optimised or not.
const STACK: usize = 64 << 10;

/// Does `work` and wipes the stack that it took. What it returns must have its secrets in boxes.
pub fn wiped<T>(work: impl FnOnce() -> T) -> T {
    secret::wiped::<STACK, T>(work)
}

/// Wipes the stack below the caller: what calls left there that have returned.
pub fn wipe_stack() {
    secret::zeroize_stack::<STACK>();
}

/// What the system refused to [`protect`].
#[derive(Debug, Default)]
struct Refused {
    /// Why memory may be dumped.
    dumps: Option<std::io::Error>,
    /// Memory may get to a disk: this process may lock so many bytes of it only.
    swap: Option<u64>,
}

static REFUSED: OnceLock<Refused> = OnceLock::new();

/// Keeps the memory of this process from everybody but root for as long as it runs: no core dumps,
/// no debugger of the same user, and no page of it in swap where the system allows that. To be
/// called before there are threads and keys.
///
/// All pages are locked, or none: with a limit on locked memory (`RLIMIT_MEMLOCK`), allocations
/// would fail once it is reached.
pub fn protect() {
    REFUSED.get_or_init(system::protect);
}

/// Logs once what the system refused, for programs that run for long.
pub fn tell() {
    let Some(refused) = REFUSED.get() else { return };
    if let Some(error) = &refused.dumps {
        tracing::warn!("a core dump of this process would have its keys: {error}; switch core dumps off");
    }
    if let Some(limit) = refused.swap {
        tracing::warn!(
            "keys may get into swap, because only {limit} bytes of memory may be locked; allow it \
             (`LimitMEMLOCK=infinity` in the unit, `ulimit -l unlimited` in a shell), or encrypt the swap"
        );
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    use rustix::mm::{MlockAllFlags, mlockall};
    use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};

    use super::Refused;

    pub(super) fn protect() -> Refused {
        let dumps = set_dumpable_behavior(DumpableBehavior::NotDumpable).err().map(Into::into);
        // A process that cannot be dumped has no use for it, but its children inherit this one. A
        // system that forbids it has set it.
        let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
        Refused { dumps, swap: (!is_locked() && has_swap()).then(limit) }
    }

    /// Locks all pages, those of later allocations too, when they are touched. `false` if only some
    /// may be locked.
    fn is_locked() -> bool {
        let before = getrlimit(Resource::Memlock);
        // The soft limit may be raised to the hard one. If there is a hard one, the lowest soft
        // limit has the kernel lock for those alone whom no limit binds: a process that is still
        // below its limit would be locked too, and could then allocate little more.
        let current = before.maximum.map(|_| 1);
        let _ = setrlimit(Resource::Memlock, Rlimit { current, ..before });
        let all = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT;
        let is_locked = mlockall(all).is_ok();
        if !is_locked || current.is_some() {
            let _ = setrlimit(Resource::Memlock, before);
        }
        is_locked
    }

    fn limit() -> u64 {
        getrlimit(Resource::Memlock).current.unwrap_or(0)
    }

    /// Whether the machine has swap now. It may have some where that cannot be read.
    fn has_swap() -> bool {
        fs::read_to_string("/proc/swaps").map_or(true, |table| table.lines().count() > 1)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use rustix::process::{Resource, Rlimit, setrlimit};

    use super::Refused;

    pub(super) fn protect() -> Refused {
        let none = Rlimit { current: Some(0), maximum: Some(0) };
        Refused { dumps: setrlimit(Resource::Core, none).err().map(Into::into), swap: None }
    }
}
