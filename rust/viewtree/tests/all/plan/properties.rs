//! Random queries: every plan keeps its promises, and its tree computes what the query says.

use crate::plan::common::oracle::{Data, Row, by_plan, by_query};
use crate::plan::common::{Tables, aggregate, group};
use proptest::collection::vec;
use proptest::prelude::*;
use ringview_query::{ColumnRef, Function, Named, OrderNode, OrderRef, Query};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A table of some of the five columns, one of them nullable or none.
fn tables(count: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<(u8, usize)>> {
    vec((1u8..32, 0usize..8), count)
}

fn described(shapes: &[(u8, usize)]) -> Tables {
    let table = |(id, (mask, null)): (usize, &(u8, usize))| {
        let columns = (0..5).filter(|c| mask >> c & 1 == 1).map(|c| {
            let mark = if c == *null { "?" } else { "" };
            format!("{}{mark}", NAMES[c])
        });
        format!("t{id}({})", columns.collect::<Vec<_>>().join(", "))
    };
    let text: Vec<String> = shapes.iter().enumerate().map(table).collect();
    Tables::new(&text.join(" "))
}

/// All (atom, column) pairs.
fn places(tables: &Tables) -> Vec<ColumnRef> {
    let columns = |(atom, info): (usize, &ringview_query::TableInfo)| {
        let fields = info.schema.fields().to_vec();
        fields.into_iter().map(move |field| ColumnRef {
            atom,
            column: field.name,
        })
    };
    tables.0.values().enumerate().flat_map(columns).collect()
}

fn scalar() -> impl Strategy<Value = String> {
    let column = any::<prop::sample::Index>().prop_map(|index| {
        // Chosen among the places that there are, once these are known.
        let place = ColumnRef {
            atom: index.index(1 << 16),
            column: String::new(),
        };
        place.text()
    });
    let literal = (-2i64..4).prop_map(|value| value.to_string());
    let leaf = prop_oneof![3 => column, 1 => literal];
    leaf.prop_recursive(3, 8, 2, |inner| {
        (0..4, inner.clone(), inner).prop_map(|(op, left, right)| match op {
            0 => format!("({left}) + ({right})"),
            1 => format!("({left}) - ({right})"),
            2 => format!("({left}) * ({right})"),
            _ => format!("-({left})"),
        })
    })
}

fn settle(scalar: &str, places: &[ColumnRef]) -> String {
    let place = |named| match named {
        Named::Column { atom, .. } => Some(places[atom % places.len()].expr()),
        Named::Subquery(_) => None,
    };
    let settled = Named::renamed(&scalar.parse().unwrap(), &mut { place });
    settled.unwrap().to_string()
}

/// The natural join with some columns grouped by; `skip` leaves joins out.
fn build(tables: &Tables, groups: u32, skip: u8, argument: Option<String>) -> Query {
    let names: Vec<&str> = tables.0.keys().map(String::as_str).collect();
    let mut query = tables.natural(&names);
    let mut id = 0;
    query.joins.retain(|_| {
        id += 1;
        skip >> id & 1 == 0
    });
    let places = places(tables);
    if let Some(argument) = argument {
        let argument = settle(&argument, &places);
        query
            .outputs
            .push(aggregate("sum", Function::Sum, Some(argument.clone())));
        query
            .outputs
            .push(aggregate("number", Function::Count, Some(argument)));
    }
    for (id, place) in places
        .iter()
        .enumerate()
        .filter(|(id, _)| groups >> (id % 32) & 1 == 1)
    {
        query.group_by.push(place.clone());
        let mut output = group(&format!("{}.{}", place.atom, place.column));
        if let ringview_query::Output::Group { name, .. } = &mut output {
            name.push_str(&id.to_string());
        }
        query.outputs.push(output);
    }
    query
}

fn data(shapes: &[(u8, usize)], seeds: &[Vec<(Vec<i64>, i64)>]) -> Data {
    let table = |(id, (mask, null)): (usize, &(u8, usize))| {
        let rows = seeds[id % seeds.len()]
            .iter()
            .map(|(values, multiplicity)| {
                let columns = (0..5).filter(|c| mask >> c & 1 == 1);
                let row: Row = columns
                    .map(|c| (c != *null || values[c] != 0).then_some(values[c]))
                    .collect();
                (row, *multiplicity)
            });
        (format!("t{id}"), rows.collect())
    };
    shapes.iter().enumerate().map(table).collect()
}

fn given(
    nodes: &[OrderNode],
    plan: &ringview_viewtree::plan::Plan,
    tables: &Tables,
) -> Vec<OrderRef> {
    let one = |node: &OrderNode| {
        let (atom, column) = plan.variables[node.variable].columns[0];
        let info = &tables.0[&plan.atoms[atom].table];
        let column = info.schema.fields()[column].name.clone();
        OrderRef {
            variable: ColumnRef { atom, column },
            children: given(&node.children, plan, tables),
        }
    };
    nodes.iter().map(one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    /// Wide joins, all kinds of group-bys: the tree is right, and the order can be given back.
    #[test]
    fn plans_keep_their_promises(
        shapes in tables(1..=7),
        groups in any::<u32>(), thin in any::<u32>(), skip in any::<u8>(), fixed in any::<u8>(),
        argument in scalar(),
    ) {
        let mut tables = described(&shapes);
        for (id, info) in tables.0.values_mut().enumerate() {
            info.is_static = fixed >> id & 1 == 1;
            info.unique = (id % 2 == 0).then(|| vec![0]);
        }
        let mut query = build(&tables, groups & thin, skip, Some(argument));
        let plan = tables.plan(&query);
        prop_assert_eq!(&tables.plan(&query), &plan, "the same again");
        query.order = Some(given(&plan.order, &plan, &tables));
        let again = tables.plan(&query);
        prop_assert_eq!(&again.order, &plan.order);
        prop_assert_eq!(&again.tree, &plan.tree);
    }

    /// The tree and its components compute the query.
    #[test]
    fn plans_compute_the_query(
        shapes in tables(1..=4),
        groups in any::<u32>(), thin in any::<u32>(), skip in any::<u8>(),
        argument in scalar(),
        seeds in vec(vec((vec(0i64..3, 5), 1i64..3), 0..5), 4),
    ) {
        let tables = described(&shapes);
        let query = build(&tables, groups & thin, skip, Some(argument));
        let plan = tables.plan(&query);
        let data = data(&shapes, &seeds);
        prop_assert_eq!(by_plan(&plan, &data), by_query(&query, &tables, &data));
    }

    /// The query of a plan survives its JSON form.
    #[test]
    fn queries_survive_json(shapes in tables(1..=4), groups in any::<u32>(), argument in scalar()) {
        let query = build(&described(&shapes), groups, 0, Some(argument));
        prop_assert_eq!(Query::from_json(&query.to_json().unwrap()).unwrap(), query);
    }
}

/// Beyond exhaustive search, orders are still found quickly, and chains and cycles stay narrow.
#[test]
fn long_chains_and_cycles() {
    let atoms = 40;
    let table = |id: usize| format!("t{id:02}(x{id:02}, x{:02})", (id + 1) % atoms);
    let text: Vec<String> = (0..atoms).map(table).collect();
    let tables = Tables::new(&text.join(" "));
    let names: Vec<&str> = tables.0.keys().map(String::as_str).collect();
    let chain = tables.plan(&tables.natural(&names[..atoms - 1]));
    assert!(chain.class.acyclic);
    assert_eq!(chain.class.width, 1.0);
    let cycle = tables.plan(&tables.natural(&names));
    assert!(!cycle.class.acyclic);
    assert_eq!(cycle.class.width, 2.0);
}
