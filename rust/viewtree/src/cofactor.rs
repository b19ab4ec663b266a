//! Payloads of the degree-m matrix ring: rows lifted group by group, and the result as Arrow.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::plan::{CofactorPlan, Plan};
use arrow_array::{ArrayRef, Int64Array, StructArray};
use arrow_schema::{DataType, Field, Fields};
use ringview_core::{Batch, Dictionary, Error, Gone, Result, Schema};
use ringview_query::{OutputKind, PlanOutput};
use ringview_ring::{Cofactor, CofactorProduct, CofactorShape, Groups, lift_rows};

use crate::categories;
use crate::cells::Cells;
use crate::leaf::{LeafProgram, Selection, Values};
use crate::overflow;
use crate::payloads::{Aggregates, Payloads, number};
use crate::program::ProductPlan;
use crate::result::ResultRows;

/// The metadata key under which the names of the features travel, as a JSON list.
const NAMES: &str = "ringview.cofactor";
/// And the one for the columns by which the view groups.
const GROUPS: &str = "ringview.groups";

/// A leaf: its program, the columns that must not be NULL, and room for a batch.
#[derive(Clone, Debug)]
struct Leaf {
    program: LeafProgram,
    not_null: Vec<usize>,
    place: String,
    schema: Schema,
    /// Feature values row by row.
    values: Vec<f64>,
    times: Vec<i64>,
}

/// The payloads of COFACTOR.
#[derive(Clone, Debug)]
pub(crate) struct CofactorPayloads {
    plan: CofactorPlan,
    leaves: BTreeMap<usize, Leaf>,
}

impl CofactorPayloads {
    pub(crate) fn compile(
        plan: &Plan,
        cofactor: &CofactorPlan,
        schemas: &[Schema],
    ) -> Result<Self> {
        let mut leaves = BTreeMap::new();
        for (node, description) in plan.tree.nodes.iter().enumerate() {
            let Some(atom) = description.atom else {
                continue;
            };
            let leaf = Leaf {
                program: LeafProgram::compile(plan, node, &schemas[atom])?,
                not_null: cofactor.not_null[atom].clone(),
                place: plan.atoms[atom].table.clone(),
                schema: schemas[atom].clone(),
                values: Vec::new(),
                times: Vec::new(),
            };
            leaves.insert(node, leaf);
        }
        Ok(Self {
            plan: cofactor.clone(),
            leaves,
        })
    }

    /// Where the features stand in the payload of a node.
    fn positions(&self, node: usize, features: impl Iterator<Item = usize>) -> Vec<usize> {
        let all = &self.plan.nodes[node];
        features
            .filter_map(|feature| all.iter().position(|other| *other == feature))
            .collect()
    }
}

impl ProductPlan<Cofactor> for CofactorPayloads {
    fn shape(&self, node: usize) -> CofactorShape {
        CofactorShape {
            variables: self.plan.nodes[node].len(),
        }
    }

    fn products(
        &self,
        _: &Plan,
        node: usize,
        from: usize,
        siblings: &[usize],
    ) -> Vec<CofactorProduct> {
        let mut left = self.positions(node, self.plan.nodes[from].iter().copied());
        let product = |&sibling: &usize| {
            let right = self.positions(node, self.plan.nodes[sibling].iter().copied());
            let product = CofactorProduct::new(&left, &right);
            left.extend(right);
            left.sort_unstable();
            product
        };
        siblings.iter().map(product).collect()
    }
}

impl Payloads for CofactorPayloads {
    type Ring = Cofactor;

    fn select(
        &mut self,
        leaf: usize,
        batch: &Batch,
        dictionary: &Dictionary,
        into: &mut Selection,
    ) -> Result<()> {
        let Some(leaf) = self.leaves.get_mut(&leaf) else {
            unreachable!("every leaf has a program")
        };
        leaf.program.select(batch, dictionary, into)?;
        leaf.refuse_nulls(batch, into)
    }

    fn read(
        &mut self,
        leaf: usize,
        batch: &Batch,
        selection: &Selection,
        sign: i64,
        groups: Groups<'_>,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        let shape = self.shape(leaf);
        let Some(leaf) = self.leaves.get_mut(&leaf) else {
            unreachable!("every leaf has a program")
        };
        leaf.fill(batch, selection, sign, shape.variables)?;
        out.clear();
        if matches!(groups, Groups::Each(_)) {
            // A row by itself stays a row.
            for (row, &times) in leaf.times.iter().enumerate() {
                let values = &leaf.values[row * shape.variables..][..shape.variables];
                out.push(times as u64);
                out.extend(values.iter().map(|value| value.to_bits()));
            }
            return Ok(());
        }
        out.resize(groups.len() * shape.words(), 0);
        if lift_rows(shape, &leaf.values, &leaf.times, groups, out) {
            return Err(overflow("the count of a batch".to_owned()));
        }
        Ok(())
    }

    fn forget_strings(&mut self, gone: &Gone) {
        let leaves = self.leaves.values_mut();
        leaves.for_each(|leaf| leaf.program.forget_strings(gone));
    }

    fn memory_usage(&self) -> usize {
        self.leaves
            .values()
            .map(|leaf| leaf.program.memory_usage())
            .sum()
    }
}

