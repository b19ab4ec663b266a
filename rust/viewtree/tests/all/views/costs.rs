//! Complexity by counted steps, never by a clock; and what happens at the edges of the numbers.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};

use crate::views::naive::{
    Row, Rows, Tables, batch, commit, feed, load, prepare, query, result, rows,
};
use ringview_core::{Batch, Dictionary, Error};
use ringview_query::Query;
use ringview_view::View;

fn row(values: &[i64]) -> (Row, i64) {
    (values.iter().map(|&v| Some(v)).collect(), 1)
}

/// Steps of one more row in a table, with `size` rows in each.
fn steps_of_one(query: &Query, tables: &Tables, table: &'static str, size: i64) -> u64 {
    let (plan, mut view) = tables.view(query);
    view.freeze();
    for (name, columns) in &tables.columns {
        let all: Vec<(Row, i64)> = (0..size)
            .map(|at| row(&vec![at % 100; columns.len()]))
            .collect();
        feed(&plan, &mut view, name, &batch(columns.len(), &all), 1).unwrap();
        commit(&mut view);
    }
    let before = view.steps();
    let one = batch(
        tables.columns[table].len(),
        &[row(&vec![7; tables.columns[table].len()])],
    );
    feed(&plan, &mut view, table, &one, 1).unwrap();
    commit(&mut view);
    view.steps() - before
}

#[test]
fn a_change_of_a_q_hierarchical_query_costs_the_same_at_any_size() {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["a", "c"]), ("T", &["a", "d"])]);
    let star = query(
        &["R", "S", "T"],
        &["R.a = S.a = T.a"],
        &["R.a"],
        &["", "R.b * S.c * T.d"],
    );
    for table in ["R", "S", "T"] {
        let small = steps_of_one(&star, &tables, table, 100);
        assert_eq!(small, steps_of_one(&star, &tables, table, 10_000));
        assert!(small < 10, "{small} steps");
    }
}

/// Rows that fill a view and meet above their leaf are summed before anything is looked up for them.
#[test]
fn rows_that_fill_a_view_cost_their_keys_above_the_leaf() {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["a"]), ("T", &["b"])]);
    let joined = query(&["R", "S", "T"], &["R.a = S.a", "R.b = T.b"], &[], &[""]);
    let rows = |values: &mut dyn Iterator<Item = i64>| -> Vec<(Row, i64)> {
        values.map(|value| row(&[value])).collect()
    };
    // Of each value of a and b 4 rows, in an order in which neighbours differ in both.
    let fact = (0..16).map(|at| row(&[at % 4, (at / 4 + at) % 4]));
    let fact: Vec<(Row, i64)> = fact.collect();
    let steps = |is_loaded: bool| {
        let (plan, mut view) = tables.view(&joined);
        view.freeze();
        let mut apply = |name: &str, width: usize, all: &[(Row, i64)]| {
            let rows = batch(width, all);
            match is_loaded {
                true => load(&plan, &mut view, name, &[rows]).unwrap(),
                false => feed(&plan, &mut view, name, &rows, 1).unwrap(),
            }
        };
        for name in ["S", "T"] {
            apply(name, 1, &rows(&mut (0..4)));
        }
        apply("R", 2, &fact);
        commit(&mut view);
        assert_eq!(rows_of(&*view), 16);
        view.steps()
    };
    // Of 16 rows that are met at the view above the leaf 4 sums are added there.
    assert_eq!((steps(false), steps(true)), (93, 81));
}

