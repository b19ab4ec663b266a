//! Text to an expression, and an expression to one with types.
//!
//! Invariant: names are spelt as the schema spells them. A number with a point is a decimal, one with an exponent a
//! double. Cost: linear in the text; its depth is limited by the parser.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion_common::{DFSchema, DataFusionError, ScalarValue, TableReference};
use datafusion_expr::planner::{ContextProvider, ExprPlanner};
use datafusion_expr::{
    AggregateUDF, Expr, ExprSchemable, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF,
};
use datafusion_sql::parser::DFParserBuilder;
use datafusion_sql::planner::{NullOrdering, ParserOptions, PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast::{self, VisitorMut};
use datafusion_sql::sqlparser::dialect::DuckDbDialect;
use ringview_core::{Error, Result};
use std::ops::ControlFlow;

use crate::aggregates::aggregate;
use crate::balance::{Balance, DEPTH};
use crate::error::{of_a_constant, own};
use crate::fold::folded;
use crate::functions::{Functions, function_names};
use crate::meaning;
use crate::parts::{Parts, is_part};
use crate::shared::coerced;
use crate::text::call;
use crate::untyped::{Signs, Undecided, sign, signed};
use crate::walk::walk_mut;

/// The expression of a text before its columns have types. It may contain aggregates.
///
/// # Errors
/// `Value` for a text that is no expression; `Unsupported` for an unknown function.
pub(crate) fn untyped(text: &str) -> Result<Expr> {
    let none = DFSchema::empty();
    let failed = |problem| refusal(&format!("the expression {text}"), &none, problem);
    let mut parsed = DFParserBuilder::new(text)
        .with_dialect(&DuckDbDialect {})
        .with_recursion_limit(DEPTH)
        .build()
        .and_then(|mut parser| parser.parse_into_expr())
        .map_err(failed)?;
    let _ = walk_mut(&mut parsed.expr, &mut Balance);
    let _ = walk_mut(&mut parsed.expr, &mut Forms);
    let _ = walk_mut(&mut parsed.expr, &mut Signs);
    let mut names = Names::default();
    let _ = walk_mut(&mut parsed.expr, &mut names);
    let context = Context::default();
    let planner = SqlToRel::new_with_options(&context, options());
    let read = names.schema().and_then(|schema| {
        let read = planner.sql_to_expr(parsed.expr, &schema, &mut PlannerContext::new());
        read.and_then(signed)
    });
    read.map_err(failed)
}

/// The names that a text has for columns.
#[derive(Default)]
struct Names(BTreeSet<Vec<String>>);

impl VisitorMut for Names {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        let names: Vec<String> = match expr {
            ast::Expr::Identifier(name) => vec![name.value.clone()],
            ast::Expr::CompoundIdentifier(names) => {
                names.iter().map(|name| name.value.clone()).collect()
            }
            _ => return ControlFlow::Continue(()),
        };
        self.0.insert(names);
        ControlFlow::Continue(())
    }
}

impl Names {
    /// Columns of these names, of a type that is compatible with all others.
    fn schema(self) -> datafusion_common::Result<DFSchema> {
        let field = |mut names: Vec<String>| {
            let name = names.pop().unwrap_or_default();
            let of = names.pop().map(TableReference::bare);
            (of, Arc::new(Field::new(name, DataType::Null, true)))
        };
        let fields = self.0.into_iter().map(field).collect();
        DFSchema::new_with_metadata(fields, HashMap::new())
    }
}

/// Refuses columns that a schema lacks.
///
/// # Errors
/// `UnknownColumn`; `Value` for a name that two columns have.
pub(crate) fn known_columns(expr: &Expr, schema: &DFSchema) -> Result<()> {
    let found = expr.apply(|node| {
        if let Expr::Column(column) = node {
            schema.index_of_column(column)?;
        }
        Ok(TreeNodeRecursion::Continue)
    });
    match found {
        Ok(_) => Ok(()),
        Err(problem) => Err(refusal(&format!("the expression {expr}"), schema, problem)),
    }
}

/// An expression as it is written with DuckDB's meaning and types; messages call it `place`.
///
/// # Errors
/// `Value` for what the types do not allow, and for a constant that has no value; `Type`.
pub(crate) fn typed(expr: Expr, schema: &DFSchema, place: &dyn Display) -> Result<Expr> {
    let failed = |problem| refusal(&place.to_string(), schema, problem);
    let (coerced, ty) = meant(expr, schema).map_err(failed)?;
    let coerced = match ty {
        // NULL of no type: DuckDB makes it an integer.
        DataType::Null => coerced.cast_to(&DataType::Int32, schema).map_err(failed)?,
        _ => coerced,
    };
    folded(coerced, schema).map_err(|problem| of_a_constant(&problem, &place.to_string()))
}

