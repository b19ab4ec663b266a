//! Fields of structs, slices and rows, as the planner takes them.
//!
//! `(e).f` is `e['f']`, `[a]` a function, a slice has both bounds, `struct_pack(a := x)` and a row `(x, y)` are structs. Invariant: a node is
//! changed once, its operands before it. Cost: O(1) a node.

use datafusion_sql::sqlparser::ast::{
    AccessExpr, DictionaryField, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, Subscript, Value,
};
use ringview_expr::call;

/// An expression with them as the planner takes them.
pub(crate) fn rewrite(expr: Expr) -> Expr {
    match expr {
        Expr::CompoundFieldAccess { root, access_chain } => accessed(*root, access_chain),
        // The planner would not find the tables around a subquery in a literal.
        Expr::Array(list) => call("make_array", list.elem),
        // The planner takes maps of literals alone.
        Expr::Function(mut of) if is_list(&of.name.to_string()) => {
            of.name = ObjectName::from(vec![Ident::new("make_array")]);
            Expr::Function(of)
        }
        Expr::Function(of) if of.name.to_string().eq_ignore_ascii_case("struct_pack") => {
            match named(&of.args) {
                Some(fields) => Expr::Dictionary(fields),
                None => Expr::Function(of),
            }
        }
        other => other,
    }
}

fn is_list(name: &str) -> bool {
    ["list_value", "list_pack"]
        .map(|of| name.eq_ignore_ascii_case(of))
        .contains(&true)
}

/// Names behind dots are those of a table and its column first.
fn accessed(root: Expr, chain: Vec<AccessExpr>) -> Expr {
    let mut names = match &root {
        Expr::Identifier(name) => vec![name.clone()],
        Expr::CompoundIdentifier(names) => names.clone(),
        _ => Vec::new(),
    };
    let mut chain = chain.into_iter().peekable();
    while !names.is_empty()
        && let Some(AccessExpr::Dot(Expr::Identifier(name))) = chain.peek()
    {
        names.push(name.clone());
        chain.next();
    }
    Expr::CompoundFieldAccess {
        root: Box::new(match names.len() {
            0 | 1 => root,
            _ => Expr::CompoundIdentifier(names),
        }),
        access_chain: chain.map(access).collect(),
    }
}

fn access(of: AccessExpr) -> AccessExpr {
    let bound = |bound: Option<Expr>, number: &str| {
        let number = || Expr::value(Value::Number(number.to_owned(), false));
        Some(bound.unwrap_or_else(number))
    };
    AccessExpr::Subscript(match of {
        AccessExpr::Dot(Expr::Identifier(name)) => Subscript::Index {
            index: Expr::value(Value::SingleQuotedString(name.value)),
        },
        AccessExpr::Subscript(Subscript::Slice {
            lower_bound,
            upper_bound,
            stride,
        }) => Subscript::Slice {
            lower_bound: bound(lower_bound, "1"),
            upper_bound: bound(upper_bound, "-1"),
            stride,
        },
        AccessExpr::Subscript(other) => other,
        other => return other,
    })
}

/// Arguments that all have names.
fn named(args: &FunctionArguments) -> Option<Vec<DictionaryField>> {
    let FunctionArguments::List(list) = args else {
        return None;
    };
    let field = |of: &FunctionArg| match of {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            ..
        } => Some(DictionaryField {
            key: Ident::with_quote('\'', name.value.clone()),
            value: Box::new(value.clone()),
        }),
        _ => None,
    };
    list.args.iter().map(field).collect()
}
