//! From a bound query to the relations of a join, their fields, and the components of their payloads.
//!
//! Invariant: every plan can be kept; a query that cannot is refused with the reason where it is found. The number of
//! an atom is that of its relation, unless one table is at all three places of a triangle: then it is one relation, and
//! rows are taken at the first atom alone. Cost: small, and none that depends on data.

mod component;
mod explanation;
mod groups;
mod moments;

use ringview_core::{Error, Result, Type};
use ringview_query::{Bound, Factor, Features, Kind, PlanAtom, VarId, Variable};
use ringview_relation::KeyedTable;
use ringview_ring::NumberKind;
use ringview_view::answer::{Outputs, PayloadField, PayloadLayout, TermSums};
use ringview_view::fields::Fields;
use ringview_view::result_table::ResultTable;

pub(crate) use component::Component;
use groups::{check_groups, has, reader, unsupported};
use moments::FeatureMoments;

pub(crate) use groups::is_of_one_group;

use crate::query::{Class, Epsilon, Query, Refused, SplitKey};

/// Plan of a query.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) query: Bound,
    /// By atom: the exponent of the threshold of the key that it shares with the one before it.
    pub(crate) epsilons: Vec<Epsilon>,
    pub(crate) class: Class,
    pub(crate) fields: Fields,
    pub(crate) join: Query,
    /// Whether the result is the rows of the join, and not sums.
    pub(crate) has_rows: bool,
    /// The variables that the result is grouped by.
    pub(crate) groups: Vec<VarId>,
    /// Whether one table is at all three places of a triangle, and is one relation.
    pub(crate) is_cycle: bool,
    pub(crate) components: Vec<Component>,
    /// By term of the query: its component.
    places: Vec<usize>,
    /// Those of COFACTOR.
    pub(crate) features: Option<FeatureMoments>,
}

impl Plan {
    /// # Errors
    /// `Unsupported`, with the condition that fails.
    pub(crate) fn new(query: &Bound, epsilon: Epsilon) -> Result<Self> {
        check(query)?;
        let fields = Fields::new(&query.variables);
        let ids = 0..query.variables.len();
        // The outputs of a join's rows are no groups.
        let is_group = |&id: &usize| query.variables[id].free && query.bag.is_none();
        let groups: Vec<VarId> = ids.filter(is_group).collect();
        let of_atom = |atom: usize| -> Vec<usize> {
            let variables = query.variables.iter().enumerate();
            let own = variables.filter(|(_, variable)| has(atom, variable));
            let own: Vec<VarId> = own.map(|(id, _)| id).collect();
            fields.of_all(&own)
        };
        let mut join = Query {
            fields: (0..query.atoms.len()).map(of_atom).collect(),
            packing: fields.packing(),
            groups: fields.of_all(&groups),
            read_from: None,
        };
        // On a path, walks continue behind the relations that change.
        let is_of_one = is_of_one_group(query) && join.path().is_none();
        if !groups.is_empty() && !is_of_one {
            join.read_from = Some(reader(query)?);
        }
        let name = |field| {
            let variable = &query.variables[fields.field(field).variable];
            format!("variable {:?}", variable.name)
        };
        let class = join.class_of(&name).map_err(refused)?;
        let has_rows = query.bag.is_some();
        if has_rows {
            check_rows(query, class)?;
        }
        let (mut components, places) = components(query)?;
        let features = match &query.features {
            Some(features) => Some(FeatureMoments::new(query, features, &mut components)?),
            None => None,
        };
        let counts = components.len() == 1;
        let epsilons = epsilons(query, epsilon)?;
        // One relation has one partition.
        let alike = epsilons.iter().all(|one| *one == epsilons[0]);
        Ok(Self {
            is_cycle: counts && alike && !has_rows && groups.is_empty() && is_cycle(query, &join),
            has_rows,
            query: query.clone(),
            epsilons,
            class,
            fields,
            join,
            groups,
            components,
            places,
            features,
        })
    }

    /// Each key with a partition, and the exponent of its threshold.
    pub(crate) fn thresholds(&self) -> Vec<(SplitKey, f64)> {
        let keys = self.join.split_keys().into_iter();
        keys.map(|key| {
            let epsilon = self.epsilons[key.relation].value();
            (key, epsilon)
        })
        .collect()
    }

    /// The exponent of what a change costs: light values have short walks, heavy ones are few.
    pub(crate) fn time(&self) -> f64 {
        let thresholds = self.thresholds();
        let exponents = thresholds.iter().map(|(_, one)| one.max(1.0 - one));
        exponents.fold(0.0, f64::max)
    }

