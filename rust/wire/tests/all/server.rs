//! A server over a database that is none: connections, limits, cancelling, the end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use ringview_wire::backend::{
    Answer, Backend, Client, CopyIn, Failure, Outcome, Prepared, Rows, Session, Sink, Status, Value,
};
use ringview_wire::copy::format::Limits;
use ringview_wire::{Options, Server};

/// Echoes: `rows n`, `fail`, `begin`, `wait`, `panic`, `copy`.
#[derive(Default)]
pub(crate) struct Echo {
    pub(crate) closed: AtomicUsize,
    /// Number of rows that were copied in.
    pub(crate) taken: AtomicUsize,
    /// Reports of the server.
    pub(crate) warnings: Mutex<Vec<String>>,
}

struct Counting(Arc<Echo>);

impl Sink for Counting {
    fn take(&self, rows: Vec<RecordBatch>) -> Answer {
        let count = rows.iter().map(RecordBatch::num_rows).sum();
        self.0.taken.fetch_add(count, Ordering::SeqCst);
        Answer {
            outcomes: vec![Outcome::Done(format!("COPY {count}"))],
            ..Answer::default()
        }
    }
}

struct EchoSession {
    echo: Arc<Echo>,
    open: AtomicBool,
    cancelled: Mutex<bool>,
    bell: Condvar,
}

struct EchoBackend(Arc<Echo>);

impl Backend for EchoBackend {
    fn open(&self, client: &Client) -> Result<Arc<dyn Session>, Failure> {
        if client.user == "nobody" {
            return Err(Failure::new("28000", "nobody is not let in"));
        }
        Ok(Arc::new(EchoSession {
            echo: Arc::clone(&self.0),
            open: AtomicBool::new(false),
            cancelled: Mutex::new(false),
            bell: Condvar::new(),
        }))
    }

    fn warn(&self, what: &str) {
        self.0.warnings.lock().unwrap().push(what.to_owned());
    }
}

fn rows(count: i64) -> Rows {
    let column = Arc::new(Int64Array::from_iter_values(0..count));
    let batch = RecordBatch::try_from_iter([("n", column as _)]).unwrap();
    Rows {
        schema: batch.schema(),
        batches: vec![batch],
        tag: "SELECT".to_owned(),
    }
}

impl Session for EchoSession {
    fn prepare(&self, sql: &str) -> Result<Prepared, Failure> {
        Ok(Prepared {
            is_query: sql.starts_with("rows"),
            changes: false,
            parameters: 0,
        })
    }

    fn describe(&self, _: &str, _: &[u32]) -> Result<SchemaRef, Failure> {
        Ok(rows(0).schema)
    }

    fn cursor(&self, name: &str) -> Result<SchemaRef, Failure> {
        match name {
            "c" => Ok(rows(0).schema),
            _ => Err(Failure::new("34000", "no such cursor")),
        }
    }

    fn run(&self, sql: &str, _: Option<&[Value]>) -> Answer {
        let mut answer = Answer::default();
        match sql.split_once(' ').unwrap_or((sql, "")) {
            ("rows", count) => answer
                .outcomes
                .push(Outcome::Rows(rows(count.parse().unwrap()))),
            ("begin", _) => {
                self.open.store(true, Ordering::SeqCst);
                answer.outcomes.push(Outcome::Done("BEGIN".to_owned()));
            }
            ("wait", _) => {
                let guard = self.cancelled.lock().unwrap();
                drop(
                    self.bell
                        .wait_while(guard, |cancelled| !*cancelled)
                        .unwrap(),
                );
                answer.failure = Some(Failure::new("57014", "cancelled"));
            }
            ("panic", _) => panic!("as asked"),
            ("copy", _) => {
                let fields = vec![
                    Field::new("n", DataType::Int64, false),
                    Field::new("t", DataType::Utf8, true),
                ];
                answer.outcomes.push(Outcome::CopyIn(CopyIn {
                    schema: Arc::new(Schema::new(fields)),
                    format: Arc::default(),
                    limits: Limits {
                        bytes: 1 << 20,
                        rows: 10,
                    },
                    sink: Arc::new(Counting(Arc::clone(&self.echo))),
                }));
            }
            _ => answer.failure = Some(Failure::new("42601", "what?")),
        }
        answer.status = match (self.open.load(Ordering::SeqCst), &answer.failure) {
            (false, _) => Status::Idle,
            (true, None) => Status::Open,
            (true, Some(_)) => Status::Failed,
        };
        answer
    }

