//! Rows that a client sends: taken when all of them were received, or not at all.

use std::sync::atomic::Ordering;

use crate::server::{Connected, has, kinds, options, serve, until};

#[test]
fn rows_are_taken_when_all_were_sent() {
    let (server, echo) = serve(options());
    let (mut client, _) = Connected::to(&server, "me");
    client.send(b'Q', b"copy\0");
    // A row in three messages.
    for part in [&b"1\tone\n2"[..], b"\t\\", b"N\n"] {
        client.send(b'd', part);
    }
    client.send(b'c', b"");
    let said = client.read();
    assert_eq!(kinds(&said), "GCZ");
    assert_eq!(said[0].1, [0, 0, 2, 0, 0, 0, 0]);
    assert!(has(&said, "COPY 2"));
    assert_eq!(echo.taken.load(Ordering::SeqCst), 2);
    // Drivers of the extended protocol sync before the rows, and behind them.
    client.send(b'P', b"\0copy\0\0\0");
    client.send(b'B', b"\0\0\0\0\0\0\0\0");
    client.send(b'E', b"\0\0\0\0\0");
    client.send(b'S', b"");
    client.send(b'd', b"3\tthree\n");
    client.send(b'c', b"");
    client.send(b'S', b"");
    assert_eq!(kinds(&client.read()), "12GCZ");
    assert_eq!(echo.taken.load(Ordering::SeqCst), 3);
}

#[test]
fn rows_that_do_not_all_come_are_not_taken() {
    let (server, echo) = serve(options());
    let (mut client, _) = Connected::to(&server, "me");
    let many = b"1\tx\n".repeat(11);
    type Sent<'a> = (u8, &'a [u8]);
    let cases: [(&[Sent<'_>], &str); 6] = [
        (&[(b'd', b"1\tone\n"), (b'f', b"no more\0")], "no more"),
        (
            &[(b'd', b"1\tone\nx\ttwo\n"), (b'c', b"")],
            "line 2, column \"n\"",
        ),
        (&[(b'd', b"1\tone\n2"), (b'c', b"")], "line 2, column \"t\""),
        (&[(b'd', b"\\N\tone\n"), (b'c', b"")], "C23502"),
        (&[(b'd', &many), (b'c', b"")], "max_rows"),
        (
            &[(b'd', b"1\tone\n"), (b'Q', b"rows 1\0")],
            "another message",
        ),
    ];
    for (messages, problem) in cases {
        client.send(b'Q', b"copy\0");
        for (kind, body) in messages {
            client.send(*kind, body);
        }
        let said = client.read();
        assert_eq!(kinds(&said), "GEZ");
        assert!(has(&said, problem), "{problem}");
    }
    let large = vec![b'x'; 1 << 19];
    client.send(b'Q', b"copy\0");
    for _ in 0..3 {
        client.send(b'd', &large);
    }
    assert!(has(&client.read(), "max_body"));
    // The rest of it is passed over.
    client.send(b'd', &large);
    client.send(b'c', b"");
    assert_eq!(kinds(&client.query("rows 0")), "TCZ");
    client.send(b'Q', b"copy\0");
    client.send(b'd', b"1\tone\n");
    drop(client);
    until(|| echo.closed.load(Ordering::SeqCst) == 1);
    assert_eq!(echo.taken.load(Ordering::SeqCst), 0);
}
