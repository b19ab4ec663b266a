//! Lists, structs and maps: their syntax, and DuckDB's functions of them.
//!
//! `l[i]`, `l[a:b]`, `[a, b]`, `{'a': x}`, `s.a`, `m[k]`; a text is sliced as a list of its characters. Invariant: as in
//! `meaning`, arguments are meant already. Cost: O(1) a node.

use arrow_schema::{DataType, Field};
use datafusion_common::{DFSchema, Result, ScalarValue, TableReference, plan_err};
use datafusion_expr::planner::{
    ExprPlanner, PlannerResult, RawBinaryExpr, RawDictionaryExpr, RawFieldAccessExpr,
};
use datafusion_expr::{
    Expr, ExprSchemable, GetFieldAccess, Operator, binary_expr, cast, lit, when,
};
use datafusion_functions::{core, unicode};
use datafusion_functions_nested::array_has::array_has_udf;
use datafusion_functions_nested::expr_fn;
use datafusion_functions_nested::map::map_udf;
use datafusion_sql::sqlparser::ast::BinaryOperator;

use crate::kernels;

/// Plans the syntax.
#[derive(Debug)]
pub(crate) struct Lists;

impl ExprPlanner for Lists {
    fn plan_binary_op(
        &self,
        raw: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_list = |of: &Expr| of.get_type(schema).is_ok_and(|ty| is_list(&ty));
        if raw.op != BinaryOperator::StringConcat || !(is_list(&raw.left) || is_list(&raw.right)) {
            return Ok(PlannerResult::Original(raw));
        }
        Ok(PlannerResult::Planned(expr_fn::array_concat(vec![
            raw.left, raw.right,
        ])))
    }

    fn plan_array_literal(
        &self,
        of: Vec<Expr>,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(expr_fn::make_array(of)))
    }

    fn plan_dictionary_literal(
        &self,
        raw: RawDictionaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawDictionaryExpr>> {
        let pairs = raw.keys.into_iter().zip(raw.values);
        let args = pairs.flat_map(|(name, value)| [name, value]).collect();
        Ok(PlannerResult::Planned(core::named_struct().call(args)))
    }

    fn plan_struct_literal(
        &self,
        args: Vec<Expr>,
        is_named: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(if is_named {
            PlannerResult::Planned(core::named_struct().call(args))
        } else {
            let named = args.into_iter().enumerate();
            let named = named.flat_map(|(at, value)| [lit(format!("v{}", at + 1)), value]);
            PlannerResult::Planned(core::named_struct().call(named.collect()))
        })
    }

    fn plan_field_access(
        &self,
        RawFieldAccessExpr { expr, field_access }: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let ty = expr.get_type(schema)?;
        Ok(PlannerResult::Planned(match field_access {
            GetFieldAccess::NamedStructField { name } if matches!(ty, DataType::Map(..)) => {
                of_key(expr, lit(name))
            }
            GetFieldAccess::NamedStructField { name } => {
                core::get_field().call(vec![expr, lit(name)])
            }
            GetFieldAccess::ListIndex { key } => match ty {
                DataType::Map(..) => of_key(expr, *key),
                ty if is_text(&ty) => characters(expr, *key.clone(), *key),
                _ => expr_fn::array_element(expr, *key),
            },
            GetFieldAccess::ListRange { start, stop, .. } if is_text(&ty) => {
                characters(expr, *start, *stop)
            }
            GetFieldAccess::ListRange { start, stop, .. } => {
                expr_fn::array_slice(expr, *start, *stop, None)
            }
        }))
    }

    fn plan_make_map(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (at, arg) in args.into_iter().enumerate() {
            if at % 2 == 0 {
                keys.push(arg);
            } else {
                values.push(arg);
            }
        }
        let both = vec![expr_fn::make_array(keys), expr_fn::make_array(values)];
        Ok(PlannerResult::Planned(map_udf().call(both)))
    }

    fn plan_compound_identifier(
        &self,
        field: &Field,
        qualifier: Option<&TableReference>,
        nested: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let column = Expr::from((qualifier, &field.clone().into()));
        let within = |of, name: &String| core::get_field().call(vec![of, lit(name.clone())]);
        Ok(PlannerResult::Planned(nested.iter().fold(column, within)))
    }
}

