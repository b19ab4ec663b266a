//! The ringview engine under the same stream: one transaction a batch, as any Rust program would feed it.
//!
//! Invariant: nothing here is particular to a query beyond its text; static tables are filled before the view is made.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, Int64Array, RecordBatch};
use ringview_core::Schema;
use ringview_engine::{Database, Direction, Op, Options};
use ringview_query::Query;
use serde_json::{Value, json};

use crate::data::Dataset;
use crate::system::{System, Totals};
use crate::workload::Workload;

const VIEW: &str = "view";
const WELL_FORMED: &str = "the benches' own tables and queries are well formed";

/// A database with the workload's tables and its one view.
pub(crate) struct Stream {
    database: Database,
    tables: Vec<&'static str>,
    /// How many relations are still to be loaded before the view is made.
    missing: usize,
    query: Query,
    result: Shown,
}

/// How the result is read.
enum Shown {
    /// A count and a sum.
    Pair,
    /// One degree-m payload, or all of its numbers as columns; by number whether it is summed up.
    Matrix(Vec<bool>),
}

impl Stream {
    pub(crate) fn new(workload: Workload, data: &Dataset, trust_deletes: bool) -> Self {
        let features = features(data);
        if !workload.is_cofactor() {
            return Self::of(workload, data, trust_deletes, pair(workload), Shown::Pair);
        }
        let columns: Vec<Value> = features.iter().map(|feature| feature.0.clone()).collect();
        let outputs = json!([{"kind": "cofactor", "name": "cofactor", "columns": columns}]);
        let shown = Shown::Matrix(summed(&features));
        Self::of(workload, data, trust_deletes, outputs, shown)
    }

    /// The cofactor matrix as one SUM a number, over the same tree: F-IVM with scalars for payloads.
    pub(crate) fn of_scalars(workload: Workload, data: &Dataset) -> Self {
        let features = features(data);
        let column = |at: usize| {
            let mut column = features[at].0.clone();
            column["op"] = json!("column");
            column
        };
        let sum = |name: String, argument: Value| json!({"kind": "aggregate", "name": name, "function": "sum", "argument": argument});
        let mut outputs =
            vec![json!({"kind": "aggregate", "name": "n", "function": "count", "argument": null})];
        outputs.extend((0..features.len()).map(|at| sum(format!("s{at}"), column(at))));
        for left in 0..features.len() {
            outputs.extend((left..features.len()).map(|right| {
                let product =
                    json!({"op": "multiply", "left": column(left), "right": column(right)});
                sum(format!("q{left} {right}"), product)
            }));
        }
        let shown = Shown::Matrix(summed(&features));
        Self::of(workload, data, true, Value::Array(outputs), shown)
    }

    fn of(
        workload: Workload,
        data: &Dataset,
        trust_deletes: bool,
        outputs: Value,
        result: Shown,
    ) -> Self {
        let mut database = Database::new(Options { trust_deletes });
        let streamed = workload.streamed();
        for (index, relation) in data.relations.iter().enumerate() {
            let schema = Schema::from_arrow(&data.batch(index).schema()).expect(WELL_FORMED);
            let is_static = !streamed.contains(&index);
            database
                .create_table(relation.name, schema, None, is_static)
                .expect(WELL_FORMED);
        }
        let tables = data
            .relations
            .iter()
            .map(|relation| relation.name)
            .collect();
        let query = serde_json::from_value(query(data, outputs)).expect(WELL_FORMED);
        let mut stream = Self {
            database,
            tables,
            missing: workload.loaded().len(),
            query,
            result,
        };
        stream.create_view();
        stream
    }

    fn create_view(&mut self) {
        if self.missing == 0 {
            self.database
                .create_view(VIEW, &self.query, &mut |_| Ok(()))
                .expect(WELL_FORMED);
        }
    }
}

impl System for Stream {
    fn apply(&mut self, relation: usize, batch: &RecordBatch, sign: i64) {
        let direction = match sign {
            1 => Direction::Insert,
            _ => Direction::Delete,
        };
        let op = Op {
            table: self.tables[relation],
            direction,
            rows: std::slice::from_ref(batch),
            multiplicity: None,
        };
        self.database
            .apply(&[op], &mut |_| Ok(()))
            .expect("rows that fit are inserted, and rows that are there are deleted");
        if self.missing > 0 {
            self.missing -= 1;
            self.create_view();
        }
    }

