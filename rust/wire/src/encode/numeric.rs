//! Decimals in PostgreSQL's binary format: digits to the base of 10,000.
//!
//! Invariant: no digit is lost, and the number of digits behind the point is that of the text. Cost: linear in the
//! digits.

use bytes::{BufMut, BytesMut};

const NEGATIVE: u16 = 0x4000;

/// Writes a decimal that is given as digits with a point.
pub(super) fn write(text: &str, out: &mut BytesMut) {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (whole, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let mut padded = "0".repeat((4 - whole.len() % 4) % 4);
    padded.push_str(whole);
    let groups_before = padded.len() / 4;
    padded.push_str(behind);
    padded.push_str(&"0".repeat((4 - behind.len() % 4) % 4));
    let groups: Vec<i16> = padded
        .as_bytes()
        .chunks(4)
        .map(|four| {
            four.iter()
                .fold(0, |n, digit| n * 10 + i16::from(digit - b'0'))
        })
        .collect();
    let first = groups.iter().position(|group| *group != 0);
    let last = groups.iter().rposition(|group| *group != 0);
    let (shown, weight): (&[i16], i16) = match (first, last) {
        (Some(first), Some(last)) => (
            &groups[first..=last],
            (groups_before as i16) - 1 - (first as i16),
        ),
        _ => (&[], 0),
    };
    out.put_i16(shown.len() as i16);
    out.put_i16(weight);
    out.put_u16(if negative && !shown.is_empty() {
        NEGATIVE
    } else {
        0
    });
    out.put_i16(behind.len() as i16);
    shown.iter().for_each(|group| out.put_i16(*group));
}

/// Reads one as digits with a point; `None` if it is none, `NaN` and the infinities among that.
pub(crate) fn read(bytes: &[u8]) -> Option<String> {
    let word = |at: usize| {
        bytes
            .get(at..at + 2)
            .map(|b| i16::from_be_bytes([b[0], b[1]]))
    };
    let (count, weight, sign, scale) = (word(0)?, word(2)?, word(4)? as u16, word(6)?);
    if sign != 0 && sign != NEGATIVE
        || count < 0
        || scale < 0
        || bytes.len() != 8 + 2 * count as usize
    {
        return None;
    }
    let digit = |place: i32| -> Option<i16> {
        let at = i32::from(weight) - place;
        match (0..i32::from(count)).contains(&at) {
            true => word(8 + 2 * at as usize),
            false => Some(0),
        }
    };
    let mut text = String::new();
    for place in (0..=i32::from(weight).max(0)).rev() {
        text.push_str(&format!("{:04}", digit(place)?));
    }
    let whole = text.trim_start_matches('0');
    let mut text = if whole.is_empty() {
        "0".to_owned()
    } else {
        whole.to_owned()
    };
    if scale > 0 {
        let mut behind = String::new();
        let mut place = -1;
        while behind.len() < scale as usize {
            behind.push_str(&format!("{:04}", digit(place)?));
            place -= 1;
        }
        behind.truncate(scale as usize);
        text = format!("{text}.{behind}");
    }
    if sign == NEGATIVE {
        text.insert(0, '-');
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_reads_back_as_itself() {
        let all = [
            "0",
            "1",
            "-1",
            "9999",
            "10000",
            "-10000.5",
            "0.00012",
            "123456789.987654321",
            "0.10",
            "-0.001",
            "99999999999999999999999999999999999999",
            "1.0000000000000000000000000000000000000",
            "100000000",
        ];
        for text in all {
            let mut out = BytesMut::new();
            write(text, &mut out);
            assert_eq!(read(&out).as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_no_decimal_is_not_read() {
        assert_eq!(read(&[0, 1]), None);
        assert_eq!(read(&[0, 0, 0, 0, 0xc0, 0, 0, 0]), None);
        assert_eq!(read(&[0, 9, 0, 0, 0, 0, 0, 0]), None);
    }
}