/// What a call means, if it is one of lists; its arguments, if it is none.
pub(crate) fn of(
    name: &str,
    mut args: Vec<Expr>,
    schema: &DFSchema,
) -> Result<std::result::Result<Expr, Vec<Expr>>> {
    let counted = |of: Expr| cast(of, DataType::Int64);
    let first = args.first().map(|of| of.get_type(schema)).transpose()?;
    let of_list = first.as_ref().is_some_and(is_list);
    Ok(Ok(match (name, args.len()) {
        ("list_value" | "list_pack", _) => expr_fn::make_array(args),
        ("len" | "character_length" | "array_length", 1) if of_list => {
            counted(expr_fn::cardinality(args.remove(0)))
        }
        ("cardinality", 1) => counted(expr_fn::cardinality(args.remove(0))),
        ("array_position", 2) => {
            let value = args.remove(1);
            cast(
                expr_fn::array_position(args.remove(0), value, lit(1i64)),
                DataType::Int32,
            )
        }
        ("list_reverse_sort" | "array_reverse_sort", 1) => {
            expr_fn::array_sort(args.remove(0), lit("DESC"), lit("NULLS LAST"))
        }
        ("array_sort", 1) => expr_fn::array_sort(args.remove(0), lit("ASC"), lit("NULLS LAST")),
        ("list_min", 1) => expr_fn::array_min(args.remove(0)),
        ("list_max", 1) => expr_fn::array_max(args.remove(0)),
        ("string_split" | "str_split" | "split", 2) => kernels::split().call(args),
        ("array_sum", 1) if first.as_ref().and_then(kernels::exact_type).is_some() => {
            kernels::named("exact_list_sum").call(args)
        }
        // NULLs are no values: the list has another one, or not.
        ("array_has", 2) => {
            let known = |of: &Expr| Expr::IsNotNull(Box::new(of.clone()));
            let both = known(&args[0]).and(known(&args[1]));
            let found = array_has_udf().call(args);
            when(both, core::coalesce().call(vec![found, lit(false)])).end()?
        }
        ("array_distinct", 1) => different(args.remove(0)),
        ("list_unique" | "array_unique", 1) => {
            counted(expr_fn::cardinality(different(args.remove(0))))
        }
        ("list_aggregate" | "list_aggr" | "array_aggregate", 2) => {
            return of_each(args, schema);
        }
        ("struct_extract", 2) => core::get_field().call(args),
        ("character_length", 1) if matches!(first, Some(DataType::Map(..))) => {
            counted(expr_fn::cardinality(args.remove(0)))
        }
        _ => return Ok(Err(args)),
    }))
}

/// The different values of a list.
fn different(list: Expr) -> Expr {
    expr_fn::array_distinct(expr_fn::array_compact(list))
}

/// `list_aggregate(list, 'sum')` is `list_sum(list)`.
fn of_each(mut args: Vec<Expr>, schema: &DFSchema) -> Result<std::result::Result<Expr, Vec<Expr>>> {
    let Expr::Literal(ScalarValue::Utf8(Some(name)), _) = &args[1] else {
        return plan_err!("list_aggregate takes the name of an aggregate in quotes");
    };
    let name = name.to_lowercase();
    let list = args.remove(0);
    match name.as_str() {
        "sum" => match of("array_sum", vec![list], schema)? {
            Ok(found) => Ok(Ok(found)),
            Err(mut list) => Ok(Ok(expr_fn::array_sum(list.remove(0)))),
        },
        "min" => Ok(Ok(expr_fn::array_min(list))),
        "max" => Ok(Ok(expr_fn::array_max(list))),
        "avg" | "mean" => Ok(Ok(expr_fn::array_avg(list))),
        _ => plan_err!("list_aggregate takes 'sum', 'min', 'max' or 'avg', not '{name}'"),
    }
}

/// The value of a key of a map.
fn of_key(map: Expr, key: Expr) -> Expr {
    expr_fn::array_element(expr_fn::map_extract(map, key), lit(1i64))
}

/// The characters of a text from one place to another, both counted from its end where they are below zero.
fn characters(text: Expr, start: Expr, stop: Expr) -> Expr {
    let length = cast(
        unicode::character_length().call(vec![text.clone()]),
        DataType::Int64,
    );
    let place = |of: Expr| {
        let of = cast(of, DataType::Int64);
        let from_end = binary_expr(
            binary_expr(length.clone(), Operator::Plus, of.clone()),
            Operator::Plus,
            lit(1i64),
        );
        let below = binary_expr(of.clone(), Operator::Lt, lit(0i64));
        when(below, from_end).otherwise(of)
    };
    let (Ok(start), Ok(stop)) = (place(start), place(stop)) else {
        return lit(ScalarValue::Null);
    };
    // What lies in front of the text counts for nothing.
    let start = core::greatest().call(vec![start, lit(1i64)]);
    let many = binary_expr(
        binary_expr(stop, Operator::Minus, start.clone()),
        Operator::Plus,
        lit(1i64),
    );
    let many = core::greatest().call(vec![many, lit(0i64)]);
    unicode::substr().call(vec![text, start, many])
}

fn is_list(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)
    )
}

fn is_text(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
    )
}