/// Rows that arrive in order are not entered in the directory of a leaf that changes of others only walk. They are
/// entered in that of a leaf where they are looked up. The same holds for rows that fill a leaf. Later rows are added
/// to the same keys either way.
#[test]
fn a_leaf_that_is_only_walked_takes_rows_in_order() {
    enum Rows {
        InOrder,
        Swapped,
        LoadedInOrder,
        LoadedSwapped,
    }
    let tables = Tables::new(&[("R", &["b", "a"]), ("S", &["b"])]);
    let joined = query(&["R", "S"], &["R.b = S.b"], &["R.a"], &[""]);
    let bytes = |table: &str, width: usize, how: Rows| {
        let (plan, mut view) = tables.view(&joined);
        view.freeze();
        // Far apart, or an array would hold them.
        let key = |at: i64| at * at * 7;
        let rows = (0..4_096).map(|at| row(&[key(at), at % 3][..width]));
        let mut rows: Vec<(Row, i64)> = rows.collect();
        if let Rows::Swapped | Rows::LoadedSwapped = how {
            rows.swap(0, 1);
        }
        if let Rows::LoadedInOrder | Rows::LoadedSwapped = how {
            rows.insert(9, rows[8].clone());
            load(&plan, &mut view, table, &[batch(width, &rows)]).unwrap();
            commit(&mut view);
        } else {
            for part in rows.chunks(128) {
                feed(&plan, &mut view, table, &batch(width, part), 1).unwrap();
                commit(&mut view);
            }
        }
        view.check();
        let bytes = view.memory_usage();
        let again = batch(width, &rows[..2]);
        feed(&plan, &mut view, table, &again, -1).unwrap();
        commit(&mut view);
        view.check();
        bytes
    };
    let swapped = bytes("R", 2, Rows::Swapped);
    assert!(bytes("R", 2, Rows::InOrder) + 8 * 4_096 < swapped);
    let [in_order, loaded] =
        [Rows::LoadedInOrder, Rows::LoadedSwapped].map(|how| bytes("R", 2, how));
    assert!(in_order + 6 * 4_096 < swapped.min(loaded));
    let apart = bytes("S", 1, Rows::InOrder).abs_diff(bytes("S", 1, Rows::Swapped));
    assert!(apart < 2 * 4_096);
}

/// The order in which relations that do not change are loaded is given; rows that no later row meets are not kept.
#[test]
fn of_relations_that_stay_only_what_later_rows_meet_is_kept() {
    let mut tables = Tables::new(&[("R", &["a", "b"]), ("S", &["a"]), ("T", &["b"])]);
    tables.fixed = vec!["R", "S", "T"];
    let joined = query(&["R", "S", "T"], &["R.a = S.a", "R.b = T.b"], &[], &[""]);
    let bytes = |is_told: bool, size: i64| {
        let (plan, mut view) = tables.view(&joined);
        if is_told {
            view.before_load(&[1, 2, 0]);
        }
        let few: Vec<(Row, i64)> = (0..4).map(|value| row(&[value])).collect();
        let fact: Vec<(Row, i64)> = (0..size).map(|at| row(&[at % 4, at / 4])).collect();
        for (name, rows) in [
            ("S", batch(1, &few)),
            ("T", batch(1, &few)),
            ("R", batch(2, &fact)),
        ] {
            load(&plan, &mut view, name, &[rows]).unwrap();
        }
        commit(&mut view);
        assert_eq!(rows_of(&*view), 16);
        // Memory while rows are loaded: rows that no later row meets are not kept.
        view.memory_usage()
    };
    assert!(bytes(false, 8_000) > bytes(false, 80) + 8 * 8_000);
    assert!(bytes(true, 8_000) < bytes(true, 80) + 8_000);
}

/// Rows of a leaf that is not kept are propagated together all the same, if they meet groups. In any batches, each
/// group is walked once for all of them.
#[test]
fn rows_that_meet_groups_walk_each_once() {
    let mut tables = Tables::new(&[("R", &["a", "b"]), ("S", &["b", "c"]), ("T", &["c", "d"])]);
    tables.fixed = vec!["R", "S", "T"];
    let mut chain = query(
        &["R", "S", "T"],
        &["R.b = S.b", "S.c = T.c"],
        &["R.a"],
        &["", "T.d"],
    );
    chain.order = Some(serde_json::from_str(
        r#"[{"variable":{"atom":0,"column":"b"},"children":[{"variable":{"atom":1,"column":"c"}, "children":[]},{"variable":{"atom":0,"column":"a"},"children":[]}]}]"#,
    ).unwrap());
    // Those of one c are scattered.
    let pairs =
        |rows: i64| -> Vec<(Row, i64)> { (0..rows).map(|at| row(&[at % 4, at / 4])).collect() };
    let steps = |rows: i64, size: usize| {
        let (plan, mut view) = tables.view(&chain);
        view.before_load(&[0, 1, 2]);
        for name in ["R", "S"] {
            load(&plan, &mut view, name, &[batch(2, &pairs(16))]).unwrap();
        }
        let last = pairs(rows);
        let parts: Vec<Batch> = last.chunks(size).map(|rows| batch(2, rows)).collect();
        load(&plan, &mut view, "T", &parts).unwrap();
        commit(&mut view);
        assert_eq!(result(&*view).num_rows(), 4);
        view.steps()
    };
    // One after the other the rows of T would take 848 steps.
    assert_eq!((steps(16, 1), steps(16, 16)), (296, 296));
    // For any number: a step to read each, and one to find those of its key.
    assert!(steps(4_000, 4_000) <= 296 + 2 * (4_000 - 16));
}

