//! Whether what a view says of itself is so: changes that it calls constant take the same steps at any
//! size, all others more the larger the relations are; updates are what was applied.

use proptest::prelude::*;
use ringview_explain::{Explanation, NodeFacts, NodeKind};
use ringview_query::{Bag, Query, Representation};
use ringview_view::{FactorRows, View};

use crate::views::cyclic::{POOL, natural};
use crate::views::naive::{Row, Tables, batch, commit, feed, multiply, query};

const CENTRE: i64 = 7;

fn row(values: &[i64]) -> (Row, i64) {
    (values.iter().map(|&value| Some(value)).collect(), 1)
}

/// A star in some directions: for each of the columns the rows that differ from the centre there
/// alone. So whatever is known of a group, if it is the centre's, the group grows with `size`.
fn star(columns: &[&str], directions: &[&str], size: i64) -> Vec<(Row, i64)> {
    let ray = |at: usize| {
        (100..100 + size).map(move |value| {
            let mut values = vec![CENTRE; columns.len()];
            values[at] = value;
            row(&values)
        })
    };
    let directed = |at: &usize| directions.contains(&columns[*at]);
    (0..columns.len()).filter(directed).flat_map(ray).collect()
}

/// Steps of one row at the centre. If its relation is `without` it, it also has no other row that agrees with it in
/// these columns.
fn steps(tables: &Tables, query: &Query, table: &str, without: Option<&[&str]>, size: i64) -> u64 {
    let (plan, mut view) = tables.view(query);
    view.freeze();
    for (name, columns) in &tables.columns {
        let without = without.filter(|_| *name == table);
        let mut rows = star(columns, without.unwrap_or(columns), size);
        if without.is_none() {
            rows.push(row(&vec![CENTRE; columns.len()]));
        }
        feed(&plan, &mut view, name, &batch(columns.len(), &rows), 1).unwrap();
        commit(&mut view);
    }
    let width = tables.columns[table].len();
    let before = view.steps();
    feed(
        &plan,
        &mut view,
        table,
        &batch(width, &[row(&vec![CENTRE; width])]),
        1,
    )
    .unwrap();
    commit(&mut view);
    view.steps() - before
}

fn explain(tables: &Tables, query: &Query) -> Explanation {
    tables.view(query).1.explanation()
}

fn check_claims(tables: &Tables, query: &Query) {
    let explanation = explain(tables, query);
    for change in &explanation.changes {
        let table = change.relation.as_str();
        // Columns that the relation and each of its indicator projections keep.
        let leaves = change
            .climbs
            .iter()
            .map(|propagate| &explanation.nodes[propagate.leaf].keys);
        let leaves: Vec<_> = leaves.collect();
        let mut kept = tables.columns[table].clone();
        kept.retain(|column| {
            leaves
                .iter()
                .all(|keys| keys.iter().any(|key| key == column))
        });
        let own = change.climbs[0].constant;
        for (without, constant) in [(None, own), (Some(&kept[..]), change.constant)] {
            let [small, large] = [4, 16].map(|size| steps(tables, query, table, without, size));
            let said = format!("{table}: {small}, {large}\n{}", explanation.text());
            if constant {
                assert_eq!(small, large, "{said}");
            } else {
                assert!(large >= small + 12, "{said}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn claims_hold_for_groups_and_for_rows(
        names in prop::sample::subsequence(POOL.map(|(name, _)| name).to_vec(), 1..5),
        free in any::<u8>(), thin in any::<u8>(), factorised in any::<bool>(),
        chain in prop::option::of(Just(vec![0usize, 1, 2, 3, 4]).prop_shuffle()),
    ) {
        let (tables, mut query) = natural(&names, free & thin & 31, chain.as_deref());
        if factorised && !query.group_by.is_empty() {
            query.outputs.truncate(query.group_by.len());
            query.bag = Some(Bag { representation: Some(Representation::Factorised), ..Bag::default() });
        }
        check_claims(&tables, &query);
    }
}

#[test]
fn claims_hold_for_the_classes() {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["b", "c"]), ("T", &["c", "d"])]);
    let path = query(&["R", "S", "T"], &["R.b = S.b", "S.c = T.c"], &[], &[""]);
    let constant = |query: &Query| -> Vec<bool> {
        check_claims(&tables, query);
        explain(&tables, query)
            .changes
            .iter()
            .map(|change| change.constant)
            .collect()
    };
    // Not hierarchical: one end walks.
    assert_eq!(
        constant(&path)
            .into_iter()
            .filter(|constant| !constant)
            .count(),
        1
    );
    // Q-hierarchical.
    let star = query(&["R", "S"], &["R.b = S.b"], &["R.b"], &["", "R.a * S.c"]);
    assert_eq!(constant(&star), [true, true]);
    // Hierarchical, but what is kept lies below what is not.
    let buried = query(&["R", "S"], &["R.b = S.b"], &["R.a"], &[""]);
    assert_eq!(constant(&buried), [true, false]);
    // Acyclic, not free-connex.
    let pairs = query(&["R", "S"], &["R.b = S.b"], &["R.a", "S.c"], &[""]);
    assert_eq!(constant(&pairs), [false, false]);
}

