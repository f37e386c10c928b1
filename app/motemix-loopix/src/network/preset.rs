//! Times that were chosen together and measured together.

use motemix_loopix::files::{Config, Profile};
use std::time::Duration;

/// Times and a profile that go together.
#[derive(Debug, Clone)]
pub struct Preset {
    pub profile: Profile,
    pub config: Config,
}

impl Preset {
    /// For users who have a minute and a half: an observer of all links who follows
    /// acknowledgements too needs 442 messages to one receiver to name half of the senders.
    ///
    /// What counts is how many packets of each client are in a mix at a time. Here each sends two a
    /// second, which stay 18 s: 36 packets.
    pub fn patient() -> Self {
        let stream = Duration::from_millis(1_500);
        let mut config = Config::default();
        config.clients.loops = stream;
        config.clients.drop = stream;
        config.clients.payload = stream;
        config.clients.delay = Duration::from_secs(18);
        config.clients.pull = Duration::from_secs(10);
        config.mixes.loops = stream;
        config.mixes.delay = config.clients.delay;
        config.providers.max_retrieve = 40;
        Self { profile: Profile::Hardened, config }
    }
}
