//! Days and moments from texts, as PostgreSQL writes them.
//!
//! Invariant: what `encode::text` writes is read back as itself, years before Christ too. Cost: linear in the text.

use chrono::NaiveDate;

const DAY: i128 = 86_400_000_000_000;

/// A day, counted from 1970.
pub(super) fn day(text: &str) -> Option<i32> {
    match text.trim().strip_suffix(" BC") {
        Some(text) => counted(text, true),
        None => counted(text.trim(), false),
    }
}

fn counted(text: &str, before: bool) -> Option<i32> {
    use chrono::Datelike;
    let mut parts = text.splitn(3, '-').map(whole);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if before && year == 0 {
        return None;
    }
    // The year before 1 is the first before Christ.
    let year = i32::try_from(year).ok()?;
    let year = if before { 1 - year } else { year };
    let found = NaiveDate::from_ymd_opt(year, month, day)?;
    found.num_days_from_ce().checked_sub(719_163)
}

fn whole(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// A moment, in nanoseconds since 1970, in UTC where a zone is said.
pub(super) fn moment(text: &str) -> Option<i128> {
    let text = text.trim();
    let (text, before) = match text.strip_suffix(" BC") {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (day, rest) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let day = i128::from(counted(day, before)?) * DAY;
    if rest.trim().is_empty() {
        return Some(day);
    }
    let (clock, ahead) = match rest.find(['+', '-', 'Z', 'z', 'U', 'u']) {
        Some(at) => (&rest[..at], zone(&rest[at..])?),
        None => (rest, 0),
    };
    Some(day + time(clock.trim())? - ahead)
}

/// A time of the day, in nanoseconds.
fn time(text: &str) -> Option<i128> {
    let mut parts = text.splitn(3, ':');
    let (hours, minutes) = (whole(parts.next()?)?, whole(parts.next()?)?);
    let seconds = parts.next().unwrap_or("0");
    let (seconds, behind) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let seconds = whole(seconds)?;
    let in_day = hours < 24 && minutes < 60 && seconds < 60;
    let digits = !behind.is_empty() && behind.bytes().all(|byte| byte.is_ascii_digit());
    if !in_day || !digits {
        return None;
    }
    let nanos = format!("{behind:0<9}");
    let whole_seconds = i128::from(hours * 3600 + minutes * 60 + seconds);
    Some(whole_seconds * 1_000_000_000 + nanos.get(..9)?.parse::<i128>().ok()?)
}

/// Offset of a zone from UTC, in nanoseconds.
fn zone(text: &str) -> Option<i128> {
    if text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
        return Some(0);
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, rest) = rest.split_at_checked(2)?;
    let rest: String = rest.chars().filter(|one| *one != ':').collect();
    let minutes = rest.get(..2).unwrap_or("0");
    let seconds = rest.get(2..4).unwrap_or("0");
    let fits = matches!(rest.len(), 0 | 2 | 4);
    let (hours, minutes, seconds) = (whole(hours)?, whole(minutes)?, whole(seconds)?);
    let fits = fits && hours < 24 && minutes < 60 && seconds < 60;
    let ahead = i128::from(hours * 3600 + minutes * 60 + seconds) * 1_000_000_000;
    fits.then_some(sign * ahead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_from_1970() {
        for (text, wanted) in [
            ("1970-01-01", Some(0)),
            (" 1969-12-31 ", Some(-1)),
            ("2024-02-29", Some(19_782)),
            ("0001-12-31 BC", Some(-719_163)),
            ("12024-02-29", Some(3_672_207)),
            ("2023-02-29", None),
            ("0000-01-01 BC", None),
            ("infinity", None),
            ("2024-1", None),
            ("2024-+1-01", None),
            ("", None),
        ] {
            assert_eq!(day(text), wanted, "{text}");
        }
    }

    #[test]
    fn moments_are_those_of_their_zone() {
        let second = 1_000_000_000;
        for (text, wanted) in [
            ("1970-01-01", Some(0)),
            ("1970-01-01T00:01", Some(60 * second)),
            ("1970-01-01 00:00:01.5", Some(3 * second / 2)),
            ("1970-01-01 00:00:00.0000000019", Some(1)),
            ("1970-01-01 02:00:00+02", Some(0)),
            ("1970-01-01 02:00:00 +02:00", Some(0)),
            ("1969-12-31 22:30:00-0130", Some(0)),
            ("1970-01-01 00:00:00Z", Some(0)),
            ("1970-01-01 00:00:00 UTC", Some(0)),
            ("0001-01-01 00:00:00 BC", Some(-62_167_219_200 * second)),
            ("0001-01-01 00:00:00+00 BC", Some(-62_167_219_200 * second)),
            ("1970-01-01 24:00:00", None),
            ("1970-01-01 00:60:00", None),
            ("1970-01-01 00:00:00.x", None),
            ("1970-01-01 00:00:00 CET", None),
            ("1970-01-01 00:00:00+1", None),
            ("noon", None),
        ] {
            assert_eq!(moment(text), wanted, "{text}");
        }
    }
}
