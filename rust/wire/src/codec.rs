//! Messages from bytes and to bytes, once a client is let in.
//!
//! Invariant: a message longer than the limit is refused before it is read. Cost: linear in the bytes.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use pgwire::error::PgWireError;
use pgwire::messages::{
    DecodeContext, PgWireBackendMessage, PgWireFrontendMessage, ProtocolVersion,
};
use tokio_util::codec::{Decoder, Encoder};

/// What is sent.
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
        if let Some(mut length) = from.get(1..5) {
            let length = length.get_u32() as usize;
            if length > self.longest {
                return Err(PgWireError::MessageTooLarge(self.longest, length));
            }
        }
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
