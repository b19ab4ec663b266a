//! A condition across the tables of a join as a filter above the join: views over views in the
//! place of a search.
//!
//! `a JOIN b ON a.k = b.k WHERE b.t BETWEEN a.t AND a.u` compares the rows of a key with each
//! other. So it is a filter over a block, the rows of the join by key, of which each change moves a
//! few: nothing is looked for. Invariant: what is given back means the same. The block has a column
//! for each class of equal columns that the query reads, and its rows have the multiplicities of
//! the join. Cost: O(query).

use std::collections::BTreeMap;

use datafusion_common::Column;
use datafusion_expr::Expr;
use ringview_expr::Scalar;

use super::{
    Atom, Bag, Block, ColumnRef, Named, Output, Query, Representation, UNREAD, Why, free_name,
};

impl Query {
    /// The same, with its condition as a filter above a block of the join's rows: the block, and
    /// what is left. `is_taken` tests whether a name is in use.
    ///
    /// # Errors
    /// The reason why there is no such form.
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
        let Some(condition) = self
            .condition
            .as_ref()
            .filter(|_| self.subqueries.is_empty())
        else {
            return Err("its condition is more than a comparison of the rows' columns");
        };
        let mut columns = Columns::new(self);
        if self.atoms.len() < 2 || !columns.is_connected() {
            return Err("its tables are not joined by equal columns");
        }
        let name = free_name("rows", 0, is_taken);
        let filter = columns.filter(condition)?;
        let group_by = self.group_by.iter().map(|column| columns.shown(column));
        let group_by = group_by.collect();
        let outputs = self.outputs.iter().map(|output| columns.output(output));
        let outputs = outputs.collect::<Result<_, Why>>()?;
        let having = self.having.as_ref().map(|having| columns.over(having));
        let having = having.transpose()?;
        let above = Query {
            blocks: Vec::new(),
            atoms: vec![Atom {
                table: name.clone(),
                alias: name.clone(),
                filter: Some(filter),
            }],
            joins: Vec::new(),
            condition: None,
            subqueries: Vec::new(),
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

    /// An expression over the block.
    fn over(&mut self, of: &Scalar) -> Result<Scalar, Why> {
        let made = Named::renamed(of, &mut |named| {
            let Named::Column { atom, column, .. } = named else {
                return None;
            };
            Some(self.shown(&ColumnRef { atom, column }).expr())
        });
        made.map_err(|_| UNREAD)
    }

    /// A condition as the filter of the block's rows.
    fn filter(&mut self, of: &Scalar) -> Result<Scalar, Why> {
        let made = self
            .over(of)?
            .replaced(&mut |column| Ok(Some(Expr::Column(Column::new_unqualified(&column.name)))));
        made.map_err(|_| UNREAD)
    }

    fn output(&mut self, output: &Output) -> Result<Output, Why> {
        let mut output = output.clone();
        match &mut output {
            Output::Group { column, .. } => *column = self.shown(column),
            Output::Aggregate { argument, .. } => {
                if let Some(argument) = argument {
                    *argument = self.over(argument)?;
                }
            }
            Output::Expression { value, .. } => *value = self.over(value)?,
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
        Ok(output)
    }

    /// The rows of the join, with the columns that are read.
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
