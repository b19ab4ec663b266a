//! Queries as JSON in a few words: values and conditions with the subqueries that they name.
//!
//! A value is an object of its text and of its subqueries, so that it can be put together before it is added to a
//! query. [`query`] adds it there.

use ringview_query::{Named, Query};
use serde_json::{Value as Json, json};

/// A value by its text, which names no subquery.
#[must_use]
pub fn text(text: &str) -> Json {
    json!({"text": text, "subqueries": []})
}

/// A column of an atom of the query so many further out.
#[must_use]
pub fn column(depth: usize, atom: usize, name: &str) -> Json {
    let column = name.to_owned();
    let named = Named::Column {
        depth,
        atom,
        column,
    };
    text(&named.text())
}

/// Values put together: `make` is given their texts.
#[must_use]
pub fn joined(parts: &[&Json], make: impl FnOnce(&[String]) -> String) -> Json {
    let mut subqueries: Vec<Json> = Vec::new();
    let mut texts = Vec::with_capacity(parts.len());
    for part in parts {
        let by = subqueries.len();
        let own = part["subqueries"].as_array().expect("a value");
        // The last one first, so that none is renumbered twice.
        let renumbered = (0..own.len())
            .rev()
            .fold(text_of(part).to_owned(), |text, number| {
                let to = Named::Subquery(number + by).text();
                text.replace(&Named::Subquery(number).text(), &to)
            });
        texts.push(renumbered);
        subqueries.extend(own.iter().cloned());
    }
    json!({"text": make(&texts), "subqueries": subqueries})
}

fn text_of(value: &Json) -> &str {
    value["text"].as_str().expect("a value")
}

/// `(left) operator (right)`
#[must_use]
pub fn binary(left: &Json, operator: &str, right: &Json) -> Json {
    joined(&[left, right], |of| {
        format!("({}) {operator} ({})", of[0], of[1])
    })
}

/// A comparison by its name: eq, ne, lt, le, gt, ge.
#[must_use]
pub fn compare(left: &Json, how: &str, right: &Json) -> Json {
    let operator = match how {
        "eq" => "=",
        "ne" => "<>",
        "lt" => "<",
        "le" => "<=",
        "gt" => ">",
        "ge" => ">=",
        other => panic!("{other} is no comparison"),
    };
    binary(left, operator, right)
}

/// `left / NULLIF(right, 0)`
#[must_use]
pub fn divide(left: &Json, right: &Json) -> Json {
    joined(&[left, right], |of| {
        format!("({}) / nullif({}, 0)", of[0], of[1])
    })
}

/// `NOT (..)`
#[must_use]
pub fn not(of: &Json) -> Json {
    joined(&[of], |of| format!("NOT ({})", of[0]))
}

/// `(..) IS NULL`
#[must_use]
pub fn is_null(of: &Json) -> Json {
    joined(&[of], |of| format!("({}) IS NULL", of[0]))
}

/// All of them.
#[must_use]
pub fn all(of: &[Json]) -> Json {
    chain(of, "AND", "TRUE")
}

/// Any of them.
#[must_use]
pub fn any(of: &[Json]) -> Json {
    chain(of, "OR", "FALSE")
}

fn chain(of: &[Json], operator: &str, none: &str) -> Json {
    if of.is_empty() {
        return text(none);
    }
    let parts: Vec<&Json> = of.iter().collect();
    joined(&parts, |of| {
        let each: Vec<String> = of.iter().map(|one| format!("({one})")).collect();
        each.join(&format!(" {operator} "))
    })
}

/// The one value of a query.
#[must_use]
pub fn subquery(of: &Json) -> Json {
    json!({"text": Named::Subquery(0).text(), "subqueries": [of]})
}

/// The query of JSON with values in it.
///
/// # Panics
/// Where it is none.
#[must_use]
pub fn query(of: &Json) -> Query {
    let text = placed(of).to_string();
    Query::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The same as the JSON of a query.
#[must_use]
pub fn placed(of: &Json) -> Json {
    match of {
        Json::Array(all) => all.iter().map(placed).collect(),
        Json::Object(fields) => {
            let mut made = serde_json::Map::new();
            for (name, value) in fields {
                let is_value = value.get("subqueries").is_some() && value.get("text").is_some();
                if is_value {
                    made.insert(name.clone(), value["text"].clone());
                }
                if is_value && name == "condition" {
                    made.insert("subqueries".to_owned(), placed(&value["subqueries"]));
                }
                if !is_value {
                    made.insert(name.clone(), placed(value));
                }
            }
            Json::Object(made)
        }
        other => other.clone(),
    }
}
