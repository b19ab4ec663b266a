//! The step of a recursion, kept by a database of its own.
//!
//! The tables of that database are the rows of the recursion so far and what the step reads beside them; the step is a view
//! over them, planned as any other, blocks and all. Invariant: its tables keep no rows, as deletes are those of rows that
//! are there, so beside the recursion's own rows only what the plan of the step needs is stored, and counted with it. A
//! change is a transaction of that database, and the changes of the view are what the step derives by it. Cost: that of the
//! step's view, and a few microseconds for each application.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use ringview_core::{Budget, Error, Result};
use ringview_query::{PlanAtom, Recursion};
use ringview_rows::{Changes, Step, TableChange};
use ringview_view::Engine;

use super::changes::ViewFollower;
use super::{Database, Options};
use crate::graph::node::Node;
use crate::op::{Direction, Op};

/// Units of work counted for each poll of the inner database.
const ASKED: u64 = 1 << 10;

/// See the module.
#[derive(Debug)]
struct Inner {
    database: Database,
    /// Schemas with a last column for the multiplicity of a row.
    tables: Vec<(String, SchemaRef)>,
    view: String,
    follower: ViewFollower,
}

impl Database {
    /// Gives a recursion without rows whatever keeps its step.
    pub(super) fn begin_step(&self, node: &mut Node) -> Result<()> {
        let atoms: Vec<PlanAtom> = node.inputs.iter().map(|input| input.atom.clone()).collect();
        let Some(recursive) = node.recursive() else {
            return Ok(());
        };
        let inner = Inner::new(recursive.definition(), &atoms, &self.engines)?;
        recursive.begin(Box::new(inner));
        Ok(())
    }
}

impl Inner {
    fn new(of: &Recursion, atoms: &[PlanAtom], engines: &[Arc<dyn Engine>]) -> Result<Self> {
        let options = Options {
            trust_deletes: true,
            ..Options::default()
        };
        let mut database = Database::with_engines(options, engines.to_vec());
        let mut tables = Vec::new();
        for (name, schema) in of.tables(atoms)? {
            let fields = schema.to_arrow().fields().clone();
            let fields = fields
                .iter()
                .map(|field| field.as_ref().clone().with_nullable(true));
            let often = free("often", &|name| schema.index_of(name).is_ok());
            let often = Field::new(often, arrow_schema::DataType::Int64, false);
            let fields: Vec<Field> = fields.chain([often]).collect();
            database.create_table(&name, schema, None, false)?;
            tables.push((name, Arc::new(Schema::new(fields))));
        }
        let view = free("step", &|name| tables.iter().any(|(one, _)| one == name));
        database.create_view(&view, of.query()?, &mut |_| Ok(()))?;
        Ok(Self {
            follower: database.follow(&view, true)?,
            database,
            tables,
            view,
        })
    }

    fn batch(&self, (table, (columns, often)): &TableChange) -> Result<RecordBatch> {
        let schema = Arc::clone(&self.tables[*table].1);
        let options = RecordBatchOptions::new().with_row_count(Some(often.len()));
        let often: ArrayRef = Arc::new(Int64Array::from(often.clone()));
        let columns = columns.iter().cloned().chain([often]).collect();
        RecordBatch::try_new_with_options(schema, columns, &options)
            .map_err(|problem| unfit(&problem.to_string()))
    }
}

impl Step for Inner {
    fn apply(&mut self, changes: &[TableChange], budget: &Budget<'_>) -> Result<Changes> {
        let batches = changes.iter().map(|change| self.batch(change));
        let batches = batches.collect::<Result<Vec<RecordBatch>>>()?;
        let op = |((table, _), rows): (&TableChange, _)| {
            let (name, schema) = &self.tables[*table];
            Op {
                table: name,
                direction: Direction::Insert,
                rows: std::slice::from_ref(rows),
                multiplicity: schema.fields().last().map(|often| often.name().as_str()),
            }
        };
        let ops: Vec<Op<'_>> = changes.iter().zip(&batches).map(op).collect();
        self.database.apply(&ops, &mut |_| budget.work(ASKED))?;
        let derived = self.database.changes(&self.follower)?;
        self.database.advance(&self.follower)?;
        let mut columns = derived.columns().to_vec();
        let often = columns
            .pop()
            .ok_or_else(|| unfit("they have no multiplicities"))?;
        let often = often.as_primitive::<Int64Type>().values().to_vec();
        Ok((columns, often))
    }

    fn rows(&self, budget: &Budget<'_>) -> Result<Changes> {
        let mut poll = |_| budget.work(ASKED);
        let rows = self.database.view_result_with(&self.view, &mut poll)?;
        Ok((rows.columns().to_vec(), vec![1; rows.num_rows()]))
    }

    fn description(&self) -> String {
        let Ok(explanation) = self.database.view_explanation(&self.view) else {
            return String::new();
        };
        let below = explanation
            .below
            .iter()
            .filter(|one| one.what.starts_with("block"));
        let mut engines = vec![explanation.engine.name.clone()];
        for engine in below.map(|one| &one.view.engine.name) {
            if !engines.contains(engine) {
                engines.push(engine.clone());
            }
        }
        format!("{} ({})", engines.join(", "), explanation.form.name)
    }

    fn memory_usage(&self) -> usize {
        self.database.state.counted_bytes() as usize
    }

    fn steps(&self) -> u64 {
        let nodes = self.database.state.graph.nodes.iter();
        nodes.filter_map(Node::view).map(|view| view.steps()).sum()
    }

    fn check(&self) {
        self.database.check();
    }
}

/// A name like this one that is not taken.
fn free(name: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let mut name = name.to_owned();
    while is_taken(&name) {
        name.push('\'');
    }
    name
}

fn unfit(problem: &str) -> Error {
    Error::Value {
        place: "the step of a recursion".to_owned(),
        problem: problem.to_owned(),
    }
}
