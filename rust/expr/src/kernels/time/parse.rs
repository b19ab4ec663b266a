//! A text by the signs of a format, as `strptime` reads it.
//!
//! Invariant: the whole text is read, blanks around it left out; parts that the format lacks are those of 1900-01-01
//! 00:00:00, and `epoch` is a moment by any format. A weekday beside a date is read and not compared. Cost: linear in the text.

use chrono::{Datelike, NaiveDate, TimeDelta, Weekday};

use super::signs::Sign;
use super::zones::{to_instant, zone};

const SECOND: i64 = 1_000_000;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Ticks of the moment that a text is; of the instant, if it names a zone. `None` for a text of another form.
pub(super) fn moment(text: &str, signs: &[Sign]) -> Option<i64> {
    if text.trim().eq_ignore_ascii_case("epoch") {
        return Some(0);
    }
    let mut parts = Parts::default();
    let mut rest = text.trim_start_matches(|of: char| of.is_ascii_whitespace());
    for sign in signs {
        match sign {
            Sign::Text(text) => rest = behind(rest, text)?,
            Sign::Part(letter, _) => parts.read(*letter, &mut rest)?,
        }
    }
    let is_read = rest.bytes().all(|of| of.is_ascii_whitespace());
    is_read.then(|| parts.ticks()).flatten()
}

/// The rest behind a text that a format has: a blank of it is any number of them.
fn behind<'t>(mut rest: &'t str, text: &str) -> Option<&'t str> {
    for one in text.chars() {
        rest = match one.is_ascii_whitespace() {
            true => rest.trim_start_matches(|of: char| of.is_ascii_whitespace()),
            false => rest.strip_prefix(one)?,
        };
    }
    Some(rest)
}

/// A number of a week of a year.
#[derive(Clone, Copy)]
enum Week {
    FromSunday(i64),
    FromMonday(i64),
    Iso(i64),
}

/// Parts of a moment that a text has.
#[derive(Default)]
struct Parts<'t> {
    year: Option<i64>,
    iso_year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    week: Option<Week>,
    weeks: usize,
    /// From Monday.
    weekday: Option<i64>,
    hour: Option<i64>,
    is_of_twelve: bool,
    is_afternoon: Option<bool>,
    minute: i64,
    second: i64,
    micros: i64,
    ahead: i64,
    zone: Option<&'t str>,
}

impl<'t> Parts<'t> {
    fn read(&mut self, letter: char, rest: &mut &'t str) -> Option<()> {
        match letter {
            'Y' => self.year = Some(number(rest, 4)?),
            'y' => {
                let of = number(rest, 2)?;
                self.year = Some(if of < 69 { 2000 + of } else { 1900 + of });
            }
            'G' => self.iso_year = Some(number(rest, 4)?),
            'm' => self.month = Some(number(rest, 2)?),
            'b' | 'h' => self.month = Some(name(rest, &MONTHS, true)? + 1),
            'B' => self.month = Some(name(rest, &MONTHS, false)? + 1),
            'd' => self.day = Some(number(rest, 2)?),
            'j' => self.day_of_year = Some(number(rest, 3)?),
            'U' => self.week(Week::FromSunday(number(rest, 2)?)),
            'W' => self.week(Week::FromMonday(number(rest, 2)?)),
            'V' => self.week(Week::Iso(number(rest, 2)?)),
            'a' => self.weekday = Some(name(rest, &DAYS, true)?),
            'A' => self.weekday = Some(name(rest, &DAYS, false)?),
            'w' => self.weekday = Some((number(rest, 1).filter(|of| *of < 7)? + 6) % 7),
            'u' => self.weekday = Some(number(rest, 1).filter(|of| (1..8).contains(of))? - 1),
            'H' => self.hour = Some(number(rest, 2).filter(|of| *of < 24)?),
            'I' => {
                self.hour = Some(number(rest, 2).filter(|of| (1..13).contains(of))?);
                self.is_of_twelve = true;
            }
            'p' => {
                let half = rest.get(..2)?;
                let is_afternoon = half.eq_ignore_ascii_case("pm");
                if !is_afternoon && !half.eq_ignore_ascii_case("am") {
                    return None;
                }
                (self.is_afternoon, *rest) = (Some(is_afternoon), &rest[2..]);
            }
            'M' => self.minute = number(rest, 2).filter(|of| *of < 60)?,
            'S' => self.second = number(rest, 2).filter(|of| *of < 60)?,
            'f' => self.micros = fraction(rest, 6)?,
            'g' => self.micros = fraction(rest, 3)? * 1_000,
            'n' => self.micros = fraction(rest, 9)? / 1_000,
            'z' => self.ahead = offset(rest)?,
            'Z' => {
                let is_part = |of: char| of.is_ascii_alphanumeric() || "/_+-".contains(of);
                let end = rest.find(|of: char| !is_part(of)).unwrap_or(rest.len());
                let (name, behind) = rest.split_at(end);
                (self.zone, *rest) = (Some(name), behind);
            }
            _ => return None,
        }
        Some(())
    }

