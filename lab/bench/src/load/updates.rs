//! Devices that publish signed readings, each when its last one was acknowledged (NSTART is 1, RFC
//! 7252 §4.7), and one observer of all of them.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use motemix_coap::message::{Kind, Message, option};
use motemix_coap::{Method, Token};
use motemix_crypto::Secret;
use motemix_object::{
    Algorithm, Audience, Credential, Identity, Path, PrivateKey, Reserved, Sealer, Signer as _,
};
use motemix_readings::base64url;
use nix::sys::socket::{setsockopt, sockopt};

use crate::load::broker::Server;

/// For whom readings are signed.
pub const NETWORK: &str = "building";
/// Nothing comes for so long: what is under way is sent again, as RFC 7252 §4.2 has it.
const AGAIN: Duration = Duration::from_millis(500);
/// Nothing comes for so long: the server has lost it.
const PATIENCE: Duration = Duration::from_secs(5);
/// What the system keeps of notifications for the observer.
const RECEIVE_BUFFER: usize = 4 << 20;
/// SenML in CBOR: a temperature.
const SENML: &[u8] = b"\x81\xa2\x00\x61t\x02\xfb\x40\x35\x80\x00\x00\x00\x00\x00";

/// A device that signs.
pub struct Device {
    key: PrivateKey,
    identity: Identity,
    credential: Vec<u8>,
    next: u64,
    socket: UdpSocket,
    id: u16,
    /// Datagrams of this turn, the next one last.
    to_send: Vec<Vec<u8>>,
    under_way: Option<Vec<u8>>,
}

impl Device {
    /// The device of a number.
    pub fn new(number: u16) -> Result<Self> {
        let mut seed = [0x42; 32];
        seed[..2].copy_from_slice(&number.to_be_bytes());
        let key = PrivateKey::new(Algorithm::Ed25519, Secret::new(seed)).ok().context("no key of a seed")?;
        let credential = Credential::new(key.public_key(), &[]).ok().context("no credential of a key")?;
        let mut bytes = [0; 128];
        let len = credential.encode(&mut bytes).ok().context("the credential is too long")?;
        let identity = credential.identity().ok().context("no identity of a credential")?;
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        let credential = bytes[..len].to_vec();
        Ok(Self { key, identity, credential, next: 0, socket, id: 0, to_send: Vec::new(), under_way: None })
    }

    /// Its identity.
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// Its key.
    pub const fn key(&mut self) -> &mut PrivateKey {
        &mut self.key
    }

    /// Its credential, as a link attribute has it.
    pub fn credential(&self) -> String {
        base64url::encode(&self.credential)
    }

    /// The number of what it signs next.
    pub const fn next_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }

    /// Its next reading.
    pub fn reading(&mut self) -> Result<Vec<u8>> {
        let number = self.next_number();
        let audience = Audience::new(NETWORK).ok().context("the network's name is too long")?;
        let mut sealer =
            Sealer { signer: &mut self.key, identity: self.identity, path: Path::Direct, audience };
        let mut out = [0; 256];
        let len = sealer.seal(Reserved::promised(number), SENML, &mut out);
        Ok(out[..len.ok().context("a reading cannot be signed")?].to_vec())
    }

    /// Makes the datagrams of a turn.
    fn prepare(&mut self, server: &Server, index: usize, count: usize) -> Result<()> {
        let mut datagrams = Vec::with_capacity(count);
        for _ in 0..count {
            self.id = self.id.wrapping_add(1);
            let mut message = Message::empty(Kind::Confirmable, self.id);
            message.code = Method::Put.byte();
            message.token = Token::new(&self.id.to_be_bytes()).unwrap_or_default();
            for segment in &server.paths[index] {
                message.push(option::URI_PATH, segment.as_bytes());
            }
            if let Some(format) = server.content_format {
                message.push_number(option::CONTENT_FORMAT, format.into());
            }
            message.payload = self.reading()?;
            datagrams.push(message.write());
        }
        datagrams.reverse();
        self.to_send = datagrams;
        Ok(())
    }

    /// Sends its next update, if there is one.
    fn send(&mut self, server: SocketAddr) -> Result<()> {
        self.under_way = self.to_send.pop();
        self.send_again(server)
    }

    /// Sends what is under way.
    fn send_again(&self, server: SocketAddr) -> Result<()> {
        if let Some(datagram) = &self.under_way {
            self.socket.send_to(datagram, server).context("sending an update")?;
        }
        Ok(())
    }

    /// Whether what is under way was acknowledged.
    fn hear(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let Some([_, _, of_id @ ..]) = self.under_way.as_deref() else { return Ok(false) };
        let Ok(len) = self.socket.recv(buffer) else { return Ok(false) };
        let [_, code, high, low, ..] = buffer[..len] else { return Ok(false) };
        if !of_id.starts_with(&[high, low]) {
            return Ok(false);
        }
        ensure!(code >> 5 == 2, "an update was answered with {}.{:02}", code >> 5, code & 0x1f);
        Ok(true)
    }
}