/// The sibling that a unique key determines is met first. Then the rest of the key of the next sibling is bound;
/// otherwise its group would have to be walked.
#[test]
fn a_unique_key_saves_a_walk() {
    let mut tables = Tables::new(&[
        ("R", &["x"]),
        ("A", &["x", "y", "z", "w"]),
        ("B", &["x", "y"]),
    ]);
    tables.unique = vec!["A"];
    let joins = ["R.x = A.x = B.x", "A.y = B.y"];
    let groups = ["R.x", "A.y", "A.z", "A.w"];
    let query = query(&["R", "A", "B"], &joins, &groups, &[""]);
    let steps = |size: i64| {
        let (plan, mut view) = tables.view(&query);
        view.freeze();
        feed(&plan, &mut view, "A", &batch(4, &[row(&[1, 2, 3, 4])]), 1).unwrap();
        let group: Vec<_> = (0..size).map(|y| row(&[1, y])).collect();
        feed(&plan, &mut view, "B", &batch(2, &group), 1).unwrap();
        commit(&mut view);
        let before = view.steps();
        feed(&plan, &mut view, "R", &batch(1, &[row(&[1])]), 1).unwrap();
        commit(&mut view);
        assert_eq!(view.explanation().nodes.last().unwrap().rows, Some(1));
        view.steps() - before
    };
    let explanation = explain(&tables, &query);
    assert!(explanation.changes[0].constant, "{}", explanation.text());
    assert_eq!(steps(10), steps(1_000));
}

/// The nodes of a kind, each with its updates.
fn updates(view: &dyn View, kind: NodeKind) -> Vec<(String, u64)> {
    let explanation = view.explanation();
    let nodes = explanation
        .nodes
        .into_iter()
        .filter(|node| node.kind == kind);
    nodes
        .map(|node| (node.name, node.updates.unwrap()))
        .collect()
}