fn rows_of(view: &dyn View) -> i64 {
    result(view).column(0).as_primitive::<Int64Type>().value(0)
}

#[test]
fn a_change_below_the_root_costs_one_path_and_one_at_a_leaf_its_group() {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["b", "c"]), ("T", &["c", "d"])]);
    let mut path = query(
        &["R", "S", "T"],
        &["R.b = S.b", "S.c = T.c"],
        &[],
        &["", "R.a * T.d"],
    );
    path.order = Some(serde_json::from_str(
        r#"[{"variable":{"atom":0,"column":"b"},"children":[{"variable":{"atom":1,"column":"c"}, "children":[]}]}]"#,
    ).unwrap());
    // S has both variables: constant. T lacks b: linear in the b's of its c.
    assert!(steps_of_one(&path, &tables, "S", 5_000) < 12);
    let (plan, mut view) = tables.view(&path);
    view.freeze();
    let fan: Vec<(Row, i64)> = (0..500).map(|b| row(&[b, 7])).collect();
    feed(&plan, &mut view, "S", &batch(2, &fan), 1).unwrap();
    commit(&mut view);
    let before = view.steps();
    feed(&plan, &mut view, "T", &batch(2, &[row(&[7, 1])]), 1).unwrap();
    commit(&mut view);
    let steps = view.steps() - before;
    assert!((500..2_100).contains(&steps), "{steps} steps");
}

/// Groups larger than one block of pairs are walked block by block.
#[test]
fn groups_of_any_size() {
    let tables = Tables::new(&[("R", &["a"]), ("S", &["b"])]);
    let product = query(&["R", "S"], &[], &[], &["", "R.a * S.b"]);
    let (plan, mut view) = tables.view(&product);
    view.freeze();
    let many: Vec<(Row, i64)> = (0..70_000).map(|b| row(&[b])).collect();
    feed(&plan, &mut view, "S", &batch(1, &many), 1).unwrap();
    feed(
        &plan,
        &mut view,
        "R",
        &batch(1, &[row(&[2]), row(&[3]), row(&[5])]),
        1,
    )
    .unwrap();
    commit(&mut view);
    let sum = (0..70_000i64).sum::<i64>() * 10;
    let found = rows(&result(&*view), false);
    assert_eq!(
        found.keys().next().unwrap(),
        &vec![Some(210_000), Some(sum)]
    );
}

fn overflowing() -> (std::sync::Arc<ringview_viewtree::plan::Plan>, Box<dyn View>) {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["a", "c"])]);
    let (plan, mut view) = tables.view(&query(
        &["R", "S"],
        &["R.a = S.a"],
        &["R.a"],
        &["R.b * S.c"],
    ));
    view.freeze();
    feed(
        &plan,
        &mut view,
        "R",
        &batch(2, &[row(&[1, i64::MAX / 2]), row(&[2, 5])]),
        1,
    )
    .unwrap();
    feed(
        &plan,
        &mut view,
        "S",
        &batch(2, &[row(&[1, 1]), row(&[2, 1])]),
        1,
    )
    .unwrap();
    commit(&mut view);
    (plan, view)
}

