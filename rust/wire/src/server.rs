//! A server: its address, its threads, its limits, its end.
//!
//! Invariant: there are never more connections than the limit, from the moment at which they are accepted, and `SPARE`
//! more, which are refused with an error or request to cancel; all leave descriptors for files (`descriptors`). A
//! client that is not let in within `Options::login` is disconnected. Nobody is let in from another machine without a
//! password, nor, unless `Options::plain` says so, without TLS. When the server is stopped, its statements and threads end, but for a call of the database that does not
//! end in time. Cost: two threads, and one for each statement that runs.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::SinkExt;
use pgwire::api::{ClientInfo, PgWireConnectionState};
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::tokio::TlsAcceptor;
use pgwire::tokio::server::{MaybeTls, negotiate_tls};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::codec::{Framed, FramedParts};

use crate::backend::{Backend, Failure};
use crate::certificate::Certificate;
use crate::codec::{Codec, Out};
use crate::connection::{Connection, State};
use crate::descriptors::connections;
use crate::entering::{Entering, Socket};
use crate::line::Line;
use crate::login::{Login, client_of};
use crate::reply;
use crate::running::Running;

/// Connections beyond the limit: those that are refused as too many, and requests to cancel.
const SPARE: usize = 16;
/// Time for statements to end when the server is stopped.
const END: Duration = Duration::from_secs(5);

/// Options of a server.
#[derive(Clone)]
pub struct Options {
    /// The name or number of the address.
    pub host: String,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// Password of clients; anyone is let in without.
    pub password: Option<String>,
    /// Settings of the server that are reported to clients.
    pub settings: Vec<(String, String)>,
    /// The most connections at a time.
    pub connections: usize,
    /// The most bytes of a message.
    pub message: usize,
    /// The longest that a statement may take.
    pub statement: Option<Duration>,
    /// The longest that a client may take to be let in.
    pub login: Duration,
    /// The longest that a connection may do nothing.
    pub idle: Option<Duration>,
    /// The files of a certificate and its key, in PEM, for TLS; they are read again once they change.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// Whether clients of other machines may do without TLS.
    pub plain: bool,
}

impl fmt::Debug for Options {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("certificate", &self.certificate)
            .field("plain", &self.plain)
            .finish_non_exhaustive()
    }
}

/// A server that runs until it is stopped or dropped.
pub struct Server {
    address: SocketAddr,
    end: watch::Sender<bool>,
    running: Arc<Running>,
    seats: Arc<Semaphore>,
    most: usize,
    runtime: Option<Runtime>,
    /// The process that has its threads; a fork of it has none of them.
    process: u32,
}

/// State that all connections share.
struct Shared {
    backend: Arc<dyn Backend>,
    login: Login,
    running: Arc<Running>,
    seats: Arc<Semaphore>,
    most: usize,
    message: usize,
    login_limit: Duration,
    statement: Option<Duration>,
    idle: Option<Duration>,
    certificate: Option<Certificate>,
    plain: bool,
    end: watch::Receiver<bool>,
}

impl Server {
    /// Listens, and serves.
    ///
    /// # Errors
    /// An address that is not there or is taken; one that others reach, without a password or without TLS; files of a
    /// certificate that are none.
    pub fn start(backend: Arc<dyn Backend>, options: Options) -> io::Result<Server> {
        let listener = listen(&options)?;
        let most = connections(options.connections);
        let address = listener.local_addr()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(most + 8)
            .thread_name("ringview-postgres")
            .enable_io()
            .enable_time()
            .build()?;
        let (end, ended) = watch::channel(false);
        let running = Arc::<Running>::default();
        let seats = Arc::new(Semaphore::new(most));
        let shared = Arc::new(Shared {
            backend,
            login: Login::new(options.settings, options.password.as_deref())?,
            running: Arc::clone(&running),
            seats: Arc::clone(&seats),
            most,
            message: options.message,
            login_limit: options.login,
            statement: options.statement,
            idle: options.idle,
            certificate: options
                .certificate
                .map(|(chain, key)| Certificate::new(chain, key))
                .transpose()?,
            plain: options.plain,
            end: ended,
        });
        let listener = {
            let _inside = runtime.enter();
            TcpListener::from_std(listener)?
        };
        runtime.spawn(accept(listener, shared));
        Ok(Server {
            address,
            end,
            running,
            seats,
            most,
            runtime: Some(runtime),
            process: std::process::id(),
        })
    }

