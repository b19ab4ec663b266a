//! Queries and catalogs in a few words, for the tests.

use std::collections::BTreeMap;
use std::sync::Arc;

use ringview_core::{Error, Field, Result, Schema};
use ringview_query::{
    Atom, Catalog, ColumnRef, Function, OrderNode, OrderRef, Output, Query, TableInfo, bind,
};
use ringview_viewtree::plan::{Node, Plan, Planning};

/// Tables by name.
#[derive(Clone, Default)]
pub struct Tables(pub BTreeMap<String, TableInfo>);

impl Catalog for Tables {
    fn table(&self, name: &str) -> Result<TableInfo> {
        self.0
            .get(name)
            .cloned()
            .ok_or_else(|| Error::UnknownTable {
                name: name.to_owned(),
                known: self.0.keys().cloned().collect(),
            })
    }
}

impl Tables {
    /// `"R(a, b) S(a, c: string, d: float64?)"`: int64 unless said, `?` is nullable.
    pub fn new(text: &str) -> Tables {
        let mut tables = Tables::default();
        for table in text.split(')').map(str::trim).filter(|t| !t.is_empty()) {
            // A type's own parentheses are written with < >.
            let (name, columns) = table.split_once('(').unwrap();
            let fields = columns.split(',').map(|column| {
                let (name, ty) = column.split_once(':').unwrap_or((column, "int64"));
                let nullable = column.trim().ends_with('?');
                let ty = ty.trim().trim_end_matches('?');
                let ty = ty.replace('<', "(").replace('>', ")").replace(';', ",");
                let name = name.trim().trim_end_matches('?');
                Field::new(name, ty.parse().unwrap(), nullable)
            });
            let info = TableInfo {
                schema: Arc::new(Schema::new(fields.collect()).unwrap()),
                is_static: false,
                cancels: false,
                rows: None,
                unique: None,
                cofactors: Vec::new(),
            };
            tables.0.insert(name.trim().to_owned(), info);
        }
        tables
    }

    pub fn with(mut self, name: &str, change: impl Fn(&mut TableInfo)) -> Tables {
        change(self.0.get_mut(name).unwrap());
        self
    }

    pub fn fixed(self, names: &[&str]) -> Tables {
        names.iter().fold(self, |tables, name| {
            tables.with(name, |t| t.is_static = true)
        })
    }

    /// The natural join of the named tables, all aggregated to a count, to be changed as needed.
    pub fn natural(&self, names: &[&str]) -> Query {
        let mut columns: BTreeMap<&str, Vec<ColumnRef>> = BTreeMap::new();
        for (atom, name) in names.iter().enumerate() {
            for field in self.0[*name].schema.fields() {
                let column = field.name.clone();
                let list = columns.entry(&field.name).or_default();
                list.push(ColumnRef { atom, column });
            }
        }
        Query {
            blocks: Vec::new(),
            condition: None,
            subqueries: Vec::new(),
            atoms: names.iter().map(|name| atom(name)).collect(),
            joins: columns
                .into_values()
                .filter(|list| list.len() > 1)
                .collect(),
            group_by: Vec::new(),
            outputs: vec![aggregate("count", Function::Count, None)],
            rows: None,
            bag: None,
            having: None,
            order: None,
            epsilon: None,
            is_chosen: false,
        }
    }

    /// The plan of a query that must be right; every plan is checked.
    pub fn plan(&self, query: &Query) -> Plan {
        self.plan_with(query, Planning::default())
    }

    /// The same, with a say in how.
    pub fn plan_with(&self, query: &Query, planning: Planning) -> Plan {
        let bound = bind(query, self).unwrap();
        let plan = Plan::new(bound, planning).unwrap();
        check(&plan);
        plan
    }

    /// Why a query that must be wrong is.
    pub fn refuse(&self, query: &Query) -> Error {
        let plan = |bound| Plan::new(bound, Planning::default());
        bind(query, self).and_then(plan).unwrap_err()
    }
}

pub fn atom(table: &str) -> Atom {
    Atom {
        table: table.to_owned(),
        alias: table.to_owned(),
        filter: None,
    }
}

pub fn filtered(table: &str, filter: &str) -> Atom {
    Atom {
        filter: Some(filter.parse().unwrap()),
        ..atom(table)
    }
}

/// `"0.a"`
pub fn column(text: &str) -> ColumnRef {
    let (atom, column) = text.split_once('.').unwrap();
    ColumnRef {
        atom: atom.parse().unwrap(),
        column: column.to_owned(),
    }
}

pub fn columns(text: &str) -> Vec<ColumnRef> {
    text.split_whitespace().map(column).collect()
}

pub fn aggregate(name: &str, function: Function, argument: Option<String>) -> Output {
    Output::Aggregate {
        name: name.to_owned(),
        function,
        argument: argument.map(|text| text.parse().unwrap()),
    }
}

pub fn sum(argument: String) -> Output {
    aggregate("sum", Function::Sum, Some(argument))
}

pub fn col(text: &str) -> String {
    column(text).text()
}

pub fn times(left: String, right: String) -> String {
    format!("({left}) * ({right})")
}

pub fn group(text: &str) -> Output {
    Output::Group {
        name: text.to_owned(),
        column: column(text),
    }
}

/// Groups by the columns and puts them in front of the outputs.
pub fn grouped(mut query: Query, text: &str) -> Query {
    query.group_by = columns(text);
    let groups = text.split_whitespace().map(group);
    query.outputs = groups.chain(query.outputs).collect();
    query
}

/// `"a(b(c d) e)"` over the columns of the first atom that has them.
pub fn order(tables: &Tables, query: &Query, text: &str) -> Vec<OrderRef> {
    let mut stack: Vec<Vec<OrderRef>> = vec![Vec::new()];
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    for word in spaced.split_whitespace() {
        match word {
            "(" => stack.push(Vec::new()),
            ")" => {
                let children = stack.pop().unwrap();
                stack.last_mut().unwrap().last_mut().unwrap().children = children;
            }
            name => {
                let has = |atom: &Atom| tables.0[&atom.table].schema.index_of(name).is_ok();
                let atom = query.atoms.iter().position(has).unwrap();
                let column = name.to_owned();
                stack.last_mut().unwrap().push(OrderRef {
                    variable: ColumnRef { atom, column },
                    children: Vec::new(),
                });
            }
        }
    }
    stack.pop().unwrap()
}

/// The order as text: `"a(b(c d) e)"`.
pub fn shown(plan: &Plan) -> String {
    fn show(plan: &Plan, nodes: &[OrderNode]) -> String {
        let one = |node: &OrderNode| {
            let name = plan.variables[node.variable].name.clone();
            match node.children.len() {
                0 => name,
                _ => format!("{name}({})", show(plan, &node.children)),
            }
        };
        nodes.iter().map(one).collect::<Vec<_>>().join(" ")
    }
    show(plan, &plan.order)
}

/// The views with their keys, of those nodes that `pick` picks.
pub fn views(plan: &Plan, pick: impl Fn(&Node) -> bool) -> Vec<String> {
    let ids = 0..plan.tree.nodes.len();
    ids.filter(|id| pick(&plan.tree.nodes[*id]))
        .map(|id| plan.view(id))
        .collect()
}

mod invariants;
pub mod joins;
pub mod oracle;
pub use invariants::check;
