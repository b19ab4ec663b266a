//! Names that look like another, for "did you mean".
//!
//! Invariant: the same names are near as in Python's `difflib`, which words the other messages of the package. Cost:
//! O(names x length^2), only for a message.

/// Minimal similarity of two names, 0 to 1.
const ALIKE: f64 = 0.6;

/// `; did you mean 'Customer'?` where one of the names looks like `name`, else nothing.
pub(crate) fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    match nearest(name, known, ALIKE) {
        Some(near) => format!("; did you mean \"{near}\"?"),
        None => String::new(),
    }
}

/// The name most like another, if one is at least `alike`; case does not count.
pub(crate) fn nearest<'n>(
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
    alike: f64,
) -> Option<&'n str> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let mut best = None;
    for other in known {
        let letters: Vec<char> = other.to_lowercase().chars().collect();
        let ratio = ratio(&letters, &name);
        if ratio >= alike && best.is_none_or(|(found, _)| ratio > found) {
            best = Some((ratio, other));
        }
    }
    best.map(|(_, other)| other)
}

/// Twice the letters in common over all letters.
#[expect(clippy::cast_precision_loss, reason = "names are short")]
fn ratio(one: &[char], other: &[char]) -> f64 {
    match one.len() + other.len() {
        0 => 1.0,
        all => 2.0 * in_common(one, other) as f64 / all as f64,
    }
}

/// Letters in the longest common block, and in those left and right of it.
fn in_common(one: &[char], other: &[char]) -> usize {
    let (mut from, mut to, mut longest) = (0, 0, 0);
    for at in 0..one.len() {
        for there in 0..other.len() {
            let pairs = one[at..].iter().zip(&other[there..]);
            let length = pairs.take_while(|(left, right)| left == right).count();
            if length > longest {
                (from, to, longest) = (at, there, length);
            }
        }
    }
    if longest == 0 {
        return 0;
    }
    longest
        + in_common(&one[..from], &other[..to])
        + in_common(&one[from + longest..], &other[to + longest..])
}
