//! Conditions that compare rows with aggregates of queries within, by the engine `rpai`: random queries of the grammar on
//! random streams beside nested loops, what is undone, views over them and under them, and costs counted in steps.

use std::collections::BTreeMap;

use ringview_core::{Error, Field, Schema, Type};
use ringview_engine::{Database, Direction, Op, Options};
use ringview_oracle::arrow::{from_arrow, to_arrow};
use ringview_oracle::{Row, Table, Tables, Value, evaluate};
use ringview_query::Query;
use serde_json::{Value as Json, json};

/// Both tables: `v` and `p` are numbers with zeros, negative and equal ones, `x` a double.
const COLUMNS: [(&str, Type); 4] = [
    ("v", Type::Int64),
    ("p", Type::Int64),
    ("g", Type::Utf8),
    ("x", Type::Float64),
];
const TABLES: [&str; 2] = ["r", "s"];

/// Random numbers without a crate.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn number(&mut self) -> &'static str {
        self.one(&["v", "p", "v", "p", "x"])
    }
}

fn column(depth: usize, atom: usize, name: &str) -> Json {
    json!({"op": "column", "depth": depth, "atom": atom, "column": name})
}

fn own(atom: usize, name: &str) -> Json {
    json!({"op": "column", "atom": atom, "column": name})
}

fn decimal(value: &str) -> Json {
    json!({"op": "literal", "value": {"type": "decimal", "value": value}})
}

fn times(left: &Json, right: &Json) -> Json {
    json!({"op": "multiply", "left": left, "right": right})
}

fn compare(left: &Json, how: &str, right: &Json) -> Json {
    json!({"op": "compare", "comparison": how, "left": left, "right": right})
}

fn all(operands: Vec<Json>) -> Json {
    json!({"op": "and", "operands": operands})
}

fn atoms(tables: &[&str]) -> Json {
    let atom =
        |(at, table): (usize, &&str)| json!({"table": table, "alias": format!("{table}{at}")});
    tables.iter().enumerate().map(atom).collect()
}

/// The one value of a query within: an aggregate of rows that a condition chooses.
fn within(table: &str, function: &str, argument: Option<Json>, condition: Option<Json>) -> Json {
    let mut output = json!({"kind": "aggregate", "name": "w", "function": function});
    if let Some(argument) = argument {
        output["argument"] = argument;
    }
    let mut query = json!({"atoms": atoms(&[table]), "outputs": [output]});
    if let Some(condition) = condition {
        query["condition"] = condition;
    }
    json!({"op": "query", "query": query})
}

fn sum_of(table: &str, name: &str, condition: Option<Json>) -> Json {
    within(table, "sum", Some(own(0, name)), condition)
}

