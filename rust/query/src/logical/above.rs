//! A condition across the tables of a join as a filter above the join: views over views in the
//! place of a search.
//!
//! `a JOIN b ON a.k = b.k WHERE b.t BETWEEN a.t AND a.u` compares the rows of a key with each
//! other. So it is a filter over a block, the rows of the join by key, of which each change moves a
//! few: nothing is looked for. Invariant: what is given back means the same. The block has a column
//! for each class of equal columns that the query reads, and its rows have the multiplicities of
//! the join. Cost: O(query).

use std::collections::BTreeMap;

use super::{
    Atom, Bag, Block, ColumnRef, Condition, Measure, Output, Query, Representation, Scalar,
    free_name,
};

/// Why a condition stays as it is.
type Why = &'static str;

impl Query {
    /// The same, with its condition as a filter above a block of the join's rows: the block, and
    /// what is left. `is_taken` tells which names mean something else.
    ///
    /// # Errors
    /// Why it is none.
    pub fn above(&self, is_taken: &dyn Fn(&str) -> bool) -> Result<(Vec<Block>, Query), Why> {
        if self.order.is_some() || self.epsilon.is_some() {
            return Err(
                "its order of variables, or its thresholds, were given for it as it stands",
            );
        }
        let kept = self.bag.and_then(|bag| bag.representation);
        if kept == Some(Representation::Factorised) {
            return Err("its rows are to be kept factorised");
        }
        let row = self.condition.as_ref();
        let row = row.and_then(|row| row.try_map(&mut |one| one.scalar()));
        let Some(filter) = row else {
            return Err("its condition is more than a comparison of the rows' columns");
        };
        let mut columns = Columns::new(self);
        if self.atoms.len() < 2 || !columns.is_connected() {
            return Err("its tables are not joined by equal columns");
        }
        let name = free_name("rows", 0, is_taken);
        let filter = condition(&filter, &mut |scalar| columns.scalar(scalar));
        let group_by = self.group_by.iter().map(|column| columns.shown(column));
        let group_by = group_by.collect();
        let outputs = self.outputs.iter().map(|output| columns.output(output));
        let outputs = outputs.collect();
        let having = self.having.as_ref();
        let having = having.map(|having| condition(having, &mut |one| columns.measure(one)));
        let above = Query {
            blocks: Vec::new(),
            atoms: vec![Atom {
                table: name.clone(),
                alias: name.clone(),
                filter: Some(filter),
            }],
            joins: Vec::new(),
            condition: None,
            group_by,
            outputs,
            rows: None,
            bag: self.bag,
            having,
            order: None,
            epsilon: None,
            is_chosen: false,
        };
        let query = columns.block();
        Ok((vec![Block { name, query }], above))
    }
}

/// The columns of the block.
struct Columns<'a> {
    query: &'a Query,
    /// By atom and column: the number of its class, of those that join.
    classes: BTreeMap<(usize, &'a str), usize>,
    /// The first column of each class or by itself, and what the block calls it.
    shown: Vec<(ColumnRef, String)>,
}

impl<'a> Columns<'a> {
    fn new(query: &'a Query) -> Self {
        let mut classes: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        for (number, join) in query.joins.iter().enumerate() {
            for column in join {
                let known = classes.insert((column.atom, &column.column), number);
                if let Some(known) = known {
                    let same = classes.values_mut().filter(|of| **of == known);
                    same.for_each(|of| *of = number);
                }
            }
        }
        Self {
            query,
            classes,
            shown: Vec::new(),
        }
    }

    /// Whether the joins connect all atoms.
    fn is_connected(&self) -> bool {
        let mut found = vec![0];
        let mut at = 0;
        while let Some(&atom) = found.get(at) {
            at += 1;
            let own = self.classes.iter().filter(|((of, _), _)| *of == atom);
            for (_, class) in own {
                for ((other, _), of) in &self.classes {
                    if of == class && !found.contains(other) {
                        found.push(*other);
                    }
                }
            }
        }
        found.len() == self.query.atoms.len()
    }

