//! The rows of a query by nested loops: joins, filters, conditions with queries within, groups,
//! HAVING, the blocks that it reads.

use std::collections::BTreeMap;

use ringview_core::Type;
use ringview_query::{ColumnRef, Named, Output, Query};

use crate::arithmetic::{Reads, aggregate, compute, holds};
use crate::tables::{Table, Tables};
use crate::value::{Row, Value};

/// A row of a join: one row of each atom.
type Joined<'t> = Vec<&'t Row>;

/// A row of a join, and those of the queries around.
struct Frame<'a> {
    query: &'a Query,
    tables: &'a Tables,
    rows: &'a Joined<'a>,
    outer: Option<&'a Frame<'a>>,
}

impl Reads for Frame<'_> {
    fn named(&self, named: &Named) -> Value {
        match named {
            Named::Column {
                depth,
                atom,
                column,
            } => {
                let mut at = self;
                for _ in 0..*depth {
                    at = at.outer.expect("a query so far out");
                }
                let (atom, column) = (*atom, column.clone());
                value(at.query, self.tables, at.rows, &ColumnRef { atom, column })
            }
            Named::Subquery(number) => {
                let query = &self.query.subqueries[*number];
                let groups = groups(query, self.tables, Some(self));
                let (key, group) = groups.iter().next().expect("one group");
                outputs(query, self.tables, key, group).swap_remove(0)
            }
        }
    }
}

/// A row of an atom, by the plain names of its columns.
struct Single<'a>(&'a Table, &'a Row);

impl Reads for Single<'_> {
    fn named(&self, named: &Named) -> Value {
        panic!("{named:?} in a filter")
    }

    fn plain(&self, name: &str) -> Value {
        self.1[self.0.column(name)].clone()
    }
}

/// The rows of a group, each with how often it is there.
struct Group<'a, 't> {
    query: &'a Query,
    tables: &'a Tables,
    rows: &'a [(Joined<'t>, i64)],
}

impl Group<'_, '_> {
    fn frame<'f>(&'f self, rows: &'f Joined<'f>) -> Frame<'f> {
        Frame {
            query: self.query,
            tables: self.tables,
            rows,
            outer: None,
        }
    }
}

impl Reads for Group<'_, '_> {
    fn named(&self, named: &Named) -> Value {
        self.frame(&self.rows[0].0).named(named)
    }

