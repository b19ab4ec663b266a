//! Tables of nullable integers, fed to views and to the oracle; queries in a few strings.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int64Type};
use arrow_array::{Array, Int64Array, RecordBatch};
use arrow_schema::DataType;
use ringview_core::{Batch, Budget, Column, Dictionary, Result, Type};
use ringview_oracle::{Table, Value, cofactors, evaluate};
use ringview_query::{Atom, Catalog, ColumnRef, Function, Output, Query, TableInfo, bind};
use ringview_view::{Context, FactorRows, ProductDelta, RowDelta, View};
use ringview_viewtree::plan::{Plan, Planning};

/// A row of nullable integers.
pub type Row = Vec<Option<i64>>;
/// Group and aggregates of each result row.
pub type Rows = BTreeMap<Row, i64>;

/// Tables of nullable 64-bit integers, by name, with their columns.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    pub columns: BTreeMap<&'static str, Vec<&'static str>>,
    pub fixed: Vec<&'static str>,
    /// Tables of which no two rows agree in the first column.
    pub unique: Vec<&'static str>,
    pub rows: BTreeMap<&'static str, BTreeMap<Row, i64>>,
}

impl Catalog for Tables {
    fn table(&self, name: &str) -> Result<TableInfo> {
        self.model().table(name)
    }
}

fn column(text: &str, atoms: &[Atom]) -> (usize, String) {
    let (alias, name) = text.split_once('.').unwrap();
    (
        atoms.iter().position(|atom| atom.alias == alias).unwrap(),
        name.to_owned(),
    )
}

/// A query in a few strings: atoms "table alias", joins "a.x = b.y", groups "a.x", and sums of
/// products "a.x * b.y" (the empty product counts, a leading "avg " averages; "min a.x", "max a.x" and
/// "distinct a.x" are what they say).
pub fn query(atoms: &[&str], joins: &[&str], groups: &[&str], sums: &[&str]) -> Query {
    let atom = |text: &&str| {
        let (table, alias) = text.split_once(' ').unwrap_or((text, text));
        Atom {
            table: table.to_owned(),
            alias: alias.to_owned(),
            filter: None,
        }
    };
    let atoms: Vec<Atom> = atoms.iter().map(atom).collect();
    let reference = |text: &str| {
        let (atom, column) = column(text, &atoms);
        ColumnRef { atom, column }
    };
    let joins = joins
        .iter()
        .map(|join| join.split(" = ").map(reference).collect())
        .collect();
    let group_by: Vec<ColumnRef> = groups.iter().map(|group| reference(group)).collect();
    let mut outputs: Vec<Output> = groups
        .iter()
        .map(|group| Output::Group {
            name: (*group).to_owned(),
            column: reference(group),
        })
        .collect();
    for sum in sums {
        let (function, product) = match sum.split_once(' ') {
            Some(("avg", product)) => (Function::Avg, product),
            Some(("min", column)) => (Function::Min, column),
            Some(("max", column)) => (Function::Max, column),
            Some(("distinct", column)) => (Function::CountDistinct, column),
            _ if sum.is_empty() => (Function::Count, *sum),
            _ => (Function::Sum, *sum),
        };
        let factors = product
            .split(" * ")
            .filter(|factor| !factor.is_empty())
            .map(|factor| {
                let (atom, column) = column(factor, &atoms);
                ColumnRef { atom, column }.text()
            });
        let argument = factors.reduce(|left, right| format!("{left} * {right}"));
        outputs.push(Output::Aggregate {
            name: format!("{sum}#{}", outputs.len()),
            function,
            argument: argument.map(|text| text.parse().unwrap()),
        });
    }
    Query {
        blocks: Vec::new(),
        condition: None,
        subqueries: Vec::new(),
        atoms,
        joins,
        group_by,
        outputs,
        rows: None,
        bag: None,
        having: None,
        order: None,
        epsilon: None,
        is_chosen: false,
    }
}

