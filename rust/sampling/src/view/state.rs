//! A sample as bytes, and a sample that resumes from them.
//!
//! Invariant: the bytes begin with a version; they hold the results of a sample and the state of its reservoir,
//! generator included, but no other rows. A sample of the same query over the same rows that has read them is that
//! sample: the same rows in the same places, and the same future random numbers. All other bytes are refused, and
//! nothing has changed. Cost: O(k) to write; O(N) to read.

use std::collections::BTreeMap;

use ringview_core::{Dictionary, Error, Result};
use ringview_view::fields::Aspect;
use serde::{Deserialize, Serialize};

use super::SampleView;
use crate::bags::SampleState;

/// The first byte.
const VERSION: u8 = 1;

/// The state; words of strings are indexes of `strings`.
#[derive(Serialize, Deserialize)]
struct State {
    sample: SampleState,
    strings: Vec<String>,
}

impl SampleView {
    /// The state of the sample without the rows of its tables, between transactions.
    ///
    /// # Errors
    /// `Memory` if there is no memory for it.
    pub fn to_bytes(&self, dictionary: &Dictionary) -> Result<Vec<u8>> {
        let mut sample = self.sample.state();
        let mut strings: Vec<String> = Vec::new();
        let mut numbers: BTreeMap<u64, u64> = BTreeMap::new();
        self.each_text(&mut sample, &mut |word| {
            let next = strings.len() as u64;
            *numbers.entry(word).or_insert_with(|| {
                strings.push(dictionary.get(word).unwrap_or_default().to_owned());
                next
            })
        });
        let bytes = postcard::to_extend(&State { sample, strings }, vec![VERSION]);
        bytes.map_err(|problem| Error::Snapshot {
            problem: format!("a sample that cannot be written: {problem}"),
        })
    }

    /// Resumes from the state of a sample of the same query over the same rows. Right after it was made: followers get no
    /// delta.
    ///
    /// # Errors
    /// `Snapshot` for bytes that are no such state; the sample is then as before.
    pub fn from_bytes(&mut self, bytes: &[u8], dictionary: &Dictionary) -> Result<()> {
        let refused = |problem: &str| Error::Snapshot {
            problem: format!("the state of a sample {problem}"),
        };
        let Some((&version, rest)) = bytes.split_first() else {
            return Err(refused("is empty"));
        };
        if version != VERSION {
            return Err(refused(&format!(
                "is of version {version}, and this is version {VERSION}"
            )));
        }
        let State {
            mut sample,
            strings,
        } = match postcard::take_from_bytes(rest) {
            Ok((state, [])) => state,
            _ => return Err(refused("is damaged")),
        };
        let mut unknown = false;
        self.each_text(&mut sample, &mut |place| {
            let text = strings.get(usize::try_from(place).unwrap_or(usize::MAX));
            let id = text.and_then(|text| dictionary.id(text));
            unknown |= id.is_none();
            id.unwrap_or_default().into()
        });
        let done = (!unknown).then(|| self.sample.resume(&sample)).flatten();
        done.ok_or_else(|| refused("is not of these rows, or of another query"))
    }

    /// Replaces each word of a string, unless it is NULL.
    fn each_text(&self, sample: &mut SampleState, other: &mut dyn FnMut(u64) -> u64) {
        for (atom, tuples) in sample.tuples.iter_mut().enumerate() {
            let of = self.sample.relations().words_of_tuple(atom);
            let texts = self.texts_of(&of);
            if texts.is_empty() || of.len() * tuples.count != tuples.words.len() {
                continue;
            }
            for row in tuples.words.chunks_exact_mut(of.len()) {
                for &(text, null) in &texts {
                    if null.is_none_or(|null| row[null] == 0) {
                        row[text] = other(row[text]);
                    }
                }
            }
        }
    }

    /// The words behind a tuple that are strings, each with the one for NULL.
    fn texts_of(&self, of: &[(usize, usize)]) -> Vec<(usize, Option<usize>)> {
        let mut texts = Vec::new();
        for (at, &(relation, word)) in of.iter().enumerate() {
            let Some(reading) = self.shape.readings.get(relation) else {
                continue;
            };
            if reading.texts.contains(&word) {
                let (column, _) = reading.words[word];
                let is_null = |&(other, word): &(usize, usize)| {
                    other == relation && reading.words.get(word) == Some(&(column, Aspect::Null))
                };
                texts.push((at, of.iter().position(is_null)));
            }
        }
        texts
    }
}
