//! The bodies of messages, checked before they are decoded.
//!
//! Invariant: in a message that passes, all lengths, counts and texts end within it, and nothing is left behind them. The
//! decoder trusts them, and would read beside the message or panic. Cost: linear in the message.

use bytes::Buf;
use pgwire::error::{ErrorInfo, PgWireError};

/// Bytes of a kind and a length.
const HEAD: usize = 5;

/// The mistake of a message that is not what its kind says.
fn malformed(what: String) -> PgWireError {
    let (severity, code) = ("FATAL".to_owned(), "08P01".to_owned());
    PgWireError::UserError(Box::new(ErrorInfo::new(severity, code, what)))
}

/// The kind and the body of the first message of some bytes, once it is whole; at most so long.
///
/// # Errors
/// A length that no message has.
pub(crate) fn first(from: &[u8], longest: usize) -> Result<Option<(u8, &[u8])>, PgWireError> {
    let Some((head, rest)) = from.split_at_checked(HEAD) else {
        return Ok(None);
    };
    let length = (&head[1..]).get_u32() as usize;
    if length > longest {
        return Err(PgWireError::MessageTooLarge(longest, length));
    }
    match length.checked_sub(4) {
        Some(body) => Ok(rest.get(..body).map(|body| (head[0], body))),
        None => Err(malformed(format!("a message of {length} bytes"))),
    }
}

/// Refuses a message of a client that is let in whose body is not that of its kind.
///
/// # Errors
/// Its kind, in words.
pub(crate) fn check(kind: u8, body: &[u8]) -> Result<(), PgWireError> {
    let mut body = Body(body);
    let found = match kind {
        b'Q' | b'f' => body.text(),
        b'P' => body
            .text()
            .and_then(|()| body.text())
            .and_then(|()| body.list(4)),
        b'B' => body.bind(),
        b'C' | b'D' => body.target().and_then(|()| body.text()),
        b'E' => body.text().and_then(|()| body.skip(4)),
        b'S' | b'H' | b'X' | b'c' => Some(()),
        b'd' => body.skip(body.0.len()),
        _ => {
            return Err(malformed(format!(
                "a message of a kind that has no place here: {:?}",
                char::from(kind)
            )));
        }
    };
    body.end(found, kind)
}

/// Refuses a message of a client that is not let in yet: the first gives a method and its data, those behind it data.
///
/// # Errors
/// Its kind, in words.
pub(crate) fn check_login(kind: u8, body: &[u8], is_first: bool) -> Result<(), PgWireError> {
    let mut body = Body(body);
    let found = match kind {
        b'X' => Some(()),
        b'p' if is_first => body.text().and_then(|()| body.value()),
        b'p' => body.skip(body.0.len()),
        _ => {
            let what = "a client that is not let in yet sends its password, and nothing else";
            return Err(malformed(what.to_owned()));
        }
    };
    body.end(found, kind)
}

/// The rest of a body; `None` from each part that does not end within it.
struct Body<'b>(&'b [u8]);

impl Body<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.0 = self.0.get(bytes..)?;
        Some(())
    }

    fn text(&mut self) -> Option<()> {
        let end = self.0.iter().position(|&byte| byte == 0)?;
        self.skip(end + 1)
    }

    fn count(&mut self) -> Option<usize> {
        let count = self.0.try_get_u16().ok()?;
        Some(usize::from(count))
    }

    /// A number of elements of so many bytes each.
    fn list(&mut self, bytes: usize) -> Option<()> {
        let count = self.count()?;
        self.skip(count * bytes)
    }

    /// A length and as many bytes, or -1.
    fn value(&mut self) -> Option<()> {
        match self.0.try_get_i32().ok()? {
            -1 => Some(()),
            length => self.skip(usize::try_from(length).ok()?),
        }
    }

    fn bind(&mut self) -> Option<()> {
        self.text()?;
        self.text()?;
        self.list(2)?;
        for _ in 0..self.count()? {
            self.value()?;
        }
        self.list(2)
    }

    /// A statement or a portal.
    fn target(&mut self) -> Option<()> {
        matches!(self.0.first(), Some(b'S' | b'P')).then_some(())?;
        self.skip(1)
    }

    fn end(&self, found: Option<()>, kind: u8) -> Result<(), PgWireError> {
        match found {
            Some(()) if self.0.is_empty() => Ok(()),
            _ => Err(malformed(format!(
                "the body of a message of kind {:?} is not as long as it says",
                char::from(kind)
            ))),
        }
    }
}
