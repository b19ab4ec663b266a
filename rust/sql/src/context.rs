//! Context in which the binder looks names up.
//!
//! Invariant: tables have the columns that the catalog gives them. The types of aggregates here serve the binder alone:
//! those of the result are the engine's. Cost: O(columns) once.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result, TableReference, not_impl_err, plan_err};
use datafusion_expr::function::{AccumulatorArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, HigherOrderUDF, PartitionEvaluator,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TableSource, TypeSignature,
    Volatility, WindowUDF, WindowUDFImpl,
};
use ringview_core::Error;
use ringview_expr::{
    AGGREGATES, Functions, Kind, UserFunction, WINDOWS, aggregate_type, function_names,
    is_inner_function, settings, window_type,
};
use ringview_query::Catalog;

use crate::dialect::Dialect;
use crate::find;
use crate::grammar::parsed;
use crate::work::Work;
use crate::{asof, unnested};

/// GROUPING(): the columns that a set of groups lacks, a constant of each set.
const GROUPING: &str = "grouping";

/// The aggregate of features; which of them are categories.
pub(crate) const COFACTOR: &str = "cofactor";
pub(crate) const CATEGORICAL: &str = "categorical";

/// See the module.
pub(crate) struct Context {
    pub(crate) tables: BTreeMap<String, SchemaRef>,
    /// The names that there are, sorted: those of tables, and others.
    known: Vec<String>,
    functions: Functions,
    of_user: Vec<Arc<UserFunction>>,
    options: ConfigOptions,
}

impl Context {
    pub(crate) fn new(
        names: &[String],
        known: &[String],
        catalog: &dyn Catalog,
        of_user: &[Arc<UserFunction>],
    ) -> ringview_core::Result<Self> {
        let mut tables = BTreeMap::new();
        for name in names {
            let schema = catalog.table(name)?.schema.to_arrow();
            tables.insert(name.clone(), Arc::new(schema));
        }
        let mut known = known.to_vec();
        known.sort_unstable();
        Ok(Self {
            tables,
            known,
            functions: Functions::default(),
            of_user: of_user.to_vec(),
            options: settings(),
        })
    }

    /// The user's function of a name.
    fn of_user(&self, name: &str) -> Option<&Arc<UserFunction>> {
        let mut all = self.of_user.iter();
        all.find(|function| function.signature().is_called(name))
    }

    /// Whether a name is that of an aggregate.
    pub(crate) fn is_aggregate(&self, name: &str) -> bool {
        match self.of_user(name) {
            Some(function) => function.signature().kind == Kind::Aggregate,
            None => AGGREGATES.contains(&name.to_lowercase().as_str()),
        }
    }

    /// Whether a name is that of a function that is no aggregate.
    pub(crate) fn is_function(&self, name: &str) -> bool {
        self.get_function_meta(name).is_some() || WINDOWS.contains(&name)
    }

    /// Whether a name is that of a function of one row's values.
    pub(crate) fn is_scalar(&self, name: &str) -> bool {
        self.functions.get(name).is_some() || self.of_user(name).is_some()
    }
}

