//! The line to a client: its socket, the messages that wait, and the calls that it waits for.
//!
//! Invariant: while a call runs, the socket is read on, so that a client that disconnects ends it; `AHEAD` messages
//! wait meanwhile. Messages of a client are taken in their order. Cost: of a call, two hops between threads.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::tokio::server::MaybeTls;
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio_util::codec::Framed;

use crate::backend::{Answer, Failure, Session};
use crate::codec::{Codec, Out};
use crate::reply::{self, Problem};

/// Number of messages that wait while a statement runs.
const AHEAD: usize = 16;

pub(crate) type Done = Result<(), Problem>;

/// The line to one client.
pub(crate) struct Line {
    pub(crate) socket: Framed<MaybeTls, Codec>,
    pub(crate) session: Arc<dyn Session>,
    /// The longest between two messages.
    pub(crate) idle: Option<Duration>,
    /// Changes when the server ends.
    pub(crate) end: watch::Receiver<bool>,
    pub(crate) waiting: VecDeque<Request>,
}

impl Line {
    /// The next message; `None` where there is none any more.
    pub(crate) async fn next(&mut self) -> Option<Request> {
        if let Some(message) = self.waiting.pop_front() {
            return Some(message);
        }
        let limit = self.idle;
        let failure = tokio::select! {
            message = self.socket.next() => match message? {
                Ok(Request::Terminate(_)) => return None,
                Ok(message) => return Some(message),
                Err(error) => reply::protocol(&error),
            },
            () = sleep(limit) => Failure::new("57P05", "the connection was idle for too long"),
            _ = self.end.changed() => Failure::new("57P01", "the server was closed"),
        };
        // The client may have disconnected.
        let _ = self.send(reply::error(failure, "FATAL")).await;
        None
    }

    /// Runs a blocking call on a thread of its own. A client that disconnects, the end of the server and the limit all
    /// end it.
    pub(crate) async fn work<T: Late + Send + 'static>(
        &mut self,
        limit: Option<Duration>,
        call: impl FnOnce(&dyn Session) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (session, running) = (Arc::clone(&self.session), Arc::clone(&self.session));
        let mut task = spawn_blocking(move || call(&*session));
        let timer = sleep(limit);
        tokio::pin!(timer);
        let (mut late, mut gone) = (false, false);
        let done = loop {
            tokio::select! {
                done = &mut task => break done,
                message = self.socket.next(), if !gone && self.waiting.len() < AHEAD => {
                    match message {
                        Some(Ok(message)) if !matches!(message, Request::Terminate(_)) => {
                            self.waiting.push_back(message);
                        }
                        _ => gone = true,
                    }
                }
                _ = self.end.changed(), if !gone => gone = true,
                () = &mut timer, if !late => late = true,
            }
            if gone || late {
                running.cancel();
            }
        };
        match done {
            _ if gone => Err(Problem::Gone),
            Ok(done) if late => Ok(done.late()),
            Ok(done) => Ok(done),
            Err(_) => {
                let what = "a call of the database ended in a way that should be impossible; \
                            please report it";
                Err(Failure::new("XX000", what).into())
            }
        }
    }

    pub(crate) async fn feed(&mut self, message: Message) -> Done {
        Ok(self.socket.feed(Out::Message(message)).await?)
    }

    pub(crate) async fn send(&mut self, message: Message) -> Done {
        Ok(self.socket.send(Out::Message(message)).await?)
    }
}

/// Waits so long; for ever if there is no limit.
async fn sleep(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => pending().await,
    }
}

/// Result of a call that was ended because it took too long.
pub(crate) trait Late {
    fn late(self) -> Self;
}

impl Late for () {
    fn late(self) {}
}

impl Late for Answer {
    fn late(mut self) -> Answer {
        self.failure = self.failure.map(timed_out);
        self
    }
}

impl<T> Late for Result<T, Failure> {
    fn late(self) -> Self {
        self.map_err(timed_out)
    }
}

fn timed_out(failure: Failure) -> Failure {
    match failure.code.as_str() {
        "57014" => Failure {
            message: "canceling statement due to statement timeout".to_owned(),
            ..failure
        },
        _ => failure,
    }
}
