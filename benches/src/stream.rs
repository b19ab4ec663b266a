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
    /// Where the sum that is compared stands among the sums of a degree-m matrix.
    feature: Option<usize>,
}

impl Stream {
    /// `scalars` asks for each entry of a degree-m matrix as a sum of its own.
    pub(crate) fn new(
        workload: Workload,
        data: &Dataset,
        trust_deletes: bool,
        scalars: bool,
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
        let query = serde_json::from_value(query(workload, data, scalars)).expect(WELL_FORMED);
        let mut stream = Self {
            database,
            tables,
            missing: workload.loaded().len(),
            query,
            feature: (workload.is_cofactor() && !scalars).then_some(0),
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
        if let Some(feature) = self.feature {
            let cofactor = result.column(0).as_struct();
            let sums = cofactor.column(1).as_fixed_size_list().value(0);
            return Totals {
                count: cofactor.column(0).as_primitive::<Int64Type>().value(0),
                // Whole numbers, far below 2^53.
                sum: sums.as_primitive::<Float64Type>().value(feature) as i64,
            };
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

/// `SELECT COUNT(*), SUM(..)`, or `COFACTOR(..)` of all columns, over the natural join of all relations.
fn query(workload: Workload, data: &Dataset, scalars: bool) -> Value {
    let relations = &data.relations;
    let atoms: Vec<Value> = relations
        .iter()
        .map(|relation| json!({"table": relation.name, "alias": relation.name}))
        .collect();
    let place = |atom: usize, column: &str| json!({"atom": atom, "column": column});
    let has = |atom: usize, column: &str| relations[atom].names.iter().any(|name| name == column);
    let (mut joins, mut features) = (Vec::new(), Vec::new());
    for (atom, relation) in relations.iter().enumerate() {
        for column in &relation.names {
            match (0..atom).find(|&earlier| has(earlier, column)) {
                Some(first) => joins.push(json!([place(first, column), place(atom, column)])),
                None => features.push((atom, column.as_str())),
            }
        }
    }
    let summed = match workload.stream() {
        Workload::Housing => "postcode",
        _ => "inventoryunits",
    };
    // The sum that is compared comes first.
    features.sort_by_key(|&(_, column)| column != summed);
    let value =
        |&(atom, column): &(usize, &str)| json!({"op": "column", "atom": atom, "column": column});
    let sum = |name: String, argument: Value| json!({"kind": "aggregate", "name": name, "function": "sum", "argument": argument});
    let count =
        json!({"kind": "aggregate", "name": "count", "function": "count", "argument": null});
    let outputs: Vec<Value> = match (workload.is_cofactor(), scalars) {
        (true, false) => {
            let columns: Vec<Value> = features.iter().map(|&(a, c)| place(a, c)).collect();
            vec![json!({"kind": "cofactor", "name": "cofactor", "columns": columns})]
        }
        (true, true) => {
            let sums = features
                .iter()
                .map(|feature| sum(feature.1.to_owned(), value(feature)));
            let mut outputs: Vec<Value> = std::iter::once(count).chain(sums).collect();
            for (at, left) in features.iter().enumerate() {
                for right in &features[at..] {
                    let product =
                        json!({"op": "multiply", "left": value(left), "right": value(right)});
                    outputs.push(sum(format!("{} {}", left.1, right.1), product));
                }
            }
            outputs
        }
        (false, _) => vec![count, sum("sum".to_owned(), value(&features[0]))],
    };
    json!({"atoms": atoms, "joins": joins, "outputs": outputs})
}
