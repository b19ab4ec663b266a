//! Queries over the natural join of all relations, as the engine takes them.
//!
//! Nothing here is particular to a data set beyond the name of the column that is summed. Features are all columns,
//! once each, in the order in which the relations first have them.

use ringview_query::Query;
use serde_json::{Value, json};

use super::engine::Variant;
use crate::common::data::Dataset;
use crate::common::system::digest;
use crate::workloads::{Asked, Column, Workload};

/// Form of a result.
pub(crate) enum Shown {
    /// A count, and a sum where there is one.
    Pair,
    /// One degree-m payload, or all of its numbers as columns; by number its weight in the digest.
    Matrix(Vec<i64>),
    /// Rows.
    Rows,
}

/// A column where it first occurs, and whether relations join on it.
struct Feature {
    name: String,
    place: Value,
    joins: bool,
}

impl Feature {
    fn value(&self) -> Value {
        let (atom, column) = (&self.place["atom"], &self.place["column"]);
        json!(format!("\"{atom}\".{column}"))
    }
}

/// The query of a workload, and how to read what it gives.
pub(crate) fn query(workload: Workload, data: &Dataset, variant: Variant) -> (Query, Shown) {
    let (features, joins) = match workload.stream.own_join() {
        Some(equal) => (Vec::new(), own(equal)),
        None => natural(data),
    };
    let count =
        json!({"kind": "aggregate", "name": "count", "function": "count", "argument": null});
    let mut rest = json!({});
    let (outputs, shown) = match (workload.asked, variant) {
        (Asked::Sum | Asked::Real, _) => {
            let column = workload.stream.summed();
            let summed = features.iter().find(|f| Some(&*f.name) == column);
            let sum = summed.map(|feature| sum(&feature.name, argument(workload, feature)));
            (std::iter::once(count).chain(sum).collect(), Shown::Pair)
        }
        (Asked::Cofactor, _) => {
            let keys: Vec<bool> = features.iter().map(|feature| feature.joins).collect();
            let outputs = match variant {
                Variant::Numbers => numbers(count, &features),
                _ => {
                    let places: Vec<&Value> = features.iter().map(|f| &f.place).collect();
                    vec![json!({"kind": "cofactor", "name": "cofactor", "columns": places})]
                }
            };
            (outputs, Shown::Matrix(digest(&keys)))
        }
        (Asked::Join, _) => {
            let group = |f: &Feature| json!({"kind": "group", "name": f.name, "column": f.place});
            let outputs = features.iter().map(group).collect();
            rest["group_by"] = features.iter().map(|f| f.place.clone()).collect();
            let representation = match variant {
                Variant::Listing => "listing",
                _ => "factorised",
            };
            rest["bag"] = json!({"representation": representation});
            (outputs, Shown::Rows)
        }
    };
    let places = match workload.stream.own_join() {
        // As many places as equalities, for they make a circle.
        Some(equal) => vec![data.relations[0].name; equal.len()],
        None => data.relations.iter().map(|one| one.name).collect(),
    };
    let atoms = places.iter().enumerate();
    let atoms = atoms.map(|(at, name)| json!({"table": name, "alias": format!("{name}{at}")}));
    rest["atoms"] = atoms.collect();
    rest["joins"] = joins.into();
    rest["outputs"] = outputs.into();
    let query = serde_json::from_value(rest).expect("a query of the engine's form");
    (query, shown)
}

/// All features, and the equalities of the natural join.
fn natural(data: &Dataset) -> (Vec<Feature>, Vec<Value>) {
    let (mut features, mut joins): (Vec<Feature>, _) = (Vec::new(), Vec::new());
    for (atom, relation) in data.relations.iter().enumerate() {
        for name in &relation.names {
            let place = json!({"atom": atom, "column": name});
            match features.iter_mut().find(|known| known.name == *name) {
                Some(known) => {
                    known.joins = true;
                    joins.push(json!([known.place, place]));
                }
                None => features.push(Feature {
                    name: name.clone(),
                    place,
                    joins: false,
                }),
            }
        }
    }
    (features, joins)
}

/// The equalities of a relation joined with itself.
fn own(equal: &[[Column; 2]]) -> Vec<Value> {
    let place = |(atom, column): Column| json!({"atom": atom, "column": column});
    equal
        .iter()
        .map(|pair| pair.map(place).as_slice().into())
        .collect()
}

/// The argument of the sum.
fn argument(workload: Workload, feature: &Feature) -> Value {
    if workload.asked == Asked::Sum {
        return feature.value();
    }
    product(&json!("1.5e0"), &feature.value())
}

fn product(left: &Value, right: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    json!(format!("{} * {}", text(left), text(right)))
}

fn sum(name: &str, argument: Value) -> Value {
    json!({"kind": "aggregate", "name": name, "function": "sum", "argument": argument})
}

/// The degree-m matrix as one sum a number, over the same tree: F-IVM with scalars for payloads.
fn numbers(count: Value, features: &[Feature]) -> Vec<Value> {
    let mut outputs = vec![count];
    outputs.extend(
        features
            .iter()
            .map(|feature| sum(&feature.name, feature.value())),
    );
    for (at, left) in features.iter().enumerate() {
        outputs.extend(features[at..].iter().map(|right| {
            let product = product(&left.value(), &right.value());
            sum(&format!("{} {}", left.name, right.name), product)
        }));
    }
    outputs
}
