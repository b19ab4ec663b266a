//! Queries that keys and cycles make more than an index of a join tree.

use ringview_sampling::Relation;

pub fn distinct(variables: &[&[usize]]) -> Vec<Relation> {
    let relation = |v: &&[usize]| Relation::distinct(v.to_vec(), v.len());
    variables.iter().map(relation).collect()
}

/// A relation with a key of some columns.
fn keyed(variables: &[usize], columns: usize, key: &[usize]) -> Relation {
    Relation {
        keys: vec![key.to_vec()],
        ..Relation::bag(variables.to_vec(), columns)
    }
}

/// Queries by name.
pub fn queries() -> Vec<(&'static str, Vec<Relation>)> {
    let mut mixed = distinct(&[&[0, 1], &[1, 2]]);
    mixed.push(Relation::bag(vec![2, 0], 3));
    let mut twice = distinct(&[&[0, 1]]);
    twice.push(Relation::bag(vec![1, 2], 2));
    twice.push(Relation::bag(vec![2, 0], 2));
    vec![
        ("triangle", distinct(&[&[0, 1], &[1, 2], &[2, 0]])),
        ("4-cycle", distinct(&[&[0, 1], &[1, 2], &[2, 3], &[3, 0]])),
        (
            "5-cycle",
            distinct(&[&[0, 1], &[1, 2], &[2, 3], &[3, 4], &[4, 0]]),
        ),
        (
            "bow-tie",
            distinct(&[&[0, 1], &[1, 2], &[2, 0], &[2, 3], &[3, 4], &[4, 2]]),
        ),
        (
            "dumbbell",
            distinct(&[
                &[0, 1],
                &[1, 2],
                &[2, 0],
                &[3, 4],
                &[4, 5],
                &[5, 3],
                &[2, 3],
            ]),
        ),
        (
            "4-clique",
            distinct(&[&[0, 1], &[0, 2], &[0, 3], &[1, 2], &[1, 3], &[2, 3]]),
        ),
        (
            "LW 4",
            distinct(&[&[0, 1, 2], &[1, 2, 3], &[2, 3, 0], &[3, 0, 1]]),
        ),
        (
            "triangle with a tail",
            distinct(&[&[0, 1], &[1, 2], &[2, 0], &[0, 3], &[3]]),
        ),
        (
            "a wide relation in a cycle",
            distinct(&[&[0, 1, 2], &[2, 3], &[3, 4], &[4, 0], &[1, 3]]),
        ),
        ("further words in a triangle", mixed),
        ("copies in a triangle", twice),
        ("triangle and a product", {
            let mut all = distinct(&[&[0, 1], &[1, 2], &[2, 0]]);
            all.push(Relation::bag(vec![], 1));
            all
        }),
        (
            "foreign key",
            vec![
                Relation::bag(vec![0, 1], 3),
                keyed(&[0], 2, &[0]),
                Relation::bag(vec![1], 2),
            ],
        ),
        (
            "foreign keys in a chain",
            vec![
                Relation::bag(vec![0], 2),
                keyed(&[0, 1], 3, &[0]),
                keyed(&[1], 2, &[0]),
            ],
        ),
        (
            "snowflake",
            vec![
                Relation::bag(vec![0, 1], 3),
                keyed(&[0, 2], 2, &[0]),
                keyed(&[1], 2, &[0]),
                keyed(&[2], 1, &[0]),
                Relation::bag(vec![1, 2], 3),
            ],
        ),
        (
            "keys in a cycle",
            vec![
                Relation::bag(vec![0, 1], 3),
                Relation::bag(vec![1, 2], 2),
                keyed(&[2, 3], 2, &[0]),
                Relation::bag(vec![3, 0], 2),
            ],
        ),
    ]
}

pub fn query(name: &str) -> Vec<Relation> {
    let found = queries().into_iter().find(|(other, _)| *other == name);
    found.expect("a known query").1
}