impl Random {
    fn how(&mut self) -> &'static str {
        self.one(&["lt", "le", "eq", "ne", "gt", "ge"])
    }

    /// A value seen from a query around which others stand with so many atoms each, innermost last.
    fn value(&mut self, around: &mut Vec<usize>, deeper: usize) -> Json {
        match self.below(9) {
            0 => decimal(self.one(&["0.0", "0.5", "1.0", "-1.0", "2.0"])),
            1 => times(&decimal("0.5"), &self.value(around, deeper)),
            2 => {
                json!({"op": "subtract", "left": self.value(around, 0), "right": self.value(around, deeper)})
            }
            3 => {
                json!({"op": "divide", "left": self.value(around, 0), "right": self.value(around, 0)})
            }
            4..=6 if deeper > 0 => self.query(around, deeper - 1),
            _ => {
                let depth = self.below(around.len());
                let atom = self.below(around[around.len() - 1 - depth]);
                column(depth, atom, self.number())
            }
        }
    }

    fn query(&mut self, around: &mut Vec<usize>, deeper: usize) -> Json {
        let table = self.one(&TABLES);
        around.push(1);
        let condition = self.condition(around, deeper);
        around.pop();
        let (function, name) = (
            self.one(&["sum", "sum", "count", "avg", "min", "max"]),
            self.number(),
        );
        let argument = (function != "count" || self.below(2) == 0).then(|| own(0, name));
        within(table, function, argument, Some(condition))
    }

    fn condition(&mut self, around: &mut Vec<usize>, deeper: usize) -> Json {
        match self.below(8) {
            0 => {
                json!({"op": "or", "operands": [self.condition(around, deeper), self.condition(around, deeper)]})
            }
            1 => all(vec![
                self.condition(around, deeper),
                self.condition(around, deeper),
            ]),
            2 => json!({"op": "not", "operand": self.condition(around, deeper)}),
            3 => json!({"op": "is_null", "operand": self.value(around, deeper)}),
            4 if around.len() > 1 => compare(
                &column(0, 0, "g"),
                self.one(&["eq", "eq", "ne"]),
                &column(1, 0, "g"),
            ),
            _ => compare(
                &self.value(around, deeper),
                self.how(),
                &self.value(around, deeper),
            ),
        }
    }

    /// What indexes are for: sums up to a key, shares of totals, keys that must be equal.
    fn indexed(&mut self) -> Json {
        let table = self.one(&TABLES);
        let by_key = self.below(2) == 0;
        let equal = |depth| compare(&column(0, 0, "g"), "eq", &column(depth, 0, "g"));
        let with = |mut conditions: Vec<Json>, depth| {
            if by_key {
                conditions.push(equal(depth));
            }
            Some(all(conditions))
        };
        let share = decimal(self.one(&["0.25", "0.5", "1.0"]));
        let total = times(&share, &sum_of(table, "v", with(vec![], 1)));
        let how = self.one(&["lt", "le", "ge", "gt"]);
        let key = |how: &str, depth| compare(&column(0, 0, "p"), how, &column(depth, 0, "p"));
        let other = match self.below(5) {
            0 => column(0, 0, self.one(&["v", "p"])),
            4 => within(table, "count", None, with(vec![key(how, 1)], 1)),
            1 | 2 => sum_of(table, "v", with(vec![key(how, 1)], 1)),
            _ => {
                let inner = compare(
                    &decimal("2.0"),
                    self.one(&["lt", "gt"]),
                    &sum_of(table, "v", Some(key(how, 1))),
                );
                sum_of(table, "v", with(vec![key(how, 1), inner], 1))
            }
        };
        let condition = match self.below(2) {
            0 => compare(&total, self.how(), &other),
            _ => compare(&other, self.how(), &total),
        };
        json!({
            "atoms": atoms(&[table]),
            "condition": condition,
            "group_by": if by_key && self.below(2) == 0 { json!([{"atom": 0, "column": "g"}]) } else { json!([]) },
        })
    }

    /// A query of the grammar, without outputs.
    fn any(&mut self) -> Json {
        let many = 1 + self.below(2);
        let tables: Vec<&str> = (0..many).map(|_| self.one(&TABLES)).collect();
        let deeper = 1 + self.below(2);
        let mut query = json!({
            "atoms": atoms(&tables),
            "condition": self.condition(&mut vec![many], deeper),
        });
        if many == 2 && self.below(2) == 0 {
            query["joins"] = json!([[{"atom": 0, "column": "g"}, {"atom": 1, "column": "g"}]]);
        }
        if self.below(3) == 0 {
            query["group_by"] =
                json!([{"atom": self.below(many), "column": self.one(&["g", "v"])}]);
        }
        query
    }

    fn row(&mut self) -> Row {
        let number = |random: &mut Self| random.below(5) as i64 - 1;
        vec![
            if self.below(9) == 0 {
                Value::Null
            } else {
                Value::Int(number(self))
            },
            if self.below(9) == 0 {
                Value::Null
            } else {
                Value::Int(number(self))
            },
            if self.below(9) == 0 {
                Value::Null
            } else {
                Value::Text(self.one(&["a", "b"]).to_owned())
            },
            if self.below(9) == 0 {
                Value::Null
            } else {
                Value::Real(number(self) as f64 / 4.0)
            },
        ]
    }
}

/// With rows: two columns of what is chosen, each row as often as it is there.
fn listed(mut query: Json) -> Json {
    let columns = ["g", "v"].map(|name| json!({"atom": 0, "column": name}));
    let output =
        |(name, column): (&str, &Json)| json!({"kind": "group", "name": name, "column": column});
    query["outputs"] = ["one", "two"]
        .into_iter()
        .zip(&columns)
        .map(output)
        .collect();
    query["group_by"] = Json::Array(columns.to_vec());
    query["bag"] = json!({"representation": "listing"});
    query
}