    /// The address that it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Number of connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.most - self.seats.available_permits()
    }

    /// Ends all statements and connections, and waits for that; twice does nothing.
    pub fn stop(&mut self) {
        let Some(runtime) = self.runtime.take() else {
            return;
        };
        if self.process != std::process::id() {
            // Waiting for threads that are not there would never end.
            std::mem::forget(runtime);
            return;
        }
        // The connections may have ended already.
        let _ = self.end.send(true);
        self.running.cancel_all();
        let (seats, all) = (Arc::clone(&self.seats), self.most as u32);
        runtime.block_on(async {
            let _ = tokio::time::timeout(END, seats.acquire_many(all)).await;
        });
        runtime.shutdown_timeout(END);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn listen(options: &Options) -> io::Result<StdListener> {
    let Options { host, port, .. } = options;
    let addresses: Vec<SocketAddr> = (host.as_str(), *port).to_socket_addrs()?.collect();
    if let Some(outside) = addresses.iter().find(|address| !is_here(address.ip())) {
        let missing = if options.password.is_none() {
            "whoever does would read the database; give a password"
        } else if options.certificate.is_none() && !options.plain {
            "whoever listens on the way would read what is sent; give a certificate, say that plain connections are taken"
        } else {
            ""
        };
        if !missing.is_empty() {
            let ip = outside.ip();
            let what = format!("other machines reach {ip}, and {missing}, or listen on 127.0.0.1");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
    }
    let listener = StdListener::bind(&addresses[..])?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut end = shared.end.clone();
    let doors = Arc::new(Semaphore::new(shared.most.saturating_add(SPARE)));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = end.changed() => return,
        };
        match accepted {
            Ok((socket, _)) => {
                // Beyond that, a connection is closed without an error.
                let Ok(door) = Arc::clone(&doors).try_acquire_owned() else {
                    continue;
                };
                let served = connect(socket, Arc::clone(&shared));
                drop(tokio::spawn(async move {
                    served.await;
                    drop(door);
                }));
            }
            // As when there are no more numbers for sockets: some are given back soon.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connect(socket: TcpStream, shared: Arc<Shared>) {
    let mut end = shared.end.clone();
    let entered = tokio::select! {
        entered = tokio::time::timeout(shared.login_limit, enter(socket, &shared)) => entered,
        _ = end.changed() => return,
    };
    let Ok(Ok(Some((socket, seat)))) = entered else {
        return;
    };
    let (client, key, version) = (
        client_of(&socket),
        socket.pid_and_secret_key(),
        socket.protocol_version(),
    );
    let old = socket.into_parts();
    let mut parts = FramedParts::new::<Out>(old.io, Codec::new(version, shared.message));
    (parts.read_buf, parts.write_buf) = (old.read_buf, old.write_buf);
    let mut socket = Framed::from_parts(parts);
    let backend = Arc::clone(&shared.backend);
    let opened = tokio::task::spawn_blocking(move || backend.open(&client)).await;
    let session = match opened {
        Ok(Ok(session)) => session,
        other => {
            let failure = match other {
                Ok(Err(failure)) => failure,
                _ => Failure::new("XX000", "the session could not be opened"),
            };
            // The client may have disconnected.
            let _ = socket
                .send(Out::Message(reply::error(failure, "FATAL")))
                .await;
            return;
        }
    };
    let registered = shared.running.register(key, &session);
    let connection = Connection {
        line: Line {
            socket,
            session,
            idle: shared.idle,
            end,
            waiting: VecDeque::new(),
        },
        limit: shared.statement,
        state: State::default(),
    };
    connection.serve().await;
    drop((registered, seat));
}

/// Lets a client in, if there is a seat; `None` where there is none, or it had another request.
async fn enter(
    socket: TcpStream,
    shared: &Shared,
) -> io::Result<Option<(Socket, OwnedSemaphorePermit)>> {
    let seat = Arc::clone(&shared.seats).try_acquire_owned().ok();
    let is_far = !is_here(socket.peer_addr()?.ip());
    let Some(socket) = negotiate_tls::<()>(socket, acceptor(shared)).await? else {
        return Ok(None);
    };
    let is_bare = is_far && !shared.plain && matches!(socket.get_ref(), MaybeTls::Plain(_));
    let mut client = Entering::new(socket);
    let handshake = shared.login.handshake();
    loop {
        let failure = match client.next().await {
            None => return Ok(None),
            Some(Err(error)) => reply::protocol(&error),
            Some(Ok(Request::CancelRequest(request))) => {
                shared.running.cancel(&request);
                return Ok(None);
            }
            Some(Ok(Request::Terminate(_))) => return Ok(None),
            Some(Ok(_)) if is_bare => {
                let what = "clients of other machines are let in by TLS alone: sslmode=require";
                Failure::new("28000", what)
            }
            Some(Ok(message)) => match seat.is_some() {
                true => match handshake.take(&mut client.socket, message).await {
                    Ok(()) if is_in(&client.socket) => {
                        return Ok(seat.map(|seat| (client.socket, seat)));
                    }
                    Ok(()) => continue,
                    Err(error) => reply::protocol(&error),
                },
                false => {
                    let most = shared.most;
                    let what = format!("too many connections: the server takes {most}");
                    Failure::new("53300", what)
                }
            },
        };
        let message: Message = reply::error(failure, "FATAL");
        return client.socket.send(message).await.map(|()| None);
    }
}

/// The acceptor of the certificate as it is now; the backend hears of changed files that are none.
fn acceptor(shared: &Shared) -> Option<TlsAcceptor> {
    let (acceptor, problem) = shared.certificate.as_ref()?.current();
    if let Some(problem) = problem {
        let backend = Arc::clone(&shared.backend);
        let what = format!("the changed certificate is not taken: {problem}");
        drop(tokio::task::spawn_blocking(move || backend.warn(&what)));
    }
    Some(acceptor)
}

/// Whether an address is of this machine alone.
fn is_here(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

fn is_in(socket: &Socket) -> bool {
    matches!(socket.state(), PgWireConnectionState::ReadyForQuery)
}
