//! News for the application: none is lost unless it says so.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::{PORT, sources};
use crate::SANITIZERS;
use crate::ports::{Link, run};
use crate::signed::Authority;

/// The application with the command of news.c.
fn with_bursts() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let bursts = sources().join("news.c");
        super::link_application("news", &[&SANITIZERS, &[bursts.to_str().expect("a path")][..]].concat())
    })
}

#[test]
fn what_comes_together_is_told_or_counted() {
    let link = Link::of(&PORT, 4);
    let ports = link.udp_ports();
    let motes = (0..4).map(|mote| match mote {
        0 => link.start_image(with_bursts(), 0, &ports),
        _ => link.start(mote),
    });
    let mut motes = run(motes.collect(), &Authority::new(1));
    for mote in &mut motes[1..] {
        mote.kill();
    }
    // Two messages are given up each time the node stops, and eight news wait at a time.
    for (stops, lost) in [(1, None), (4, None), (5, Some(2)), (7, Some(6)), (4, None)] {
        motes[0].type_line(&format!("burst {stops}"));
        for message in (0..stops).flat_map(|_| [0, 1]).take(8) {
            let said = motes[0].until("discarded ");
            assert!(said.contains(&format!("discarded {message} after tries ")), "{said}");
        }
        if let Some(lost) = lost {
            motes[0].until(&format!("{lost} more things happened"));
        }
        let said = motes[0].all("motemix status", "the node is stopped");
        assert_eq!(said.len(), 1, "{said:?}");
        motes[0].ask("motemix start", "ok");
    }
}