    fn totals(&self) -> Totals {
        let result = self.database.view_result(VIEW).expect(WELL_FORMED);
        if let Shown::Matrix(summed) = &self.result {
            return matrix(&result, summed);
        }
        let value = |column: usize| {
            let array = result.column(column).as_any();
            let array: &Int64Array = array.downcast_ref().expect("an int64 column");
            array.iter().next().flatten().unwrap_or(0)
        };
        Totals {
            count: value(0),
            sum: value(1),
        }
    }

    fn memory(&self) -> usize {
        self.database
            .memory_usage()
            .iter()
            .map(|(_, bytes)| bytes)
            .sum()
    }
}

/// A count and the sum of those numbers that are summed up.
fn matrix(result: &RecordBatch, summed: &[bool]) -> Totals {
    let integers = |array: &dyn Array| -> Vec<i64> {
        let array = array.as_primitive::<Int64Type>();
        array.iter().map(Option::unwrap_or_default).collect()
    };
    let numbers: Vec<i64> = match result.column(0).as_struct_opt() {
        None => result
            .columns()
            .iter()
            .flat_map(|column| integers(column))
            .collect(),
        Some(payload) => {
            let doubles = |column: usize| {
                let list = payload.column(column).as_fixed_size_list().values();
                list.as_primitive::<Float64Type>()
                    .values()
                    .iter()
                    .map(|&x| x as i64)
            };
            let count = integers(payload.column(0));
            count
                .into_iter()
                .chain(doubles(1))
                .chain(doubles(2))
                .collect()
        }
    };
    let rest = numbers[1..]
        .iter()
        .zip(summed)
        .filter(|(_, summed)| **summed);
    Totals {
        count: numbers[0],
        sum: rest.map(|(number, _)| number).sum(),
    }
}

/// Every attribute once, where it first occurs, and whether relations join on it.
fn features(data: &Dataset) -> Vec<(Value, bool)> {
    let mut found: Vec<(&str, Value, bool)> = Vec::new();
    for (atom, relation) in data.relations.iter().enumerate() {
        for name in &relation.names {
            match found.iter_mut().find(|known| known.0 == name) {
                Some(known) => known.2 = true,
                None => found.push((name, json!({"atom": atom, "column": name}), false)),
            }
        }
    }
    found
        .into_iter()
        .map(|(_, column, joins)| (column, joins))
        .collect()
}

/// Which sums and products all systems agree on to the last digit: not those of two keys, which pass 2^53.
fn summed(features: &[(Value, bool)]) -> Vec<bool> {
    let mut summed = vec![true; features.len()];
    for (at, (_, left)) in features.iter().enumerate() {
        summed.extend(features[at..].iter().map(|(_, right)| !(*left && *right)));
    }
    summed
}

/// `COUNT(*), SUM(..)`
fn pair(workload: Workload) -> Value {
    let summed = match workload {
        Workload::Housing => "postcode",
        _ => "inventoryunits",
    };
    json!([
        {"kind": "aggregate", "name": "count", "function": "count", "argument": null},
        {"kind": "aggregate", "name": "sum", "function": "sum",
         "argument": {"op": "column", "atom": 0, "column": summed}},
    ])
}

/// The outputs over the natural join of all relations.
fn query(data: &Dataset, outputs: Value) -> Value {
    let relations = &data.relations;
    let atoms: Vec<Value> = relations
        .iter()
        .map(|relation| json!({"table": relation.name, "alias": relation.name}))
        .collect();
    let place = |atom: usize, column: &str| json!({"atom": atom, "column": column});
    let has = |atom: usize, column: &str| relations[atom].names.iter().any(|name| name == column);
    let mut joins = Vec::new();
    for (atom, relation) in relations.iter().enumerate() {
        for column in &relation.names {
            if let Some(first) = (0..atom).find(|&earlier| has(earlier, column)) {
                joins.push(json!([place(first, column), place(atom, column)]));
            }
        }
    }
    json!({"atoms": atoms, "joins": joins, "outputs": outputs})
}
