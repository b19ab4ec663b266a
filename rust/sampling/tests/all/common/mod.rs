//! Joins of many shapes, and their results by brute force.

pub mod naive;
pub mod queries;
pub mod sampled;
pub mod statistics;

use std::collections::BTreeMap;

use ringview_sampling::{Atom, Index};

/// Shapes by name.
pub fn shapes() -> Vec<(&'static str, Vec<Atom>)> {
    let atom = |variables: &[usize], columns| Atom::new(variables.to_vec(), columns);
    vec![
        ("single", vec![atom(&[], 1)]),
        ("two", vec![atom(&[0], 2), atom(&[0], 2)]),
        (
            "line 3",
            vec![atom(&[0], 2), atom(&[0, 1], 2), atom(&[1], 2)],
        ),
        (
            "line 4",
            vec![
                atom(&[0], 2),
                atom(&[0, 1], 2),
                atom(&[1, 2], 2),
                atom(&[2], 2),
            ],
        ),
        (
            "line 5",
            vec![
                atom(&[0], 2),
                atom(&[0, 1], 2),
                atom(&[1, 2], 2),
                atom(&[2, 3], 2),
                atom(&[3], 2),
            ],
        ),
        ("star 3", vec![atom(&[0], 2); 3]),
        ("star 4", vec![atom(&[0], 2); 4]),
        (
            "keys of two columns",
            vec![
                atom(&[0, 1], 3),
                atom(&[1, 0, 2], 3),
                atom(&[2], 1),
                atom(&[0, 1], 2),
            ],
        ),
        ("product", vec![atom(&[], 1), atom(&[], 1)]),
        (
            "product of joins",
            vec![atom(&[0], 1), atom(&[0], 2), atom(&[1], 2), atom(&[1], 1)],
        ),
        (
            "grouped middle",
            vec![
                atom(&[0], 2),
                atom(&[0, 1], 3),
                atom(&[1, 2], 3),
                atom(&[2], 1),
            ],
        ),
        (
            "snowflake",
            vec![
                atom(&[0, 1, 2], 4),
                atom(&[0], 1),
                atom(&[1, 3], 2),
                atom(&[2], 2),
                atom(&[3], 2),
            ],
        ),
        (
            "hub",
            vec![
                atom(&[0], 2),
                atom(&[0], 1),
                atom(&[0, 1], 2),
                atom(&[1], 2),
            ],
        ),
    ]
}

/// The shape of a name.
pub fn shape(name: &str) -> Vec<Atom> {
    let mut all = shapes().into_iter();
    all.find(|(other, _)| *other == name)
        .expect("a known shape")
        .1
}

/// The tuples of each relation.
pub type Tuples = Vec<BTreeMap<u32, Vec<u64>>>;

/// All results, sorted.
pub fn join(atoms: &[Atom], tuples: &Tuples) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    extend(
        atoms,
        tuples,
        &mut BTreeMap::new(),
        &mut Vec::new(),
        &mut found,
    );
    found.sort_unstable();
    found
}

fn extend(
    atoms: &[Atom],
    tuples: &Tuples,
    values: &mut BTreeMap<usize, u64>,
    chosen: &mut Vec<u32>,
    found: &mut Vec<Vec<u32>>,
) {
    let at = chosen.len();
    if at == atoms.len() {
        found.push(chosen.clone());
        return;
    }
    for (&tuple, row) in &tuples[at] {
        let pairs = || atoms[at].variables.iter().zip(row);
        if pairs().any(|(v, word)| values.get(v).is_some_and(|known| known != word)) {
            continue;
        }
        let before = values.clone();
        values.extend(pairs());
        chosen.push(tuple);
        extend(atoms, tuples, values, chosen, found);
        chosen.pop();
        *values = before;
    }
}

/// Results at all positions of a tuple's delta, sorted.
pub fn delta(index: &Index, atom: usize, tuple: u32) -> Vec<Vec<u32>> {
    let positions = index.delta_len(atom, tuple).unwrap();
    let get = |position, out: &mut [u32]| index.delta_get(atom, tuple, position, out);
    all(index.atoms(), positions, get)
}

/// Results at all positions, sorted.
pub fn whole(index: &mut Index) -> Vec<Vec<u32>> {
    let positions = index.len_upper().unwrap();
    let atoms = index.atoms();
    all(atoms, positions, |position, out| index.get(position, out))
}

fn all(atoms: usize, positions: u128, get: impl Fn(u128, &mut [u32]) -> bool) -> Vec<Vec<u32>> {
    let mut found: Vec<Vec<u32>> = (0..positions)
        .filter_map(|position| {
            let mut out = vec![u32::MAX; atoms];
            get(position, &mut out).then_some(out)
        })
        .collect();
    found.sort_unstable();
    found
}

/// Chi-square of counts that should be equal, over cells of which some may be missing.
pub fn chi_square(counts: impl Iterator<Item = u64>, cells: usize, runs: u64) -> f64 {
    let expected = runs as f64 / cells as f64;
    let counts: Vec<u64> = counts.collect();
    let missing = (cells - counts.len()) as f64 * expected;
    let sum: f64 = counts
        .iter()
        .map(|&count| (count as f64 - expected).powi(2))
        .sum();
    sum / expected + missing
}

/// A bound that a chi-square of so many degrees passes with a chance of about 10^-5.
pub fn bound(degrees: usize) -> f64 {
    let n = degrees as f64;
    n + 4.3 * (2.0 * n).sqrt() + 10.0
}
