//! DuckDB's dialect, with what the parser's own lacks: IGNORE NULLS among the arguments of a window function.
//!
//! Invariant: whatever the parser's DuckDB takes is taken. Cost: none.

use std::any::TypeId;

use datafusion_sql::sqlparser::dialect::{Dialect, DuckDbDialect};

/// See the module.
#[derive(Debug)]
pub(crate) struct DuckDb;

/// Answers of the parser's own dialect.
macro_rules! as_the_parser_has_it {
    ($($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool {
            DuckDbDialect {}.$name()
        })*
    };
}

impl Dialect for DuckDb {
    fn dialect(&self) -> TypeId {
        TypeId::of::<DuckDbDialect>()
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        DuckDbDialect {}.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        DuckDbDialect {}.is_identifier_part(ch)
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    as_the_parser_has_it!(
        allow_extract_single_quotes,
        support_map_literal_syntax,
        supports_array_typedef_with_brackets,
        supports_bitwise_shift_operators,
        supports_comma_separated_trim,
        supports_detach,
        supports_dictionary_syntax,
        supports_explain_with_utility_options,
        supports_filter_during_aggregation,
        supports_from_first_select,
        supports_group_by_expr,
        supports_install,
        supports_lambda_functions,
        supports_load_extension,
        supports_named_fn_args_with_assignment_operator,
        supports_named_fn_args_with_eq_operator,
        supports_notnull_operator,
        supports_order_by_all,
        supports_select_wildcard_exclude,
        supports_select_wildcard_replace,
        supports_trailing_commas,
    );
}