impl Tables {
    pub fn new(tables: &[(&'static str, &[&'static str])]) -> Self {
        let columns = tables
            .iter()
            .map(|(name, columns)| (*name, columns.to_vec()))
            .collect();
        let rows = tables
            .iter()
            .map(|(name, _)| (*name, BTreeMap::new()))
            .collect();
        Self {
            columns,
            fixed: Vec::new(),
            unique: Vec::new(),
            rows,
        }
    }

    pub fn apply(&mut self, table: &'static str, rows: &[(Row, i64)]) {
        let stored = self.rows.get_mut(table).unwrap();
        for (row, times) in rows {
            *stored.entry(row.clone()).or_default() += times;
        }
        stored.retain(|_, times| *times != 0);
    }

    /// The plan and an empty view of a query.
    pub fn view(&self, query: &Query) -> (Arc<Plan>, Box<dyn View>) {
        let plan = Arc::new(Plan::new(bind(query, self).unwrap(), Planning::default()).unwrap());
        let view = ringview_viewtree::view(Arc::clone(&plan)).unwrap();
        (plan, view)
    }

    /// The same for the oracle.
    fn model(&self) -> ringview_oracle::Tables {
        let mut model = ringview_oracle::Tables::default();
        for (name, columns) in &self.columns {
            let columns: Vec<_> = columns.iter().map(|c| (*c, Type::Int64)).collect();
            let row = |(row, times): (&Row, &i64)| {
                let values = row.iter().map(|value| Value::from(*value));
                (values.collect(), *times)
            };
            let table = Table {
                is_static: self.fixed.contains(name),
                unique: self.unique.contains(name).then(|| vec![0]),
                rows: self.rows[name].iter().map(row).collect(),
                ..Table::new(&columns)
            };
            model = model.with(name, table);
        }
        model
    }

    /// The result by nested loops; doubles are compared by their bits.
    pub fn evaluate(&self, query: &Query) -> Rows {
        let mut result = Rows::new();
        for row in evaluate(query, &self.model()) {
            let row = row.iter().map(bits).collect();
            *result.entry(row).or_default() += 1;
        }
        result
    }

    /// Each group with its count, sums, and sums of products (upper triangle), by nested loops.
    pub fn cofactors(&self, query: &Query, columns: &[ColumnRef]) -> BTreeMap<Row, Vec<i64>> {
        let groups = cofactors(query, &self.model(), columns).into_iter();
        groups
            .map(|(key, numbers)| (key.iter().map(bits).collect(), numbers))
            .collect()
    }
}

fn bits(value: &Value) -> Option<i64> {
    match value {
        Value::Null => None,
        Value::Int(value) => Some(*value),
        Value::Real(value) => Some(value.to_bits() as i64),
        Value::Text(_) => unreachable!("the tables are of integers"),
    }
}

/// Rows as the engine reads them.
pub fn batch(width: usize, rows: &[(Row, i64)]) -> Batch {
    let column = |at: usize| {
        let words = rows
            .iter()
            .map(|(row, _)| row[at].unwrap_or(0) as u64)
            .collect();
        let valid: Vec<bool> = rows.iter().map(|(row, _)| row[at].is_some()).collect();
        let valid = valid.contains(&false).then_some(valid);
        Some(Column {
            words,
            high: Vec::new(),
            valid,
        })
    };
    Batch {
        rows: rows.len(),
        columns: (0..width).map(column).collect(),
        multiplicity: Some(rows.iter().map(|(_, times)| *times).collect()),
    }
}

/// Applies rows at every atom of a table.
pub fn feed(
    plan: &Plan,
    view: &mut Box<dyn View>,
    table: &str,
    batch: &Batch,
    sign: i64,
) -> Result<()> {
    for (at, _) in plan
        .atoms
        .iter()
        .enumerate()
        .filter(|(_, atom)| atom.table == table)
    {
        let rows = RowDelta {
            atom: at,
            batch,
            sign,
            dictionary: &Dictionary::new(),
        };
        let wanted = vec![true; plan.outputs.len()];
        view.apply(rows, &context(&Dictionary::new(), &Budget::free(), &wanted))?;
    }
    Ok(())
}