/// With outputs: the group, a sum, counts and a mean, and sometimes HAVING.
fn shown(mut query: Json, random: &mut Random) -> Json {
    let mut outputs = Vec::new();
    if let Some(group) = query["group_by"].get(0) {
        outputs.push(json!({"kind": "group", "name": "k", "column": group}));
    }
    let product = times(&own(0, "v"), &own(0, "p"));
    let aggregate = |name: &str, function: &str, argument: Option<Json>| {
        let mut output = json!({"kind": "aggregate", "name": name, "function": function});
        if let Some(argument) = argument {
            output["argument"] = argument;
        }
        output
    };
    outputs.push(aggregate("total", "sum", Some(product)));
    outputs.push(aggregate("rows", "count", None));
    outputs.push(aggregate("known", "count", Some(own(0, "x"))));
    outputs.push(aggregate("mean", "avg", Some(own(0, "x"))));
    if random.below(4) == 0 {
        let count = json!({"op": "aggregate", "function": "count", "arguments": []});
        let one = json!({"op": "literal", "value": {"type": "int", "value": 1}});
        query["having"] = compare(&count, "gt", &one);
    }
    query["outputs"] = Json::Array(outputs);
    query
}

fn parsed(query: &Json) -> Query {
    Query::from_json(&query.to_string()).unwrap_or_else(|error| panic!("{error}: {query}"))
}

fn schema() -> Schema {
    let field = |(name, ty): &(&str, Type)| Field::new(*name, ty.clone(), true);
    Schema::new(COLUMNS.iter().map(field).collect()).unwrap()
}

fn database(static_second: bool) -> Database {
    let mut db = Database::new(Options::default());
    for (at, table) in TABLES.iter().enumerate() {
        db.create_table(table, schema(), None, static_second && at == 1)
            .unwrap();
    }
    db
}

/// Rows of tables that come (positive) or go.
type Event = Vec<(usize, Row, i64)>;

fn apply(db: &mut Database, event: &Event) -> Result<(), Error> {
    let rows: Vec<_> = event
        .iter()
        .map(|(_, row, times)| to_arrow(&COLUMNS, std::slice::from_ref(row), Some(&[times.abs()])))
        .collect();
    let ops: Vec<Op<'_>> = event
        .iter()
        .zip(&rows)
        .map(|((table, _, times), rows)| Op {
            table: TABLES[*table],
            direction: if *times > 0 {
                Direction::Insert
            } else {
                Direction::Delete
            },
            rows: std::slice::from_ref(rows),
            multiplicity: Some("n"),
        })
        .collect();
    db.apply(&ops, &mut |_| Ok(()))
}

fn rows_of(db: &Database, view: &str) -> Vec<Row> {
    let mut rows = from_arrow(&db.view_result(view).unwrap());
    rows.sort();
    rows
}

/// One event: a few changes, at most one of which cannot be.
fn event(random: &mut Random, tables: &Tables) -> (Event, bool) {
    let (mut all, mut fails) = (Vec::new(), false);
    for _ in 0..1 + random.below(3) {
        let table = random.below(2);
        let held: Vec<&Row> = tables.get(TABLES[table]).rows.keys().collect();
        match random.below(9) {
            0..=3 if !held.is_empty() => {
                all.push((table, held[random.below(held.len())].clone(), -1));
            }
            4 if random.below(4) == 0 => {
                let absent = vec![Value::Int(77), Value::Null, Value::Null, Value::Null];
                all.push((table, absent, -1));
                fails = true;
            }
            _ if held.len() < 6 => all.push((table, random.row(), 1 + random.below(2) as i64)),
            _ => {}
        }
    }
    (all, fails)
}

fn model() -> Tables {
    let with = |tables: Tables, name: &&str| tables.with(name, Table::new(&COLUMNS));
    TABLES.iter().fold(Tables::default(), with)
}