    /// Whether the parts of the date say one thing.
    fn is_one_date(&self) -> bool {
        let is_day = self.month.is_some() && self.day.is_some();
        let is_iso_year = self.iso_year.is_some();
        match self.week {
            _ if self.weeks > 1 => false,
            Some(Week::Iso(_)) => is_day || self.year.is_none() && self.day_of_year.is_none(),
            Some(Week::FromSunday(week) | Week::FromMonday(week)) => {
                week < 54 && !is_iso_year && self.day_of_year.is_none()
            }
            None => !(is_iso_year && self.day_of_year.is_some()),
        }
    }

    fn week(&mut self, of: Week) {
        self.week = Some(of);
        self.weeks += 1;
    }

    fn date(&self) -> Option<NaiveDate> {
        if !self.is_one_date() {
            return None;
        }
        let year = self.year.or(self.iso_year).unwrap_or(1900) as i32;
        let weekday = || self.weekday.unwrap_or(0);
        match (self.day_of_year, self.week) {
            (Some(day), _) => NaiveDate::from_yo_opt(year, day as u32),
            (_, Some(Week::Iso(week))) if self.day.is_none() => {
                let of = Weekday::try_from(weekday() as u8).ok()?;
                NaiveDate::from_isoywd_opt(year, week as u32, of)
            }
            (_, Some(week)) if self.day.is_none() => {
                let first = NaiveDate::from_ymd_opt(year, 1, 1)?;
                let (number, since, weekday) = match week {
                    Week::FromSunday(number) => (
                        number,
                        first.weekday().num_days_from_sunday(),
                        (self.weekday.unwrap_or(6) + 1) % 7,
                    ),
                    Week::FromMonday(number) | Week::Iso(number) => {
                        (number, first.weekday().num_days_from_monday(), weekday())
                    }
                };
                let begins = i64::from((7 - since) % 7);
                first.checked_add_signed(TimeDelta::days(begins + (number - 1) * 7 + weekday))
            }
            _ => NaiveDate::from_ymd_opt(
                year,
                self.month.unwrap_or(1) as u32,
                self.day.unwrap_or(1) as u32,
            ),
        }
    }

    fn ticks(&self) -> Option<i64> {
        let hour = match (self.hour.unwrap_or(0), self.is_afternoon) {
            (hour, Some(_)) if hour > 12 => return None,
            (hour, Some(true)) => hour % 12 + 12,
            (hour, None) if !self.is_of_twelve => hour,
            (hour, _) => hour % 12,
        };
        let days = self.date()?.signed_duration_since(NaiveDate::default());
        let time = (hour * 60 + self.minute) * 60 + self.second;
        let seconds = days.num_days() * 86_400 + time - self.ahead;
        let ticks = seconds.checked_mul(SECOND)?.checked_add(self.micros)?;
        match self.zone {
            Some(name) => to_instant(zone(name).ok()?, ticks).ok(),
            None => Some(ticks),
        }
    }
}

/// Takes a number of one digit at least.
fn number(rest: &mut &str, most: usize) -> Option<i64> {
    let digits = rest.bytes().take(most).take_while(u8::is_ascii_digit);
    let (number, behind) = rest.split_at(digits.count());
    *rest = behind;
    number.parse().ok()
}

/// Takes digits behind a point, as so many.
fn fraction(rest: &mut &str, most: usize) -> Option<i64> {
    let before = rest.len();
    let found = number(rest, most)?;
    let missing = most - (before - rest.len());
    Some(found * 10_i64.pow(missing as u32))
}

/// Takes a name, in any case, or its first three letters; its place among all.
fn name(rest: &mut &str, of: &[&str], is_short: bool) -> Option<i64> {
    let length = |name: &str| if is_short { 3 } else { name.len() };
    let place = of.iter().position(|name| {
        let wanted = &name[..length(name)];
        rest.get(..wanted.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(wanted))
    })?;
    *rest = &rest[length(of[place])..];
    Some(place as i64)
}

fn two_digits(rest: &mut &str) -> Option<i64> {
    let before = rest.len();
    number(rest, 2).filter(|_| before - rest.len() == 2)
}

/// Takes an offset from UTC, in seconds.
fn offset(rest: &mut &str) -> Option<i64> {
    let sign = match rest.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    *rest = &rest[1..];
    let mut seconds = two_digits(rest)? * 3600;
    for unit in [60, 1] {
        let behind = rest.strip_prefix(':').unwrap_or(rest);
        if behind.starts_with(|of: char| of.is_ascii_digit()) {
            *rest = behind;
            seconds += two_digits(rest)? * unit;
        }
    }
    Some(sign * seconds)
}
