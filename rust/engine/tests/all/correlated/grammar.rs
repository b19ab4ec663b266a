//! Random queries of the grammar, as the engine is given them.
pub(crate) use ringview_oracle::write::{all, any, column, compare};
use ringview_oracle::write::{binary, divide, is_null, not, subquery, text};
use ringview_oracle::{Row, Value};
use serde_json::{Value as Json, json};

use crate::correlated::TABLES;

/// Random numbers without a crate.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    pub(crate) fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    pub(crate) fn number(&mut self) -> &'static str {
        self.one(&["v", "p", "v", "p", "x"])
    }
}

pub(crate) fn own(atom: usize, name: &str) -> Json {
    column(0, atom, name)
}

pub(crate) fn decimal(value: &str) -> Json {
    text(value)
}

pub(crate) fn times(left: &Json, right: &Json) -> Json {
    binary(left, "*", right)
}

pub(crate) fn atoms(tables: &[&str]) -> Json {
    let atom =
        |(at, table): (usize, &&str)| json!({"table": table, "alias": format!("{table}{at}")});
    tables.iter().enumerate().map(atom).collect()
}

/// The one value of a query within: an aggregate of rows that a condition chooses.
pub(crate) fn within(
    table: &str,
    function: &str,
    argument: Option<Json>,
    condition: Option<Json>,
) -> Json {
    let mut output = json!({"kind": "aggregate", "name": "w", "function": function});
    if let Some(argument) = argument {
        output["argument"] = argument;
    }
    let mut query = json!({"atoms": atoms(&[table]), "outputs": [output]});
    if let Some(condition) = condition {
        query["condition"] = condition;
    }
    subquery(&query)
}

pub(crate) fn sum_of(table: &str, name: &str, condition: Option<Json>) -> Json {
    within(table, "sum", Some(own(0, name)), condition)
}

impl Random {
    pub(crate) fn how(&mut self) -> &'static str {
        self.one(&["lt", "le", "eq", "ne", "gt", "ge"])
    }

    /// A value in a query nested in others; `around` has their numbers of atoms, innermost last.
    pub(crate) fn value(&mut self, around: &mut Vec<usize>, deeper: usize) -> Json {
        match self.below(9) {
            0 => decimal(self.one(&["0.0", "0.5", "1.0", "-1.0", "2.0"])),
            1 => times(&decimal("0.5"), &self.value(around, deeper)),
            2 => {
                let (left, right) = (self.value(around, 0), self.value(around, deeper));
                binary(&left, "-", &right)
            }
            3 => {
                let (left, right) = (self.value(around, 0), self.value(around, 0));
                divide(&left, &right)
            }
            4..=6 if deeper > 0 => self.query(around, deeper - 1),
            _ => {
                let depth = self.below(around.len());
                let atom = self.below(around[around.len() - 1 - depth]);
                column(depth, atom, self.number())
            }
        }
    }

    pub(crate) fn query(&mut self, around: &mut Vec<usize>, deeper: usize) -> Json {
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

    pub(crate) fn condition(&mut self, around: &mut Vec<usize>, deeper: usize) -> Json {
        match self.below(8) {
            0 => any(&[
                self.condition(around, deeper),
                self.condition(around, deeper),
            ]),
            1 => all(&[
                self.condition(around, deeper),
                self.condition(around, deeper),
            ]),
            2 => not(&self.condition(around, deeper)),
            3 => is_null(&self.value(around, deeper)),
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

    /// Conditions that use indexes: sums up to a key, shares of totals, keys that must be equal.
    pub(crate) fn indexed(&mut self) -> Json {
        let table = self.one(&TABLES);
        let by_key = self.below(2) == 0;
        let equal = |depth| compare(&column(0, 0, "g"), "eq", &column(depth, 0, "g"));
        let with = |mut conditions: Vec<Json>, depth| {
            if by_key {
                conditions.push(equal(depth));
            }
            Some(all(&conditions))
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
    pub(crate) fn any(&mut self) -> Json {
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

    pub(crate) fn row(&mut self) -> Row {
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
pub(crate) fn listed(mut query: Json) -> Json {
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

/// With outputs: the group, a sum, counts and a mean; sometimes least, greatest and distinct values, and HAVING.
pub(crate) fn shown(mut query: Json, random: &mut Random) -> Json {
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
    if random.below(3) == 0 {
        outputs.push(aggregate("least", "min", Some(own(0, "x"))));
        outputs.push(aggregate("greatest", "max", Some(own(0, "g"))));
        outputs.push(aggregate("different", "count_distinct", Some(own(0, "p"))));
    }
    if random.below(4) == 0 {
        query["having"] = json!("count(*) > 1");
    }
    query["outputs"] = Json::Array(outputs);
    query
}
