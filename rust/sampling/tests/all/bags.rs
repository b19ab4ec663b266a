//! Any join as an acyclic one: the sample is of the query's results, whatever keys combine and bags hide.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::queries::{queries, query};
use crate::common::statistics::{Seen, distance_from_uniform, pairs};
use proptest::prelude::*;
use ringview_core::{Budget, Result};
use ringview_sampling::{All, Index, Predicate, QuerySample, Random, Relation, Relations};

/// A result: the rows of its relations, or the columns requested of them.
type Rows = Vec<Vec<u64>>;

/// Relations as multisets of rows.
#[derive(Clone, Default)]
struct Tables(Vec<Vec<Vec<u64>>>);

impl Tables {
    /// All results, as often as they are there.
    fn join(&self, relations: &[Relation]) -> Vec<Rows> {
        let mut found = vec![(BTreeMap::<usize, u64>::new(), Rows::new())];
        for (relation, table) in relations.iter().zip(&self.0) {
            let mut next = Vec::new();
            for (values, rows) in &found {
                for row in table {
                    let pairs = || relation.variables.iter().zip(row);
                    if pairs().any(|(v, word)| values.get(v).is_some_and(|known| known != word)) {
                        continue;
                    }
                    let mut values = values.clone();
                    values.extend(pairs());
                    let mut rows = rows.clone();
                    rows.push(row.clone());
                    next.push((values, rows));
                }
            }
            found = next;
        }
        let mut all: Vec<Rows> = found.into_iter().map(|(_, rows)| rows).collect();
        all.sort_unstable();
        all
    }
}

fn held<P: Predicate>(relations: &[Relation], sample: &QuerySample<P>) -> Vec<Rows> {
    let rows = |result: &[u32]| -> Rows {
        let row = |(at, relation): (usize, &Relation)| {
            let words = 0..relation.columns;
            words
                .map(|word| sample.word(result, sample.word_ref(at, word)))
                .collect()
        };
        relations.iter().enumerate().map(row).collect()
    };
    let mut all: Vec<Rows> = sample.sample().results().map(rows).collect();
    all.sort_unstable();
    all
}

/// A row that may be inserted: distinct ones are left out if they are there, keys are kept.
fn comes(relation: &Relation, table: &[Vec<u64>], row: &[u64]) -> bool {
    let same = |key: &Vec<usize>| {
        table
            .iter()
            .any(|other| key.iter().all(|&column| other[column] == row[column]))
    };
    !relation.keys.iter().any(same)
}

fn row(relation: &Relation, random: &mut Random, values: u128) -> Vec<u64> {
    (0..relation.columns)
        .map(|_| random.below(values) as u64 + (1 << 40))
        .collect()
}

