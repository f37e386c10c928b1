//! Clocks of authorities that were wrong and are set right.

use crate::program::wait_until;
use crate::world::AUTHORITIES;
use crate::{MIXES, with_mixes};

const DAY: u64 = 24 * 3600;

/// Two of three authorities have their time from one bad source, and vote for epochs of tomorrow.
#[test]
fn authorities_whose_clocks_were_ahead_make_documents_as_soon_as_they_are_right() {
    let bad = ["south", "east"];
    let mut world = with_mixes();
    for name in MIXES {
        world.run(name);
    }
    wait_until("there are documents", || world.latest("north") > 0);
    for name in bad {
        world.kill(name);
        world.set_clock(name, DAY);
        world.serve(name);
    }
    for name in bad {
        wait_until("it has voted", || world.log(name).contains("no document in this round"));
        let health = world.asked(name, "/healthz");
        assert!(health.starts_with("HTTP/1.1 503 "), "{name}: {health}");
    }

    let before = world.latest("north");
    for name in bad {
        world.set_clock(name, 0);
    }
    wait_until("there are more documents of today", || world.latest("north") >= before + 2);
    for name in AUTHORITIES {
        wait_until("all are well", || world.asked(name, "/healthz").ends_with("\r\n\r\nok\n"));
    }
}
