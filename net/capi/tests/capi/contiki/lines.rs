//! What is longer than a buffer of Contiki-NG's shell.

use super::PORT;
use crate::ports::Link;

#[test]
fn the_shell_prints_what_is_longer_than_its_buffer() {
    let link = Link::of(&PORT, 1);
    let mut mote = link.start(0);
    for line in ["motemix", "motemix help"] {
        let said = mote.all(line, "readings off");
        assert_eq!(said.len(), 15, "{said:?}");
        assert!(
            said.iter()
                .any(|line| line == "inbox                 prints the messages received and forgets them")
        );
    }
}