/// Refuses a name for a function of the user that means a function of SQL, or that no text can call.
///
/// # Errors
/// `Exists`; `Value`.
pub fn check_function_name(name: &str) -> ringview_core::Result<()> {
    let lower = name.to_lowercase();
    let others = [
        GROUPING,
        COFACTOR,
        CATEGORICAL,
        asof::MATCH,
        unnested::EACH,
        "unnest",
    ];
    let mut all = AGGREGATES.iter().chain(WINDOWS).chain(&others);
    if all.any(|known| **known == lower)
        || function_names().contains(&lower)
        || is_inner_function(&lower)
        || crate::clock::function(&lower).is_some()
    {
        return Err(Error::Exists {
            kind: "function",
            name: name.to_owned(),
        });
    }
    let called = parsed(&format!("SELECT {name}(0)"), Dialect::default(), None);
    if called.is_ok_and(|statement| find::functions(&statement).contains(name)) {
        return Ok(());
    }
    Err(Error::Value {
        place: format!("the function {name:?}"),
        problem: "it is a word of SQL, and no text could call it; choose another name".to_owned(),
    })
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
    fn create_cte_work_table(
        &self,
        _name: &str,
        schema: SchemaRef,
    ) -> Result<Arc<dyn TableSource>> {
        Ok(Arc::new(Work::over(schema)))
    }

    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        if let Some(schema) = name.schema() {
            return plan_err!(
                "there is no schema {schema:?}; tables are those of main, or public, or have no schema in front"
            );
        }
        match self.tables.get(name.table()) {
            Some(schema) => Ok(Arc::new(Table(Arc::clone(schema)))),
            None => {
                let problem = ringview_core::Error::UnknownTable {
                    name: name.table().to_owned(),
                    known: self.known.clone(),
                };
                Err(DataFusionError::External(Box::new(problem)))
            }
        }
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.functions.planners
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        if let Some(function) = self.of_user(name) {
            return function.scalar();
        }
        for (mark, ty) in [
            (CATEGORICAL, DataType::Null),
            (asof::MATCH, DataType::Boolean),
        ] {
            if name.eq_ignore_ascii_case(mark) {
                return Some(Arc::new(ScalarUDF::new_from_impl(Mark::new(mark, ty))));
            }
        }
        if name.eq_ignore_ascii_case(unnested::EACH) {
            return Some(Arc::new(ScalarUDF::new_from_impl(Each(any_arguments()))));
        }
        let clock = || crate::clock::function(name).map(Arc::new);
        // A name in texts of blocks is nobody's to write.
        let known = (!name.contains('$')).then(|| self.functions.get(name));
        known.flatten().or_else(clock)
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        if let Some(function) = self.of_user(name) {
            return function.aggregate();
        }
        let name = name.to_lowercase();
        let all = AGGREGATES.iter().chain([&GROUPING, &COFACTOR]);
        let known = all.into_iter().find(|known| **known == name)?;
        Some(Arc::new(AggregateUDF::new_from_impl(Aggregate::new(known))))
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        let name = name.to_lowercase();
        let known = WINDOWS.iter().find(|known| **known == name)?;
        Some(Arc::new(WindowUDF::new_from_impl(Window::new(known))))
    }

    fn get_variable_type(&self, _names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        let of_user = self.of_user.iter();
        let names = of_user.map(|function| function.signature().name.clone());
        function_names().into_iter().chain(names).collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        AGGREGATES.iter().map(|&name| name.to_owned()).collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        WINDOWS.iter().map(|&name| name.to_owned()).collect()
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
        let signature = any_arguments();
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
        if self.name == GROUPING {
            return Ok(DataType::Int64);
        }
        if self.name == COFACTOR {
            return Ok(DataType::Struct(Fields::empty()));
        }
        aggregate_type(self.name, types)
    }

    fn supports_null_handling_clause(&self) -> bool {
        true
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        not_impl_err!("{} is computed by an engine", self.name)
    }
}

/// Marks an argument of COFACTOR, or the inequality of an ASOF join.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    name: &'static str,
    ty: DataType,
    signature: Signature,
}

impl Mark {
    fn new(name: &'static str, ty: DataType) -> Self {
        let signature = any_arguments();
        Self {
            name,
            ty,
            signature,
        }
    }
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(self.ty.clone())
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        not_impl_err!("{} does not stand here", self.name)
    }
}

/// A value of a list, of which each makes a row.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Each(Signature);

impl ScalarUDFImpl for Each {
    fn name(&self) -> &str {
        unnested::EACH
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _)] => {
                Ok(of.data_type().clone())
            }
            _ => plan_err!("UNNEST takes a list"),
        }
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        not_impl_err!("UNNEST does not stand here")
    }
}

/// A window function by its name: a block computes it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Window {
    name: &'static str,
    signature: Signature,
}

impl Window {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            signature: any_arguments(),
        }
    }
}

impl WindowUDFImpl for Window {
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
        let of = args.get_input_field(0);
        let ty = window_type(self.name, of.as_ref().map(|field| field.data_type()));
        match ty {
            Some(ty) => Ok(Arc::new(Field::new(args.name(), ty, true))),
            None => plan_err!("{} is of a column", self.name),
        }
    }
}

/// The arguments of a function are checked when its block is bound.
fn any_arguments() -> Signature {
    let arguments = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
    Signature::one_of(arguments, Volatility::Immutable)
}
