//! What the binder may look up.
//!
//! Invariant: tables have the columns that the catalog gives them. The types of aggregates here serve the binder alone:
//! those of the result are the engine's. Cost: O(columns) once.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result, TableReference, not_impl_err};
use datafusion_expr::function::{AccumulatorArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, HigherOrderUDF, PartitionEvaluator, ScalarUDF,
    Signature, TableSource, Volatility, WindowUDF, WindowUDFImpl,
};
use ringview_expr::{Functions, known_functions, settings};
use ringview_query::Catalog;

/// The aggregates, as the binder knows them.
pub(crate) const AGGREGATES: [&str; 25] = [
    "any_value",
    "avg",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "count_if",
    "covar_pop",
    "covar_samp",
    "grouping",
    "max",
    "mean",
    "min",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "var_pop",
    "var_samp",
    "variance",
    "countif",
];

/// The window functions.
pub(crate) const RANKS: [&str; 3] = ["row_number", "rank", "dense_rank"];

/// See the module.
pub(crate) struct Context {
    pub(crate) tables: BTreeMap<String, SchemaRef>,
    functions: Functions,
    options: ConfigOptions,
}

impl Context {
    pub(crate) fn new(known: &[String], catalog: &dyn Catalog) -> ringview_core::Result<Self> {
        let mut tables = BTreeMap::new();
        for name in known {
            let schema = catalog.table(name)?.schema.to_arrow();
            tables.insert(name.clone(), Arc::new(schema));
        }
        Ok(Self {
            tables,
            functions: Functions::default(),
            options: settings(),
        })
    }
}

/// A table without rows.
#[derive(Debug)]
struct Table(SchemaRef);

impl TableSource for Table {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }
}

impl ContextProvider for Context {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        match self.tables.get(name.table()) {
            Some(schema) => Ok(Arc::new(Table(Arc::clone(schema)))),
            None => Err(DataFusionError::Plan(format!(
                "there is no table or view {:?}",
                name.table()
            ))),
        }
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.functions.planners
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.functions.get(name)
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        let name = name.to_lowercase();
        let known = AGGREGATES.iter().find(|known| **known == name)?;
        Some(Arc::new(AggregateUDF::new_from_impl(Aggregate::new(known))))
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        let name = name.to_lowercase();
        let known = RANKS.iter().find(|known| **known == name)?;
        Some(Arc::new(WindowUDF::new_from_impl(Ranking::new(known))))
    }

    fn get_variable_type(&self, _names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        known_functions()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        AGGREGATES.map(str::to_owned).to_vec()
    }

    fn udwf_names(&self) -> Vec<String> {
        RANKS.map(str::to_owned).to_vec()
    }
}

/// An aggregate by its name: the engine computes it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Aggregate {
    name: &'static str,
    signature: Signature,
}

impl Aggregate {
    fn new(name: &'static str) -> Self {
        let signature = Signature::one_of(
            vec![
                datafusion_expr::TypeSignature::VariadicAny,
                datafusion_expr::TypeSignature::Nullary,
            ],
            Volatility::Immutable,
        );
        Self { name, signature }
    }
}

impl AggregateUDFImpl for Aggregate {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match (self.name, types.first()) {
            ("min" | "max" | "any_value", Some(ty)) => ty.clone(),
            ("count" | "count_if" | "countif" | "grouping" | "regr_count", _) => DataType::Int64,
            ("bool_and" | "bool_or", _) => DataType::Boolean,
            ("sum", Some(ty)) if ty.is_integer() => DataType::Decimal128(38, 0),
            ("sum", Some(DataType::Decimal128(_, scale))) => DataType::Decimal128(38, *scale),
            _ => DataType::Float64,
        })
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        not_impl_err!("{} is computed by an engine", self.name)
    }
}

/// A numbering of rows: an ordered block knows it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Ranking {
    name: &'static str,
    signature: Signature,
}

impl Ranking {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            signature: Signature::nullary(Volatility::Immutable),
        }
    }
}

impl WindowUDFImpl for Ranking {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(
        &self,
        _args: PartitionEvaluatorArgs,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        not_impl_err!("{} is computed by a block", self.name)
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(args.name(), DataType::Int64, false)))
    }
}
