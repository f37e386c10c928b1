//! A receiver hands what it believes to a broker, and brings back what servers command: with a
//! served broker, its socket, an inbox and a list of devices on the disk.

mod building;
mod receiver;

use std::time::Duration;

use building::*;
use motemix_broker::property;
use motemix_broker_client::handover::Commands;
use motemix_coap::{Code, Method, Request, format};
use motemix_object::{Audience, Credential, SealedReading};
use motemix_readings::{Devices, base64url};
use receiver::*;
use tokio::task::LocalSet;

#[tokio::test]
async fn what_a_receiver_believes_is_in_the_broker_and_anybody_can_check_it() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            // It has sent more than a broker would take of somebody it does not know.
            let anonymous = |device: &mut Device, number, degrees| {
                device.seal_as(number, degrees, NETWORK, motemix_object::Path::Anonymous)
            };
            let list = Devices::open(folder.path().join("devices.db")).unwrap();
            list.keep(device.identity.short(), motemix_object::Freshness::starting_at(5_000), None).unwrap();
            receiver.arrives(&anonymous(&mut device, 5_000, 20));
            receiver.arrives(&anonymous(&mut Device::new(2), 0, 99));
            receiver.arrives(&anonymous(&mut device, 5_001, 21));

            let broker = Served::start(folder.path());
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);

            // An application finds the device, and where its readings are.
            let client = broker.client().await;
            let links = loop {
                let links = links(&client, "rt=core.ps.data").await;
                if !links.is_empty() {
                    break links;
                }
                a_moment().await;
            };
            let found = links.iter().find(|link| link.has("key")).unwrap();
            let credential = base64url::decode(found.value("key").unwrap()).unwrap();
            let credential = Credential::parse(&credential).unwrap();
            assert_eq!(credential.identity().unwrap(), device.identity);

            // The broker knows which number comes next, and says so: it is not in what was signed.
            let [.., id] = path(&found.target)[..] else { panic!("{found}") };
            let mut configuration = Request::new(Method::Fetch, &["ps", id]);
            configuration.content_format = Some(format::CBOR);
            configuration.payload = minicbor::to_vec([property::NEXT]).unwrap();
            let both = map(&[(property::NEXT, Property::Number(5_002))]);
            until(&client, configuration, |response| *response.payload == *both).await;
            let response = client.ask(get(&path(&found.target))).await.unwrap();
            let reading = SealedReading::parse(&response.payload).unwrap();
            let audience = Audience::new(NETWORK).unwrap();
            assert!(reading.verify(credential.key(), &device.identity, 5_001, audience).is_ok());

            // Of who sent nothing that is believed there is nothing.
            assert_eq!(links.len(), 2, "{links:?}");
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn readings_wait_in_the_inbox_while_the_broker_is_away_and_are_handed_over_once() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);
            for degrees in 0..5 {
                receiver.arrives(&device.seal(degrees));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(!folder.path().join("handed-over").exists(), "nobody has them");

            let broker = Served::start(folder.path());
            receiver.has_handed_over(5).await;
            let client = broker.client().await;
            let topic = readings_in(&links(&client, "rt=core.ps.data").await);
            let newest = client.ask(get(&path(&topic))).await.unwrap();
            assert_eq!(newest.code, Code::CONTENT);
            handing.abort();
            broker.stop().await;

            // A receiver that has lost its mark hands over what is there already: nothing changes.
            std::fs::remove_file(folder.path().join("handed-over")).unwrap();
            let broker = Served::start(folder.path());
            let handing = receiver.hand_over(&commands);
            receiver.has_handed_over(5).await;
            let client = broker.client().await;
            assert_eq!(client.ask(get(&path(&topic))).await.unwrap(), newest);
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn what_a_server_commands_is_said_to_the_device_that_it_is_for_and_to_no_other() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let (mut device, mut other) = (Device::new(1), Device::new(2));
            let mut receiver = Receiver::new(folder.path(), &[&device, &other]);
            let broker = Served::start(folder.path());
            let commands = Commands::default();
            let handing = receiver.hand_over(&commands);
            let mut replier = receiver.replier(&commands);

            // Where its commands go is among the links of the device.
            let local = socket_client(folder.path()).await;
            let of_device = format!("ep=MOTEMIX:ID:{:.32}", device.identity);
            let commanded = loop {
                let links = links(&local, &of_device).await;
                if let Some(link) = links.iter().find(|link| link.value("if") == Some("motemix.command")) {
                    break link.target.to_string();
                }
                a_moment().await;
            };
            let command = |payload: &[u8]| {
                with(Request::new(Method::Put, &path(&commanded)), format::COSE_SIGN1, payload)
            };
            assert_eq!(local.ask(command(b"open the valve")).await.unwrap().code, Code::CHANGED);
            // A stranger commands nothing; what he would say reaches no device.
            let stranger = broker.client().await;
            assert_eq!(stranger.ask(command(b"close it")).await.unwrap().code, Code::UNAUTHORIZED);

            loop {
                let from_it = receiver.arrives(&device.seal(1));
                let from_other = receiver.arrives(&other.seal(1));
                let forged = receiver.arrives(&Device::new(3).seal(1));
                let said = replier.replies(&[from_it, from_other, forged]);
                assert_eq!((&said[1][..], &said[2][..]), (&b""[..], &b""[..]));
                if said[0] == b"open the valve" {
                    break;
                }
                assert_eq!(said[0], b"");
                a_moment().await;
            }
            handing.abort();
            broker.stop().await;
        })
        .await;
}

#[tokio::test]
async fn a_broker_of_another_network_gets_nothing_and_the_receiver_says_so() {
    LocalSet::new()
        .run_until(async {
            let folder = tempfile::tempdir().unwrap();
            let mut device = Device::new(1);
            let mut receiver = Receiver::new(folder.path(), &[&device]);
            let other = motemix_broker::Policy { audience: "plant".to_owned(), ..policy() };
            let broker = Served::start_with(folder.path(), other);
            let handover = receiver.handover(&Commands::default());
            let state = handover.state();
            let handing = tokio::spawn(handover.run());
            let problem = loop {
                match state.problem() {
                    Some(problem) => break problem,
                    None => a_moment().await,
                }
            };
            assert!(problem.contains("\"building\"") && problem.contains("\"plant\""), "{problem}");
            let local = socket_client(folder.path()).await;
            let topics = local.ask(get(&["ps"])).await.unwrap();
            assert_eq!((topics.code, topics.payload.len()), (Code::CONTENT, 0), "it learns of no device");
            broker.stop().await;
            receiver.arrives(&device.seal(20));

            let broker = Served::start(folder.path());
            while state.problem().is_some() {
                a_moment().await;
            }
            assert_eq!(std::fs::read_to_string(folder.path().join("handed-over")).unwrap(), "1\n");
            handing.abort();
            broker.stop().await;
        })
        .await;
}
