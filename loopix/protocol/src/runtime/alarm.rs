//! Says when loops do not come back as they should, and when they do again.

use super::event::Event;
use crate::role::Counters;

/// What has been said.
#[derive(Debug, Default)]
pub(super) struct Alarm {
    sounds: bool,
}

impl Alarm {
    /// Looks at what was counted.
    pub(super) fn look(&mut self, counters: &Counters) -> Option<Event> {
        let sounds = counters.loop_alarm > 0;
        if std::mem::replace(&mut self.sounds, sounds) == sounds {
            return None;
        }
        let (lost, sent) = (counters.loops_lost, counters.loops_sent);
        if sounds {
            tracing::warn!(
                "own packets do not come back as they should, {lost} of {sent} since the start: a mix or provider \
                 drops or holds up packets, or somebody does on its links, or nodes are off; see whether other nodes \
                 say so too"
            );
        } else {
            tracing::info!("own packets come back again");
        }
        Some(Event::LoopAlarm { sounds, lost, sent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_once_when_it_begins_and_once_when_it_ends() {
        let mut alarm = Alarm::default();
        let mut look = |loop_alarm| {
            let counters = Counters { loop_alarm, loops_lost: 3, loops_sent: 9, ..Counters::default() };
            alarm.look(&counters)
        };
        assert_eq!(look(0), None);
        assert_eq!(look(1), Some(Event::LoopAlarm { sounds: true, lost: 3, sent: 9 }));
        assert_eq!(look(1), None);
        assert_eq!(look(0), Some(Event::LoopAlarm { sounds: false, lost: 3, sent: 9 }));
    }
}
