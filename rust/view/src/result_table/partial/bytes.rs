//! Payloads as bytes.
//!
//! The version and a check of all that follows (CRC-32, little-endian), then a [`Payload`] in postcard.
//! Invariant: bytes of another version, of another query, cut off, with something behind or otherwise not as
//! they were written are refused, before anything is done with them. Cost: O(bytes).

use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

/// The version that is written, and the only one that is read.
const VERSION: u8 = 2;

/// Bytes before the body.
const HEAD: usize = 5;

/// Contents of a payload: words, strings and counts, each in the order of the layout.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Payload<'a> {
    /// That of the layout.
    mark: u32,
    /// By companion, how many values it has.
    pub(super) counts: Vec<usize>,
    /// The numbers of the group and of values, and values that are no strings.
    pub(super) words: Vec<u64>,
    /// Values that are strings.
    #[serde(borrow)]
    pub(super) texts: Vec<&'a str>,
}

impl Payload<'_> {
    /// An empty one of the layout of this mark.
    pub(super) fn of(mark: u32) -> Self {
        Self {
            mark,
            ..Self::default()
        }
    }

    /// Makes `bytes` those of this payload, and empties it.
    pub(super) fn write(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        bytes.clear();
        bytes.extend([VERSION, 0, 0, 0, 0]);
        *bytes =
            postcard::to_extend(self, std::mem::take(bytes)).map_err(|problem| Error::Value {
                place: "a group of a partial".to_owned(),
                problem: problem.to_string(),
            })?;
        let check = crc32fast::hash(&bytes[HEAD..]);
        bytes[1..HEAD].copy_from_slice(&check.to_le_bytes());
        self.counts.clear();
        self.words.clear();
        self.texts.clear();
        Ok(())
    }
}

/// A payload that is being read, front to back.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    payload: Payload<'a>,
    /// Numbers of counts, words and strings that were read.
    read: [usize; 3],
    row: usize,
}

impl<'a> Reader<'a> {
    /// That of a row, of the layout of this mark.
    pub(super) fn new(bytes: &'a [u8], mark: u32, row: usize) -> Result<Self> {
        let refuse = |problem: &str| Err(refused(row, problem));
        match bytes.first() {
            Some(&VERSION) => {}
            Some(&other) if other > 0 => {
                return refuse(&format!(
                    "is of version {other}, and this ringview knows version {VERSION}; use the same \
                     ringview wherever partials are made and merged"
                ));
            }
            _ => return refuse("is no payload of a partial"),
        }
        let Some((head, body)) = bytes.split_at_checked(HEAD) else {
            return refuse("is cut off; hand on whole payloads");
        };
        if head[1..] != crc32fast::hash(body).to_le_bytes() {
            return refuse("is damaged: its check does not fit; hand on payloads as they are");
        }
        let Ok((payload, [])) = postcard::take_from_bytes::<Payload<'_>>(body) else {
            return refuse("is no payload of a partial");
        };
        if payload.mark != mark {
            return refuse("is of a view with other columns; merge partials of the same query");
        }
        Ok(Self {
            payload,
            read: [0; 3],
            row,
        })
    }

    /// So many words.
    pub(super) fn words(&mut self, words: usize) -> Result<&[u64]> {
        let first = self.read[1];
        self.read[1] += words;
        let taken = self.payload.words.get(first..self.read[1]);
        taken.ok_or_else(|| refused(self.row, "ends too early"))
    }

    pub(super) fn count(&mut self) -> Result<usize> {
        let count = self.payload.counts.get(self.read[0]).copied();
        self.read[0] += 1;
        count.ok_or_else(|| self.refused("ends too early"))
    }

    pub(super) fn text(&mut self) -> Result<&'a str> {
        let text = self.payload.texts.get(self.read[2]).copied();
        self.read[2] += 1;
        text.ok_or_else(|| self.refused("ends too early"))
    }

    /// Checks that everything was read.
    pub(super) fn end(self) -> Result<()> {
        let Payload {
            counts,
            words,
            texts,
            ..
        } = &self.payload;
        if self.read == [counts.len(), words.len(), texts.len()] {
            return Ok(());
        }
        Err(self.refused("has more in it than a group of this view"))
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
        let mut bytes = vec![9];
        let mut payload = Payload::of(7);
        payload.words.extend([1, u64::MAX]);
        payload.texts.push("é");
        payload.counts.push(3);
        payload.write(&mut bytes).unwrap();
        bytes
    }

    fn read(bytes: &[u8], mark: u32) -> Result<(Vec<u64>, String)> {
        let mut from = Reader::new(bytes, mark, 0)?;
        assert_eq!(from.count()?, 3);
        let words = from.words(2)?.to_vec();
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
        let reader = || Reader::new(&bytes, 7, 0).unwrap();
        assert!(reader().words(3).is_err());
        assert!(reader().end().is_err());
    }
}
