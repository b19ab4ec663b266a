//! An explanation as text: first what changes cost and the tree, then why.
//!
//! Invariant: a line has at most some hundred characters of what grows with the query, and says how
//! much it leaves out; JSON leaves nothing out. Of the conditions that fail, only those are shown
//! that do not fail because another does.

use std::fmt::Write;

use crate::{Below, Condition, Explanation, MergedSums, NodeFacts, OrderFacts, Other};

/// Characters of a part of a line.
const LONG: usize = 240;
/// Beyond this, columns are not aligned.
const WIDE: usize = 120;

impl Below {
    /// The kind and name of the view or block, with its current sizes.
    pub(crate) fn title(&self) -> String {
        self.view.with_sizes(self.what.clone())
    }
}

/// A text, or its start and end and how many characters are between them.
fn elided(text: &str) -> String {
    const END: usize = 40;
    let long = text.chars().count();
    if long <= LONG + 2 * END {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONG).collect();
    let end: String = text.chars().skip(long - END).collect();
    format!("{start} .. {} more characters .. {end}", long - LONG - END)
}

/// A text with blanks up to a width. The formatter's own widths end at 65,535 and panic beyond.
fn padded(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

impl Explanation {
    /// As text, for a terminal. O(nodes).
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if let Some(headline) = self.headline() {
            let _ = writeln!(text, "{headline}\n");
        }
        if !self.shared_with.is_empty() {
            let others = self.shared_with.join(", ");
            let _ = writeln!(text, "kept once for this view and {}\n", elided(&others));
        }
        if let Some(MergedSums { with, own, all }) = &self.merged {
            let others = with.join(", ");
            let (others, sums) = (elided(&others), format!("{own} of its {all} sums"));
            let _ = writeln!(text, "one tree with {others}: {sums} are this view's\n");
        }
        if let Some(shared) = self.shared() {
            let _ = writeln!(text, "{shared}\n");
        }
        self.costs(&mut text);
        self.tree(&mut text);
        self.why(&mut text);
        for beside in &self.beside {
            let _ = write!(text, "\nbeside it, {}\n", beside.what);
            beside.view.costs(&mut text);
            beside.view.tree(&mut text);
            beside.view.theory(&mut text, "");
        }
        for below in self.below.iter().rev() {
            let _ = write!(text, "\nbelow it, {}\n", below.title());
            below.view.costs(&mut text);
            below.view.tree(&mut text);
            for beside in &below.view.beside {
                let _ = write!(text, "\nbeside {}, {}\n", below.what, beside.what);
                beside.view.costs(&mut text);
                beside.view.tree(&mut text);
            }
            below.view.theory(&mut text, "");
        }
        text
    }

    /// Number of its views that are kept for other views too, and the names of those.
    fn shared(&self) -> Option<String> {
        let shared = self
            .nodes
            .iter()
            .filter(|node| !node.shared_with.is_empty());
        let mut with: Vec<&str> = Vec::new();
        for name in shared.clone().flat_map(|node| &node.shared_with) {
            if !with.contains(&&**name) {
                with.push(name);
            }
        }
        (!with.is_empty()).then(|| {
            let (own, all) = (shared.count(), self.nodes.len());
            let others = elided(&with.join(", "));
            format!("{own} of the {all} views of its tree are kept once for it and {others}")
        })
    }

    /// The cost of a change of each relation.
    fn costs(&self, text: &mut String) {
        let _ = writeln!(text, "{}", self.change);
        let names = self.changes.iter().map(|c| c.relation.chars().count());
        let width = names.max().unwrap_or(0).min(WIDE);
        for change in &self.changes {
            let relation = padded(&elided(&change.relation), width);
            let _ = writeln!(text, "  {relation}  {}", elided(&change.cost));
        }
        if let Some(warning) = &self.warning {
            let _ = writeln!(text, "  costly: {}", elided(&warning.to_string()));
        }
    }

    /// The chosen engine and form, and the theory behind them.
    fn why(&self, text: &mut String) {
        let _ = writeln!(text, "\nwhy");
        let (engine, form) = (&self.engine, &self.form);
        let _ = writeln!(text, "  engine: {}; {}", engine.name, engine.because);
        for other in &self.others {
            let _ = writeln!(text, "  not taken: {}", elided(&other.line()));
        }
        let _ = writeln!(text, "  kept as {}: {}", form.name, form.because);
        if !self.trusted.is_empty() {
            let functions = elided(&self.trusted.join(", "));
            let _ = writeln!(
                text,
                "  trusted: {functions} to return the same for the same arguments, whenever called"
            );
        }
        self.theory(text, "  ");
        for condition in self.shown() {
            let _ = writeln!(text, "  {}", elided(&condition.line()));
        }
    }

    /// The class of the query and the variable order.
    fn theory(&self, text: &mut String, indent: &str) {
        if let Some(classes) = self.classes() {
            let _ = writeln!(text, "{indent}query: {classes}");
        }
        if !self.order.is_empty() {
            let _ = writeln!(
                text,
                "{indent}variable order: {}",
                elided(&shown(&self.order))
            );
        }
    }

    /// The conditions that hold, and of the others those that do not merely follow: a cyclic join
    /// is neither free-connex nor hierarchical, only a hierarchical one is q-hierarchical, and the
    /// places of free variables follow from all of them.
    pub(super) fn shown(&self) -> impl Iterator<Item = &Condition> {
        let fails = |name: &str| self.conditions.iter().any(|c| c.name == name && !c.holds);
        let cyclic = fails("alpha-acyclic");
        let beyond = cyclic || fails("free-connex") || fails("hierarchical");
        let deepest = beyond || fails("q-hierarchical");
        self.conditions.iter().filter(move |condition| {
            let follows = match condition.name.as_str() {
                "free-connex" | "hierarchical" => cyclic,
                "q-hierarchical" => beyond,
                "free-top" => deepest,
                _ => false,
            };
            condition.holds || !follows
        })
    }

    /// The view with what it has now.
    pub(crate) fn headline(&self) -> Option<String> {
        let name = self.view.as_ref()?;
        Some(self.with_sizes(format!("view {name:?}")))
    }

    fn with_sizes(&self, name: String) -> String {
        let mut words = vec![name];
        words.extend(self.size.clone());
        words.extend(self.bytes.map(|bytes| format!("{bytes} bytes")));
        words.join(", ")
    }

    /// The class of the query in a line.
    pub(crate) fn classes(&self) -> Option<String> {
        let (width, space) = (self.width?, self.space?);
        let mut words = vec![if self.holds("alpha-acyclic") {
            "acyclic"
        } else {
            "cyclic"
        }];
        if self.holds("q-hierarchical") {
            words.push("q-hierarchical");
        } else if self.holds("hierarchical") {
            words.push("hierarchical");
        }
        if self.holds("free-connex") {
            words.push("free-connex");
        }
        Some(format!(
            "{}; width {}; views of {} keys",
            words.join(", "),
            number(width),
            power(space)
        ))
    }

    fn tree(&self, text: &mut String) {
        let mut lines = Vec::new();
        let Some(root) = self.nodes.len().checked_sub(1) else {
            return;
        };
        self.lines(root, String::new(), String::new(), &mut lines);
        let wide = |line: &(usize, String)| line.1.chars().count();
        let width = lines.iter().map(wide).max().unwrap_or(0).min(WIDE);
        let kept = |node: &NodeFacts| {
            if node.stored {
                format!("stored: {}", elided(&node.payload))
            } else {
                "not stored".to_owned()
            }
        };
        let kept_width = self
            .nodes
            .iter()
            .map(|node| kept(node).chars().count())
            .max()
            .unwrap_or(0)
            .min(WIDE);
        text.push_str("\nview tree\n");
        for (id, view) in lines {
            let node = &self.nodes[id];
            let (view, kept) = (padded(&view, width), padded(&kept(node), kept_width));
            let line = format!("  {view}  {kept}  {}", node.state());
            let _ = writeln!(text, "{}", line.trim_end());
        }
        let closes = self.nodes.iter().filter_map(|node| node.closes.as_ref());
        let outgrows = |node: &&NodeFacts| node.stored && node.space.is_some_and(|n| n > 1.0);
        let large = self.nodes.iter().filter(outgrows).map(|node| {
            let keys = power(node.space.unwrap_or_default());
            let label = elided(&node.label);
            format!("{label} may hold {keys} keys: no relation bounds it")
        });
        for line in closes.cloned().chain(large) {
            let _ = writeln!(text, "  {}", elided(&line));
        }
    }

    /// (node, its place in the drawing), top to bottom.
    fn lines(&self, id: usize, branch: String, indent: String, lines: &mut Vec<(usize, String)>) {
        let node = &self.nodes[id];
        let label = elided(&node.label);
        lines.push((id, format!("{branch}{label}{}", node.marks())));
        for (at, child) in node.children.iter().enumerate() {
            let last = at + 1 == node.children.len();
            let (tee, bar) = if last {
                ("└─ ", "   ")
            } else {
                ("├─ ", "│  ")
            };
            self.lines(
                *child,
                format!("{indent}{tee}"),
                format!("{indent}{bar}"),
                lines,
            );
        }
    }
}

