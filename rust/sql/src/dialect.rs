//! The dialects of a text. DuckDB's has what the parser's own lacks: IGNORE NULLS among the arguments of a window
//! function. Operators of DuckDB and PostgreSQL bind as theirs do.
//!
//! Invariant: whatever the parser's DuckDB takes is taken; `f(a = 1)` is a comparison, no named argument. Cost: the
//! parser reads what follows some words again in another way if the first fails, so that an error within many of them
//! would cost twice as much with each; in these two dialects operands are counted, and bounded.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::rc::Rc;

use datafusion_sql::planner::NullOrdering;
use datafusion_sql::sqlparser::ast::Expr;
use datafusion_sql::sqlparser::dialect::{self, DuckDbDialect, PostgreSqlDialect, Precedence};
use datafusion_sql::sqlparser::keywords::Keyword;
use datafusion_sql::sqlparser::parser::{Parser, ParserError};
use ringview_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::precedence;

/// In which dialect a text is written: how it is parsed, and what it means where dialects differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// DuckDB.
    #[default]
    DuckDb,
    /// PostgreSQL.
    Postgres,
    /// Apache Spark.
    Spark,
    /// Databricks.
    Databricks,
    /// Snowflake.
    Snowflake,
    /// BigQuery.
    BigQuery,
    /// MySQL.
    MySql,
    /// The standard.
    Ansi,
}

impl Dialect {
    /// The dialect of a name.
    ///
    /// # Errors
    /// `Value` for an unknown name.
    pub fn named(name: &str) -> Result<Self> {
        Ok(match name.to_lowercase().as_str() {
            "duckdb" => Self::DuckDb,
            "postgres" | "postgresql" => Self::Postgres,
            "spark" => Self::Spark,
            "databricks" => Self::Databricks,
            "snowflake" => Self::Snowflake,
            "bigquery" => Self::BigQuery,
            "mysql" => Self::MySql,
            "ansi" => Self::Ansi,
            _ => {
                return Err(Error::Value {
                    place: "the dialect".to_owned(),
                    problem: format!(
                        "{name:?} is none of duckdb, postgres, spark, databricks, snowflake, bigquery, mysql, ansi"
                    ),
                });
            }
        })
    }

    /// Parser of its texts.
    pub(crate) fn parser(self, operands: &Operands) -> Box<dyn dialect::Dialect> {
        let operands = operands.clone();
        match self {
            Self::DuckDb => Box::new(DuckDb {
                nests_joins: false,
                operands,
            }),
            Self::Postgres => Box::new(Postgres { operands }),
            Self::Spark => Box::new(dialect::SparkSqlDialect {}),
            Self::Databricks => Box::new(dialect::DatabricksDialect {}),
            Self::Snowflake => Box::new(dialect::SnowflakeDialect),
            Self::BigQuery => Box::new(dialect::BigQueryDialect {}),
            Self::MySql => Box::new(dialect::MySqlDialect {}),
            Self::Ansi => Box::new(dialect::AnsiDialect {}),
        }
    }

    /// A parser of texts whose joins nest without brackets, which the other does not take.
    pub(crate) fn parser_of_nested_joins(
        self,
        operands: &Operands,
    ) -> Option<Box<dyn dialect::Dialect>> {
        let nested = || DuckDb {
            nests_joins: true,
            operands: operands.clone(),
        };
        (self == Self::DuckDb).then(|| Box::new(nested()) as _)
    }

    /// Place of NULL in an order without NULLS FIRST or NULLS LAST.
    pub(crate) fn nulls(self) -> NullOrdering {
        match self {
            Self::DuckDb => NullOrdering::NullsLast,
            Self::Postgres | Self::Snowflake | Self::Ansi => NullOrdering::NullsMax,
            _ => NullOrdering::NullsMin,
        }
    }
}

type Parsed<T> = std::result::Result<T, ParserError>;