/// Follows a query over a random stream; the form in which it was kept.
fn follow(query: &Json, random: &mut Random, events: usize) -> String {
    let query = match random.below(4) {
        0 => parsed(&listed(query.clone())),
        _ => parsed(&shown(query.clone(), random)),
    };
    let (mut db, mut tables) = (database(false), model());
    // Half of the views are born over rows that are there.
    let born = random.below(2) * 2;
    if born == 0 {
        db.create_view("q", &query, &mut |_| Ok(())).unwrap();
    }
    let mut told: BTreeMap<Row, i64> = BTreeMap::new();
    for at in 0..events {
        let (change, fails) = event(random, &tables);
        let before = tables.clone();
        let fits = change.iter().all(|(table, row, times)| {
            tables.get_mut(TABLES[*table]).add(&[(row.clone(), *times)])
        });
        let done = apply(&mut db, &change);
        assert_eq!(done.is_ok(), fits, "{done:?}, {fails}");
        if !fits {
            tables = before;
        }
        if at + 1 == born {
            db.create_view("q", &query, &mut |_| Ok(())).unwrap();
        }
        if at < born.saturating_sub(1) {
            continue;
        }
        db.check();
        let mut expected = evaluate(&query, &tables);
        expected.sort();
        assert_eq!(
            rows_of(&db, "q"),
            expected,
            "event {at} of {}",
            query.to_json().unwrap()
        );
        for mut row in from_arrow(&db.view_changes("q").unwrap()) {
            let Some(Value::Int(times)) = row.pop() else {
                panic!("a multiplicity")
            };
            *told.entry(row).or_default() += times;
        }
        told.retain(|_, times| *times != 0);
        let repeated = |(row, times): (&Row, &i64)| vec![row.clone(); *times as usize];
        let kept: Vec<Row> = told.iter().flat_map(repeated).collect();
        assert_eq!(kept, expected, "what moved, event {at}");
    }
    let explanation = db.view_explanation("q").unwrap();
    // What a condition says of rows by themselves is a filter, and needs no index.
    assert!(["rpai", "viewtree"].contains(&&*explanation.engine.name));
    explanation.form.name
}

#[test]
fn random_queries_of_the_grammar() {
    for seed in 0..120 {
        let mut random = Random::new(seed);
        let query = random.any();
        follow(&query, &mut random, 8);
    }
}

#[test]
fn random_queries_for_indexes() {
    let mut forms: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..120 {
        let mut random = Random::new(seed + 1_000);
        let query = random.indexed();
        *forms.entry(follow(&query, &mut random, 12)).or_default() += 1;
    }
    for form in ["aggregate indexes", "aggregate indexes by key"] {
        assert!(forms.get(form).is_some_and(|&many| many > 10), "{forms:?}");
    }
}

/// `SUM(p * v)` where a share of the total is less than the sum up to the row's `p`.
fn vwap(table: &str) -> Json {
    let upto = compare(&column(0, 0, "p"), "le", &column(1, 0, "p"));
    let share = times(&decimal("0.75"), &sum_of(table, "v", None));
    json!({
        "atoms": atoms(&[table]),
        "outputs": [{"kind": "aggregate", "name": "vwap", "function": "sum", "argument": times(&own(0, "p"), &own(0, "v"))}],
        "condition": compare(&share, "lt", &sum_of(table, "v", Some(upto))),
    })
}

/// `SUM(r.v)` where r and s agree on `p`, and r.x is less than half the mean of its `p`.
fn by_key() -> Json {
    let same = compare(&column(0, 0, "p"), "eq", &column(1, 1, "p"));
    let mean = within("r", "avg", Some(own(0, "v")), Some(same));
    json!({
        "atoms": atoms(&["r", "s"]),
        "joins": [[{"atom": 0, "column": "p"}, {"atom": 1, "column": "p"}]],
        "outputs": [{"kind": "aggregate", "name": "t", "function": "sum", "argument": own(0, "v")}],
        "condition": compare(&column(0, 0, "v"), "lt", &times(&decimal("0.5"), &mean)),
    })
}

fn row(v: i64, p: i64) -> Row {
    vec![
        Value::Int(v),
        Value::Int(p),
        Value::Text("a".to_owned()),
        Value::Real(0.5),
    ]
}

