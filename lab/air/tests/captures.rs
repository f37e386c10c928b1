//! A capture, read by an independent parser.

mod boards;

use boards::{Air, Board, broadcast, data};
use motemix_air::channel::{Access, Channel, Event, Settings};
use motemix_air::{Instant, capture::Capture};
use motemix_link::serial::{CHECK, Outcome};
use pcap_parser::{Linktype, PcapCapture};
use std::fs;
use std::time::Duration;

/// Whether a frame's last two bytes are its check sequence.
fn is_whole(frame: &[u8]) -> bool {
    let (frame, check) = frame.split_last_chunk::<2>().expect("a check sequence");
    CHECK.checksum(frame).to_le_bytes() == *check
}

#[test]
fn an_air_that_runs_leaves_a_readable_file_at_any_time() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let air = Air::open_with(["left", "right"], |setup| setup.capture = Some(file.path().to_owned()));
    let mut left = Board::join(&air, "left", 1);
    let mut right = Board::join(&air, "right", 2);
    let sent = data(1, 2, 7, b"reading");
    left.transmit(9, &sent);
    assert_eq!(right.received(), sent);
    assert_eq!(left.done(), (9, Outcome::Sent));
    // It is flushed at the end of a round: the answer to this comes from a later one.
    left.transmit(1, &[]);
    left.done();
    let bytes = fs::read(file.path()).expect("it is there");
    let capture = PcapCapture::from_file(&bytes).expect("a PCAP file");
    assert_eq!(capture.header.network, Linktype(195));
    assert_eq!((capture.header.version_major, capture.header.version_minor), (2, 4));
    let [frame, acknowledgement] = &capture.blocks[..] else { panic!("{} frames", capture.blocks.len()) };
    assert_eq!((&frame.data[..sent.len()], frame.data.len()), (&sent[..], sent.len() + 2));
    assert_eq!(&acknowledgement.data[..3], [0x02, 0x00, 7]);
    assert!(is_whole(frame.data) && is_whole(acknowledgement.data));
    let micros = |seconds: u32, micros: u32| u64::from(seconds) * 1_000_000 + u64::from(micros);
    let begins = [frame, acknowledgement].map(|block| micros(block.ts_sec, block.ts_usec));
    assert_eq!(begins[1] - begins[0], (6 + sent.len() as u64 + 2) * 32 + 192);
}

#[test]
fn frames_that_collided_have_a_wrong_check_sequence() {
    let settings = Settings {
        access: Access { min_exponent: 0, max_exponent: 0, ..Access::default() },
        report_air: true,
        ..Settings::default()
    };
    let mut channel = Channel::new(settings, 1);
    let mut capture = Capture::new(Vec::new()).expect("memory takes all");
    let now = Instant::default();
    let stations = [1, 2].map(|number| channel.join(now, boards::address(number)).expect("there is room"));
    let mut run = |channel: &mut Channel| {
        while let Some(due) = channel.poll_timeout() {
            channel.handle_timeout(due);
            while let Some(event) = channel.poll_event() {
                if let Event::OnAir { begin, collided, frame, .. } = event {
                    let at = Duration::from_micros(begin.as_micros());
                    capture.frame(at, &frame, collided).expect("memory takes all");
                }
            }
        }
    };
    for station in stations {
        channel.transmit(now, station, 0, &broadcast(1, 1, b"reading"));
    }
    run(&mut channel);
    channel.transmit(Instant::from_micros(1_000_000), stations[0], 0, &broadcast(1, 2, b"reading"));
    run(&mut channel);
    let bytes = capture.into_inner();
    let capture = PcapCapture::from_file(&bytes).expect("a PCAP file");
    let whole: Vec<_> = capture.blocks.iter().map(|block| is_whole(block.data)).collect();
    assert_eq!(whole, [false, false, true]);
    assert_eq!((capture.blocks[2].ts_sec, capture.blocks[2].ts_usec), (1, 128 + 192));
}