/// Observes all that the devices publish.
pub struct Observer {
    socket: UdpSocket,
    server: SocketAddr,
    heard: u64,
    buffer: Box<[u8; 2048]>,
}

impl Observer {
    /// Begins to observe.
    pub fn begin(server: &Server) -> Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let _ = setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER);
        let mut observer = Self { socket, server: server.address, heard: 0, buffer: Box::new([0; 2048]) };
        observer.socket.set_read_timeout(Some(PATIENCE))?;
        for (index, path) in server.paths.iter().enumerate() {
            let request = observe(index as u16, index as u16, path);
            observer.socket.send_to(&request, observer.server)?;
            let before = observer.heard;
            while observer.heard == before {
                ensure!(observer.hear()?, "{path:?} cannot be observed");
            }
        }
        observer.socket.set_nonblocking(true)?;
        Ok(observer)
    }

    /// Takes one datagram; whether there was one.
    fn hear(&mut self) -> Result<bool> {
        let Ok(len) = self.socket.recv(&mut self.buffer[..]) else { return Ok(false) };
        if is_notification(&self.buffer[..len]) {
            self.heard += 1;
        }
        if let Some(acknowledgement) = acknowledgement(&self.buffer[..len]) {
            self.socket.send_to(&acknowledgement, self.server)?;
        }
        Ok(true)
    }
}

/// A request to observe.
pub fn observe(id: u16, token: u16, path: &[String]) -> Vec<u8> {
    let mut message = Message::empty(Kind::Confirmable, id);
    message.code = Method::Get.byte();
    message.token = Token::new(&token.to_be_bytes()).unwrap_or_default();
    message.push_number(option::OBSERVE, 0);
    for segment in path {
        message.push(option::URI_PATH, segment.as_bytes());
    }
    message.write()
}

/// Whether a datagram says what a resource is: 2.05.
pub fn is_notification(datagram: &[u8]) -> bool {
    datagram.get(1) == Some(&0x45)
}

/// What is to be answered to a confirmable message.
pub fn acknowledgement(datagram: &[u8]) -> Option<[u8; 4]> {
    let [first, _, high, low, ..] = *datagram else { return None };
    (first & 0x30 == 0).then_some([0x60, 0, high, low])
}

/// What a turn showed.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// Updates that were acknowledged.
    pub updates: u64,
    /// Of these, how often one was sent again.
    pub repeated: u64,
    /// Notifications that the observer got.
    pub notices: u64,
    /// Updates that were acknowledged, for each second of the server's processor time.
    pub accepted: f64,
    /// Updates that the observer heard of, for each second of the server's processor time.
    pub sent_on: f64,
    /// Updates each second of the clock.
    pub per_second: f64,
}

/// All devices publish so many updates each.
pub fn take_turn(
    server: &mut Server,
    devices: &mut [Device],
    observer: &mut Observer,
    each: usize,
) -> Result<Turn> {
    for (index, device) in devices.iter_mut().enumerate() {
        device.prepare(server, index, each)?;
    }
    let heard = observer.heard;
    let updates = (devices.len() * each) as u64;
    let (begin, worked) = (Instant::now(), server.process.processor_time()?);
    for device in devices.iter_mut() {
        device.send(server.address)?;
    }
    let (mut acknowledged, mut repeated, mut last) = (0, 0, Instant::now());
    let (mut end, mut again) = (last, 0);
    let mut buffer = [0; 2048];
    while acknowledged < updates || observer.heard - heard < updates {
        let mut is_idle = true;
        for device in devices.iter_mut() {
            if device.hear(&mut buffer)? {
                (acknowledged, is_idle) = (acknowledged + 1, false);
                device.send(server.address)?;
            }
        }
        while observer.hear()? {
            is_idle = false;
        }
        if !is_idle {
            (last, again) = (Instant::now(), 0);
            end = last;
        } else if acknowledged < updates && last.elapsed() > AGAIN * (again + 1) {
            again += 1;
            for device in devices.iter() {
                device.send_again(server.address)?;
                repeated += u64::from(device.under_way.is_some());
            }
        } else if last.elapsed() > PATIENCE || acknowledged == updates && last.elapsed() > AGAIN {
            if acknowledged < updates {
                server.process.check()?;
                bail!("{} of {updates} updates were not acknowledged", updates - acknowledged);
            }
            break;
        } else {
            std::thread::yield_now();
        }
    }
    let worked = server.process.processor_time()? - worked;
    let notices = observer.heard - heard;
    Ok(Turn {
        updates,
        repeated,
        notices,
        accepted: updates as f64 / worked.as_secs_f64(),
        sent_on: notices.min(updates) as f64 / worked.as_secs_f64(),
        per_second: updates as f64 / end.duration_since(begin).as_secs_f64(),
    })
}
