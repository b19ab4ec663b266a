//! Lists, structs and maps: their syntax, and DuckDB's functions of them.
//!
//! `l[i]`, `l[a:b]`, `[a, b]`, `{'a': x}`, `s.a`, `m[k]`; a text is sliced as a list of its characters. Invariant: as in
//! `meaning`, arguments are meant already. Cost: O(1) a node.

use arrow_schema::{DataType, Field, TimeUnit};
use datafusion_common::{DFSchema, Result, ScalarValue, TableReference, plan_err};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::planner::{ExprPlanner, PlannerResult, RawDictionaryExpr, RawFieldAccessExpr};
use datafusion_expr::{
    Expr, ExprSchemable, GetFieldAccess, Operator, binary_expr, cast, lit, when,
};
use datafusion_functions::core;
use datafusion_functions_nested::array_has::array_has_udf;
use datafusion_functions_nested::expr_fn;
use datafusion_functions_nested::map::map_udf;
use datafusion_functions_nested::range::{gen_series_udf, range_udf};

use crate::first_known::first_known;
use crate::kernels;
use crate::shared::shared;
use crate::types::are_like_structs;

/// Plans the syntax.
#[derive(Debug)]
pub(crate) struct Lists;

impl ExprPlanner for Lists {
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
        structure(args).map(PlannerResult::Planned)
    }

    fn plan_struct_literal(
        &self,
        args: Vec<Expr>,
        is_named: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(if is_named {
            PlannerResult::Planned(structure(args)?)
        } else {
            let named = args.into_iter().enumerate();
            let named = named.flat_map(|(at, value)| [lit(format!("v{}", at + 1)), value]);
            PlannerResult::Planned(core::named_struct().call(named.collect()))
        })
    }

    fn plan_field_access(
        &self,
        raw: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        accessed(access(raw), schema).map(PlannerResult::Planned)
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

/// The access of a text as that of a struct or a list.
pub(crate) fn access(RawFieldAccessExpr { expr, field_access }: RawFieldAccessExpr) -> Expr {
    match field_access {
        GetFieldAccess::NamedStructField { name } => core::get_field().call(vec![expr, lit(name)]),
        GetFieldAccess::ListIndex { key } => expr_fn::array_element(expr, *key),
        GetFieldAccess::ListRange {
            start,
            stop,
            stride,
        } => {
            let is_one = *stride == lit(1i64);
            expr_fn::array_slice(expr, *start, *stop, (!is_one).then_some(*stride))
        }
    }
}

/// Such an access, once what it is of has a type: maps have keys, and texts characters.
pub(crate) fn accessed(of: Expr, schema: &DFSchema) -> Result<Expr> {
    let Expr::ScalarFunction(ScalarFunction { func, mut args }) = of else {
        return Ok(of);
    };
    let name = func.name();
    let is_access = matches!(name, "get_field" | "array_element" | "array_slice");
    let ty = match args.first().filter(|_| is_access) {
        Some(first) => first.get_type(schema)?,
        None => DataType::Null,
    };
    Ok(match (name, args.len()) {
        ("get_field" | "array_element", 2) if matches!(ty, DataType::Map(..)) => {
            let key = args.remove(1);
            of_key(args.remove(0), key)
        }
        ("array_element" | "array_slice", 2 | 3) if is_text(&ty) => characters(args),
        ("array_slice", 4) if is_text(&ty) => {
            return plan_err!("a slice of a text takes no step");
        }
        ("array_slice", 4) if !is_positive(&args[3]) => {
            return plan_err!("the step of a slice is a number from 1 on");
        }
        _ => Expr::ScalarFunction(ScalarFunction { func, args }),
    })
}

/// Refuses lists of structs of different fields: the library joins them by their places.
fn of_like_structs(lists: &[Expr], schema: &DFSchema) -> Result<()> {
    let mut known: Option<DataType> = None;
    for list in lists {
        let DataType::List(item) = list.get_type(schema)? else {
            continue;
        };
        let item = item.data_type();
        if known.is_some_and(|known| !are_like_structs(&known, item)) {
            return plan_err!(
                "lists of structs are joined where both have the same fields, in one order"
            );
        }
        known = Some(item.clone());
    }
    Ok(())
}

fn is_moment(of: &DataType) -> bool {
    matches!(of, DataType::Timestamp(..))
}

fn is_positive(step: &Expr) -> bool {
    matches!(step, Expr::Literal(ScalarValue::Int64(Some(1..)), _))
}

/// Meaning of a call, if it is one of lists; its arguments, if it is none.
pub(crate) fn of(
    name: &str,
    mut args: Vec<Expr>,
    schema: &DFSchema,
) -> Result<std::result::Result<Expr, Vec<Expr>>> {
    let counted = |of: Expr| cast(of, DataType::Int64);
    let first = args.first().map(|of| of.get_type(schema)).transpose()?;
    let of_list = first.as_ref().is_some_and(is_list);
    if name == "array_concat" {
        of_like_structs(&args, schema)?;
    }
    Ok(Ok(match (name, args.len()) {
        ("list_value" | "list_pack", _) => expr_fn::make_array(args),
        // The library's moments are of nanoseconds.
        ("range" | "generate_series", 3) if first.as_ref().is_some_and(is_moment) => {
            let zone = match &first {
                Some(DataType::Timestamp(_, zone)) => zone.clone(),
                _ => None,
            };
            let moments = DataType::Timestamp(TimeUnit::Microsecond, zone);
            let series = match name {
                "range" => range_udf().call(args),
                _ => gen_series_udf().call(args),
            };
            cast(series, DataType::new_list(moments, true))
        }
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
        ("list_contains", 2) => shared(args, schema, |args| {
            let known = |of: &Expr| Expr::IsNotNull(Box::new(of.clone()));
            let both = known(&args[0]).and(known(&args[1]));
            when(both, has(args)).end()
        })?,
        // `x = ANY(list)`: whether it equals one that is NULL is unknown.
        ("array_has", 2) => shared(args, schema, |args| {
            let (list, value) = (args[0].clone(), args[1].clone());
            let places = expr_fn::array_position(list.clone(), lit(ScalarValue::Null), lit(1i64));
            let is_empty = binary_expr(expr_fn::cardinality(list.clone()), Operator::Eq, lit(0u64));
            let unknown = lit(ScalarValue::Boolean(None));
            when(Expr::IsNull(Box::new(list)), unknown.clone())
                .when(is_empty, lit(false))
                .when(Expr::IsNull(Box::new(value)), unknown.clone())
                .when(has(args), lit(true))
                .when(Expr::IsNotNull(Box::new(places)), unknown)
                .otherwise(lit(false))
        })?,
        // A NULL is in every list.
        ("array_has_all", 2) => {
            let known = expr_fn::array_compact(args.remove(1));
            expr_fn::array_has_all(args.remove(0), known)
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

/// Whether a list has a value, neither of them NULL.
fn has(list_and_value: Vec<Expr>) -> Expr {
    first_known(vec![array_has_udf().call(list_and_value), lit(false)])
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

/// The character of a text at a place, or those from one place to another.
fn characters(mut text_and_places: Vec<Expr>) -> Expr {
    for place in &mut text_and_places[1..] {
        let of = std::mem::replace(place, lit(ScalarValue::Null));
        *place = cast(of, DataType::Int64);
    }
    kernels::named("text_slice").call(text_and_places)
}

pub(crate) fn is_list(ty: &DataType) -> bool {
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

/// A struct of names and values, of which no two names are equal.
fn structure(args: Vec<Expr>) -> Result<Expr> {
    let mut names: Vec<String> = Vec::new();
    for name in args.iter().step_by(2) {
        if let Expr::Literal(ScalarValue::Utf8(Some(name)), _) = name {
            let name = name.to_lowercase();
            if names.contains(&name) {
                return plan_err!("a struct has no two fields {name}");
            }
            names.push(name);
        }
    }
    Ok(core::named_struct().call(args))
}
