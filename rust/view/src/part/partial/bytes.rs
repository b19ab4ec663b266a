//! Payloads as bytes.
//!
//! The version, then a mark of the form and a check of all that follows, four bytes each; then numbers and
//! values, all of them little-endian. Invariant: bytes of another version, of another query, cut off, with
//! something behind or otherwise not as they were written are refused, before anything is done with them. Cost:
//! O(bytes).

use ringview_core::{Error, Result};

/// The version that is written, and the only one that there was.
const VERSION: u8 = 1;

/// Bytes before the body.
const HEAD: usize = 9;

/// FNV-1a: the same on all machines and in all versions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(super) fn short(self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }
}

fn checked(body: &[u8]) -> u32 {
    let mut hash = Hash::default();
    hash.bytes(body);
    hash.short()
}

/// A payload that is being written.
#[derive(Debug)]
pub(super) struct Out<'b>(&'b mut Vec<u8>);

impl<'b> Out<'b> {
    /// One in the place of what was there.
    pub(super) fn new(bytes: &'b mut Vec<u8>, mark: u32) -> Self {
        bytes.clear();
        bytes.push(VERSION);
        bytes.extend(mark.to_le_bytes());
        bytes.extend([0; 4]);
        Self(bytes)
    }

    pub(super) fn words(&mut self, words: &[u64]) {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        self.0.extend(bytes);
    }

    pub(super) fn count(&mut self, count: usize) -> Result<()> {
        let count = u32::try_from(count).map_err(|_| Error::Overflow {
            place: "the values of one group of a partial".to_owned(),
        })?;
        self.0.extend(count.to_le_bytes());
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) -> Result<()> {
        self.count(text.len())?;
        self.0.extend(text.as_bytes());
        Ok(())
    }

    /// Nothing more comes.
    pub(super) fn end(self) {
        let check = checked(&self.0[HEAD..]);
        self.0[HEAD - 4..HEAD].copy_from_slice(&check.to_le_bytes());
    }
}

/// A payload that is being read.
#[derive(Debug)]
pub(super) struct In<'a> {
    body: &'a [u8],
    row: usize,
}

impl<'a> In<'a> {
    /// That of a row, of the form of this mark.
    pub(super) fn new(bytes: &'a [u8], mark: u32, row: usize) -> Result<Self> {
        let refuse = |problem: &str| Err(refused(row, problem));
        match bytes.first() {
            Some(&VERSION) => {}
            Some(&later) if later > VERSION => {
                return refuse(&format!(
                    "is of version {later}, and this ringview knows version {VERSION}; use the same \
                     ringview wherever partials are made and merged"
                ));
            }
            _ => return refuse("is no payload of a partial"),
        }
        let Some((head, body)) = bytes.split_at_checked(HEAD) else {
            return refuse("is cut off; hand on whole payloads");
        };
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        if number(HEAD - 4) != checked(body) {
            return refuse("is damaged: its check does not fit; hand on payloads as they are");
        }
        if number(1) != mark {
            return refuse("is of a view with other columns; merge partials of the same query");
        }
        Ok(Self { body, row })
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let Some((taken, rest)) = self.body.split_at_checked(bytes) else {
            return Err(refused(self.row, "ends too early"));
        };
        self.body = rest;
        Ok(taken)
    }

    /// Appends so many words.
    pub(super) fn words(&mut self, words: usize, out: &mut Vec<u64>) -> Result<()> {
        let bytes = self.take(8 * words)?;
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, &byte| word << 8 | u64::from(byte))
        };
        out.extend(bytes.chunks_exact(8).map(word));
        Ok(())
    }

    pub(super) fn count(&mut self) -> Result<usize> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        let bytes = self.count()?;
        let text = std::str::from_utf8(self.take(bytes)?);
        text.map_err(|_| self.refused("has a string that is not UTF-8"))
    }

    /// Nothing more comes.
    pub(super) fn end(self) -> Result<()> {
        match self.body {
            [] => Ok(()),
            _ => Err(self.refused("has more in it than a group of this view")),
        }
    }

    pub(super) fn refused(&self, problem: &str) -> Error {
        refused(self.row, problem)
    }
}

/// That a payload is not what it should be.
pub(super) fn refused(row: usize, problem: &str) -> Error {
    Error::Value {
        place: format!("the payload in row {row} of a partial"),
        problem: format!("{problem}; nothing was merged"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut out = Out::new(&mut bytes, 7);
        out.words(&[1, u64::MAX]);
        out.text("é").unwrap();
        out.end();
        bytes
    }

    fn read(bytes: &[u8], mark: u32) -> Result<(Vec<u64>, String)> {
        let mut from = In::new(bytes, mark, 0)?;
        let mut words = Vec::new();
        from.words(2, &mut words)?;
        let text = from.text()?.to_owned();
        from.end()?;
        Ok((words, text))
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(read(&written(), 7), Ok((vec![1, u64::MAX], "é".to_owned())));
    }

    #[test]
    fn every_prefix_every_damage_and_every_other_form_is_refused() {
        let bytes = written();
        for end in 0..bytes.len() {
            assert!(read(&bytes[..end], 7).is_err(), "{end} bytes");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bytes = bytes.clone();
                bytes[at] ^= 1 << bit;
                assert!(read(&bytes, 7).is_err(), "bit {bit} of byte {at}");
            }
        }
        assert!(read(&bytes, 8).is_err());
        assert!(read(&[&bytes[..], &[0]].concat(), 7).is_err());
    }
}