#[test]
fn plans_are_as_expected() {
    let plan = |name: &str| {
        let found = Relations::new(&query(name)).unwrap();
        let width = found.ghd().map(|ghd| ghd.width.to_string());
        (found.atoms().len(), width, found.descriptions().to_vec())
    };
    let triangle = plan("triangle");
    assert_eq!((triangle.0, triangle.1), (1, Some("3/2".to_owned())));
    let dumbbell = plan("dumbbell");
    assert_eq!((dumbbell.0, dumbbell.2.len()), (3, 2));
    assert!(
        dumbbell
            .2
            .iter()
            .all(|bag| bag.joins.len() == 3 && bag.narrows.is_empty())
    );
    // The relation with a further column hangs at the bag.
    let mixed = plan("further words in a triangle");
    assert_eq!(
        (mixed.0, &mixed.2[0].joins[..], &mixed.2[0].narrows[..]),
        (2, &[0, 1][..], &[2][..])
    );
    let chain = plan("foreign keys in a chain");
    assert_eq!((chain.0, chain.1, chain.2[0].joins.len()), (1, None, 3));
    // With the key the cycle is one of three relations.
    let cycle = plan("keys in a cycle");
    assert_eq!((cycle.1, cycle.2.len()), (Some("3/2".to_owned()), 2));
    // A bag that is not covered by what belongs to it is narrowed by the others.
    assert!(plan("5-cycle").2.iter().any(|bag| !bag.narrows.is_empty()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn samples_are_of_the_join_whatever_comes_leaves_and_is_undone(
        which in 0..queries().len(), seed: u64, k in 1..40u64, undo: u32,
    ) {
        let (_, relations) = &queries()[which];
        let mut random = Random::new(seed);
        let mut sample = QuerySample::new(relations, k, seed, All).unwrap();
        let mut tables = Tables(vec![Vec::new(); relations.len()]);
        let budget = Budget::free();
        for step in 0..24 {
            let before = (held(relations, &sample), tables.clone(), sample.sample().state().clone());
            for _ in 0..6 {
                let at = random.below(relations.len() as u128) as usize;
                let table = &mut tables.0[at];
                if random.below(if step < 14 { 6 } else { 2 }) > 0 || table.is_empty() {
                    let row = row(&relations[at], &mut random, 3);
                    if comes(&relations[at], table, &row) {
                        sample.insert(at, &row, &budget).unwrap();
                        table.push(row);
                    }
                } else {
                    let gone = table.swap_remove(random.below(table.len() as u128) as usize);
                    prop_assert!(sample.delete(at, &gone, &budget).unwrap());
                }
            }
            let missing = vec![0; relations[0].columns];
            prop_assert!(relations[0].columns == 0 || !sample.delete(0, &missing, &budget).unwrap());
            sample.prepare(&budget).unwrap();
            sample.check();
            let results = tables.join(relations);
            prop_assert_eq!(sample.sample().index().results(), results.len() as u128);
            let rows = held(relations, &sample);
            prop_assert_eq!(rows.len() as u64, k.min(results.len() as u64));
            let mut left = results.into_iter();
            prop_assert!(rows.iter().all(|result| left.any(|other| other == *result)));
            if undo >> (step % 32) & 1 == 1 {
                sample.rollback();
                tables = before.1;
                prop_assert_eq!(held(relations, &sample), before.0);
                prop_assert_eq!(sample.sample().state(), &before.2);
            } else {
                sample.commit();
            }
            sample.check();
        }
        // All rows are deleted: nothing stays.
        for (at, table) in tables.0.iter().enumerate() {
            for row in table {
                prop_assert!(sample.delete(at, row, &budget).unwrap());
            }
        }
        sample.prepare(&budget).unwrap();
        sample.commit();
        prop_assert_eq!((sample.sample().len(), sample.sample().index().results()), (0, 0));
        let mut words_left = 0;
        for (at, relation) in relations.iter().enumerate() {
            let words: Vec<usize> = (0..relation.columns).collect();
            sample.each_word(at, &words, &mut |_| words_left += 1);
        }
        prop_assert_eq!(words_left, 0);
    }
}

/// A change: relation, words, whether it is a delete.
type Change = (usize, Vec<u64>, bool);

/// Below this chance something is wrong.
const NEVER: f64 = 1e-6;

/// Changes in three phases: rows are inserted, some deleted, some of these inserted again.
fn phases(relations: &[Relation]) -> [Vec<Change>; 3] {
    let mut random = Random::new(11);
    let mut come: Vec<Change> = Vec::new();
    let mut tables = Tables(vec![Vec::new(); relations.len()]);
    let mut seen = BTreeSet::new();
    while tables.join(relations).len() < 14 {
        let at = come.len() % relations.len();
        let mut row = row(&relations[at], &mut random, 3);
        // Rows are distinct, so that a result is identified by its rows.
        if relations[at].columns > relations[at].variables.len() {
            *row.last_mut().unwrap() = come.len() as u64;
        }
        if comes(&relations[at], &tables.0[at], &row) && seen.insert((at, row.clone())) {
            tables.0[at].push(row.clone());
            come.push((at, row, false));
        } else {
            // Another relation next.
            come.push((at, Vec::new(), false));
        }
    }
    come.retain(|(_, row, _)| !row.is_empty());
    // As many leave as leave some results.
    let mut gone: Vec<Change> = Vec::new();
    for (at, row, _) in &come {
        let mut fewer = tables.clone();
        fewer.0[*at].retain(|other| other != row);
        if gone.len() < 4 && (6..14).contains(&fewer.join(relations).len()) {
            gone.push((*at, row.clone(), true));
            tables = fewer;
        }
    }
    let again = gone
        .iter()
        .step_by(2)
        .map(|(at, row, _)| (*at, row.clone(), false));
    let again = again.collect();
    [come, gone, again]
}

/// Results held after so many phases, three changes a transaction.
fn sampled(relations: &[Relation], phases: &[Vec<Change>], k: u64, seed: u64) -> Vec<Rows> {
    let budget = Budget::free();
    let mut sample = QuerySample::new(relations, k, seed, All).unwrap();
    for part in phases.iter().flat_map(|changes| changes.chunks(3)) {
        for (at, row, delete) in part {
            match delete {
                true => assert!(sample.delete(*at, row, &budget).unwrap()),
                false => sample.insert(*at, row, &budget).unwrap(),
            }
        }
        sample.prepare(&budget).unwrap();
        sample.commit();
    }
    held(relations, &sample)
}

/// Statistics of a sampler at the end of each phase, given the phases and a seed.
fn moments(
    (relations, series): (&[Relation], usize),
    runs: u64,
    sampler: impl Fn(&[Vec<Change>], u64) -> Vec<Rows>,
) -> Vec<Seen> {
    let phases = phases(relations);
    let mut tables = Tables(vec![Vec::new(); relations.len()]);
    let seen = (0..phases.len()).map(|moment| {
        for (at, row, delete) in &phases[moment] {
            match delete {
                true => tables.0[*at].retain(|other| other != row),
                false => tables.0[*at].push(row.clone()),
            }
        }
        let results = tables.join(relations).len();
        assert!(results > 2, "{results} results show nothing");
        pairs(runs, 3 * series + moment, results, |seed| {
            sampler(&phases[..=moment], seed)
        })
    });
    seen.collect()
}

/// All queries: none deviates much, and their p-values are uniform.
fn all_are_uniform(runs: u64) {
    let mut values = Vec::new();
    for (nth, (name, relations)) in queries().into_iter().enumerate() {
        let seen = moments((&relations, nth), runs, |phases, seed| {
            sampled(&relations, phases, 2, seed)
        });
        for seen in seen {
            println!("{name}: {seen:?}");
            assert!(seen.single.min(seen.p()) > NEVER, "{name}: {seen:?}");
            values.push(seen.p());
        }
    }
    let distance = distance_from_uniform(values);
    println!("{distance} from uniform");
    assert!(distance < 1.95, "{distance}");
}

#[test]
fn pairs_of_results_are_equally_likely_at_every_moment() {
    all_are_uniform(300);
}

#[test]
#[ignore = "minutes"]
fn pairs_of_results_are_equally_likely_in_many_runs() {
    all_are_uniform(20_000);
}

#[test]
fn samplers_that_prefer_some_results_are_found_out() {
    for name in ["dumbbell", "snowflake"] {
        let relations = query(name);
        // Of three results the two least.
        let least = |phases: &[Vec<Change>], seed| {
            let mut three = sampled(&relations, phases, 3, seed);
            three.truncate(2);
            three
        };
        let seen = moments((&relations, 0), 600, least);
        assert!(
            seen.iter().all(|seen| seen.single < NEVER),
            "{name}: {seen:?}"
        );
    }
}

/// Results whose last relation's last word is even.
struct Even(usize, usize);

impl Predicate for Even {
    fn holds(&self, index: &Index, result: &[u32]) -> Result<bool> {
        Ok(index.row(self.0, result[self.0])[self.1].is_multiple_of(2))
    }
}

#[test]
fn predicates_find_what_is_carried() {
    for (name, relations) in queries() {
        for (at, column) in (0..relations.len()).flat_map(|at| (0..2).map(move |c| (at, c))) {
            let mut relations = relations.clone();
            if column >= relations[at].columns {
                continue;
            }
            relations[at].carried = vec![column];
            let planned = Relations::new(&relations).unwrap();
            let place = planned.word_ref(at, column);
            let even = Even(place.atom(), place.word().expect("a word that is carried"));
            let mut sample = QuerySample::of(planned, (1000, 1), even).unwrap();
            let mut tables = Tables(vec![Vec::new(); relations.len()]);
            let mut random = Random::new(3);
            let budget = Budget::free();
            for _ in 0..60 {
                let of = random.below(relations.len() as u128) as usize;
                let row = row(&relations[of], &mut random, 3);
                if comes(&relations[of], &tables.0[of], &row) {
                    sample.insert(of, &row, &budget).unwrap();
                    tables.0[of].push(row);
                }
            }
            sample.commit();
            let mut expected = tables.join(&relations);
            expected.retain(|rows| rows[at][column] % 2 == 0);
            assert_eq!(
                held(&relations, &sample).len(),
                expected.len().min(1000),
                "{name}"
            );
            assert!(
                expected.len() >= 1000 || held(&relations, &sample) == expected,
                "{name}"
            );
        }
    }
}

#[test]
fn a_change_costs_what_the_cover_allows() {
    // Two hubs: each edge between them closes as many triangles as there are, but no pair of lists is walked
    // that is longer than the shorter one.
    let relations = query("triangle");
    let mut sample = QuerySample::new(&relations, 10, 1, All).unwrap();
    let budget = Budget::free();
    let n = 2000;
    for leaf in 0..n {
        sample.insert(1, &[1, 10 + leaf], &budget).unwrap();
    }
    let before = sample.steps();
    // Vertex 0 has one edge only: the 2000 of vertex 1 are not walked.
    sample.insert(2, &[15, 0], &budget).unwrap();
    sample.insert(0, &[0, 1], &budget).unwrap();
    sample.commit();
    assert_eq!(sample.sample().len(), 1);
    assert!(
        sample.steps() - before < 20,
        "{} steps",
        sample.steps() - before
    );
}
