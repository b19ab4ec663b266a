//! Lines of the text format and of CSV, and their fields.
//!
//! Invariant: a line ends at a line feed, a carriage return, or both, that no backslash and no quotes hold; each byte is looked at
//! once for that, however the client cuts its messages. A line of `\.` ends the rows. Cost: linear in the bytes, and memory for one line.

use bytes::{Bytes, BytesMut};

use super::format::{Format, Kind, is_said};

/// Lines from bytes that are received bit by bit.
#[derive(Debug)]
pub(super) struct Lines {
    kind: Kind,
    quote: u8,
    escape: u8,
    buffer: BytesMut,
    /// Number of bytes that were looked at.
    seen: usize,
    /// Whether that is within quotes, and behind an escape.
    quoted: bool,
    escaped: bool,
    /// The number of the line that is next, from 1.
    number: u64,
    ended: bool,
}

/// The problem of a line.
pub(super) type Wrong = &'static str;

impl Lines {
    pub(super) fn of(format: &Format) -> Lines {
        Lines {
            kind: format.kind,
            quote: format.quote,
            escape: format.escape,
            buffer: BytesMut::new(),
            seen: 0,
            quoted: false,
            escaped: false,
            number: 1,
            ended: false,
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        if !self.ended {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The number of the next line.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The next line and its number; `None` if the rest of it is yet to be received, or `all` were there.
    pub(super) fn next(&mut self, all: bool) -> Result<Option<(u64, Bytes)>, Wrong> {
        if self.ended {
            return Ok(None);
        }
        while let Some(&byte) = self.buffer.get(self.seen) {
            if !self.is_data(byte) {
                let behind = self.buffer.get(self.seen + 1);
                let length = match (byte, behind) {
                    // A line feed may be in the next message.
                    (b'\r', None) if !all => return Ok(None),
                    (b'\r', Some(b'\n')) => 2,
                    _ => 1,
                };
                return Ok(self.taken(self.seen, length));
            }
            self.seen += 1;
        }
        match all {
            true if self.quoted => Err("its quotes are not closed"),
            true if !self.buffer.is_empty() => Ok(self.taken(self.buffer.len(), 0)),
            _ => Ok(None),
        }
    }

    /// Whether a byte belongs to its line; it is the next one that is looked at.
    fn is_data(&mut self, byte: u8) -> bool {
        let ends = matches!(byte, b'\n' | b'\r');
        if self.kind == Kind::Text {
            let held = self.escaped;
            self.escaped = !held && byte == b'\\';
            return held || !ends;
        }
        if self.quoted && byte == self.escape && self.escape != self.quote {
            self.escaped = !self.escaped;
        } else {
            if byte == self.quote && !self.escaped {
                self.quoted = !self.quoted;
            }
            self.escaped = false;
        }
        self.quoted || !ends
    }

    fn taken(&mut self, length: usize, end: usize) -> Option<(u64, Bytes)> {
        let mut line = self.buffer.split_to(length + end);
        line.truncate(length);
        (self.seen, self.escaped) = (0, false);
        let number = self.number;
        let within = line.iter().filter(|byte| **byte == b'\n').count();
        self.number += 1 + within as u64;
        self.ended = line[..] == b"\\."[..];
        if self.ended {
            self.buffer = BytesMut::new();
            return None;
        }
        Some((number, line.freeze()))
    }
}

/// Gives each field of a line to who takes it: its place and its bytes, `None` for NULL.
pub(super) fn fields<E: From<Wrong>>(
    line: &[u8],
    format: &Format,
    scratch: &mut Vec<u8>,
    mut take: impl FnMut(usize, Option<&[u8]>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut at, mut rest) = (0, Some(line));
    while let Some(from) = rest {
        scratch.clear();
        let (quoted, raw, behind) = match format.kind {
            Kind::Text => plain(from, format.delimiter, scratch),
            _ => separated(from, format, scratch)?,
        };
        let is_null = match format.kind {
            Kind::Text => raw == format.null.as_bytes(),
            _ => {
                let looks = scratch[..] == *format.null.as_bytes();
                let forced = is_said(&format.force_null, at);
                looks && (forced || !quoted && !is_said(&format.force_not_null, at))
            }
        };
        take(at, (!is_null).then_some(&scratch[..]))?;
        (at, rest) = (at + 1, behind);
    }
    Ok(())
}

/// Whether it was in quotes, its bytes before they were decoded, and the rest behind it.
type Field<'a> = (bool, &'a [u8], Option<&'a [u8]>);

/// A field with backslashes.
fn plain<'a>(from: &'a [u8], delimiter: u8, into: &mut Vec<u8>) -> Field<'a> {
    let mut at = 0;
    while let Some(&byte) = from.get(at) {
        if byte == delimiter {
            return (false, &from[..at], Some(&from[at + 1..]));
        }
        at += 1;
        match (byte, from.get(at)) {
            (b'\\', Some(&escaped)) => {
                at += 1;
                let digits = |radix: u32, from: &[u8], most: usize| {
                    let is_digit = |byte: &&u8| char::from(**byte).is_digit(radix);
                    from.iter().take(most).take_while(is_digit).count()
                };
                let number = |radix: u32, from: &[u8]| {
                    let digit = |byte: &u8| char::from(*byte).to_digit(radix).unwrap_or(0);
                    // As in PostgreSQL, only the last eight bits of three octal digits count.
                    from.iter().fold(0, |all, byte| all * radix + digit(byte)) as u8
                };
                into.push(match escaped {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 11,
                    b'0'..=b'7' => {
                        let count = digits(8, &from[at - 1..], 3);
                        at += count - 1;
                        number(8, &from[at - count..at])
                    }
                    b'x' => match digits(16, &from[at..], 2) {
                        0 => b'x',
                        count => {
                            at += count;
                            number(16, &from[at - count..at])
                        }
                    },
                    other => other,
                });
            }
            _ => into.push(byte),
        }
    }
    (false, from, None)
}

/// A field of CSV.
fn separated<'a>(from: &'a [u8], format: &Format, into: &mut Vec<u8>) -> Result<Field<'a>, Wrong> {
    let (mut at, mut quoted, mut within) = (0, false, false);
    while let Some(&byte) = from.get(at) {
        at += 1;
        if !within {
            if byte == format.delimiter {
                return Ok((quoted, &from[..at - 1], Some(&from[at..])));
            }
            match byte == format.quote {
                true => (quoted, within) = (true, true),
                false => into.push(byte),
            }
            continue;
        }
        let behind = from.get(at).copied();
        let escapes = |behind: u8| behind == format.quote || behind == format.escape;
        match (byte == format.escape, behind) {
            (true, Some(behind)) if escapes(behind) => {
                into.push(behind);
                at += 1;
            }
            _ if byte == format.quote => within = false,
            _ => into.push(byte),
        }
    }
    match within {
        true => Err("its quotes are not closed"),
        false => Ok((quoted, from, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of all lines, of a text that is given in pieces of a length.
    fn read(text: &[u8], format: &Format, piece: usize) -> Vec<(u64, Vec<Option<String>>)> {
        let (mut lines, mut found, mut scratch) = (Lines::of(format), Vec::new(), Vec::new());
        let mut add = |lines: &mut Lines, all: bool| {
            while let Some((number, line)) = lines.next(all).unwrap() {
                let mut row = Vec::new();
                fields(&line, format, &mut scratch, |_, field| {
                    row.push(field.map(|bytes| String::from_utf8_lossy(bytes).into_owned()));
                    Ok::<_, Wrong>(())
                })
                .unwrap();
                found.push((number, row));
            }
        };
        for part in text.chunks(piece) {
            lines.push(part);
            add(&mut lines, false);
        }
        add(&mut lines, true);
        found
    }

    fn some(fields: &[&str]) -> Vec<Option<String>> {
        let of = |field: &&str| (*field != "NULL").then(|| (*field).to_owned());
        fields.iter().map(of).collect()
    }

    #[test]
    fn lines_of_the_text_format_have_backslashes() {
        let text = b"a\\tb\t\\N\t\\\\N\r\nx\\\ny\t\\x41\\101\\q\t\n\n\\.\nnever";
        let wanted = vec![
            (1, some(&["a\tb", "NULL", "\\N"])),
            (2, some(&["x\ny", "AAq", ""])),
            (4, some(&[""])),
        ];
        for piece in 1..text.len() {
            assert_eq!(read(text, &Format::default(), piece), wanted, "{piece}");
        }
    }

    #[test]
    fn lines_of_csv_have_quotes() {
        let text = b"a,,\"\"\r\n\"x\ny\",\"say \"\"so\"\"\",z\"z,z\"\rlast,\\.,";
        let wanted = vec![
            (1, some(&["a", "NULL", ""])),
            (2, some(&["x\ny", "say \"so\"", "zz,z"])),
            (4, some(&["last", "\\.", "NULL"])),
        ];
        for piece in 1..text.len() {
            assert_eq!(read(text, &Format::csv(), piece), wanted, "{piece}");
        }
        let other = Format {
            delimiter: b';',
            quote: b'\'',
            escape: b'\\',
            null: "nil".to_owned(),
            force_not_null: vec![true, false],
            force_null: vec![false, false, true],
            ..Format::csv()
        };
        let text = b"nil;nil;'nil';'it\\'s; \\\\ \\n'\n";
        let wanted = vec![(1, some(&["nil", "NULL", "NULL", "it's; \\ \\n"]))];
        for piece in 1..text.len() {
            assert_eq!(read(text, &other, piece), wanted, "{piece}");
        }
    }

    #[test]
    fn quotes_that_are_not_closed_are_wrong() {
        let mut lines = Lines::of(&Format::csv());
        lines.push(b"a\n\"b\nc");
        assert!(lines.next(true).unwrap().is_some());
        assert!(lines.next(true).is_err());
    }
}