#[test]
fn views_over_views_both_ways() {
    let mut db = database(false);
    let mut tables = model();
    // Groups of a view are the rows of a query with correlated aggregates, which is read by another.
    let below = json!({
        "atoms": atoms(&["r"]),
        "group_by": [{"atom": 0, "column": "p"}],
        "outputs": [{"kind": "group", "name": "p", "column": {"atom": 0, "column": "p"}},
                    {"kind": "aggregate", "name": "v", "function": "sum", "argument": own(0, "v")}],
    });
    let above = json!({
        "atoms": atoms(&["top"]),
        "outputs": [{"kind": "aggregate", "name": "t", "function": "sum", "argument": own(0, "vwap")}],
    });
    let mut chosen = listed(vwap("sums"));
    chosen["group_by"] = json!([{"atom": 0, "column": "v"}]);
    chosen["outputs"] =
        json!([{"kind": "group", "name": "v", "column": {"atom": 0, "column": "v"}}]);
    let count = json!([{"kind": "aggregate", "name": "n", "function": "count"}]);
    let counted = json!({"atoms": atoms(&["chosen"]), "outputs": count});
    let names = [
        ("sums", below),
        ("top", vwap("sums")),
        ("above", above),
        ("chosen", chosen),
        ("counted", counted),
    ];
    for (name, query) in &names {
        db.create_view(name, &parsed(query), &mut |_| Ok(()))
            .unwrap();
    }
    assert_eq!(db.view_explanation("top").unwrap().engine.name, "rpai");
    let mut random = Random::new(5);
    for _ in 0..60 {
        let change = vec![(0, row(random.below(4) as i64, random.below(5) as i64), 1)];
        let gone: Vec<Row> = tables.get("r").rows.keys().cloned().collect();
        let change = match random.below(3) {
            0 if !gone.is_empty() => vec![(0, gone[random.below(gone.len())].clone(), -1)],
            _ => change,
        };
        apply(&mut db, &change).unwrap();
        for (table, row, times) in change {
            assert!(tables.get_mut(TABLES[table]).add(&[(row, times)]));
        }
        let mut sums = Table::new(&[("p", Type::Int64), ("v", Type::Int64)]);
        for row in evaluate(&parsed(&names[0].1), &tables) {
            assert!(sums.add(&[(row, 1)]));
        }
        let expected = evaluate(&parsed(&names[1].1), &Tables::default().with("sums", sums));
        assert_eq!(
            rows_of(&db, "sums"),
            evaluate(&parsed(&names[0].1), &tables)
        );
        assert_eq!(rows_of(&db, "top"), expected);
        assert_eq!(rows_of(&db, "above"), expected);
        let chosen = rows_of(&db, "chosen").len() as i64;
        assert_eq!(rows_of(&db, "counted"), vec![vec![Value::Int(chosen)]]);
        db.check();
    }
}

#[test]
fn what_fails_is_undone() {
    let mut db = database(false);
    db.create_view("q", &parsed(&vwap("r")), &mut |_| Ok(()))
        .unwrap();
    db.create_view("k", &parsed(&by_key()), &mut |_| Ok(()))
        .unwrap();
    apply(
        &mut db,
        &vec![
            (0, row(4, 2), 1),
            (0, row(6, 3), 2),
            (1, row(1, 3), 1),
            (0, row(1, 3), 1),
        ],
    )
    .unwrap();
    let before = (rows_of(&db, "q"), rows_of(&db, "k"));
    assert_eq!(before.1, vec![vec![Value::Int(1)]]);
    let big = vec![(0, row(1, 1), 1), (0, row(i64::MAX, i64::MAX), 1)];
    let failed = apply(&mut db, &big);
    assert!(matches!(failed, Err(Error::Overflow { .. })), "{failed:?}");
    let mut nan = row(1, 3);
    nan[3] = Value::Real(f64::NAN);
    let absent = vec![(0, row(9, 9), 1), (0, row(5, 5), -1)];
    assert!(matches!(
        apply(&mut db, &absent),
        Err(Error::OverDelete { .. })
    ));
    assert_eq!((rows_of(&db, "q"), rows_of(&db, "k")), before);
    // Nobody compares x, so NaN there is nobody's trouble.
    apply(&mut db, &vec![(0, nan.clone(), 1)]).unwrap();
    apply(&mut db, &vec![(0, nan.clone(), -1)]).unwrap();
    let mut of_x = vwap("r");
    of_x["condition"]["left"] = column(0, 0, "x");
    db.create_view("x", &parsed(&of_x), &mut |_| Ok(()))
        .unwrap();
    let failed = apply(&mut db, &vec![(0, nan, 1)]);
    assert!(
        matches!(failed, Err(Error::NotANumber { .. })),
        "{failed:?}"
    );
    assert_eq!((rows_of(&db, "q"), rows_of(&db, "k")), before);
    db.check();
}

#[test]
fn keys_that_a_static_table_lacks_are_not_kept() {
    let mut db = database(true);
    apply(&mut db, &vec![(1, row(1, 3), 1), (1, row(1, 4), 2)]).unwrap();
    db.create_view("k", &parsed(&by_key()), &mut |_| Ok(()))
        .unwrap();
    let bytes = |db: &Database| {
        db.memory_usage()
            .iter()
            .find(|(name, _)| name == "view k")
            .map(|(_, bytes)| *bytes)
    };
    apply(&mut db, &vec![(0, row(1, 99), 1)]).unwrap();
    let empty = bytes(&db);
    for p in 100..400 {
        apply(&mut db, &vec![(0, row(p % 7, p), 1)]).unwrap();
    }
    assert_eq!(bytes(&db), empty, "rows of keys that join nothing");
    apply(
        &mut db,
        &vec![(0, row(1, 4), 1), (0, row(7, 4), 1), (0, row(8, 3), 1)],
    )
    .unwrap();
    assert_eq!(rows_of(&db, "k"), vec![vec![Value::Int(2)]]);
    apply(&mut db, &vec![(0, row(7, 4), -1)]).unwrap();
    assert_eq!(rows_of(&db, "k"), vec![vec![Value::Null]]);
    db.check();
}