    fn fail(&self) {}

    fn begin(&self) {
        *self.cancelled.lock().unwrap() = false;
    }

    fn cancel(&self) {
        *self.cancelled.lock().unwrap() = true;
        self.bell.notify_all();
    }

    fn close(&self) {
        self.echo.closed.fetch_add(1, Ordering::SeqCst);
    }
}

pub(crate) fn options() -> Options {
    Options {
        host: "127.0.0.1".to_owned(),
        port: 0,
        password: None,
        settings: vec![("server_version".to_owned(), "14.0".to_owned())],
        connections: 4,
        message: 1 << 20,
        statement: None,
        login: Duration::from_secs(60),
        idle: None,
        certificate: None,
        plain: false,
    }
}

pub(crate) fn serve(options: Options) -> (Server, Arc<Echo>) {
    let echo = Arc::<Echo>::default();
    let server = Server::start(Arc::new(EchoBackend(Arc::clone(&echo))), options).unwrap();
    (server, echo)
}

pub(crate) struct Connected {
    socket: TcpStream,
    /// The number and the secret of the session.
    key: Vec<u8>,
}

pub(crate) type Message = (u8, Vec<u8>);

impl Connected {
    pub(crate) fn to(server: &Server, user: &str) -> (Connected, Vec<Message>) {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let body = [
            &196_608_i32.to_be_bytes()[..],
            b"user\0",
            user.as_bytes(),
            b"\0\0",
        ]
        .concat();
        let length = (body.len() as i32 + 4).to_be_bytes();
        socket.write_all(&[&length[..], &body].concat()).unwrap();
        let mut made = Connected {
            socket,
            key: Vec::new(),
        };
        let said = made.read();
        if let Some((_, key)) = said.iter().find(|(kind, _)| *kind == b'K') {
            made.key.clone_from(key);
        }
        (made, said)
    }

    pub(crate) fn raw(&mut self) -> &mut TcpStream {
        &mut self.socket
    }

    pub(crate) fn send(&mut self, kind: u8, body: &[u8]) {
        let length = (body.len() as i32 + 4).to_be_bytes();
        self.socket
            .write_all(&[&[kind][..], &length, body].concat())
            .unwrap();
    }

    /// The messages up to the next that says that it is ready, or to the end.
    pub(crate) fn read(&mut self) -> Vec<Message> {
        let mut found: Vec<Message> = Vec::new();
        while found.last().is_none_or(|(kind, _)| *kind != b'Z') {
            let mut head = [0; 5];
            if self.socket.read_exact(&mut head).is_err() {
                break;
            }
            let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
            let mut body = vec![0; length];
            self.socket.read_exact(&mut body).unwrap();
            found.push((head[0], body));
        }
        found
    }

    pub(crate) fn query(&mut self, sql: &str) -> Vec<Message> {
        self.send(b'Q', &[sql.as_bytes(), b"\0"].concat());
        self.read()
    }
}

pub(crate) fn kinds(messages: &[Message]) -> String {
    messages.iter().map(|(kind, _)| char::from(*kind)).collect()
}

pub(crate) fn has(messages: &[Message], what: &str) -> bool {
    let has = |body: &[u8]| String::from_utf8_lossy(body).contains(what);
    messages.iter().any(|(_, body)| has(body))
}

pub(crate) fn until(condition: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < end, "it did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_query_gives_rows_and_says_where_the_session_is() {
    let (server, echo) = serve(options());
    let (mut client, said) = Connected::to(&server, "me");
    assert!(kinds(&said).starts_with('R') && kinds(&said).ends_with("KZ"));
    assert!(has(&said, "server_version\u{0}14.0"));
    let found = client.query("rows 2");
    assert_eq!(kinds(&found), "TDDCZ");
    assert!(has(&found, "SELECT 2"));
    assert_eq!(client.query("begin").last().unwrap().1, b"T");
    let failed = client.query("what");
    assert_eq!(
        (kinds(&failed).as_str(), &failed[1].1[..]),
        ("EZ", &b"E"[..])
    );
    drop(client);
    until(|| echo.closed.load(Ordering::SeqCst) == 1);
}