#[test]
fn overflow_is_refused_wherever_it_happens_and_leaves_all_as_it_was() {
    let (plan, mut view) = overflowing();
    let before = rows(&result(&*view), false);
    // A sum past 128 bits, a count past 64.
    let faults: [(&str, Vec<(Row, i64)>); 4] = [
        ("S", vec![row(&[2, 3]), (vec![Some(1), Some(i64::MAX)], 8)]),
        (
            "R",
            vec![row(&[2, 3]), (vec![Some(1), Some(i64::MAX)], i64::MAX)],
        ),
        ("R", vec![(vec![Some(2), Some(i64::MIN)], i64::MAX)]),
        ("S", vec![row(&[3, 4]), (vec![Some(2), Some(1)], i64::MAX)]),
    ];
    for (table, fault) in faults {
        let refused = feed(&plan, &mut view, table, &batch(2, &fault), 1)
            .and_then(|()| prepare(&plan, &mut view).map(drop));
        assert!(
            matches!(refused, Err(Error::Overflow { .. })),
            "{refused:?}"
        );
        view.rollback();
        view.check();
        assert_eq!(rows(&result(&*view), false), before);
    }
    feed(&plan, &mut view, "S", &batch(2, &[row(&[2, 3])]), 1).unwrap();
    commit(&mut view);
    let after = rows(&result(&*view), false);
    assert_eq!(after.get(&vec![Some(2), Some(20)]), Some(&1));
}

/// The group and the sum of each row, sorted.
fn sums(view: &dyn View) -> Vec<(i64, i128)> {
    let found = result(view);
    let keys = found.column(0).as_primitive::<Int64Type>().values();
    let sums = found.column(1).as_primitive::<Decimal128Type>().values();
    let mut all: Vec<(i64, i128)> = keys.iter().copied().zip(sums.iter().copied()).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_sum_of_integers_grows_to_128_bits_and_is_undone_like_any_other() {
    let dictionary = Dictionary::new();
    let (plan, mut view) = overflowing();
    let large = i128::from(i64::MAX / 2);
    let before = sums(&*view);
    let mut changed = Rows::new();
    assert_eq!(before, [(1, large), (2, 5)]);

    // Beyond 64 bits for the first time, and back: the relations stay wide, the sums are as before.
    feed(&plan, &mut view, "S", &batch(2, &[row(&[1, i64::MAX])]), 1).unwrap();
    prepare(&plan, &mut view).unwrap();
    view.rollback();
    view.check();
    assert_eq!(sums(&*view), before);

    // Again, in a relation that nothing else changed; then more, from both sides, and deletes.
    let steps: [(&str, i64, &[i64]); 5] = [
        ("S", 1, &[1, i64::MAX]),
        ("R", 1, &[1, i64::MIN]),
        ("S", 1, &[2, -7]),
        ("R", -1, &[1, i64::MIN]),
        ("S", -1, &[1, i64::MAX]),
    ];
    let most = i128::from(i64::MAX);
    let low = i128::from(i64::MIN);
    let expected = [
        [(1, large * (most + 1)), (2, 5)],
        [(1, (large + low) * (most + 1)), (2, 5)],
        [(1, (large + low) * (most + 1)), (2, -30)],
        [(1, large * (most + 1)), (2, -30)],
        [(1, large), (2, -30)],
    ];
    for ((table, sign, values), expected) in steps.into_iter().zip(expected) {
        feed(&plan, &mut view, table, &batch(2, &[row(values)]), sign).unwrap();
        for (row, times) in prepare(&plan, &mut view).unwrap() {
            // Sums past 64 bits are no values of the tests' rows.
            if row[0] == Some(2) {
                *changed.entry(row).or_default() += times;
            }
        }
        view.commit(&dictionary);
        view.check();
        assert_eq!(sums(&*view), expected);
    }
    // The deltas began with payloads of 64 bits.
    changed.retain(|_, times| *times != 0);
    let expected = [(vec![Some(2), Some(-30)], 1), (vec![Some(2), Some(5)], -1)];
    assert_eq!(changed, Rows::from(expected));
}

#[test]
fn a_relation_grows_once_and_steps_stay_what_they_were() {
    let tables = Tables::new(&[("R", &["a", "b"]), ("S", &["a", "c"])]);
    let join = || query(&["R", "S"], &["R.a = S.a"], &["R.a"], &["R.b * S.c"]);
    let small = steps_of_one(&join(), &tables, "R", 1_000);
    let (plan, mut view) = overflowing();
    feed(&plan, &mut view, "S", &batch(2, &[row(&[1, i64::MAX])]), 1).unwrap();
    commit(&mut view);
    let before = view.steps();
    feed(&plan, &mut view, "R", &batch(2, &[row(&[1, 7])]), 1).unwrap();
    assert_eq!(view.steps() - before, small);
}