/// Fills a view at every atom of a table.
pub fn load(plan: &Plan, view: &mut Box<dyn View>, table: &str, batches: &[Batch]) -> Result<()> {
    let (dictionary, budget) = (Dictionary::new(), Budget::free());
    let cx = context(&dictionary, &budget, &[]);
    let atoms = plan.atoms.iter().enumerate();
    for (atom, _) in atoms.filter(|(_, atom)| atom.table == table) {
        for batch in batches {
            let rows = RowDelta {
                atom,
                batch,
                sign: 1,
                dictionary: &dictionary,
            };
            view.load(rows, &cx)?;
        }
        view.end_load(&cx)?;
    }
    Ok(())
}

/// The context of a transaction whose delta is wanted whole.
fn context<'c, 'm>(
    dictionary: &'c Dictionary,
    budget: &'c Budget<'m>,
    wanted: &'c [bool],
) -> Context<'c, 'm> {
    Context {
        dictionary,
        budget,
        wanted: Some(wanted),
    }
}

/// Prepares the running transaction: the rows by which the result changes, with their multiplicities.
pub fn prepare(plan: &Plan, view: &mut Box<dyn View>) -> Result<Rows> {
    let dictionary = Dictionary::new();
    let wanted = vec![true; plan.outputs.len()];
    let delta = view.prepare(&context(&dictionary, &Budget::free(), &wanted))?;
    let mut changed = Rows::new();
    if delta.is_empty() {
        return Ok(changed);
    }
    let mut columns = delta.arrays(&plan.outputs, &dictionary)?;
    columns.push(Arc::new(Int64Array::from(delta.multiplicity)));
    let names = (0..columns.len()).map(|at| format!("c{at}"));
    let batch = RecordBatch::try_from_iter(names.zip(columns)).unwrap();
    for row in 0..batch.num_rows() {
        let width = batch.num_columns() - 1;
        let key = (0..width)
            .map(|column| value(&batch, column, row))
            .collect();
        *changed.entry(key).or_default() += value(&batch, width, row).unwrap();
    }
    changed.retain(|_, times| *times != 0);
    Ok(changed)
}

/// Prepares the running transaction without a delta, and keeps it.
pub fn commit(view: &mut Box<dyn View>) {
    let (dictionary, budget) = (Dictionary::new(), Budget::free());
    let cx = Context {
        dictionary: &dictionary,
        budget: &budget,
        wanted: None,
    };
    view.prepare(&cx).unwrap();
    view.commit(&dictionary);
}

/// The result of a view over integers.
pub fn result(view: &dyn View) -> RecordBatch {
    let answer = view.answer();
    answer.rows(&Dictionary::new(), &Budget::free()).unwrap()
}

/// Applies the rows of the product of some factors at an atom.
pub fn multiply(
    view: &mut Box<dyn View>,
    atom: usize,
    factors: &[FactorRows],
    sign: i64,
) -> Result<()> {
    let product = ProductDelta {
        atom,
        factors,
        sign,
        dictionary: &Dictionary::new(),
    };
    let (dictionary, budget) = (Dictionary::new(), Budget::free());
    view.apply_product(product, &context(&dictionary, &budget, &[]))
}

/// A value of a result; a real by its bits.
pub fn value(batch: &RecordBatch, column: usize, row: usize) -> Option<i64> {
    let array = batch.column(column);
    array.is_valid(row).then(|| match array.data_type() {
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row),
        // A sum of integers. The tests' own stay small, or are seen to be large.
        DataType::Decimal128(_, 0) => {
            let sum = array.as_primitive::<Decimal128Type>().value(row);
            i64::try_from(sum).unwrap_or(i64::MAX)
        }
        _ => {
            let doubles = array.as_primitive::<arrow_array::types::Float64Type>();
            doubles.value(row).to_bits() as i64
        }
    })
}

/// The rows of a result, with the multiplicities of its last column where it has them.
pub fn rows(batch: &RecordBatch, multiplicity: bool) -> Rows {
    let width = batch.num_columns() - usize::from(multiplicity);
    let value = |column, row| value(batch, column, row);
    let mut found = Rows::new();
    for row in 0..batch.num_rows() {
        let key: Row = (0..width).map(|column| value(column, row)).collect();
        let times = if multiplicity {
            value(width, row).unwrap()
        } else {
            1
        };
        *found.entry(key).or_default() += times;
    }
    found.retain(|_, times| *times != 0);
    found
}
