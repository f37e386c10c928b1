//! Which processor this is, and staying on one core of it.

use std::num::NonZero;
use std::time::Duration;
use std::{fmt, fs};

use anyhow::{Context, Result};
use motemix_crypto::Curve as _;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::time::ClockId;
use nix::unistd::Pid;

use crate::ours::HostCurve;

/// What the processor has for many multiplications side by side. Figures differ by as much as the
/// lanes, so there is a goal for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstructionSet {
    /// AVX-512 with IFMA.
    Avx512,
    /// AVX2.
    Avx2,
    /// Neither.
    Scalar,
}

impl InstructionSet {
    /// The one that motemix uses on this machine.
    pub fn of_machine() -> Self {
        match HostCurve::lanes() {
            8 => Self::Avx512,
            4 => Self::Avx2,
            _ => Self::Scalar,
        }
    }

    /// What is for this one, of what there is for AVX-512, for AVX2 and without either.
    pub fn choose<T>(self, [avx512, avx2, scalar]: [T; 3]) -> T {
        match self {
            Self::Avx512 => avx512,
            Self::Avx2 => avx2,
            Self::Scalar => scalar,
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Avx512 => "AVX-512 IFMA, eight lanes",
            Self::Avx2 => "AVX2, four lanes",
            Self::Scalar => "none, one multiplication after the other",
        })
    }
}

/// What a reader has to know about the machine to judge the figures.
pub struct Machine {
    model: String,
    count: usize,
    cores: Vec<usize>,
}

impl Machine {
    /// Asks the kernel. The cores are those that this process may run on.
    pub fn read() -> Result<Self> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").context("reading /proc/cpuinfo")?;
        let model = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
            .map_or("unknown processor", |(_, model)| model.trim())
            .to_owned();
        let count = std::thread::available_parallelism().map_or(1, NonZero::get);
        let allowed = sched_getaffinity(Pid::this()).context("asking for this process' cores")?;
        let cores = (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false)).collect();
        Ok(Self { model, count, cores })
    }

    /// "model, n cores".
    pub fn line(&self) -> String {
        format!("{}, {} core{}", self.model, self.count, if self.count == 1 { "" } else { "s" })
    }

    /// How many cores this process may use.
    pub fn cores(&self) -> usize {
        self.cores.len()
    }

    /// The core for whatever is measured.
    pub fn measured_core(&self) -> usize {
        self.cores.first().copied().unwrap_or(0)
    }

    /// The core for what feeds it; the same one if there is no other.
    pub fn other_core(&self) -> usize {
        self.cores.last().copied().unwrap_or(0)
    }
}

/// Lets this thread, and the processes that it starts from now on, run on all cores of `machine`.
pub fn spread(machine: &Machine) -> Result<()> {
    let mut all = CpuSet::new();
    for core in &machine.cores {
        all.set(*core).context("naming a core")?;
    }
    sched_setaffinity(Pid::from_raw(0), &all).context("taking all cores")
}

/// Keeps this thread, and the processes that it starts from now on, on `core`.
pub fn pin(core: usize) -> Result<()> {
    let mut only = CpuSet::new();
    only.set(core).context("naming a core")?;
    sched_setaffinity(Pid::from_raw(0), &only).with_context(|| format!("pinning to core {core}"))
}

/// Resident memory of a process, in KiB.
pub fn resident_kib(process: u32) -> Result<u64> {
    let path = format!("/proc/{process}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS line")?;
    line.trim().trim_end_matches(" kB").parse().context("reading VmRSS")
}

/// Processor time that a process has taken, of all its threads.
pub fn processor_time(process: u32) -> Result<Duration> {
    let clock = ClockId::pid_cpu_clock_id(Pid::from_raw(process.cast_signed()))?;
    Ok(clock.now().context("asking for a process' time")?.into())
}

/// How many files this process may open, once it has asked for as many as there are.
pub fn most_files() -> Result<u64> {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).context("asking how many files may be open")?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most).context("asking for more open files")?;
    Ok(most)
}
