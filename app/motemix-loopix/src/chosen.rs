//! What the words of the command line choose.

use crate::network::Preset;
use motemix_loopix::files::{Config, Profile};
use motemix_program::cli::{LoopixPreset, LoopixProfile, LoopixTraffic};
use motemix_program::failure::Failure;

/// Profile and times, as they were asked for.
///
/// # Errors
/// `--push` with a profile whose nodes do not know it.
pub fn preset_of(traffic: &LoopixTraffic) -> Result<Preset, Failure> {
    if traffic.push && traffic.profile != LoopixProfile::Fork2018 {
        return Err(Failure::broken(
            "--push: only nodes of fork-2018 know it; leave it out, or choose --profile fork-2018",
        ));
    }
    let told = || Preset { profile: profile(traffic.profile), config: config(traffic) };
    let mut chosen = traffic.preset.map_or_else(told, preset);
    // Only the fork knows the word, and whoever finds it takes the network for one of the fork.
    chosen.config.providers.push = (chosen.profile == Profile::Fork2018).then_some(traffic.push);
    Ok(chosen)
}

fn config(traffic: &LoopixTraffic) -> Config {
    let mut config = Config::default();
    let (clients, mixes) = (&mut config.clients, &mut config.mixes);
    clients.loops = traffic.loops;
    clients.drop = traffic.drop;
    clients.payload = traffic.payload;
    clients.delay = traffic.delay;
    clients.pull = traffic.pull;
    mixes.loops = traffic.loops;
    mixes.delay = traffic.delay;
    config.providers.max_retrieve = traffic.retrieve;
    config
}

/// Times and a profile that go together.
pub fn preset(preset: LoopixPreset) -> Preset {
    match preset {
        LoopixPreset::Patient => Preset::patient(),
    }
}

/// Which Loopix a network speaks.
pub const fn profile(profile: LoopixProfile) -> Profile {
    match profile {
        LoopixProfile::Ucl2017 => Profile::Ucl2017,
        LoopixProfile::Fork2018 => Profile::Fork2018,
        LoopixProfile::Hardened => Profile::Hardened,
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command};
    use motemix_loopix::files::config;
    use motemix_program::cli::{LONGEST_LOOPIX_TIME, LoopixTraffic};

    /// The words of the command line know the limits of the files without the files.
    #[test]
    fn words_and_files_have_the_same_limits() {
        assert_eq!(LONGEST_LOOPIX_TIME, config::LONGEST_TIME);
        let words = LoopixTraffic::augment_args(Command::new("traffic"));
        let retrieve =
            |count: u32| words.clone().try_get_matches_from(["traffic", "--retrieve", &count.to_string()]);
        assert!(retrieve(config::MOST_RETRIEVED).is_ok());
        assert!(retrieve(config::MOST_RETRIEVED + 1).is_err());
    }
}
