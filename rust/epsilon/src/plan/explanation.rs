//! A plan explained: which class the join is of, what a change costs, what is kept.
//!
//! Invariant: it says what the machine does. Cost: linear in the query.

use ringview_explain::{ChangeFacts, Choice, Condition, Explanation, NodeFacts, NodeKind, power};

use crate::plan::Plan;
use crate::query::SplitKey;

impl Plan {
    /// Layout of a view of this plan, the reasons for it, and its costs.
    pub(crate) fn explanation(&self) -> Explanation {
        let cost = format!(
            "{} amortised, rebalancing included: walks through light values, heavy ones one by one",
            power(self.time())
        );
        let changes = self.query.atoms.iter().map(|atom| ChangeFacts {
            relation: atom.alias.clone(),
            is_static: atom.is_static,
            constant: false,
            cost: match atom.is_static {
                true => "never changes".to_owned(),
                false => cost.clone(),
            },
            climbs: Vec::new(),
        });
        Explanation {
            engine: Choice {
                name: "epsilon".to_owned(),
                because: format!(
                    "the join is of the class {}: values that stand in {} are heavy, and what \
                     lies between them through light ones is summed beforehand",
                    self.class.name(),
                    self.heavy(),
                ),
            },
            form: self.result_kind(),
            conditions: vec![Condition {
                name: "hierarchical".to_owned(),
                holds: false,
                because:
                    "two variables have relations in common, and each one that the other lacks"
                        .to_owned(),
                variables: Vec::new(),
                relations: Vec::new(),
                means: "no engine keeps it at less than the square root of the data a change, if \
                        the OMv conjecture holds"
                    .to_owned(),
            }],
            space: Some(self.space()),
            nodes: self.nodes(),
            changes: changes.collect(),
            change: "a change of one row".to_owned(),
            ..Explanation::default()
        }
    }

    /// Kind of the result.
    fn result_kind(&self) -> Choice {
        if let Some(from) = self.join.read_from {
            let alias = &self.query.atoms[from].alias;
            return Choice {
                name: "groups".to_owned(),
                because: format!(
                    "sums by group, computed as they are read, from the rows of {alias}: {} for each in the \
                     group; a change touches no groups, but the relations, their heavy parts and the \
                     views through light values",
                    power(self.time()),
                ),
            };
        }
        let [name, because] = match (self.has_rows, self.is_cycle) {
            (true, _) => [
                "factorised",
                "rows with one light value between two heavy ones are kept as pairs of relations, \
                 the others are listed; each is read with constant delay",
            ],
            (false, true) => [
                "groups",
                "one row of sums; one relation at three places, its heavy part and one view through \
                 light values",
            ],
            (false, false) if !self.groups.is_empty() => [
                "groups",
                "sums by group: whatever changes has all variables of the groups, so a change is of \
                 one group; the relations, their heavy parts and the views through light values",
            ],
            (false, false) => [
                "groups",
                "one row of sums; the relations, their heavy parts and the views through light values",
            ],
        };
        Choice {
            name: name.to_owned(),
            because: because.to_owned(),
        }
    }

    /// In how many tuples a value is heavy.
    fn heavy(&self) -> String {
        let mut all = self.thresholds();
        let first = all.first().map_or(0.0, |(_, one)| *one);
        if all.iter().all(|(_, one)| *one == first) {
            return format!("N^{first} tuples or more");
        }
        // In the order of the relations whose exponents they are.
        all.sort_by_key(|(key, _)| key.relation);
        let of = |(key, one): &(SplitKey, f64)| {
            let alias = |atom: &usize| self.query.atoms[*atom].alias.as_str();
            let others = key.holders.iter().filter(|atom| **atom != key.relation);
            let others: Vec<&str> = others.map(alias).collect();
            let own = alias(&key.relation);
            format!("N^{one} ({own} with {})", others.join(" and "))
        };
        let each: Vec<String> = all.iter().map(of).collect();
        format!("{} tuples or more", each.join(", "))
    }

    /// The relations, and the result behind them.
    fn nodes(&self) -> Vec<NodeFacts> {
        let variables = &self.query.variables;
        let names = |atom: usize| -> Vec<String> {
            let has = |of: &[(usize, usize)]| of.iter().any(|(own, _)| *own == atom);
            let own = variables.iter().filter(|variable| has(&variable.columns));
            own.map(|variable| variable.name.clone()).collect()
        };
        let all = || variables.iter().map(|variable| variable.name.clone());
        let payload = match self.components.len() {
            1 => "count".to_owned(),
            more => format!("count and {} sums", more - 1),
        };
        let atoms = self.query.atoms.iter().enumerate();
        let mut nodes: Vec<NodeFacts> = atoms
            .map(|(at, atom)| NodeFacts {
                name: atom.alias.clone(),
                label: format!("{}[{}]", atom.alias, names(at).join(", ")),
                kind: NodeKind::Relation,
                table: Some(atom.table.clone()),
                filtered: atom.filter.is_some(),
                is_static: atom.is_static,
                keys: names(at),
                joins: Vec::new(),
                summed: Vec::new(),
                payload: payload.clone(),
                stored: !self.is_cycle || at == 0,
                because: match self.is_cycle && at > 0 {
                    true => "it is the first relation again".to_owned(),
                    false => "changes of the others meet it".to_owned(),
                },
                closes: None,
                space: Some(1.0),
                children: Vec::new(),
                parent: Some(self.query.atoms.len()),
                rows: None,
                bytes: None,
                updates: None,
                shared_with: Vec::new(),
            })
            .collect();
        let (shown, summed): (Vec<String>, Vec<String>) = match self.has_rows {
            true => (all().collect(), Vec::new()),
            false => {
                let of = |&id: &usize| variables[id].name.clone();
                let groups: Vec<String> = self.groups.iter().map(of).collect();
                let summed = all().filter(|name| !groups.contains(name)).collect();
                (groups, summed)
            }
        };
        nodes.push(NodeFacts {
            name: "Q".to_owned(),
            label: format!("Q[{}]", shown.join(", ")),
            kind: NodeKind::View,
            table: None,
            filtered: false,
            is_static: false,
            keys: shown,
            joins: all().collect(),
            summed,
            payload,
            stored: self.join.read_from.is_none(),
            because: "the result".to_owned(),
            closes: None,
            space: Some(if self.has_rows { 1.5 } else { 0.0 }),
            children: (0..self.query.atoms.len()).collect(),
            parent: None,
            rows: None,
            bytes: None,
            updates: None,
            shared_with: Vec::new(),
        });
        nodes
    }
}
