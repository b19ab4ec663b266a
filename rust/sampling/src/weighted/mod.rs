//! Draws from a join with chances in proportion to weights: the weight of a result is the product of those of its rows.
//!
//! Invariant: over a join tree of the relations every row has its weight together with all that joins it below, and rows of
//! one key have running sums, so a draw is one binary search a relation (Zhao et al., "exact weights"). Draws without
//! replacement skip earlier ones: their law, with the order, is that of the results of the least keys E / w, E exponential
//! (Efraimidis and Spirakis), by which a join of few results is drawn at once. A weight is 0 or more, and finite. Cost: O(N)
//! once, then O(log N) a draw; nothing is stored between calls.
//!
//! | file | holds |
//! |---|---|
//! | `tree` | the weight of every row, and a draw |

mod tree;

use std::collections::HashSet;

use ringview_core::{Budget, Error, Result};

use crate::random::Random;
pub(crate) use tree::Weighted;

/// Joins of so many results, or of four times as many as requested, are drawn without replacement by keys.
const FEW: u128 = 1 << 16;
/// So often a draw may repeat an earlier one, or not count.
const TRIES: u64 = 1 << 22;

impl Weighted {
    /// Draws results that count, one after the other: `take` is called with each.
    ///
    /// # Errors
    /// `Value` if none weighs anything and one must be drawn; `Unsupported` where too few of what is drawn is
    /// new, or counts; the errors of the others.
    pub(crate) fn take(
        &self,
        (m, replacement, seed): (u64, bool, u64),
        of: &mut Draws<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        if m == 0 || self.results() == 0 && !replacement {
            return Ok(());
        }
        if self.results() == 0 {
            return Err(Error::Value {
                place: "a weighted draw from a join".to_owned(),
                problem: "no result weighs anything; draw when one does".to_owned(),
            });
        }
        let mut random = Random::new(seed);
        match !replacement && self.results() <= FEW.max(4 * u128::from(m)) {
            true => self.by_keys(m, &mut random, of, budget),
            false => self.by_draws((m, replacement), &mut random, of, budget),
        }
    }

    /// The results of the least keys.
    fn by_keys(
        &self,
        m: u64,
        random: &mut Random,
        of: &mut Draws<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut keyed: Vec<(f64, Vec<u32>)> = Vec::new();
        self.each(&mut |result| {
            budget.work(1)?;
            if (of.counts)(result)? {
                let key = -libm::log(random.unit()) / (of.weight)(result);
                keyed.push((key, result.to_vec()));
            }
            Ok(())
        })?;
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let least = keyed.iter().take(usize::try_from(m).unwrap_or(usize::MAX));
        least.for_each(|(_, result)| (of.take)(result));
        Ok(())
    }

