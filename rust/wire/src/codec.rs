//! Messages from bytes and to bytes, once a client is let in.
//!
//! Invariant: a message longer than the limit is refused before it is read, and one is decoded whose lengths were checked
//! (`frame`). Cost: linear in the bytes.

use std::io;

use bytes::{Bytes, BytesMut};
use pgwire::error::PgWireError;
use pgwire::messages::{
    DecodeContext, PgWireBackendMessage, PgWireFrontendMessage, ProtocolVersion,
};
use tokio_util::codec::{Decoder, Encoder};

use crate::frame;

/// Output to a client.
pub(crate) enum Out {
    Message(PgWireBackendMessage),
    /// Whole messages as they are.
    Bytes(Bytes),
}

/// Reads and writes messages.
pub(crate) struct Codec {
    context: DecodeContext,
    longest: usize,
}

impl Codec {
    pub(crate) fn new(version: ProtocolVersion, longest: usize) -> Codec {
        let mut context = DecodeContext::new(version);
        context.awaiting_frontend_ssl = false;
        context.awaiting_frontend_startup = false;
        Codec { context, longest }
    }
}

impl Decoder for Codec {
    type Item = PgWireFrontendMessage;
    type Error = PgWireError;

    fn decode(&mut self, from: &mut BytesMut) -> Result<Option<Self::Item>, PgWireError> {
        let Some((kind, body)) = frame::first(from, self.longest)? else {
            return Ok(None);
        };
        frame::check(kind, body)?;
        PgWireFrontendMessage::decode(from, &self.context)
    }
}

impl Encoder<Out> for Codec {
    type Error = io::Error;

    fn encode(&mut self, item: Out, to: &mut BytesMut) -> io::Result<()> {
        match item {
            Out::Message(message) => message.encode(to).map_err(Into::into),
            Out::Bytes(bytes) => {
                to.extend_from_slice(&bytes);
                Ok(())
            }
        }
    }
}