    /// The exponent of what is kept. A view has no more keys than there are tuples times the matches that
    /// each has among light values, or among heavy ones; and no more than heavy values of its keys
    /// make, which in a path are not all heavy.
    pub(crate) fn space(&self) -> f64 {
        if self.has_rows {
            // As many triangles as there may be.
            return 1.5;
        }
        let light: Vec<f64> = self.thresholds().iter().map(|(_, one)| *one).collect();
        let views = light.iter().enumerate().map(|(z, own)| {
            let others = light.iter().enumerate().filter(|(other, _)| *other != z);
            let heavy: Vec<f64> = others.map(|(_, one)| 1.0 - one).collect();
            let all = match self.class {
                Class::Path => f64::INFINITY,
                _ => heavy.iter().sum(),
            };
            let most = heavy.iter().copied().fold(*own, f64::min);
            all.min(1.0 + most)
        });
        views.fold(1.0, f64::max)
    }

    /// Layout of the result's payloads.
    pub(crate) fn payload_layout(&self) -> PayloadLayout {
        let kinds = self.components.iter().map(|component| component.kind);
        let numbers: Vec<NumberKind> = self.components.iter().map(Component::number).collect();
        let mut sums = TermSums::with_numbers(kinds.collect(), &numbers, self.places.clone());
        if let Some(features) = &self.features {
            sums = sums.with_moments(features.columns(), features.components.clone());
        }
        let mut payload_layout = PayloadLayout::default();
        payload_layout.push(PayloadField::Sums(sums));
        payload_layout
    }

    /// The groups of a part as rows.
    pub(crate) fn rows_of<'a>(
        &'a self,
        table: &'a KeyedTable,
        payload_layout: &'a PayloadLayout,
    ) -> ResultTable<'a> {
        ResultTable {
            outputs: Outputs::from(&self.query),
            fields: &self.fields,
            keys: &self.groups,
            table,
            auxiliary: payload_layout,
        }
    }

    /// The fields of the key of an atom's relation; in a cycle those of the source, then of the target of an edge.
    pub(crate) fn key(&self, atom: usize) -> Vec<usize> {
        let mut key = self.join.fields[atom].clone();
        if self.is_cycle && ends(&self.query, atom, &self.join) != Some([key[0], key[1]]) {
            key.reverse();
        }
        key
    }

    /// The places of strings in the key of an atom's relation.
    pub(crate) fn texts(&self, atom: usize) -> Vec<usize> {
        let key = self.key(atom);
        let is_text = |at: &usize| self.fields.field(key[*at]).is_text;
        (0..key.len()).filter(is_text).collect()
    }

    /// The columns of an atom that are compared with others.
    pub(crate) fn join_columns(&self, atom: usize) -> Vec<usize> {
        let columns = self.query.variables.iter().flat_map(|one| &one.columns);
        let own = columns.filter(|(of, _)| *of == atom);
        own.map(|&(_, column)| column).collect()
    }

    /// The column of an atom that a variable is.
    pub(crate) fn column(&self, atom: usize, variable: VarId) -> Option<usize> {
        let columns = self.query.variables[variable].columns.iter();
        let mut own = columns.filter(|(of, _)| *of == atom);
        own.next().map(|&(_, column)| column)
    }
}

/// By atom: what the query gives, else `own`.
fn epsilons(query: &Bound, own: Epsilon) -> Result<Vec<Epsilon>> {
    let mut epsilons = vec![own; query.atoms.len()];
    for (epsilon, given) in epsilons.iter_mut().zip(&query.epsilons) {
        if let Some(given) = given {
            *epsilon = Epsilon::new(*given).map_err(refused)?;
        }
    }
    Ok(epsilons)
}

pub(crate) fn refused(refused: Refused) -> Error {
    Error::Unsupported {
        what: "this join by the engine \"epsilon\"".to_owned(),
        why: refused.why,
        instead: refused.instead,
    }
}

/// Whether a query is one that can be looked at.
fn check(query: &Bound) -> Result<()> {
    query.refuse_condition("heavy and light parts are of tables")?;
    if query.atoms.len() < 3 {
        let why = format!(
            "it keeps joins of three relations or more, and here are {}: a view tree keeps them in \
             constant time",
            query.atoms.len()
        );
        return Err(unsupported("this join", &why));
    }
    if query.bag.is_some() {
        let joins = |variable: &Variable| variable.columns.len() > 1;
        let alone = query.variables.iter().find(|variable| !joins(variable));
        let Some(alone) = alone else { return Ok(()) };
        let why = format!(
            "of the rows of a join it keeps the columns that join, and {:?} is of one relation",
            alone.name
        );
        return Err(unsupported("this column", &why));
    }
    check_groups(query)?;
    let categorical = |features: &Features| !features.categorical.is_empty();
    if query.features.as_ref().is_some_and(categorical) {
        let why = "counts by category are groups that each change would have to walk";
        return Err(unsupported("COFACTOR of strings", why));
    }
    if !query.companions.is_empty() {
        let why = "least, greatest and distinct values are no sums";
        return Err(unsupported("MIN, MAX and COUNT(DISTINCT)", why));
    }
    Ok(())
}