    /// A column as the block shows it.
    fn shown(&mut self, column: &ColumnRef) -> ColumnRef {
        let class = self.classes.get(&(column.atom, column.column.as_str()));
        let first = self.classes.iter().find(|(_, of)| Some(*of) == class);
        let column = match first {
            Some(((atom, name), _)) => ColumnRef {
                atom: *atom,
                column: (*name).to_owned(),
            },
            None => column.clone(),
        };
        let known = self.shown.iter().find(|(other, _)| *other == column);
        let name = known.map(|(_, name)| name.clone()).unwrap_or_else(|| {
            let alias = self.query.atoms.get(column.atom);
            let alias = alias.map_or("", |atom| &*atom.alias);
            let mut name = format!("{alias}.{}", column.column);
            while self.shown.iter().any(|(_, other)| *other == name) {
                name.push('\'');
            }
            self.shown.push((column, name.clone()));
            name
        });
        ColumnRef {
            atom: 0,
            column: name,
        }
    }

    fn scalar(&mut self, scalar: &Scalar) -> Scalar {
        let mut both =
            |left: &Scalar, right: &Scalar| (self.scalar(left).into(), self.scalar(right).into());
        match scalar {
            Scalar::Column { atom, column } => {
                let column = column.clone();
                let ColumnRef { atom, column } = self.shown(&ColumnRef {
                    atom: *atom,
                    column,
                });
                Scalar::Column { atom, column }
            }
            Scalar::Literal { .. } => scalar.clone(),
            Scalar::Add { left, right } => {
                let (left, right) = both(left, right);
                Scalar::Add { left, right }
            }
            Scalar::Subtract { left, right } => {
                let (left, right) = both(left, right);
                Scalar::Subtract { left, right }
            }
            Scalar::Multiply { left, right } => {
                let (left, right) = both(left, right);
                Scalar::Multiply { left, right }
            }
            Scalar::Negate { operand } => Scalar::Negate {
                operand: self.scalar(operand).into(),
            },
        }
    }

    fn measure(&mut self, measure: &Measure) -> Measure {
        let mut both = |left: &Measure, right: &Measure| {
            (self.measure(left).into(), self.measure(right).into())
        };
        match measure {
            Measure::Group { column } => Measure::Group {
                column: self.shown(column),
            },
            Measure::Aggregate {
                function,
                arguments,
            } => Measure::Aggregate {
                function: *function,
                arguments: arguments.iter().map(|one| self.scalar(one)).collect(),
            },
            Measure::Literal { .. } => measure.clone(),
            Measure::Add { left, right } => {
                let (left, right) = both(left, right);
                Measure::Add { left, right }
            }
            Measure::Subtract { left, right } => {
                let (left, right) = both(left, right);
                Measure::Subtract { left, right }
            }
            Measure::Multiply { left, right } => {
                let (left, right) = both(left, right);
                Measure::Multiply { left, right }
            }
            Measure::Divide { left, right } => {
                let (left, right) = both(left, right);
                Measure::Divide { left, right }
            }
            Measure::Negate { operand } => Measure::Negate {
                operand: self.measure(operand).into(),
            },
            Measure::Coalesce { operands } => Measure::Coalesce {
                operands: operands.iter().map(|one| self.measure(one)).collect(),
            },
            Measure::NullIf { left, right } => {
                let (left, right) = both(left, right);
                Measure::NullIf { left, right }
            }
        }
    }

    fn output(&mut self, output: &Output) -> Output {
        let mut output = output.clone();
        match &mut output {
            Output::Group { column, .. } => *column = self.shown(column),
            Output::Aggregate { argument, .. } => {
                *argument = argument.as_ref().map(|one| self.scalar(one));
            }
            Output::Expression { value, .. } => *value = self.measure(value),
            Output::Cofactor {
                columns,
                categorical,
                ..
            } => {
                for column in columns.iter_mut().chain(categorical) {
                    *column = self.shown(column);
                }
            }
        }
        output
    }

    /// The rows of the join, with the columns that were asked for.
    fn block(self) -> Query {
        let output = |(column, name): &(ColumnRef, String)| Output::Group {
            name: name.clone(),
            column: column.clone(),
        };
        Query {
            condition: None,
            group_by: self
                .shown
                .iter()
                .map(|(column, _)| column.clone())
                .collect(),
            outputs: self.shown.iter().map(output).collect(),
            bag: Some(Bag::default()),
            having: None,
            blocks: Vec::new(),
            ..self.query.clone()
        }
    }
}

/// A condition over other operands.
fn condition<S>(of: &Condition<S>, make: &mut dyn FnMut(&S) -> S) -> Condition<S>
where
    Condition<S>: Clone,
{
    let mapped = of.try_map(&mut |one| Some(make(one)));
    mapped.unwrap_or_else(|| of.clone())
}
