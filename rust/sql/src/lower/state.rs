//! The blocks of a text so far.
//!
//! Invariant: a block has been bound before another reads it; a name of a block means one query from then on. Cost:
//! that of binding each block once.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ringview_core::{Result, Type};
use ringview_query::{Atom, Bag, Block, Bound, Catalog, Output, Query, Rows, TableInfo, bind};

use super::pending::Pending;
use crate::options::Options;

/// The blocks of one text.
pub(crate) struct Lowering<'c> {
    pub(super) catalog: &'c dyn Catalog,
    pub(super) known: &'c [String],
    pub(super) blocks: Vec<Block>,
    pub(super) infos: BTreeMap<String, TableInfo>,
    /// Queries that were bound, those of blocks among them.
    bound: RefCell<Vec<(Query, Rc<Bound>)>>,
    /// Number of columns computed so far.
    pub(super) computed: usize,
    /// Whether conditions may be kept by an engine that compares across tables and with subqueries.
    pub(super) keeps_conditions: bool,
    /// Whether such a condition is preferred to a block that removes rows, as an anti-join does.
    pub(super) only_joins: bool,
    /// Whether the query is answered once.
    pub(super) once: bool,
    /// Whether the result may be computed of a block as it is read.
    pub(super) computes_on_read: bool,
    /// The rows around the subquery that is lowered, and their columns; the innermost last.
    pub(super) scopes: Vec<(super::pending::Pending, datafusion_common::DFSchema)>,
    /// The recursions whose steps are lowered, the innermost last.
    pub(super) working: Vec<Working>,
    /// Those that are lowered, with their blocks.
    pub(super) recursions: Vec<(datafusion_expr::RecursiveQuery, Query)>,
}

/// A recursion whose step is lowered: what the text calls it, and the table that its step reads.
pub(crate) struct Working {
    pub(super) name: String,
    pub(super) table: String,
}

/// Tables, views, and the blocks so far.
impl Catalog for Lowering<'_> {
    fn table(&self, name: &str) -> Result<TableInfo> {
        match self.infos.get(name) {
            Some(info) => Ok(info.clone()),
            None => self.catalog.table(name),
        }
    }
}

impl<'c> Lowering<'c> {
    pub(crate) fn new(catalog: &'c dyn Catalog, known: &'c [String], options: &Options) -> Self {
        Self {
            catalog,
            known,
            blocks: Vec::new(),
            infos: BTreeMap::new(),
            bound: RefCell::default(),
            computed: 0,
            keeps_conditions: !options.in_blocks,
            only_joins: options.only_joins,
            once: options.once,
            computes_on_read: options.on_read
                && !options.in_blocks
                && !options.only_joins
                && options.representation.is_none()
                && options.order.is_none(),
            scopes: Vec::new(),
            working: Vec::new(),
            recursions: Vec::new(),
        }
    }

    /// Adds a block, called so or alike.
    pub(crate) fn emit(&mut self, name: &str, query: Query) -> Result<String> {
        let same = self.blocks.iter().find(|block| block.query == query);
        if let Some(same) = same {
            return Ok(same.name.clone());
        }
        let name = free(name, &|name| self.is_taken(name));
        let info = self.bound(&query)?.as_table(None)?;
        self.infos.insert(name.clone(), info);
        self.blocks.push(Block {
            name: name.clone(),
            query,
        });
        Ok(name)
    }

    /// A query over the tables and blocks so far, bound once.
    pub(super) fn bound(&self, query: &Query) -> Result<Rc<Bound>> {
        let known = self
            .bound
            .borrow()
            .iter()
            .find_map(|(of, bound)| (of == query).then(|| Rc::clone(bound)));
        if let Some(bound) = known {
            return Ok(bound);
        }
        let bound = Rc::new(bind(query, self)?);
        self.bound
            .borrow_mut()
            .push((query.clone(), Rc::clone(&bound)));
        Ok(bound)
    }

