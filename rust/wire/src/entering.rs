//! The messages of a client that is not let in yet.
//!
//! Invariant: none is decoded whose lengths were not checked: strangers send them. Cost: linear in the bytes, of which there are
//! at most `LONGEST` a message.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;

use pgwire::api::{ClientInfo, PgWireConnectionState};
use pgwire::error::PgWireError;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::tokio::server::{MaybeTls, PgWireMessageServerCodec};
use tokio::io::{AsyncRead, ReadBuf};
use tokio_util::codec::{Decoder, Framed};

use crate::frame;

/// The most bytes of a message, as PostgreSQL has it.
const LONGEST: usize = 10_000;

/// The socket of such a client.
pub(crate) type Socket = Framed<MaybeTls, PgWireMessageServerCodec<()>>;

/// A client that is not let in yet.
pub(crate) struct Entering {
    pub(crate) socket: Socket,
    /// Whether it has named a method of logging in.
    has_begun: bool,
}

impl Entering {
    pub(crate) fn new(socket: Socket) -> Entering {
        let has_begun = false;
        Entering { socket, has_begun }
    }

    /// Its next message; `None` where there is none any more.
    pub(crate) async fn next(&mut self) -> Option<Result<Request, PgWireError>> {
        loop {
            match self.decode() {
                Ok(None) => {}
                other => return other.transpose(),
            }
            match self.read().await {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) => return Some(Err(error.into())),
            }
        }
    }

    fn decode(&mut self) -> Result<Option<Request>, PgWireError> {
        // The first message has no kind, and its own checks.
        let is_startup = matches!(self.socket.state(), PgWireConnectionState::AwaitingStartup);
        let mut from = std::mem::take(self.socket.read_buffer_mut());
        let checked = match frame::first(&from, LONGEST) {
            _ if is_startup => Ok(true),
            Ok(None) => Ok(false),
            Ok(Some((kind, body))) => {
                frame::check_login(kind, body, !self.has_begun).map(|()| true)
            }
            Err(error) => Err(error),
        };
        let found = checked.and_then(|is_whole| match is_whole {
            true => self.socket.codec_mut().decode(&mut from),
            false => Ok(None),
        });
        *self.socket.read_buffer_mut() = from;
        self.has_begun |= matches!(found, Ok(Some(Request::PasswordMessageFamily(_))));
        found
    }

    async fn read(&mut self) -> io::Result<usize> {
        let mut bytes = [0; 1024];
        let mut read = ReadBuf::new(&mut bytes);
        let from = self.socket.get_mut();
        poll_fn(|context| Pin::new(&mut *from).poll_read(context, &mut read)).await?;
        let found = read.filled().len();
        self.socket
            .read_buffer_mut()
            .extend_from_slice(&bytes[..found]);
        Ok(found)
    }
}