impl Leaf {
    /// NULL is no number: a row with one in a feature is refused, not guessed at.
    fn refuse_nulls(&self, batch: &Batch, selection: &Selection) -> Result<()> {
        for &column in &self.not_null {
            let data = batch.column(column);
            let mut rows = (0..selection.len()).map(|at| row_of(selection, at));
            if let Some(row) = rows.find(|&row| data.is_null(row)) {
                return Err(Error::NullFeature {
                    table: self.place.clone(),
                    column: self.schema.fields()[column].name.clone(),
                    row: row as u64,
                });
            }
        }
        Ok(())
    }

    /// The features of the selected rows, row by row, and their multiplicities.
    fn fill(&mut self, batch: &Batch, selection: &Selection, sign: i64, m: usize) -> Result<()> {
        let rows = selection.len();
        self.times.clear();
        match &batch.multiplicity {
            None => self.times.resize(rows, sign),
            Some(all) => {
                let times = |at| all[row_of(selection, at)].checked_mul(sign);
                for at in 0..rows {
                    let refused = || overflow("a row's multiplicity".to_owned());
                    self.times.push(times(at).ok_or_else(refused)?);
                }
            }
        }
        self.values.clear();
        self.values.resize(rows * m, 1.0);
        for feature in 0..m {
            // Component 0 is the count.
            if let Values::Words(words) = self.program.factor(feature + 1, batch, selection)? {
                let targets = self.values.iter_mut().skip(feature).step_by(m);
                targets
                    .zip(words)
                    .for_each(|(value, &word)| *value = f64::from_bits(word));
            }
        }
        Ok(())
    }
}

fn row_of(selection: &Selection, at: usize) -> usize {
    selection.rows().map_or(at, |rows| rows[at] as usize)
}

impl Aggregates for CofactorPayloads {
    fn field(&self, plan: &Plan, output: &PlanOutput) -> Field {
        if !matches!(output.kind, OutputKind::Cofactor) {
            return number(output);
        }
        let is_group = |output: &&PlanOutput| matches!(output.kind, OutputKind::Group { .. });
        let groups = plan.outputs.iter().filter(is_group);
        let metadata = [
            (NAMES.to_owned(), json_list(self.plan.names.iter())),
            (
                GROUPS.to_owned(),
                json_list(groups.map(|group| &group.name)),
            ),
        ];
        let numbers = struct_fields(self.plan.names.len());
        let categories = categories::fields(&self.plan);
        let fields = numbers.iter().cloned();
        let data = DataType::Struct(fields.chain(categories.into_iter().map(Arc::new)).collect());
        Field::new(&output.name, data, false).with_metadata(metadata.into())
    }

    fn column(&self, plan: &Plan, rows: &ResultRows, output: &PlanOutput) -> Result<Cells> {
        let payloads = || rows.payloads.chunks_exact(rows.width);
        if matches!(output.kind, OutputKind::Count { .. }) {
            return Ok(Cells::of_words(
                payloads().map(|payload| payload[0]).collect(),
            ));
        }
        let order = &self.plan.nodes[plan.tree.root];
        let m = order.len();
        // Where the features that were asked for stand in the payload.
        let at = self.positions(plan.tree.root, 0..m);
        let triangle = |i: usize, j: usize| {
            let (i, j) = (at[i].min(at[j]), at[i].max(at[j]));
            1 + m + i * m - (i * i - i) / 2 + (j - i)
        };
        let (mut counts, mut sums, mut products) = (Vec::new(), Vec::new(), Vec::new());
        for payload in payloads() {
            let real = |word: usize| f64::from_bits(payload[word]);
            counts.push(payload[0] as i64);
            sums.extend(at.iter().map(|&feature| real(1 + feature)));
            for i in 0..m {
                products.extend((i..m).map(|j| real(triangle(i, j))));
            }
        }
        let fields = struct_fields(m);
        let list = |field: usize, values: Vec<f64>| -> Result<ArrayRef> {
            let DataType::FixedSizeList(item, size) = fields[field].data_type() else {
                unreachable!("the lists of the struct")
            };
            categories::lists_of(item, *size, values, rows.rows)
        };
        let columns = vec![
            Arc::new(Int64Array::from(counts)) as ArrayRef,
            list(1, sums)?,
            list(2, products)?,
        ];
        let column = StructArray::new(fields.clone(), columns, None);
        Ok(Cells::Array(Arc::new(column)))
    }
}

fn struct_fields(m: usize) -> Fields {
    let list = |name: &str, size: usize| {
        let item = Arc::new(Field::new("item", DataType::Float64, false));
        Field::new(name, DataType::FixedSizeList(item, size as i32), false)
    };
    Fields::from(vec![
        Field::new("count", DataType::Int64, false),
        list("sums", m),
        list("products", m * (m + 1) / 2),
    ])
}

/// A JSON list of strings.
fn json_list<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let strings: Vec<String> = texts.map(|text| json_string(text)).collect();
    format!("[{}]", strings.join(", "))
}

/// A JSON string.
fn json_string(text: &str) -> String {
    let mut out = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            control if control < ' ' => out.push_str(&format!("\\u{:04x}", control as u32)),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}