    /// One after the other, without earlier ones unless with replacement.
    fn by_draws(
        &self,
        (m, replacement): (u64, bool),
        random: &mut Random,
        of: &mut Draws<'_>,
        budget: &Budget<'_>,
    ) -> Result<()> {
        let mut drawn: HashSet<Vec<u32>> = HashSet::new();
        let mut out = vec![0; self.relations()];
        let (mut left, mut tries) = (m, 0);
        while left > 0 {
            budget.work(16)?;
            self.draw(random, &mut out);
            if (of.counts)(&out)? && (replacement || drawn.insert(out.clone())) {
                (of.take)(&out);
                left -= 1;
                continue;
            }
            tries += 1;
            if tries > TRIES.saturating_add(m.saturating_mul(16)) {
                return Err(Error::Unsupported {
                    what: format!("drawing {m} weighted rows of a join"),
                    why: "few of its rows have nearly all the weight, or hardly any that count have some"
                        .to_owned(),
                    instead: "draw fewer, or with replacement".to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// The callbacks of draws.
pub(crate) struct Draws<'a> {
    /// Whether one counts.
    pub(crate) counts: &'a mut dyn FnMut(&[u32]) -> Result<bool>,
    /// Its weight.
    pub(crate) weight: &'a mut dyn FnMut(&[u32]) -> f64,
    /// Called with each.
    pub(crate) take: &'a mut dyn FnMut(&[u32]),
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Atom, Index};

    /// Four rows each of r(b, x) and s(b, y) over two values of b; the weight of a tuple is its second column.
    fn index() -> (Vec<Atom>, Index) {
        let atoms = vec![Atom::new(vec![0], 2), Atom::new(vec![0], 2)];
        let mut index = Index::new(&atoms).unwrap();
        for (key, weight) in [(0, 1), (0, 3), (1, 2), (1, 0)] {
            index.insert(0, &[key, weight]).unwrap();
            index.insert(1, &[key, weight + 1]).unwrap();
        }
        (atoms, index)
    }

    fn weigh(index: &Index, atom: usize, tuple: u32) -> f64 {
        index.row(atom, tuple)[1] as f64
    }

    fn results(index: &Index) -> BTreeMap<Vec<u32>, f64> {
        let pairs = (0..4).flat_map(|r| (0..4).map(move |s| [r, s]));
        let joined = pairs.filter(|[r, s]| index.row(0, *r)[0] == index.row(1, *s)[0]);
        let weight = |pair: &[u32; 2]| weigh(index, 0, pair[0]) * weigh(index, 1, pair[1]);
        let weighed = joined.map(|pair| (pair.to_vec(), weight(&pair)));
        weighed.filter(|(_, weight)| *weight > 0.0).collect()
    }

    type Method = fn(&Weighted, &mut Random, &mut Draws<'_>) -> Result<()>;

    /// The first and the second result of 20,000 draws of two.
    fn drawn(method: Method) -> (Index, BTreeMap<Vec<Vec<u32>>, u64>) {
        let (atoms, index) = index();
        let mut own = |atom, tuple| Ok(weigh(&index, atom, tuple));
        let weighted = Weighted::new((&atoms, &index), &mut own, &Budget::free()).unwrap();
        let mut counts = BTreeMap::new();
        for seed in 0..20_000 {
            let mut found = Vec::new();
            let mut of = Draws {
                counts: &mut |_| Ok(true),
                weight: &mut |r| weigh(&index, 0, r[0]) * weigh(&index, 1, r[1]),
                take: &mut |result| found.push(result.to_vec()),
            };
            method(&weighted, &mut Random::new(seed), &mut of).unwrap();
            *counts.entry(found).or_insert(0) += 1;
        }
        (index, counts)
    }

    /// Chi-square of pairs against their chances by `chance`; with the degrees of freedom.
    fn against(method: Method, chance: impl Fn(f64, f64, f64, bool) -> f64) -> (f64, usize) {
        let (index, counts) = drawn(method);
        let all = results(&index);
        let total: f64 = all.values().sum();
        let (mut sum, mut cells) = (0.0, 0);
        for (first, w) in &all {
            for (second, v) in &all {
                let expected = 20_000.0 * chance(*w, *v, total, first == second);
                let found = counts.get(&vec![first.clone(), second.clone()]).copied();
                if expected > 0.0 {
                    sum += (found.unwrap_or(0) as f64 - expected).powi(2) / expected;
                    cells += 1;
                } else {
                    assert_eq!(found, None);
                }
            }
        }
        (sum, cells - 1)
    }

    fn bound(degrees: usize) -> f64 {
        degrees as f64 + 4.3 * (2.0 * degrees as f64).sqrt() + 10.0
    }

    fn one_by_one(w: f64, v: f64, total: f64, same: bool) -> f64 {
        if same {
            0.0
        } else {
            w / total * v / (total - w)
        }
    }

    #[test]
    fn draws_have_the_chances_of_their_weights() {
        let with: Method =
            |weighted, random, of| weighted.by_draws((2, true), random, of, &Budget::free());
        let (sum, degrees) = against(with, |w, v, total, _| w * v / total / total);
        assert!(sum < bound(degrees), "{sum} of {degrees}");
        let (sum, degrees) = against(with, |_, _, _, _| 1.0 / 36.0);
        assert!(sum > bound(degrees), "equal chances pass for weights");
    }

    #[test]
    fn both_ways_without_replacement_have_one_law() {
        let methods: [Method; 2] = [
            |weighted, random, of| weighted.by_draws((2, false), random, of, &Budget::free()),
            |weighted, random, of| weighted.by_keys(2, random, of, &Budget::free()),
        ];
        for method in methods {
            let (sum, degrees) = against(method, one_by_one);
            assert!(sum < bound(degrees), "{sum} of {degrees}");
        }
    }

    #[test]
    fn what_weighs_nearly_nothing_is_not_drawn_for_ever() {
        let atoms = vec![Atom::new(vec![], 1)];
        let mut index = Index::new(&atoms).unwrap();
        let weights = [1.0, 1e-300];
        for row in 0..2 {
            index.insert(0, &[row]).unwrap();
        }
        let mut own = |_, tuple: u32| Ok(weights[tuple as usize]);
        let weighted = Weighted::new((&atoms, &index), &mut own, &Budget::free()).unwrap();
        let mut found = Vec::new();
        let mut of = Draws {
            counts: &mut |_| Ok(true),
            weight: &mut |r| weights[r[0] as usize],
            take: &mut |result| found.push(result[0]),
        };
        let mut random = Random::new(1);
        let refused = weighted.by_draws((2, false), &mut random, &mut of, &Budget::free());
        let message = refused.unwrap_err().to_string();
        assert!(
            message.contains("drawing 2 weighted rows") && message.contains("draw fewer"),
            "{message}"
        );
        // Advice of the message: fewer, or with replacement. A join this small is drawn by keys anyway.
        for advised in [(1, false, 1), (2, true, 1), (2, false, 1)] {
            weighted.take(advised, &mut of, &Budget::free()).unwrap();
        }
        assert_eq!(found.len(), 1 + 1 + 2 + 2);
    }
}
