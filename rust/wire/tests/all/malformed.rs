//! Messages that are none: each is refused with 08P01 before it is decoded, and the server
//! continues.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ringview_wire::{Options, Server};

use crate::server::{Connected, has, kinds, options, serve, until};

/// Bodies that are right, by the kind of their message.
const RIGHT: [(u8, &[u8]); 11] = [
    (b'Q', b"rows 1\0"),
    (b'P', b"s\0rows 1\0\0\x01\0\0\0\x17"),
    (b'B', b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x02ab\0\x01\0\0"),
    (b'D', b"Ss\0"),
    (b'C', b"Pp\0"),
    (b'E', b"p\0\0\0\0\x01"),
    (b'f', b"why\0"),
    (b'd', b"1\ta\n"),
    (b'c', b""),
    (b'H', b""),
    (b'S', b""),
];

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind][..], &length, body].concat()
}

/// Panics of the server's own threads, where no test brings one about.
fn panics() -> usize {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map_or("", |place| place.file());
            if !place.contains("tests") {
                SEEN.fetch_add(1, Ordering::SeqCst);
            }
            before(info);
        }));
    });
    SEEN.load(Ordering::SeqCst)
}

/// Everything that a server says from here on, up to the end or the limit.
fn rest(socket: &mut TcpStream) -> Vec<u8> {
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let mut said = Vec::new();
    // A server that closes with bytes unread resets the connection.
    let _ = socket.read_to_end(&mut said);
    said
}

fn is_refused(said: &[u8]) -> bool {
    String::from_utf8_lossy(said).contains("C08P01")
}

fn is_error(said: &[u8]) -> bool {
    String::from_utf8_lossy(said).contains("SFATAL")
}

#[test]
fn a_body_that_is_cut_is_refused_whatever_its_kind() {
    let (server, _) = serve(options());
    for (kind, body) in RIGHT {
        for cut in 0..body.len() {
            // Copied data may be any bytes.
            if kind == b'd' {
                continue;
            }
            let (mut client, _) = Connected::to(&server, "me");
            client.send(kind, &body[..cut]);
            let said = client.read();
            assert!(has(&said, "C08P01"), "{} cut at {cut}", char::from(kind));
        }
        let (mut client, _) = Connected::to(&server, "me");
        client.send(kind, &[body, b"!"].concat());
        let is_right = matches!(kind, b'd');
        if !is_right {
            assert!(
                has(&client.read(), "C08P01"),
                "{} and more",
                char::from(kind)
            );
        }
    }
    let (mut client, _) = Connected::to(&server, "me");
    client.send(b'?', b"");
    assert!(has(&client.read(), "C08P01"));
    assert_eq!(
        kinds(&Connected::to(&server, "me").0.query("rows 0")),
        "TCZ"
    );
    assert_eq!(panics(), 0);
}

#[test]
fn lengths_and_counts_that_lie_are_refused() {
    let (server, _) = serve(options());
    let lies: [&[u8]; 7] = [
        b"Q\0\0\0\0",
        b"Q\0\0\0\x03",
        b"Q\xff\xff\xff\xff",
        b"P\0\0\0\x08\0\0\xff\xff",
        b"B\0\0\0\x0c\0\0\0\0\0\x01\xff\xfe",
        b"B\0\0\0\x10\0\0\0\0\0\x01\0\0\x10\0\0\0",
        b"D\0\0\0\x06X\0",
    ];
    for lie in lies {
        let (mut client, _) = Connected::to(&server, "me");
        client.raw().write_all(lie).unwrap();
        assert!(is_refused(&rest(client.raw())), "{lie:?}");
    }
    assert_eq!(panics(), 0);
}

/// A server with a password, and a client that has said who it is.
fn before_the_password() -> (Server, impl Fn(&Server) -> TcpStream) {
    let password = Some("secret".to_owned());
    let (server, _) = serve(Options {
        password,
        ..options()
    });
    let connect = |server: &Server| {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        socket
            .write_all(b"\0\0\0\x11\0\x03\0\0user\0me\0\0")
            .unwrap();
        let mut head = [0; 5];
        socket.read_exact(&mut head).unwrap();
        assert_eq!(head[0], b'R');
        let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
        socket.read_exact(&mut body).unwrap();
        socket
    };
    (server, connect)
}

