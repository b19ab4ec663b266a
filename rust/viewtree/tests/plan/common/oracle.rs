//! Two slow evaluators over integers: one follows a plan, the other the query as it was written.

use std::collections::BTreeMap;

use ringview_query::{Expr, Number, Op, OutputKind, Query, Scalar};
use ringview_viewtree::plan::{Plan, Source};

/// A row of integers and NULLs.
pub type Row = Vec<Option<i64>>;
/// By table: its rows, with multiplicities.
pub type Data = BTreeMap<String, Vec<(Row, i64)>>;
/// Output columns, sorted.
pub type Answer = Vec<Vec<Option<i64>>>;

type Relation = BTreeMap<Row, Vec<i64>>;

/// The answer by the plan's tree and components.
pub fn by_plan(plan: &Plan, data: &Data) -> Answer {
    let mut views: Vec<Relation> = Vec::new();
    for (id, node) in plan.tree.nodes.iter().enumerate() {
        let rows = |atom: usize| &data[&plan.atoms[atom].table];
        let view = match (node.atom, node.indicator) {
            (Some(atom), _) => leaf(plan, id, atom, rows(atom)),
            (None, Some(atom)) => indicator(plan, id, atom, rows(atom)),
            (None, None) => inner(plan, id, &views),
        };
        views.push(view);
    }
    let root = plan.tree.root;
    let mut result = std::mem::take(&mut views[root]);
    // A group is there if it has a row, and all is one group where nothing is grouped by.
    result.retain(|_, numbers| numbers[0] != 0);
    if plan.tree.nodes[root].keys.is_empty() && result.is_empty() {
        result.insert(Vec::new(), vec![0; plan.payload.nodes[root].len()]);
    }
    let mut rows: Answer = Vec::new();
    for (key, numbers) in result {
        let output = |kind: &OutputKind| match kind {
            OutputKind::Group { variable } => {
                let keys = &plan.tree.nodes[root].keys;
                key[keys.iter().position(|k| k == variable).unwrap()]
            }
            OutputKind::Count { component } => Some(numbers[*component]),
            OutputKind::Sum { terms, nonnull } => {
                (numbers[*nonnull] != 0).then(|| terms.iter().map(|t| numbers[*t]).sum())
            }
            other => panic!("{other:?} is not a number of the payload"),
        };
        rows.push(plan.outputs.iter().map(|o| output(&o.kind)).collect());
    }
    rows.sort();
    rows
}

fn leaf(plan: &Plan, id: usize, atom: usize, rows: &[(Row, i64)]) -> Relation {
    let info = &plan.atoms[atom];
    assert!(info.filter.is_none(), "the oracle has no filters");
    let mut view = Relation::new();
    for (row, multiplicity) in rows {
        if info.join_columns_not_null.iter().any(|c| row[*c].is_none()) {
            continue;
        }
        let key = plan.tree.nodes[id].keys.iter().map(|variable| {
            let columns = &plan.variables[*variable].columns;
            row[columns.iter().find(|(a, _)| *a == atom).unwrap().1]
        });
        let numbers = plan.payload.nodes[id].iter().map(|component| {
            let factor = match &component.source {
                Source::Count => 1,
                Source::Leaf(factor) if factor.not_null.iter().any(|c| row[*c].is_none()) => 0,
                Source::Leaf(factor) => factor.value.as_ref().map_or(1, |value| {
                    evaluate(value, &|op| match op {
                        Op::Column { column, .. } => row[*column].unwrap(),
                        _ => panic!("a leaf reads columns"),
                    })
                }),
                Source::Product { .. } => panic!("a leaf has no children"),
            };
            factor * multiplicity
        });
        add(&mut view, key.collect(), numbers.collect());
    }
    view
}

/// The keys of an atom, projected, each with 1.
fn indicator(plan: &Plan, id: usize, atom: usize, rows: &[(Row, i64)]) -> Relation {
    let mut view = leaf(plan, id, atom, rows);
    view.retain(|_, numbers| numbers[0] != 0);
    view.values_mut().for_each(|numbers| *numbers = vec![1]);
    view
}

fn inner(plan: &Plan, id: usize, views: &[Relation]) -> Relation {
    let node = &plan.tree.nodes[id];
    // (the variables so far, one tuple of each child)
    type Joined<'a> = Vec<(BTreeMap<usize, Option<i64>>, Vec<&'a Vec<i64>>)>;
    let mut joined: Joined<'_> = vec![(BTreeMap::new(), Vec::new())];
    for child in &node.children {
        let mut next = Vec::new();
        for (values, payloads) in &joined {
            for (key, payload) in &views[*child] {
                let mut values = values.clone();
                let names = plan.tree.nodes[*child].keys.iter();
                if names
                    .zip(key)
                    .all(|(k, v)| *values.entry(*k).or_insert(*v) == *v)
                {
                    let payloads = payloads.iter().copied().chain([payload]).collect();
                    next.push((values, payloads));
                }
            }
        }
        joined = next;
    }
    let mut view = Relation::new();
    for (values, payloads) in joined {
        let numbers = plan.payload.nodes[id].iter().map(|component| {
            let Source::Product { children } = &component.source else {
                panic!("an inner view joins");
            };
            children.iter().zip(&payloads).map(|(c, p)| p[*c]).product()
        });
        let key = node.keys.iter().map(|k| values[k]).collect();
        add(&mut view, key, numbers.collect());
    }
    view
}

