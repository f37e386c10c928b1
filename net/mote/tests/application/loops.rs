//! Loops that do not come back.

use std::time::Duration;

use crate::world::{Terms, World};

#[test]
fn a_board_whose_loops_do_not_come_back_says_so_until_they_do() {
    let mut terms = Terms::default();
    terms.parameters.loop_mean = Some(Duration::from_secs(10));
    let mut world = World::running(4, &terms, 80);
    world.seconds(600);
    assert!(!world.printed(0).contains("own packets"));
    assert!(!world.say(0, "status").contains("loops lost"));

    world.switch_off(3);
    world.seconds(600);
    let said = "own packets do not come back: they are dropped or held up on their way\n";
    let warning = format!("warning: {said}");
    assert_eq!(world.printed(0).matches(&warning).count(), 1, "said once");
    let status = world.say(0, "status");
    let line = status.lines().find(|line| line.starts_with("loops lost")).expect("it is in the status");
    assert!(line.ends_with(said.trim_end()), "{line}");

    world.restart(3);
    world.seconds(1500);
    assert_eq!(world.printed(0).matches("loops come back again\n").count(), 1);
    assert!(!world.say(0, "status").contains("loops lost"));
}