    /// Frees a name.
    pub(super) fn forget(&mut self, name: &str) -> Option<TableInfo> {
        let reads = |query: &Query| query.all_atoms().iter().any(|atom| atom.table == name);
        self.bound.get_mut().retain(|(query, _)| !reads(query));
        self.infos.remove(name)
    }

    /// Rows of the last block, which the text has a name for, if they made it: that name, if it means nothing else.
    pub(crate) fn renamed_block(
        &mut self,
        mut rows: Pending,
        before: usize,
        name: &str,
    ) -> Pending {
        let is_new = self.blocks.len() > before;
        let is_it = self
            .blocks
            .last()
            .is_some_and(|block| rows.atoms == [block.name.clone()]);
        if is_new && is_it && !self.is_taken(name) {
            if let Some(block) = self.blocks.last_mut() {
                let old = std::mem::replace(&mut block.name, name.to_owned());
                if let Some(info) = self.forget(&old) {
                    self.infos.insert(name.to_owned(), info);
                }
            }
            rows.atoms = vec![name.to_owned()];
        }
        rows
    }

    /// Whether a name means a table, a view or a block.
    fn is_taken(&self, name: &str) -> bool {
        let mut known = self.known.iter();
        self.infos.contains_key(name) || known.any(|known| known.eq_ignore_ascii_case(name))
    }

    /// The blocks that a query reads, and those that they read before them.
    pub(crate) fn read_by(&mut self, query: &Query) -> Vec<Block> {
        let mut wanted: BTreeSet<String> = tables(query);
        let mut read = Vec::new();
        for block in std::mem::take(&mut self.blocks).into_iter().rev() {
            if wanted.contains(&block.name) {
                wanted.extend(tables(&block.query));
                read.push(block);
            }
        }
        read.reverse();
        read
    }

    /// The type of a column of a table or block.
    pub(crate) fn column(&self, table: &str, name: &str) -> Result<(Type, bool)> {
        let schema = self.table(table)?.schema;
        let field = &schema.fields()[schema.index_of(name)?];
        Ok((field.ty.clone(), field.nullable))
    }
}

/// Tables that a query reads, its subqueries too.
fn tables(query: &Query) -> BTreeSet<String> {
    let atoms = query.all_atoms().into_iter();
    atoms.map(|atom| atom.table.clone()).collect()
}

/// A name that is not taken: this one, or one like it.
pub(crate) fn free(name: &str, is_taken: &dyn Fn(&str) -> bool) -> String {
    let names = (1..).map(|number| {
        if number == 1 {
            name.to_owned()
        } else {
            format!("{name}_{number}")
        }
    });
    names
        .into_iter()
        .find(|name| !is_taken(name))
        .unwrap_or_default()
}

/// A query over atoms, still without outputs.
pub(crate) fn over(tables: &[String]) -> Query {
    let atom = |(number, table): (usize, &String)| Atom {
        table: table.clone(),
        alias: match tables[..number].contains(table) {
            true => format!("{table} {number}"),
            false => table.clone(),
        },
        filter: None,
    };
    Query {
        blocks: Vec::new(),
        atoms: tables.iter().enumerate().map(atom).collect(),
        joins: Vec::new(),
        condition: None,
        subqueries: Vec::new(),
        group_by: Vec::new(),
        outputs: Vec::<Output>::new(),
        is_chosen: false,
        rows: None,
        bag: None,
        having: None,
        order: None,
        epsilon: None,
    }
}

/// A query that computes rows.
pub(crate) fn computing(tables: &[String], rows: Rows) -> Query {
    Query {
        rows: Some(rows),
        ..over(tables)
    }
}

/// Rows, each as often as it is there.
pub(crate) const BAG: Bag = Bag {
    representation: None,
    distinct: false,
};

/// An output under another name.
pub(super) fn named(mut output: Output, called: &str) -> Output {
    match &mut output {
        Output::Group { name, .. }
        | Output::Aggregate { name, .. }
        | Output::Expression { name, .. }
        | Output::Cofactor { name, .. } => called.clone_into(name),
    }
    output
}