#[test]
fn after_an_error_messages_are_skipped_up_to_the_next_sync() {
    let (server, _) = serve(options());
    let (mut client, _) = Connected::to(&server, "me");
    client.send(b'E', b"nowhere\0\0\0\0\0");
    client.send(b'P', b"\0rows 1\0\0\0");
    client.send(b'S', b"");
    assert_eq!(kinds(&client.read()), "EZ");
    client.send(b'P', b"\0rows 3\0\0\0");
    client.send(b'B', b"\0\0\0\0\0\0\0\0");
    client.send(b'D', b"P\0");
    client.send(b'E', b"\0\0\0\0\x02");
    client.send(b'E', b"\0\0\0\0\0");
    client.send(b'S', b"");
    assert_eq!(kinds(&client.read()), "12TDDsDCZ");
}

#[test]
fn a_statement_is_cancelled_by_whoever_has_its_secret() {
    let (server, _) = serve(options());
    let (mut client, _) = Connected::to(&server, "me");
    let (address, key) = (server.address(), client.key.clone());
    let cancel = move |secret: &[u8]| {
        let mut other = TcpStream::connect(address).unwrap();
        let body = [&80_877_102_i32.to_be_bytes()[..], &key[..4], secret].concat();
        let length = (body.len() as i32 + 4).to_be_bytes();
        other.write_all(&[&length[..], &body].concat()).unwrap();
        assert_eq!(other.read(&mut [0]).unwrap(), 0);
    };
    client.send(b'Q', b"wait\0");
    cancel(&[0; 4]);
    let short = Some(Duration::from_millis(300));
    client.socket.set_read_timeout(short).unwrap();
    let waits = client.socket.peek(&mut [0]);
    assert!(waits.is_err(), "another secret cancelled it");
    client
        .socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let (stop, secret) = (Arc::new(AtomicBool::new(false)), client.key[4..].to_vec());
    let stopped = Arc::clone(&stop);
    // A request before the statement runs cancels nothing.
    let again = std::thread::spawn(move || {
        while !stopped.load(Ordering::SeqCst) {
            cancel(&secret);
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let said = client.read();
    stop.store(true, Ordering::SeqCst);
    again.join().unwrap();
    assert!(has(&said, "C57014"));
    assert_eq!(kinds(&client.query("rows 0")), "TCZ");
}

#[test]
fn a_statement_that_takes_too_long_is_ended() {
    let limit = Some(Duration::from_millis(50));
    let (server, _) = serve(Options {
        statement: limit,
        ..options()
    });
    let (mut client, _) = Connected::to(&server, "me");
    assert!(has(&client.query("wait"), "statement timeout"));
    assert_eq!(kinds(&client.query("rows 0")), "TCZ");
}

#[test]
fn a_call_that_panics_ends_its_statement_alone() {
    let (server, _) = serve(options());
    let (mut client, _) = Connected::to(&server, "me");
    assert!(has(&client.query("panic"), "CXX000"));
    assert_eq!(kinds(&client.query("rows 0")), "TCZ");
}

#[test]
fn there_are_as_many_connections_as_there_are_seats() {
    let (server, _) = serve(Options {
        connections: 1,
        ..options()
    });
    let (first, _) = Connected::to(&server, "me");
    assert_eq!(server.connections(), 1);
    assert!(has(&Connected::to(&server, "me").1, "C53300"));
    drop(first);
    until(|| server.connections() == 0);
    assert_eq!(
        kinds(&Connected::to(&server, "me").0.query("rows 0")),
        "TCZ"
    );
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let (server, _) = serve(options());
    let (mut client, said) = Connected::to(&server, "nobody");
    let rest = client.read();
    assert!(has(&said, "nobody is not let in") || has(&rest, "nobody is not let in"));
    let outside = Options {
        host: "0.0.0.0".to_owned(),
        ..options()
    };
    let backend = Arc::new(EchoBackend(Arc::default()));
    let problem = Server::start(backend, outside).err().unwrap();
    assert!(problem.to_string().contains("give a password"));
}

#[test]
fn a_client_that_goes_away_ends_its_statement_and_so_does_the_end() {
    let (mut server, echo) = serve(options());
    let (mut gone, _) = Connected::to(&server, "me");
    gone.send(b'Q', b"wait\0");
    drop(gone);
    until(|| echo.closed.load(Ordering::SeqCst) == 1);
    let (mut client, _) = Connected::to(&server, "me");
    let (mut idle, _) = Connected::to(&server, "me");
    client.send(b'Q', b"wait\0");
    until(|| server.connections() == 2);
    server.stop();
    assert!(has(&idle.read(), "C57P01"));
    assert_eq!(echo.closed.load(Ordering::SeqCst), 3);
    assert!(TcpStream::connect(server.address()).is_err());
    server.stop();
}
