//! Queries in few words.

use ringview_query::{
    Atom, Bag, Block, ColumnRef, Function, Output, Query, Representation, Scalar,
};

/// A query under construction; columns are "atom.column", atoms counted from 0.
#[derive(Clone, Debug)]
pub struct Q(pub Query);

pub fn column(text: &str) -> ColumnRef {
    let (atom, column) = text.split_once('.').unwrap();
    ColumnRef {
        atom: atom.parse().unwrap(),
        column: column.to_owned(),
    }
}

pub fn scalar(text: &str) -> String {
    column(text).text()
}

pub fn aggregate(function: Function, argument: Option<&str>) -> String {
    let call = function.call(argument.map(|of| column(of).expr()).into_iter().collect());
    Scalar::from(call.unwrap()).to_string()
}

/// `COUNT(*) >= least`
pub fn count_at_least(least: i64) -> String {
    format!("count(*) >= {least}")
}

impl Q {
    /// `FROM` these.
    pub fn over(names: &[&str]) -> Q {
        let atom = |(at, name): (usize, &&str)| Atom {
            table: (*name).to_owned(),
            alias: format!("a{at}"),
            filter: None,
        };
        Q(Query {
            blocks: Vec::new(),
            atoms: names.iter().enumerate().map(atom).collect(),
            joins: Vec::new(),
            condition: None,
            subqueries: Vec::new(),
            group_by: Vec::new(),
            outputs: Vec::new(),
            rows: None,
            bag: None,
            having: None,
            order: None,
            epsilon: None,
            is_chosen: false,
        })
    }

    pub fn join(mut self, left: &str, right: &str) -> Q {
        self.0.joins.push(vec![column(left), column(right)]);
        self
    }

    /// Grouped by a column that is not shown.
    pub fn hidden(mut self, text: &str) -> Q {
        self.0.group_by.push(column(text));
        self
    }

    /// Grouped by a column that is shown by a name.
    pub fn by(mut self, text: &str, name: &str) -> Q {
        self.0.outputs.push(Output::Group {
            name: name.to_owned(),
            column: column(text),
        });
        self.hidden(text)
    }

    pub fn agg(mut self, name: &str, function: Function, argument: Option<&str>) -> Q {
        self.0.outputs.push(Output::Aggregate {
            name: name.to_owned(),
            function,
            argument: argument.map(|of| column(of).expr().into()),
        });
        self
    }

    /// An aggregate of an expression.
    pub fn call(mut self, name: &str, function: Function, argument: &str) -> Q {
        self.0.outputs.push(Output::Aggregate {
            name: name.to_owned(),
            function,
            argument: Some(argument.parse().unwrap()),
        });
        self
    }

    pub fn count(self, name: &str) -> Q {
        self.agg(name, Function::Count, None)
    }

    pub fn sum(self, name: &str, of: &str) -> Q {
        self.agg(name, Function::Sum, Some(of))
    }

    /// COALESCE of a measure and a constant.
    pub fn or_else(self, name: &str, measure: &str, value: &str) -> Q {
        self.expression(name, format!("coalesce({measure}, {value})"))
    }

    pub fn expression(mut self, name: &str, value: String) -> Q {
        self.0.outputs.push(Output::Expression {
            name: name.to_owned(),
            value: value.parse().unwrap(),
        });
        self
    }

    /// `WHERE column >= least` on an atom.
    pub fn at_least(mut self, text: &str, least: i64) -> Q {
        let ColumnRef { atom, column } = column(text);
        let filter = format!("\"{column}\" >= {least}");
        self.0.atoms[atom].filter = Some(filter.parse().unwrap());
        self
    }

    pub fn having(mut self, condition: String) -> Q {
        self.0.having = Some(condition.parse().unwrap());
        self
    }

    /// The rows of the join themselves.
    pub fn rows(mut self, representation: Option<Representation>, distinct: bool) -> Q {
        self.0.bag = Some(Bag {
            representation,
            distinct,
        });
        self
    }

    /// `WITH name AS ..`, behind those before.
    pub fn with(mut self, name: &str, block: &Q) -> Q {
        self.0.blocks.push(Block {
            name: name.to_owned(),
            query: block.0.clone(),
        });
        self
    }
}