/// Steps of the dearest of some changes once so many rows are there, whose `v` is one of so many.
fn dearest(query: &Json, rows: i64, spread: usize) -> u64 {
    let mut db = database(false);
    let mut random = Random::new(3);
    let mut any = || {
        row(
            1 + random.below(spread) as i64,
            random.below(1 << 40) as i64,
        )
    };
    for table in TABLES {
        let all: Vec<Row> = (0..rows / 2).map(|_| any()).collect();
        let batch = to_arrow(&COLUMNS, &all, None);
        let op = Op {
            table,
            direction: Direction::Insert,
            rows: std::slice::from_ref(&batch),
            multiplicity: None,
        };
        db.apply(&[op], &mut |_| Ok(())).unwrap();
    }
    db.create_view("q", &parsed(query), &mut |_| Ok(()))
        .unwrap();
    let steps = (0..60).map(|at| {
        let before = db.view_steps("q").unwrap();
        apply(&mut db, &vec![(at % 2, any(), 1)]).unwrap();
        db.view_steps("q").unwrap() - before
    });
    steps.max().unwrap_or(0)
}

#[test]
fn steps_grow_as_the_logarithm() {
    let (small, large) = (
        dearest(&vwap("r"), 1_000, 50),
        dearest(&vwap("r"), 100_000, 50),
    );
    assert!(large <= small + 24, "{small}, {large}");
}

/// Orders whose lines sum up to more than 8, with what they join: `t` is a customer, `o` an order, `l` a line.
fn large_orders() -> Json {
    let order = compare(&column(0, 0, "v"), "eq", &column(1, 1, "v"));
    json!({
        "atoms": atoms(&["r", "s", "s"]),
        "joins": [[{"atom": 0, "column": "p"}, {"atom": 1, "column": "p"}],
                  [{"atom": 1, "column": "v"}, {"atom": 2, "column": "v"}]],
        "group_by": [{"atom": 0, "column": "p"}, {"atom": 1, "column": "v"}],
        "outputs": [{"kind": "group", "name": "p", "column": {"atom": 0, "column": "p"}},
                    {"kind": "aggregate", "name": "t", "function": "count"}],
        "condition": compare(&decimal("2.5"), "lt", &within("s", "count", None, Some(order))),
    })
}

#[test]
fn a_row_reaches_the_combinations_of_its_keys_alone() {
    let steps = |rows: i64| dearest(&large_orders(), rows, rows as usize / 4);
    let (small, large) = (steps(1_000), steps(16_000));
    assert!(large <= small + 20, "{small}, {large}");
}

#[test]
fn doubles_that_came_and_left_leave_nothing() {
    let mut query = vwap("r");
    query["outputs"][0]["argument"] = own(0, "x");
    let mut db = database(false);
    db.create_view("q", &parsed(&query), &mut |_| Ok(()))
        .unwrap();
    let with = |p: i64, x: f64| {
        let mut row = row(1, p);
        row[3] = Value::Real(x);
        row
    };
    apply(&mut db, &vec![(0, with(9, 0.1), 1), (0, with(9, 3e-9), 1)]).unwrap();
    let before = rows_of(&db, "q");
    assert_eq!(before, vec![vec![Value::Real(0.1 + 3e-9)]]);
    for x in [1e17, -7.25e-11, 1.0 / 3.0] {
        apply(&mut db, &vec![(0, with(9, x), 2)]).unwrap();
        assert_ne!(rows_of(&db, "q"), before);
        apply(&mut db, &vec![(0, with(9, x), -2)]).unwrap();
        assert_eq!(rows_of(&db, "q"), before);
    }
    let explanation = db.view_explanation("q").unwrap();
    assert_eq!(explanation.form.name, "aggregate indexes");
    let failed = apply(&mut db, &vec![(0, with(9, 1e300), 1)]);
    assert!(matches!(failed, Err(Error::Overflow { .. })), "{failed:?}");
    assert_eq!(rows_of(&db, "q"), before);
}
