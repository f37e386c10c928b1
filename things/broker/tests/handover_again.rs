//! What a receiver hands over once more: to a broker that was restored, moved, or told whom to take.

mod building;
mod receiver;

use building::*;
use motemix_broker_client::handover::Commands;
use motemix_coap::{Code, Response};
use receiver::*;
use tokio::task::LocalSet;

/// What a device's newest reading is, once it is this one.
async fn newest(broker: &Served, device: &Device, reading: &[u8]) -> Response {
    let client = broker.client().await;
    let of_device = format!("ep=MOTEMIX:ID:{:.32}", device.identity);
    let readings = loop {
        let links = links(&client, &of_device).await;
        if links.iter().any(|link| link.has("key")) {
            break readings_in(&links);
        }
        a_moment().await;
    };
    until(&client, get(&path(&readings)), |response| *response.payload == *reading).await
}

#[tokio::test]
async fn a_broker_that_was_restored_or_moved_gets_what_it_lacks() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            let (data, backup) = (folder.path().join("broker"), folder.path().join("backup"));
            let broker = Served::start(folder.path());
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);
            let mut replier = receiver.replier(&commands);
            let first = receiver.arrives(&device.seal(20));
            replier.replies(&[first]);
            receiver.has_handed_over(1).await;
            broker.stop().await;
            std::fs::create_dir(&backup).unwrap();
            std::fs::copy(data.join("broker.sqlite"), backup.join("broker.sqlite")).unwrap();

            let broker = Served::start(folder.path());
            let reading = device.seal(21);
            let second = receiver.arrives(&reading);
            replier.replies(&[second]);
            receiver.has_handed_over(2).await;
            broker.stop().await;

            // From the backup, and then without anything.
            std::fs::remove_dir_all(&data).unwrap();
            std::fs::rename(&backup, &data).unwrap();
            motemix_os::store::sqlite::adopt(&data.join("broker.sqlite")).unwrap();
            for _ in 0..2 {
                let broker = Served::start(folder.path());
                assert_eq!(newest(&broker, &device, &reading).await.code, Code::CONTENT);
                receiver.has_handed_over(2).await;
                broker.stop().await;
                std::fs::remove_dir_all(&data).unwrap();
            }
            handing.abort();
        })
        .await;
}

#[tokio::test]
async fn what_the_broker_has_no_room_for_waits_in_the_inbox_until_it_has() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let (mut one, mut two) = (Device::new(1), Device::new(2));
            let mut receiver = Receiver::new(folder.path(), &[&one, &two]);
            let readings = [one.seal(20), two.seal(21)];
            for reading in &readings {
                receiver.arrives(reading);
            }
            let room_for_one = format!("[limits]\nbytes_of_receivers = {}", readings[0].len());
            let broker = Served::start_with(folder.path(), parse(&room_for_one));
            let handover = receiver.handover(&Commands::default());
            let state = handover.state();
            let handing = tokio::spawn(handover.run());
            while state.problem().is_none() {
                a_moment().await;
            }
            let problem = state.problem().unwrap();
            assert!(problem.contains("limits.bytes_of_receivers"), "{problem}");
            assert!(!folder.path().join("handed-over").exists(), "it is not passed over");
            broker.stop().await;

            let broker = Served::start(folder.path());
            for (device, reading) in [(&one, &readings[0]), (&two, &readings[1])] {
                assert_eq!(newest(&broker, device, reading).await.code, Code::CONTENT);
            }
            receiver.has_handed_over(2).await;
            while state.problem().is_some() {
                a_moment().await;
            }
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn a_device_that_the_broker_does_not_take_is_named_until_it_does_and_nothing_of_it_is_lost() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let (mut taken, mut refused) = (Device::new(1), Device::new(2));
            let mut receiver = Receiver::new(folder.path(), &[&taken, &refused]);
            receiver.arrives(&taken.seal(20));
            let reading = refused.seal(21);
            receiver.arrives(&reading);
            let list = |devices: &[&Device]| {
                let devices: Vec<_> =
                    devices.iter().map(|device| format!("\"{}\"", device.identity)).collect();
                parse(&format!("[directory]\ndevices = [{}]\n", devices.join(", ")))
            };
            let broker = Served::start_with(folder.path(), list(&[&taken]));
            let handover = receiver.handover(&Commands::default());
            let state = handover.state();
            let handing = tokio::spawn(handover.run());
            // The other one's go on.
            receiver.has_handed_over(2).await;
            while state.problem().is_none() {
                a_moment().await;
            }
            let problem = state.problem().unwrap();
            assert!(problem.contains(&format!("{:.32}", refused.identity)), "{problem}");
            assert!(problem.contains("has not listed"), "{problem}");
            broker.stop().await;

            let broker = Served::start_with(folder.path(), list(&[&taken, &refused]));
            assert_eq!(newest(&broker, &refused, &reading).await.code, Code::CONTENT);
            while state.problem().is_some() {
                a_moment().await;
            }
            handing.abort();
            broker.stop().await;
        })
        .await;
}
