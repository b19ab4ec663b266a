//! Text to a bound, typed expression.
//!
//! Invariant: names are spelt as the schema spells them. A number with a point is a decimal, one with an exponent a
//! double. Cost: linear in the text; its depth is limited by the parser.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, DataFusionError, ScalarValue, TableReference};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::simplify::SimplifyContext;
use datafusion_expr::{
    AggregateUDF, Expr, ExprSchemable, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF,
};
use datafusion_optimizer::simplify_expressions::ExprSimplifier;
use datafusion_physical_expr::create_physical_expr;
use datafusion_sql::parser::DFParserBuilder;
use datafusion_sql::planner::{NullOrdering, ParserOptions, PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast::{self, VisitMut, VisitorMut};
use datafusion_sql::sqlparser::dialect::DuckDbDialect;
use ringview_core::{Error, Result};
use std::ops::ControlFlow;

use crate::aggregates::aggregate;
use crate::balance::{Balance, DEPTH};
use crate::error::{broken, own};
use crate::functions::{Functions, function_names};
use crate::meaning;

/// An expression of a text over the columns of a schema, with DuckDB's types.
///
/// # Errors
/// `Value` for a text that is no expression; `UnknownColumn`; `Unsupported` for an unknown function; `Type`.
pub(crate) fn bound(text: &str, schema: &DFSchema) -> Result<Expr> {
    let place = format!("the expression {text}");
    typed(planned(text, schema, Context::default())?, schema, &place)
}

/// An expression of a text as it is written, over the columns of a schema: names are found, types are not coerced.
/// Aggregates may stand in it.
///
/// # Errors
/// `Value` for a text that is no expression; `UnknownColumn`; `Unsupported` for an unknown function.
///
/// ```
/// use datafusion_common::DFSchema;
/// let sum = ringview_expr::read("2 + 3", &DFSchema::empty())?;
/// assert_eq!(sum.to_string(), "Int64(2) + Int64(3)");
/// let value = ringview_expr::value(&sum)?;
/// assert_eq!(value.map(|of| of.to_string()).as_deref(), Some("5"));
/// # Ok::<(), ringview_core::Error>(())
/// ```
pub fn read(text: &str, schema: &DFSchema) -> Result<Expr> {
    let knows_aggregates = true;
    let context = Context {
        knows_aggregates,
        ..Context::default()
    };
    planned(text, schema, context)
}

/// The same of a text whose columns are distinguished by qualified names alone, for code that inspects its structure.
///
/// # Errors
/// As `read`.
pub fn read_unresolved(text: &str) -> Result<Expr> {
    let mut names = crate::text::columns(text)?;
    names.sort_unstable();
    names.dedup();
    let field = |names: Vec<String>| {
        let mut names: VecDeque<String> = names.into();
        let name = names.pop_back().unwrap_or_default();
        let of = names.pop_back().map(TableReference::bare);
        (of, Arc::new(Field::new(name, DataType::Int64, true)))
    };
    let fields = names.into_iter().map(field).collect();
    let schema = DFSchema::new_with_metadata(fields, HashMap::new());
    read(
        text,
        &schema.map_err(|problem| broken(&problem.to_string()))?,
    )
}

fn planned(text: &str, schema: &DFSchema, context: Context) -> Result<Expr> {
    let failed = |problem| refusal(&format!("the expression {text}"), schema, problem);
    let mut parsed = DFParserBuilder::new(text)
        .with_dialect(&DuckDbDialect {})
        .with_recursion_limit(DEPTH)
        .build()
        .and_then(|mut parser| parser.parse_into_expr())
        .map_err(failed)?;
    let _ = VisitMut::visit(&mut parsed.expr, &mut Balance);
    let _ = VisitMut::visit(&mut parsed.expr, &mut Doubles);
    let planner = SqlToRel::new_with_options(&context, options());
    planner
        .sql_to_expr(parsed.expr, schema, &mut PlannerContext::new())
        .map_err(failed)
}

/// An expression as it is written with DuckDB's meaning and types; messages call it `place`.
pub(crate) fn typed(expr: Expr, schema: &DFSchema, place: &str) -> Result<Expr> {
    let failed = |problem| refusal(place, schema, problem);
    let meant = expr.transform_up(|node| meaning::of(node, schema).map(Transformed::yes));
    let simplifier = ExprSimplifier::new(
        SimplifyContext::builder()
            .with_schema(Arc::new(schema.clone()))
            .build(),
    );
    let coerced = meant
        .and_then(|meant| simplifier.coerce(meant.data, schema))
        .and_then(|coerced| simplifier.simplify(coerced));
    let coerced = coerced.map_err(failed)?;
    computable(&coerced, schema).map_err(failed)?;
    match coerced.get_type(schema).map_err(failed)? {
        // NULL of no type: DuckDB makes it an integer.
        DataType::Null => coerced.cast_to(&DataType::Int32, schema).map_err(failed),
        _ => Ok(coerced),
    }
}

/// The value of an expression that reads no columns, if it has one.
///
/// # Errors
/// `Value` where it has none, as a cast that fails; `Type`.
pub fn value(expr: &Expr) -> Result<Option<ScalarValue>> {
    if let Expr::Literal(value, _) = expr {
        return Ok(Some(value.clone()));
    }
    let none = DFSchema::empty();
    Ok(
        match typed(expr.clone(), &none, &format!("the expression {expr}"))? {
            Expr::Literal(value, _) => Some(value),
            _ => None,
        },
    )
}

/// Refuses constants that have no value, as a cast that fails: the simplifier leaves them to the first row.
fn computable(expr: &Expr, schema: &DFSchema) -> datafusion_common::Result<()> {
    let is_constant = |of: &Expr| matches!(of, Expr::Literal(..));
    let mut problem = None;
    expr.apply(|node| {
        let is_left = match node {
            Expr::Cast(cast) => is_constant(&cast.expr),
            Expr::ScalarFunction(call) => {
                !call.args.is_empty() && call.args.iter().all(is_constant)
            }
            _ => false,
        };
        if is_left {
            let made = create_physical_expr(
                node,
                schema,
                &ExecutionProps::new(),
                &PhysicalPlanningContext::default(),
            )?;
            let row = RecordBatchOptions::new().with_row_count(Some(1));
            let none = RecordBatch::try_new_with_options(Schema::empty().into(), Vec::new(), &row)?;
            problem = made.evaluate(&none).err();
        }
        Ok(if problem.is_some() {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    problem.map_or(Ok(()), Err)
}

/// How a text is read: names as they are spelt, numbers with a point as decimals.
#[must_use]
pub fn options() -> ParserOptions {
    ParserOptions::new()
        .with_parse_float_as_decimal(true)
        .with_enable_ident_normalization(false)
        .with_map_string_types_to_utf8view(false)
        .with_default_null_ordering(NullOrdering::NullsLast)
}

/// Makes numbers with an exponent doubles: the planner would make decimals of them.
#[derive(Debug)]
pub struct Doubles;

impl VisitorMut for Doubles {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let ast::Expr::Value(value) = expr else {
            return ControlFlow::Continue(());
        };
        let ast::Value::Number(digits, _) = &value.value else {
            return ControlFlow::Continue(());
        };
        if !digits.contains(['e', 'E']) {
            return ControlFlow::Continue(());
        }
        let text = ast::Value::SingleQuotedString(digits.replace('_', ""));
        *expr = ast::Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(ast::Expr::value(text)),
            data_type: ast::DataType::Double(ast::ExactNumberInfo::None),
            array: false,
            format: None,
        };
        ControlFlow::Continue(())
    }
}

/// What holds for all texts: a moment with a time zone is one of UTC.
#[must_use]
pub fn settings() -> ConfigOptions {
    let mut settings = ConfigOptions::default();
    settings.execution.time_zone = Some("UTC".to_owned());
    settings
}

/// What the planner may look up: functions, and nothing else.
struct Context {
    functions: Functions,
    options: ConfigOptions,
    knows_aggregates: bool,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            functions: Functions::default(),
            options: settings(),
            knows_aggregates: false,
        }
    }
}

impl ContextProvider for Context {
    fn get_table_source(
        &self,
        name: TableReference,
    ) -> datafusion_common::Result<Arc<dyn TableSource>> {
        Err(DataFusionError::Plan(format!(
            "a row expression reads no table, and this names {name}"
        )))
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
        self.knows_aggregates.then(|| aggregate(name)).flatten()
    }

    fn get_window_meta(&self, _name: &str) -> Option<Arc<WindowUDF>> {
        None
    }

    fn get_variable_type(&self, _names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        function_names()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udwf_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Why something is no expression over a schema.
fn refusal(place: &str, schema: &DFSchema, problem: DataFusionError) -> Error {
    if let Some(own) = own(&problem) {
        return own;
    }
    let problem = problem.find_root();
    if let DataFusionError::SchemaError(schema_error, _) = problem
        && let datafusion_common::SchemaError::FieldNotFound { field, .. } = &**schema_error
    {
        return Error::UnknownColumn {
            table: String::new(),
            column: field.name.clone(),
            known: schema
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
        };
    }
    let message = problem.strip_backtrace();
    let message = message.lines().next().unwrap_or_default();
    let message = message.split_once(": ").map_or(message, |(_, rest)| rest);
    Error::Value {
        place: place.to_owned(),
        problem: message.to_owned(),
    }
}
