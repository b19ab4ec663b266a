//! The answer that a plan gives over integers, by its views one after the other; and how the oracle puts it.

use std::collections::BTreeMap;

use ringview_core::Type;
use ringview_oracle::{Table, Value};
use ringview_query::{Constant, Op, OutputKind, Polynomial, Query};
use ringview_viewtree::plan::{Plan, Source};

use super::Tables;

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
        let number = |term: &usize| numbers[plan.payload.terms[*term]];
        let output = |kind: &OutputKind| match kind {
            OutputKind::Group { variable } => {
                let keys = &plan.tree.nodes[root].keys;
                key[keys.iter().position(|k| k == variable).unwrap()]
            }
            OutputKind::Count { term } => Some(number(term)),
            OutputKind::Sum { terms, nonnull } => {
                (number(nonnull) != 0).then(|| terms.iter().map(number).sum())
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

fn evaluate(expr: &Polynomial, read: &dyn Fn(&Op) -> i64) -> i64 {
    match &expr.op {
        Op::Literal {
            value: Constant::Int(value),
        } => *value,
        Op::Literal { .. } | Op::Convert { .. } => panic!("integers only"),
        Op::Add { left, right } => evaluate(left, read) + evaluate(right, read),
        Op::Subtract { left, right } => evaluate(left, read) - evaluate(right, read),
        Op::Multiply { left, right } => evaluate(left, read) * evaluate(right, read),
        Op::Negate { operand } => -evaluate(operand, read),
        op => read(op),
    }
}

/// The answer of the query as it was written.
pub fn by_query(query: &Query, tables: &Tables, data: &Data) -> Answer {
    let mut model = ringview_oracle::Tables::default();
    for (name, rows) in data {
        let fields = tables.0[name].schema.fields().iter();
        let columns: Vec<(&str, Type)> = fields.map(|f| (&*f.name, Type::Int64)).collect();
        let mut table = Table::new(&columns);
        for (row, times) in rows {
            let row = row.iter().map(|value| Value::from(*value)).collect();
            *table.rows.entry(row).or_default() += times;
        }
        model = model.with(name, table);
    }
    let cell = |value: &Value| match value {
        Value::Null => None,
        Value::Int(value) => Some(*value),
        other => panic!("{other:?} among integers"),
    };
    let rows = ringview_oracle::evaluate(query, &model).into_iter();
    rows.map(|row| row.iter().map(cell).collect()).collect()
}
