//! Stands between a client and a server, and says of the stream what was true before, as a server
//! of a cluster does that came back and is behind. All else is as the server has it.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Where to connect. It says `said` whenever it is asked for the stream.
pub fn behind(server: &str, said: &str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let (server, said) = (server.to_owned(), said.to_owned());
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&server).expect("a server");
            let to_client = Arc::new(Mutex::new(client.try_clone().expect("a socket")));
            let (from_server, to) = (server.try_clone().expect("a socket"), Arc::clone(&to_client));
            thread::spawn(move || {
                let mut from_server = BufReader::new(from_server);
                while let Some((_, frame)) = frame(&mut from_server) {
                    // Whole, for what is said in between.
                    if to.lock().expect("nobody panics").write_all(&frame).is_err() {
                        break;
                    }
                }
            });
            let said = said.clone();
            thread::spawn(move || ask(client, server, &to_client, &said));
        }
    });
    address
}

fn ask(client: TcpStream, mut server: TcpStream, to_client: &Mutex<TcpStream>, said: &str) {
    let mut client = BufReader::new(client);
    let mut answers_to = Vec::new();
    while let Some((line, frame)) = frame(&mut client) {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        if let ["SUB", subject, id] = words[..]
            && let Some(inbox) = subject.strip_suffix('*')
        {
            answers_to.push((inbox.to_owned(), id.to_owned()));
        }
        let answered = match words[..] {
            ["PUB", subject, reply, _] if subject.starts_with("$JS.API.STREAM.INFO.") => {
                let (_, id) =
                    answers_to.iter().find(|(inbox, _)| reply.starts_with(inbox)).expect("an inbox");
                let answer = format!("MSG {reply} {id} {}\r\n{said}\r\n", said.len());
                to_client.lock().expect("nobody panics").write_all(answer.as_bytes())
            }
            _ => server.write_all(&frame),
        };
        if answered.is_err() {
            break;
        }
    }
}

/// The next line, and all of its frame: some lines say how many bytes follow.
fn frame(from: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    from.read_line(&mut line).ok().filter(|len| *len > 0)?;
    let mut frame = line.clone().into_bytes();
    let name = line.split_ascii_whitespace().next()?;
    if ["PUB", "HPUB", "MSG", "HMSG"].contains(&name) {
        let len: u64 = line.split_ascii_whitespace().last()?.parse().ok()?;
        // And the end of a line.
        from.by_ref().take(len + 2).read_to_end(&mut frame).ok()?;
    }
    Some((line, frame))
}