impl Condition {
    /// `free-connex: ..`, or `not hierarchical: .., so ..`.
    pub(super) fn line(&self) -> String {
        match self.holds {
            true => format!("{}: {}", self.name, self.means),
            false => format!("not {}: {}; so {}", self.name, self.because, self.means),
        }
    }
}

impl Other {
    /// `recompute, which could, at O(N) a change; ..`, or `recompute, which cannot: ..`.
    pub(super) fn line(&self) -> String {
        let (name, because) = (&self.name, &self.because);
        match &self.cost {
            Some(cost) => format!("{name}, which could, at {cost} a change; {because}"),
            None => format!("{name}, which cannot: {because}"),
        }
    }
}

impl NodeFacts {
    /// ` of table, filtered, static`, as far as it is.
    pub(crate) fn marks(&self) -> String {
        let mut marks = String::new();
        if let (crate::NodeKind::Relation, Some(table)) = (self.kind, &self.table) {
            if *table != self.name {
                let _ = write!(marks, " of {table}");
            }
            if self.filtered {
                marks.push_str(", filtered");
            }
        }
        if self.is_static {
            marks.push_str(", static");
        }
        marks
    }

    /// `3 rows, 320 bytes, 5 updates`, as far as they are known.
    pub(crate) fn sizes(&self) -> String {
        let rows = self.rows.map(|rows| format!("{rows} rows"));
        let bytes = self
            .bytes
            .filter(|_| self.stored)
            .map(|bytes| format!("{bytes} bytes"));
        let updates = self.updates.map(|updates| format!("{updates} updates"));
        let known: Vec<String> = [rows, bytes, updates].into_iter().flatten().collect();
        known.join(", ")
    }

    /// That, and who else has it.
    pub(crate) fn state(&self) -> String {
        let words = [self.sizes()].into_iter().chain(self.shared());
        let words = words.filter(|words| !words.is_empty());
        words.collect::<Vec<_>>().join(", ")
    }

    /// `also of this, that`, where other views have it too.
    pub(crate) fn shared(&self) -> Option<String> {
        let others = self.shared_with.join(", ");
        (!others.is_empty()).then(|| format!("also of {}", elided(&others)))
    }
}

/// `a(b c(d))`
pub(crate) fn shown(order: &[OrderFacts]) -> String {
    let one = |node: &OrderFacts| match node.children.len() {
        0 => node.variable.clone(),
        _ => format!("{}({})", node.variable, shown(&node.children)),
    };
    order.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// A power of N as people read it: `O(1)`, `O(N)`, `O(N^1.5)`.
#[must_use]
pub fn power(space: f64) -> String {
    match number(space).as_str() {
        "0" => "O(1)".to_owned(),
        "1" => "O(N)".to_owned(),
        power => format!("O(N^{power})"),
    }
}

/// A width: `1`, `1.5`, `1.333`.
fn number(number: f64) -> String {
    let text = format!("{number:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