#[test]
fn a_stranger_sends_nothing_but_a_password() {
    let (server, connect) = before_the_password();
    let mut lies: Vec<Vec<u8>> = RIGHT
        .iter()
        .map(|(kind, body)| message(*kind, body))
        .collect();
    let method = b"SCRAM-SHA-256\0";
    for rest in [
        &b""[..],
        b"\0",
        b"\0\0\0\x05ab",
        b"\xff\xff\xff\xfe",
        b"\x7f\xff\xff\xff",
        b"\0\0\0\x01ab",
    ] {
        lies.push(message(b'p', &[&method[..], rest].concat()));
    }
    lies.push(message(b'p', b""));
    lies.push(message(b'p', b"SCRAM"));
    lies.push(b"p\0\0\xff\xff".to_vec());
    for lie in lies {
        let mut socket = connect(&server);
        socket.write_all(&lie).unwrap();
        assert!(is_refused(&rest(&mut socket)), "{lie:?}");
    }
    // A message that is no SCRAM is an error, too.
    for said in [
        "",
        "n",
        "n,,",
        "n,,n=,r=",
        "y,,n=me,r=\0",
        "p=x,,n=me,r=abc",
    ] {
        let length = (said.len() as i32).to_be_bytes();
        let body = [&method[..], &length, said.as_bytes()].concat();
        let mut socket = connect(&server);
        socket.write_all(&message(b'p', &body)).unwrap();
        socket.write_all(&message(b'p', b"c=biws")).unwrap();
        let said = rest(&mut socket);
        let is_in = said.windows(9).any(|part| part == b"R\0\0\0\x08\0\0\0\0");
        assert!(!is_in && is_error(&said), "{said:?}");
    }
    assert_eq!(panics(), 0);
}

#[test]
fn a_stranger_who_says_nothing_holds_a_seat_and_is_put_out() {
    let (server, _) = serve(Options {
        connections: 1,
        login: Duration::from_millis(200),
        ..options()
    });
    let mut silent = TcpStream::connect(server.address()).unwrap();
    until(|| server.connections() == 1);
    let mut bytes = Vec::new();
    silent.read_to_end(&mut bytes).unwrap();
    assert!(bytes.is_empty());
    until(|| server.connections() == 0);
    assert_eq!(
        kinds(&Connected::to(&server, "me").0.query("rows 0")),
        "TCZ"
    );
}

/// The next of a row of numbers that a seed begins.
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

/// Some messages, of which one has bytes changed, cut, repeated or put in.
fn garbled(state: &mut u64) -> Vec<u8> {
    let mut all = Vec::new();
    for _ in 0..1 + next(state) % 4 {
        let (kind, body) = RIGHT[next(state) % RIGHT.len()];
        all.extend(message(kind, body));
    }
    for _ in 0..1 + next(state) % 3 {
        let at = next(state) % all.len();
        match next(state) % 4 {
            0 => all[at] = next(state) as u8,
            1 => all.truncate(at + 1),
            2 => all.insert(at, next(state) as u8),
            _ => drop(all.remove(at)),
        }
        if all.is_empty() {
            all.push(b'Q');
        }
    }
    all
}

/// Sends garbled messages of some seeds to a client that is let in, and to one that is not.
fn fuzz(seeds: std::ops::Range<u64>) {
    let (open, _) = serve(options());
    let (closed, connect) = before_the_password();
    for seed in seeds {
        let mut state = seed;
        let bytes = garbled(&mut state);
        let (mut client, _) = Connected::to(&open, "me");
        let _ = client.raw().write_all(&bytes);
        rest(client.raw());
        let mut socket = connect(&closed);
        let _ = socket.write_all(&bytes);
        rest(&mut socket);
        assert_eq!(panics(), 0, "seed {seed}: {bytes:?}");
    }
    assert_eq!(kinds(&Connected::to(&open, "me").0.query("rows 0")), "TCZ");
}

#[test]
fn garbled_messages_end_their_connection_alone() {
    panics();
    fuzz(0..200);
}

#[test]
#[ignore = "the long suite"]
fn garbled_messages_end_their_connection_alone_at_length() {
    panics();
    fuzz(1_000..40_000);
}
