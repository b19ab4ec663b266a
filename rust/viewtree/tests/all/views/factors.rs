//! Changes in factors against nested loops over their product, and what they cost in steps.

use proptest::prelude::*;
use ringview_core::Error;
use ringview_query::Query;
use ringview_view::{FactorRows, View};
use ringview_viewtree::plan::Plan;

use crate::views::naive::{Row, Tables, batch, commit, feed, multiply, query, result, rows};
use crate::views::streams::{queries, tables};

/// The rows of one factor, with multiplicities.
type Part = Vec<(Row, i64)>;

/// One change: its table, the factor of each column, the rows of each factor.
#[derive(Clone, Debug)]
struct Step {
    table: &'static str,
    owners: Vec<usize>,
    parts: Vec<Part>,
    undo: bool,
    /// Whether it is deleted again at the end.
    leave: bool,
}

fn steps(tables: &Tables) -> impl Strategy<Value = Vec<Step>> + use<> {
    let names: Vec<(&'static str, usize)> = tables
        .columns
        .iter()
        .map(|(name, columns)| (*name, columns.len()))
        .collect();
    let value = prop_oneof![1 => Just(None), 12 => (-1i64..3).prop_map(Some)];
    let row = (prop::collection::vec(value, 3), 1i64..3);
    let step = (
        0..names.len(),
        prop::collection::vec(0..3usize, 3),
        prop::collection::vec(prop::collection::vec(row, 0..4), 3),
        any::<u8>(),
    )
        .prop_map(move |(table, owners, parts, dice)| {
            let (table, width) = names[table];
            // Factors are numbered in the order of their first column.
            let mut seen: Vec<usize> = Vec::new();
            let owners: Vec<usize> = owners[..width]
                .iter()
                .map(|owner| {
                    if !seen.contains(owner) {
                        seen.push(*owner);
                    }
                    seen.iter().position(|known| known == owner).unwrap()
                })
                .collect();
            Step {
                table,
                parts: parts[..seen.len()].to_vec(),
                owners,
                undo: dice % 5 == 0,
                leave: dice % 2 == 0,
            }
        });
    prop::collection::vec(step, 1..8)
}

impl Step {
    /// The factors as the engine reads them.
    fn factors(&self) -> Vec<FactorRows> {
        let width = self.owners.len();
        let factor = |(at, part): (usize, &Part)| {
            let mut batch = batch(width, part);
            for (column, owner) in batch.columns.iter_mut().zip(&self.owners) {
                if *owner != at {
                    *column = None;
                }
            }
            FactorRows {
                columns: (0..width).filter(|&c| self.owners[c] == at).collect(),
                batch,
            }
        };
        self.parts.iter().enumerate().map(factor).collect()
    }

    /// The rows of the product.
    fn product(&self) -> Vec<(Row, i64)> {
        let mut all: Vec<(Row, i64)> = vec![(vec![None; self.owners.len()], 1)];
        for (at, part) in self.parts.iter().enumerate() {
            let mut next = Vec::new();
            for (row, times) in &all {
                for (own, by) in part {
                    let mut row = row.clone();
                    for column in (0..row.len()).filter(|&c| self.owners[c] == at) {
                        row[column] = own[column];
                    }
                    next.push((row, times * by));
                }
            }
            all = next;
        }
        all
    }
}

fn apply(plan: &Plan, view: &mut Box<dyn View>, step: &Step, sign: i64) -> Result<(), Error> {
    for (at, atom) in plan.atoms.iter().enumerate() {
        if atom.table == step.table {
            multiply(view, at, &step.factors(), sign)?;
        }
    }
    Ok(())
}

fn run(query: &Query, steps: &[Step]) {
    let mut tables = tables();
    let (plan, mut view) = tables.view(query);
    view.freeze();
    let check = |tables: &Tables, view: &dyn View| {
        view.check();
        let found = rows(&result(view), false);
        assert_eq!(found, tables.evaluate(query));
    };
    for step in steps {
        apply(&plan, &mut view, step, 1).unwrap();
        if step.undo {
            view.rollback();
        } else {
            commit(&mut view);
            tables.apply(step.table, &step.product());
        }
        check(&tables, &*view);
    }
    for step in steps.iter().filter(|step| step.leave && !step.undo) {
        apply(&plan, &mut view, step, -1).unwrap();
        commit(&mut view);
        let gone: Vec<(Row, i64)> = step.product().into_iter().map(|(r, t)| (r, -t)).collect();
        tables.apply(step.table, &gone);
        check(&tables, &*view);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn every_query_equals_nested_loops_over_the_product(steps in steps(&tables())) {
        for query in queries() {
            run(&query, &steps);
        }
    }

    /// A condition on one factor belongs to it, one on several ties them.
    #[test]
    fn conditions_hold_of_the_product(steps in steps(&tables()), between in any::<bool>()) {
        let mut filtered = query(
            &["S", "T"],
            &["S.c = T.c"],
            &["T.d"],
            &["", "S.e * S.a", "S.a * S.a * T.d"],
        );
        let filter = if between { "e >= 0 AND a <= c" } else { "e >= 0" };
        filtered.atoms[0].filter = Some(filter.parse().unwrap());
        let unfiltered = Query { atoms: query(&["S", "T"], &[], &[], &[""]).atoms, ..filtered.clone() };
        let mut tables = tables();
        let (plan, mut view) = tables.view(&filtered);
        view.freeze();
        for step in &steps {
            apply(&plan, &mut view, step, 1).unwrap();
            commit(&mut view);
            let passes = |row: &Row| {
                row[2].is_some_and(|e| e >= 0) && (!between || row[0].zip(row[1]).is_some_and(|(a, c)| a <= c))
            };
            let product = step.product().into_iter();
            let kept: Vec<(Row, i64)> = product.filter(|(row, _)| step.table != "S" || passes(row)).collect();
            tables.apply(step.table, &kept);
            view.check();
            let found = rows(&result(&*view), false);
            prop_assert_eq!(found, tables.evaluate(&unfiltered));
        }
    }
}

fn listed(width: usize, at: usize, values: impl Iterator<Item = i64>) -> Part {
    let row = |value| {
        let mut row = vec![None; width];
        row[at] = Some(value);
        (row, 1)
    };
    values.map(row).collect()
}

/// A change of p rows times p columns in the middle of a chain that sums everything costs p, or p
/// squared where a view with both is kept; its rows one by one cost p squared or more.
#[test]
fn a_product_climbs_for_the_sum_of_its_factors() {
    let tables = Tables::new(&[("A", &["i", "x"]), ("B", &["i", "j"]), ("C", &["j", "y"])]);
    let total = query(
        &["A", "B", "C"],
        &["A.i = B.i", "B.j = C.j"],
        &[],
        &["", "A.x * C.y"],
    );
    let cost = |size: i64, in_factors: bool| {
        let (plan, mut view) = tables.view(&total);
        view.freeze();
        let pairs: Vec<(Row, i64)> = (0..size).map(|at| (vec![Some(at), Some(2)], 1)).collect();
        for table in ["A", "C"] {
            feed(&plan, &mut view, table, &batch(2, &pairs), 1).unwrap();
        }
        commit(&mut view);
        let step = Step {
            table: "B",
            owners: vec![0, 1],
            parts: vec![listed(2, 0, 0..size), listed(2, 1, 0..size)],
            undo: false,
            leave: false,
        };
        // Nothing is kept of B alone where A and C stay as they are.
        let before = view.steps();
        if in_factors {
            apply(&plan, &mut view, &step, 1).unwrap();
        } else {
            feed(&plan, &mut view, "B", &batch(2, &step.product()), 1).unwrap();
        }
        commit(&mut view);
        let found = rows(&result(&*view), false);
        let expected = vec![Some(size * size), Some(4 * size * size)];
        assert_eq!(found.keys().next().unwrap(), &expected);
        (view.steps() - before) as i64
    };
    let stored = {
        let (_, view) = tables.view(&total);
        view.explanation()
            .nodes
            .iter()
            .any(|node| node.name == "B" && node.rows.is_some())
    };
    for size in [20, 40, 80] {
        let (factors, listed) = (cost(size, true), cost(size, false));
        assert!(listed > 2 * size * size);
        // B itself is kept, multiplied out: it joins with changes of A and C.
        let kept = if stored { 2 * size * size } else { 0 };
        assert!(factors <= kept + 12 * size, "{factors} steps at {size}");
    }
}

#[test]
fn only_the_views_that_are_kept_see_the_product() {
    let mut tables = Tables::new(&[("A", &["i", "x"]), ("B", &["i", "j"]), ("C", &["j", "y"])]);
    tables.fixed = vec!["A", "C"];
    let total = query(
        &["A", "B", "C"],
        &["A.i = B.i", "B.j = C.j"],
        &[],
        &["", "A.x * C.y"],
    );
    let size = 300i64;
    let (plan, mut view) = tables.view(&total);
    let pairs: Vec<(Row, i64)> = (0..size).map(|at| (vec![Some(at), Some(2)], 1)).collect();
    for table in ["A", "C"] {
        feed(&plan, &mut view, table, &batch(2, &pairs), 1).unwrap();
        commit(&mut view);
    }
    view.freeze();
    let before = view.steps();
    let step = Step {
        table: "B",
        owners: vec![0, 1],
        parts: vec![listed(2, 0, 0..size), listed(2, 1, 0..size)],
        undo: false,
        leave: false,
    };
    apply(&plan, &mut view, &step, 1).unwrap();
    commit(&mut view);
    let steps = (view.steps() - before) as i64;
    assert!(
        steps <= 6 * size,
        "{steps} steps for {size} rows times {size}"
    );
    let found = rows(&result(&*view), false);
    let expected = vec![Some(size * size), Some(4 * size * size)];
    assert_eq!(found.keys().next().unwrap(), &expected);
}

#[test]
fn an_overflow_of_a_product_is_refused_and_undone() {
    let tables = Tables::new(&[("A", &["i", "x"]), ("B", &["i", "j"])]);
    let total = query(&["A", "B"], &["A.i = B.i"], &["B.j"], &["A.x"]);
    let (plan, mut view) = tables.view(&total);
    view.freeze();
    let rows_of_a = [(vec![Some(1), Some(i64::MAX / 3)], 1)];
    feed(&plan, &mut view, "A", &batch(2, &rows_of_a), 1).unwrap();
    commit(&mut view);
    let step = |times: i64| Step {
        table: "B",
        owners: vec![0, 1],
        parts: vec![
            vec![(vec![Some(1), None], times)],
            vec![(vec![None, Some(5)], 2), (vec![None, Some(6)], 1)],
        ],
        undo: false,
        leave: false,
    };
    let refused = apply(&plan, &mut view, &step(2), 1);
    assert!(
        matches!(refused, Err(Error::Overflow { .. })),
        "{refused:?}"
    );
    view.rollback();
    view.check();
    assert_eq!(result(&*view).num_rows(), 0);
    apply(&plan, &mut view, &step(1), 1).unwrap();
    commit(&mut view);
    assert_eq!(result(&*view).num_rows(), 2);
}