    fn values(&self, of: &dyn Fn(&dyn Reads) -> Value) -> Vec<(Value, i64)> {
        let value = |(rows, times): &(Joined<'_>, i64)| (of(&self.frame(rows)), *times);
        self.rows.iter().map(value).collect()
    }
}

/// The rows of a query, sorted, each as often as it is there. COFACTOR shows NULL: see
/// [`cofactors`].
#[must_use]
pub fn evaluate(query: &Query, tables: &Tables) -> Vec<Row> {
    let tables = &with_blocks(query, tables);
    let mut result: Vec<Row> = Vec::new();
    for (key, group) in &groups(query, tables, None) {
        if let Some(bag) = query.bag {
            let times = if bag.distinct { 1 } else { count(group) };
            let row = outputs(query, tables, key, group);
            result.extend(std::iter::repeat_n(row, times as usize));
            continue;
        }
        let rows = &group[..];
        let of = Group {
            query,
            tables,
            rows,
        };
        let having = query.having.as_ref();
        let kept = having.map(|having| holds(having.expr(), &of));
        if matches!(kept, None | Some(Some(true))) {
            result.push(outputs(query, tables, key, group));
        }
    }
    result.sort();
    result
}

/// Each group with its count, sums, and sums of products (upper triangle) of some columns of
/// integers.
#[must_use]
pub fn cofactors(query: &Query, tables: &Tables, columns: &[ColumnRef]) -> BTreeMap<Row, Vec<i64>> {
    let tables = &with_blocks(query, tables);
    let m = columns.len();
    let numbers = |group: &Vec<(Joined<'_>, i64)>| {
        let mut sums = vec![0; 1 + m + m * (m + 1) / 2];
        for (rows, times) in group {
            let read = |column| match value(query, tables, rows, column) {
                Value::Int(value) => value,
                other => panic!("{other:?} is no feature of the tests"),
            };
            let x: Vec<i64> = columns.iter().map(read).collect();
            let squares = (0..m).flat_map(|i| (i..m).map(move |j| (i, j)));
            let all = std::iter::once(1).chain(x.iter().copied());
            let all = all.chain(squares.map(|(i, j)| x[i] * x[j]));
            sums.iter_mut()
                .zip(all)
                .for_each(|(sum, value)| *sum += times * value);
        }
        sums
    };
    let groups = groups(query, tables, None);
    let of = |(key, group): (&Row, _)| (key.clone(), numbers(group));
    groups.iter().map(of).collect()
}

/// The tables, and the blocks of a query among them.
fn with_blocks(query: &Query, tables: &Tables) -> Tables {
    let mut all = tables.clone();
    for block in &query.blocks {
        let mut rows: BTreeMap<Row, i64> = BTreeMap::new();
        for row in evaluate(&block.query, &all) {
            *rows.entry(row).or_default() += 1;
        }
        // The types of a block's columns are not used: its values have their own.
        let column = |output: &Output| (output.name().to_owned(), Type::Int64);
        let table = Table {
            columns: block.query.outputs.iter().map(column).collect(),
            rows,
            ..Table::default()
        };
        all = all.with(&block.name, table);
    }
    all
}

fn count<R>(group: &[(R, i64)]) -> i64 {
    group.iter().map(|(_, times)| times).sum()
}

fn value(query: &Query, tables: &Tables, rows: &Joined<'_>, column: &ColumnRef) -> Value {
    let table = tables.get(&query.atoms[column.atom].table);
    rows[column.atom][table.column(&column.column)].clone()
}

/// The rows of the join by the values that they are grouped by.
fn groups<'t>(
    query: &Query,
    tables: &'t Tables,
    outer: Option<&Frame<'_>>,
) -> BTreeMap<Row, Vec<(Joined<'t>, i64)>> {
    let mut groups: BTreeMap<Row, Vec<(Joined<'t>, i64)>> = BTreeMap::new();
    if query.group_by.is_empty() && query.bag.is_none() {
        groups.insert(Row::new(), Vec::new());
    }
    join(query, tables, &mut Vec::new(), 1, &mut |rows, times| {
        let frame = Frame {
            query,
            tables,
            rows,
            outer,
        };
        let condition = query.condition.as_ref();
        let chosen = condition.map(|condition| holds(condition.expr(), &frame));
        if !matches!(chosen, None | Some(Some(true))) {
            return;
        }
        let key = query.group_by.iter();
        let key: Row = key.map(|c| value(query, tables, rows, c)).collect();
        groups.entry(key).or_default().push((rows.clone(), times));
    });
    groups
}

fn join<'t>(
    query: &Query,
    tables: &'t Tables,
    rows: &mut Joined<'t>,
    times: i64,
    emit: &mut dyn FnMut(&Joined<'t>, i64),
) {
    let Some(atom) = query.atoms.get(rows.len()) else {
        return emit(rows, times);
    };
    let table = tables.get(&atom.table);
    for (row, count) in &table.rows {
        rows.push(row);
        let get = |column: &ColumnRef| value(query, tables, rows, column);
        let filter = atom.filter.as_ref();
        let passes = filter.map(|filter| holds(filter.expr(), &Single(table, row)));
        let equal = query.joins.iter().all(|class| {
            let mut values = class.iter().filter(|c| c.atom < rows.len()).map(get);
            match values.next() {
                None => true,
                Some(first) => first != Value::Null && values.all(|value| value == first),
            }
        });
        if equal && matches!(passes, None | Some(Some(true))) {
            join(query, tables, rows, times * count, emit);
        }
        rows.pop();
    }
}

fn outputs(query: &Query, tables: &Tables, key: &Row, rows: &[(Joined<'_>, i64)]) -> Row {
    let of = Group {
        query,
        tables,
        rows,
    };
    let output = |output: &Output| match output {
        Output::Group { column, .. } => match query.group_by.iter().position(|c| c == column) {
            Some(at) => key[at].clone(),
            None => value(query, tables, &rows[0].0, column),
        },
        Output::Aggregate {
            function, argument, ..
        } => {
            let values = of.values(&|row| match argument {
                None => Value::Int(1),
                Some(argument) => compute(argument.expr(), row),
            });
            aggregate(*function, values)
        }
        Output::Cofactor { .. } => Value::Null,
        Output::Expression { value, .. } => compute(value.expr(), &of),
    };
    query.outputs.iter().map(output).collect()
}