/// Number of operands that a parser may still begin to read, those among them that it reads again.
#[derive(Clone, Debug)]
pub(crate) struct Operands(Rc<Cell<usize>>);

impl Operands {
    /// At most so many.
    pub(crate) fn at_most(count: usize) -> Self {
        Self(Rc::new(Cell::new(count)))
    }

    /// Whether none is left: what was parsed since may lack a reading that would have been tried.
    pub(crate) fn are_spent(&self) -> bool {
        self.0.get() == 0
    }

    fn spend(&self) -> Parsed<()> {
        self.0.set(self.0.get().saturating_sub(1));
        match self.are_spent() {
            true => Err(ParserError::RecursionLimitExceeded),
            false => Ok(()),
        }
    }
}

impl Default for Operands {
    fn default() -> Self {
        Self::at_most(usize::MAX)
    }
}

/// Answers of a dialect of the parser, and how strongly operators bind.
macro_rules! as_the_parser_has_it {
    ($of:expr; $($name:ident),* $(,)?) => {
        $(fn $name(&self) -> bool {
            $of.$name()
        })*

        fn dialect(&self) -> TypeId {
            $of.type_id()
        }

        fn is_identifier_start(&self, ch: char) -> bool {
            $of.is_identifier_start(ch)
        }

        fn is_identifier_part(&self, ch: char) -> bool {
            $of.is_identifier_part(ch)
        }

        fn get_next_precedence(&self, parser: &Parser) -> Option<Parsed<u8>> {
            let is_duckdb = self.dialect() == DuckDbDialect {}.type_id();
            precedence::of_operator(parser, is_duckdb)
        }

        fn prec_value(&self, of: Precedence) -> u8 {
            precedence::level(of)
        }

        fn parse_prefix(&self, parser: &mut Parser) -> Option<Parsed<Expr>> {
            match self.operands.spend() {
                Ok(()) => precedence::sign(parser),
                Err(spent) => Some(Err(spent)),
            }
        }
    };
}

/// DuckDB's dialect.
#[derive(Debug, Default)]
pub(crate) struct DuckDb {
    /// Whether `r JOIN s JOIN t ON .. ON ..` is taken, where the last table is joined first. Then a join behind NATURAL
    /// JOIN is read as a part of its right side.
    nests_joins: bool,
    operands: Operands,
}

impl dialect::Dialect for DuckDb {
    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_left_associative_joins_without_parens(&self) -> bool {
        !self.nests_joins
    }

    as_the_parser_has_it!(
        DuckDbDialect {};
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
        supports_notnull_operator,
        supports_order_by_all,
        supports_select_wildcard_exclude,
        supports_select_wildcard_replace,
        supports_trailing_commas,
    );
}

/// PostgreSQL's dialect.
#[derive(Debug)]
struct Postgres {
    operands: Operands,
}

impl dialect::Dialect for Postgres {
    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        PostgreSqlDialect {}.identifier_quote_style(identifier)
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_delimited_identifier_start(ch)
    }

    fn is_reserved_for_identifier(&self, word: Keyword) -> bool {
        PostgreSqlDialect {}.is_reserved_for_identifier(word)
    }

    fn is_custom_operator_part(&self, ch: char) -> bool {
        PostgreSqlDialect {}.is_custom_operator_part(ch)
    }

    as_the_parser_has_it!(
        PostgreSqlDialect {};
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_array_typedef_with_brackets,
        supports_bitwise_shift_operators,
        supports_comma_separated_trim,
        supports_empty_projections,
        supports_factorial_operator,
        supports_filter_during_aggregation,
        supports_geometric_types,
        supports_group_by_expr,
        supports_interval_options,
        supports_named_fn_args_with_colon_operator,
        supports_named_fn_args_with_expr_name,
        supports_nested_comments,
        supports_notnull_operator,
        supports_numeric_literal_underscores,
        supports_select_wildcard_with_alias,
        supports_string_escape_constant,
        supports_unicode_string_literal,
        supports_xml_expressions,
    );
}
