//! What a mote keeps in flash, while its power fails and its bits flip.

mod cuts;
mod damage;
mod flash;
mod model;
mod stories;

use motemix_mote::store::Layout;

use flash::Flash;

/// The settings' pages, then five for tags and messages.
fn layout(page: usize, settings: u32) -> Layout {
    let pages = |from: u32, to: u32| from * page as u32..to * page as u32;
    Layout {
        // Not at the beginning, as on a board, where the program is.
        settings: pages(1, 1 + settings),
        tags: pages(1 + settings, 4 + settings),
        messages: pages(4 + settings, 6 + settings),
        readings: pages(6 + settings, 8 + settings),
        devices: pages(8 + settings, 10 + settings),
    }
}

fn flash_for<const WORD: usize, const PAGE: usize>(layout: &Layout) -> Flash<WORD, PAGE> {
    let mut flash = Flash::new(layout.devices.end as usize / PAGE + 1);
    // What is outside the layout stays as it is.
    let outside = [0..layout.settings.start as usize, layout.devices.end as usize..flash.bytes().len()];
    for range in outside {
        flash.bytes_mut()[range].fill(0x5a);
    }
    flash
}

fn assert_outside_untouched<const WORD: usize, const PAGE: usize>(
    flash: &Flash<WORD, PAGE>,
    layout: &Layout,
) {
    let before = &flash.bytes()[..layout.settings.start as usize];
    let after = &flash.bytes()[layout.devices.end as usize..];
    assert!(before.iter().chain(after).all(|byte| *byte == 0x5a), "something outside the layout was changed");
}
