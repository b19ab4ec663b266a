//! Conditions that compare rows with aggregates of queries within, by the engine `rpai`: random queries of the grammar on
//! random streams beside nested loops, what is undone, views over them and under them, and costs counted in steps.

mod cases;
mod costs;
mod follow;
mod grammar;
mod unnested;

use std::collections::BTreeMap;

use proptest::prelude::ProptestConfig;
use ringview_core::Type;

use follow::follow;
use grammar::Random;

/// Both tables: `v` and `p` are numbers with zeros, negative and equal ones, `x` a double.
pub(crate) const COLUMNS: [(&str, Type); 4] = [
    ("v", Type::Int64),
    ("p", Type::Int64),
    ("g", Type::Utf8),
    ("x", Type::Float64),
];
pub(crate) const TABLES: [&str; 2] = ["r", "s"];

#[test]
fn random_queries_of_the_grammar() {
    for seed in 0..u64::from(ProptestConfig::default().cases) {
        let mut random = Random::new(seed);
        let query = random.any();
        follow(&query, &mut random, 8);
    }
}

#[test]
fn random_queries_for_indexes() {
    let mut forms: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..u64::from(ProptestConfig::default().cases) {
        let mut random = Random::new(seed + 1_000);
        let query = random.indexed();
        *forms.entry(follow(&query, &mut random, 12)).or_default() += 1;
    }
    for form in ["aggregate indexes", "aggregate indexes by key"] {
        assert!(forms.get(form).is_some_and(|&many| many > 3), "{forms:?}");
    }
}
