//! Lengths of time.
//!
//! Invariant: what `Display` writes, `FromStr` reads. Moments are those of UTC, so a day is 24 hours; months keep their
//! own count. Cost: linear in the text.

use std::fmt;
use std::str::FromStr;

use ringview_core::Error;
use serde::{Deserialize, Serialize};

use super::calendar::{DAY, months_later};

/// Units of microseconds, the longest first, with their other names.
const UNITS: [(&str, i64, &[&str]); 6] = [
    ("day", DAY, &["d"]),
    ("hour", 3_600_000_000, &["h", "hr"]),
    ("minute", 60_000_000, &["m", "min"]),
    ("second", 1_000_000, &["s", "sec"]),
    ("millisecond", 1_000, &["ms"]),
    ("microsecond", 1, &["us"]),
];

/// Months, then microseconds; days among those.
///
/// ```
/// use ringview_query::Interval;
/// let week: Interval = "7 days".parse()?;
/// assert_eq!(week, Interval { months: 0, micros: 7 * 86_400_000_000 });
/// assert_eq!("1 week 90 min".parse::<Interval>()?.to_string(), "7 days 1 hour 30 minutes");
/// # Ok::<(), ringview_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Months of the calendar.
    pub months: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// A moment so much later; beyond all moments the last of them.
    #[must_use]
    pub fn after(self, moment: i64) -> i64 {
        let moment = match self.months {
            0 => moment,
            months => months_later(moment, months),
        };
        moment.saturating_add(self.micros)
    }

    /// A moment so much earlier.
    #[must_use]
    pub fn before(self, moment: i64) -> i64 {
        self.negated().after(moment)
    }

    /// The same in the other direction.
    #[must_use]
    pub fn negated(self) -> Self {
        Self {
            months: self.months.saturating_neg(),
            micros: self.micros.saturating_neg(),
        }
    }

    /// Whether moments get later by it.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.months >= 0 && self.micros >= 0 && self != Self::default()
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.micros;
        let mut parts = Vec::new();
        let mut part = |count: i64, unit: &str| {
            if count != 0 {
                let many = if count.abs() == 1 { "" } else { "s" };
                parts.push(format!("{count} {unit}{many}"));
            }
        };
        part(i64::from(self.months), "month");
        for (unit, micros, _) in UNITS {
            part(left / micros, unit);
            left %= micros;
        }
        match parts.is_empty() {
            true => out.write_str("0 days"),
            false => out.write_str(&parts.join(" ")),
        }
    }
}

impl FromStr for Interval {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Value {
            place: format!("the interval {text:?}"),
            problem:
                "is not one; write numbers with units, such as '7 days', '12 hours' or '3 months'"
                    .to_owned(),
        };
        let mut found = Self::default();
        let mut words = text.split_whitespace().peekable();
        if words.peek().is_none() {
            return Err(wrong());
        }
        while let Some(word) = words.next() {
            let end = word
                .find(|letter: char| letter.is_alphabetic())
                .unwrap_or(word.len());
            let (count, unit) = match &word[end..] {
                "" => (word, words.next().ok_or_else(wrong)?),
                unit => (&word[..end], unit),
            };
            let count: i64 = count.parse().map_err(|_| wrong())?;
            found.add(count, &unit.to_lowercase()).ok_or_else(wrong)?;
        }
        Ok(found)
    }
}

impl Interval {
    /// Adds so many of a unit.
    fn add(&mut self, count: i64, unit: &str) -> Option<()> {
        let one = match unit.len() {
            0..=2 => unit,
            _ => unit.strip_suffix('s').unwrap_or(unit),
        };
        let months = match one {
            "month" | "mon" => Some(1),
            "quarter" => Some(3),
            "year" | "yr" | "y" => Some(12),
            _ => None,
        };
        if let Some(months) = months {
            let more = i32::try_from(count.checked_mul(months)?).ok()?;
            self.months = self.months.checked_add(more)?;
            return Some(());
        }
        let micros = match one {
            "week" | "w" => 7 * DAY,
            _ => {
                let named = |(name, _, others): &&(&str, i64, &[&str])| {
                    *name == one || others.contains(&one)
                };
                UNITS.iter().find(named)?.1
            }
        };
        let more = count.checked_mul(micros)?;
        self.micros = self.micros.checked_add(more)?;
        Some(())
    }
}