/// An expression with DuckDB's meaning and its operands in types that meet; its type.
fn meant(expr: Expr, schema: &DFSchema) -> datafusion_common::Result<(Expr, DataType)> {
    let mut parts: Parts<'_, Option<Expr>> = Parts::over(schema);
    let last = parts.make(expr, &mut |parts, node, frame| {
        let node = coerced(meaning::of(node, frame)?, frame)?;
        // A node that only represents its operand is no part, and takes none.
        let whole = match node {
            Expr::Column(_) | Expr::Literal(..) => None,
            _ => Some(whole(node.clone(), parts)?),
        };
        Ok((node, whole))
    });
    let found = last.and_then(|last| {
        let ty = last.get_type(&parts.frame(&last)?)?;
        Ok((whole(last, &mut parts)?, ty))
    });
    found.map_err(|problem| {
        let message = problem.find_root().to_string();
        let text = |part: &Option<Expr>| part.as_ref().map_or_else(String::new, Expr::to_string);
        match parts.said(&message, text) {
            said if said == message => problem,
            said => DataFusionError::Plan(match said.split_once(": ") {
                Some((_, said)) => said.to_owned(),
                None => said,
            }),
        }
    })
}

/// A node with its parts in their places. Nobody reads them again, for arguments are `shared`.
fn whole(node: Expr, parts: &mut Parts<'_, Option<Expr>>) -> datafusion_common::Result<Expr> {
    let mut left: HashMap<String, usize> = HashMap::new();
    node.apply(|of| {
        if let Expr::Column(column) = of
            && is_part(column)
        {
            *left.entry(column.name.clone()).or_default() += 1;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let placed = node.transform_up(|of| {
        let Expr::Column(column) = &of else {
            return Ok(Transformed::no(of));
        };
        let (Some(part), Some(left)) = (parts.of(&column.name), left.get_mut(&column.name)) else {
            return Ok(Transformed::no(of));
        };
        *left -= 1;
        let placed = if *left == 0 {
            part.take()
        } else {
            part.clone()
        };
        Ok(placed.map_or_else(|| Transformed::no(of), Transformed::yes))
    })?;
    Ok(placed.data)
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
        match typed(expr.clone(), &none, &format_args!("the expression {expr}"))? {
            Expr::Literal(value, _) => Some(value),
            _ => None,
        },
    )
}

/// Options for parsing: names keep their case, numbers with a point are decimals.
#[must_use]
pub fn options() -> ParserOptions {
    ParserOptions::new()
        .with_parse_float_as_decimal(true)
        .with_enable_ident_normalization(false)
        .with_map_string_types_to_utf8view(false)
        .with_default_null_ordering(NullOrdering::NullsLast)
}

/// Syntax that the planner would read otherwise: a number with an exponent is a double, where it makes a decimal of it, and
/// `x AT TIME ZONE zone` is a call of `timezone`, where it changes the name of the zone alone.
#[derive(Debug)]
pub struct Forms;

impl VisitorMut for Forms {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        match expr {
            ast::Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => {
                let none = || Box::new(ast::Expr::value(ast::Value::Null));
                let zone = std::mem::replace(time_zone, none());
                let moment = std::mem::replace(timestamp, none());
                *expr = call("timezone", vec![*zone, *moment]);
            }
            ast::Expr::Value(value) => {
                if let ast::Value::Number(digits, _) = &value.value
                    && digits.contains(['e', 'E'])
                {
                    let text = ast::Value::SingleQuotedString(digits.replace('_', ""));
                    *expr = ast::Expr::Cast {
                        kind: ast::CastKind::Cast,
                        expr: Box::new(ast::Expr::value(text)),
                        data_type: ast::DataType::Double(ast::ExactNumberInfo::None),
                        array: false,
                        format: None,
                    };
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Settings for all texts: a moment with a time zone is one of UTC.
#[must_use]
pub fn settings() -> ConfigOptions {
    let mut settings = ConfigOptions::default();
    settings.execution.time_zone = Some("UTC".to_owned());
    settings
}

/// Context for the planner's look-ups: functions, and nothing else.
struct Context {
    functions: Functions,
    planners: Vec<Arc<dyn ExprPlanner>>,
    options: ConfigOptions,
}

impl Default for Context {
    fn default() -> Self {
        let functions = Functions::default();
        let mut planners: Vec<Arc<dyn ExprPlanner>> = vec![Arc::new(Undecided)];
        planners.extend(functions.planners.iter().cloned());
        Self {
            functions,
            planners,
            options: settings(),
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
        &self.planners
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        sign(name).or_else(|| self.functions.get(name))
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        aggregate(name)
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
pub(crate) fn refusal(place: &str, schema: &DFSchema, problem: DataFusionError) -> Error {
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