#[test]
fn updates_are_the_rows_that_took_part_and_stayed() {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["a", "c"])]);
    let star = query(
        &["R", "S"],
        &["R.a = S.a"],
        &["R.a"],
        &["", "R.b * S.c", "min R.b"],
    );
    let (plan, mut view) = tables.view(&star);
    view.freeze();
    let r = [
        row(&[1, 2]),
        row(&[1, 2]),
        row(&[2, 3]),
        (vec![None, Some(4)], 1),
    ];
    feed(&plan, &mut view, "R", &batch(2, &r), 1).unwrap();
    commit(&mut view);
    feed(&plan, &mut view, "R", &batch(2, &r), -1).unwrap();
    view.rollback();
    // NULL joins nothing, and undone rows are not counted.
    let of = |r, s| vec![("R".to_owned(), r), ("S".to_owned(), s)];
    assert_eq!(updates(&*view, NodeKind::Relation), of(3, 0));
    assert_eq!(updates(&*view, NodeKind::View), [("V@a".to_owned(), 0)]);
    feed(&plan, &mut view, "S", &batch(2, &[row(&[1, 5])]), 1).unwrap();
    feed(&plan, &mut view, "S", &batch(2, &[row(&[9, 5])]), 1).unwrap();
    feed(&plan, &mut view, "R", &batch(2, &r[..1]), -1).unwrap();
    commit(&mut view);
    assert_eq!(updates(&*view, NodeKind::Relation), of(4, 2));
    // The 9 had no partner.
    assert_eq!(updates(&*view, NodeKind::View), [("V@a".to_owned(), 2)]);
    // The auxiliary tree of values received the same rows.
    let beside = &view.explanation().beside[0];
    assert!(
        beside
            .what
            .starts_with("the values of R.b by group, in order")
    );
    assert!(beside.view.bytes > Some(0));
    let rows: Vec<_> = beside.view.nodes.iter().map(|node| node.updates).collect();
    assert_eq!(rows, [Some(4), Some(2), Some(2)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    /// Over a cycle, with a self-join, by rows: every atom takes in every row of its table.
    #[test]
    fn updates_at_leaves_are_what_was_applied(
        batches in prop::collection::vec(
            (any::<bool>(), any::<bool>(),
                prop::collection::vec((0i64..4, 0i64..4, 0i64..4), 0..6)), 1..8),
    ) {
        let tables = Tables::new(&[("E", &["a", "b", "w"]), ("F", &["a", "b", "w"])]);
        let triangle = ["r.b = s.a", "s.b = t.a", "t.b = r.a"];
        let triangle = query(&["E r", "F s", "E t"], &triangle, &[], &["", "r.w * s.w"]);
        let (plan, mut view) = tables.view(&triangle);
        view.freeze();
        let (mut e, mut f) = (0, 0);
        for (of_e, undo, rows) in batches {
            let rows: Vec<_> = rows.into_iter().map(|(a, b, w)| row(&[a, b, w])).collect();
            feed(&plan, &mut view, if of_e { "E" } else { "F" }, &batch(3, &rows), 1).unwrap();
            if undo {
                view.rollback();
                continue;
            }
            commit(&mut view);
            *(if of_e { &mut e } else { &mut f }) += rows.len() as u64;
            let mut found = updates(&*view, NodeKind::Relation);
            found.sort();
            let named = |name: &str, updates| (name.to_owned(), updates);
            prop_assert_eq!(found, vec![named("r", e), named("s", f), named("t", e)]);
            // An indicator has taken in at least the keys that it has.
            let explanation = view.explanation();
            let of = |node: &&NodeFacts| node.kind == NodeKind::Indicator;
            let indicator = explanation.nodes.iter().find(of).unwrap();
            prop_assert!(indicator.updates >= indicator.rows, "{}", explanation.text());
        }
    }
}

#[test]
fn updates_of_a_product_are_the_rows_of_its_factors() {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["a", "c"]), ("T", &["b", "d"])]);
    let joins = ["R.a = S.a", "R.b = T.b"];
    let sums = query(&["R", "S", "T"], &joins, &[], &["", "S.c * T.d"]);
    let (_, mut view) = tables.view(&sums);
    view.freeze();
    let factor = |column: usize, values: std::ops::Range<i64>| {
        let rows: Vec<_> = values.map(|value| row(&[value, value])).collect();
        let mut batch = batch(2, &rows);
        batch.columns[1 - column] = None;
        FactorRows {
            columns: vec![column],
            batch,
        }
    };
    let factors = [factor(0, 0..30), factor(1, 0..40)];
    multiply(&mut view, 0, &factors, 1).unwrap();
    commit(&mut view);
    assert_eq!(updates(&*view, NodeKind::Relation)[0], ("R".to_owned(), 70));
}