fn add(view: &mut Relation, key: Row, numbers: Vec<i64>) {
    let sums = view.entry(key).or_insert_with(|| vec![0; numbers.len()]);
    sums.iter_mut().zip(numbers).for_each(|(sum, n)| *sum += n);
}

fn evaluate(expr: &Expr, read: &dyn Fn(&Op) -> i64) -> i64 {
    match &expr.op {
        Op::Literal {
            value: Number::Int(value),
        } => *value,
        Op::Literal { .. } | Op::Convert { .. } => panic!("integers only"),
        Op::Add { left, right } => evaluate(left, read) + evaluate(right, read),
        Op::Subtract { left, right } => evaluate(left, read) - evaluate(right, read),
        Op::Multiply { left, right } => evaluate(left, read) * evaluate(right, read),
        Op::Negate { operand } => -evaluate(operand, read),
        op => read(op),
    }
}

/// The answer by nested loops over the rows, with one SUM, COUNT(argument) and COUNT(*) a group.
pub fn by_loops(query: &Query, columns: &dyn Fn(usize, &str) -> usize, data: &Data) -> Answer {
    use ringview_query::{Function, Output};
    let mut joined: Vec<(Vec<&Row>, i64)> = vec![(Vec::new(), 1)];
    for atom in &query.atoms {
        let rows = &data[&atom.table];
        joined = joined
            .iter()
            .flat_map(|(tuple, weight)| {
                rows.iter().map(move |(row, multiplicity)| {
                    let tuple = tuple.iter().copied().chain([row]).collect();
                    (tuple, weight * multiplicity)
                })
            })
            .collect();
    }
    let cell = |tuple: &[&Row], atom: usize, name: &str| tuple[atom][columns(atom, name)];
    joined.retain(|(tuple, _)| {
        query.joins.iter().all(|join| {
            let first = cell(tuple, join[0].atom, &join[0].column);
            first.is_some() && join.iter().all(|c| cell(tuple, c.atom, &c.column) == first)
        })
    });
    let mut groups: BTreeMap<Row, Vec<(Vec<&Row>, i64)>> = BTreeMap::new();
    for (tuple, weight) in joined {
        let key = query
            .group_by
            .iter()
            .map(|c| cell(&tuple, c.atom, &c.column));
        groups
            .entry(key.collect())
            .or_default()
            .push((tuple, weight));
    }
    if query.group_by.is_empty() {
        groups.entry(Vec::new()).or_default();
    }
    let mut rows: Answer = Vec::new();
    for tuples in groups.into_values() {
        let output = |output: &Output| match output {
            Output::Group { column, .. } => cell(&tuples[0].0, column.atom, &column.column),
            Output::Cofactor { .. } => panic!("the oracle's queries have none"),
            Output::Aggregate {
                function, argument, ..
            } => {
                let values = tuples.iter().filter_map(|(tuple, weight)| {
                    let read = |atom: usize, name: &str| cell(tuple, atom, name);
                    let value = argument.as_ref().map_or(Some(1), |a| scalar(a, &read));
                    Some((value?, *weight))
                });
                let values: Vec<(i64, i64)> = values.collect();
                match function {
                    Function::Count => Some(values.iter().map(|(_, w)| w).sum()),
                    _ if values.is_empty() => None,
                    _ => Some(values.iter().map(|(v, w)| v * w).sum()),
                }
            }
            Output::Expression { .. } => panic!("the oracle has no expressions"),
        };
        rows.push(query.outputs.iter().map(output).collect());
    }
    rows.sort();
    rows
}

fn scalar(expr: &Scalar, read: &dyn Fn(usize, &str) -> Option<i64>) -> Option<i64> {
    Some(match expr {
        Scalar::Column { atom, column } => read(*atom, column)?,
        Scalar::Literal {
            value: ringview_query::Literal::Int(value),
        } => *value,
        Scalar::Literal { .. } => panic!("integers only"),
        Scalar::Add { left, right } => scalar(left, read)? + scalar(right, read)?,
        Scalar::Subtract { left, right } => scalar(left, read)? - scalar(right, read)?,
        Scalar::Multiply { left, right } => scalar(left, read)? * scalar(right, read)?,
        Scalar::Negate { operand } => -scalar(operand, read)?,
    })
}