/// Whether the rows of a join of a class can be kept.
fn check_rows(query: &Bound, class: Class) -> Result<()> {
    if class != Class::Three {
        let why = format!(
            "the join is of the class {}: it keeps rows of joins of the class 3R3, as that of the \
             triangle, and counts and sums of this one",
            class.name()
        );
        return Err(unsupported("the rows of this join", &why));
    }
    if query.distinct {
        let why = "it keeps each row with its multiplicity";
        return Err(unsupported("DISTINCT", why));
    }
    Ok(())
}

/// The components of a query's terms, each once, and which of them each term is.
fn components(query: &Bound) -> Result<(Vec<Component>, Vec<usize>)> {
    let mut all: Vec<Component> = Vec::new();
    let mut places = Vec::new();
    for term in &query.terms {
        let mut factors: Vec<Option<Factor>> = vec![None; query.atoms.len()];
        for (atom, own) in factors.iter_mut().enumerate() {
            let value = term.factors.get(&atom).cloned();
            let not_null = term.not_null.get(&atom).cloned().unwrap_or_default();
            if value.is_some() || !not_null.is_empty() {
                *own = Some(Factor { not_null, value });
            }
        }
        if !term.coefficient.is_one() || term.coefficient.kind != Kind::Int {
            let at = term.factors.keys().next().copied().unwrap_or(0);
            let factor = factors[at].get_or_insert(Factor {
                not_null: Vec::new(),
                value: None,
            });
            factor.value = Some(match factor.value.take() {
                Some(value) => term.coefficient.clone().multiply(value)?,
                None => term.coefficient.clone(),
            });
        }
        let kinds = factors.iter().flatten();
        let kinds: Vec<Kind> = kinds
            .filter_map(|factor| factor.value.as_ref().map(|value| value.kind))
            .collect();
        let product = kinds
            .iter()
            .try_fold(Kind::Int, |all, kind| all.product(*kind));
        let kind = product?;
        let is_decimal = |kind: &Kind| matches!(kind, Kind::Decimal { .. });
        if kind == Kind::Real && kinds.iter().any(is_decimal) {
            let why = "a sum of products of decimals and doubles has no one kind of number";
            return Err(unsupported("this sum", why));
        }
        let component = Component { kind, factors };
        let known = all.iter().position(|one| *one == component);
        places.push(known.unwrap_or(all.len()));
        if known.is_none() {
            all.push(component);
        }
    }
    Ok((all, places))
}

/// Whether the atoms are one table at the three places of E(a, b) E(b, c) E(c, a).
fn is_cycle(query: &Bound, join: &Query) -> bool {
    let [first, second, third] = &query.atoms[..] else {
        return false;
    };
    let alike = |one: &PlanAtom, other: &PlanAtom| {
        one.table == other.table
            && one.filter == other.filter
            && one.join_columns_not_null == other.join_columns_not_null
    };
    if !alike(first, second) || !alike(first, third) {
        return false;
    }
    let ends = [0, 1, 2].map(|atom| ends(query, atom, join));
    let [Some(first), Some(second), Some(third)] = ends else {
        return false;
    };
    let close = |one: [usize; 2], two: [usize; 2], three: [usize; 2]| {
        one[1] == two[0] && two[1] == three[0] && three[1] == one[0]
    };
    close(first, second, third) || close(first, third, second)
}

/// The fields of an atom in the order of its columns, where it has two of one integer or text column
/// each.
fn ends(query: &Bound, atom: usize, join: &Query) -> Option<[usize; 2]> {
    let [left, right] = join.fields[atom][..] else {
        return None;
    };
    let columns = query.variables.iter().flat_map(|variable| {
        let own = variable.columns.iter().filter(|(of, _)| *of == atom);
        own.map(move |(_, column)| (*column, &variable.ty))
    });
    let columns: Vec<(usize, &Type)> = columns.collect();
    // Each variable has one field, so the fields of the atom are its variables, in their order.
    let [(first, one), (second, other)] = columns[..] else {
        return None;
    };
    if one != other || join.packing[left] != join.packing[right] {
        return None;
    }
    Some(match first < second {
        true => [left, right],
        false => [right, left],
    })
}
