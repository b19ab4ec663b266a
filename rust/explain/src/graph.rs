//! An explanation as the source of a graph, for Mermaid and Graphviz: changes climb along the
//! arrows.
//!
//! Invariant: every node is declared once, and edges join declared nodes. Kept nodes have a solid
//! frame, others a dashed one; indicator projections are rounded. If an engine was chosen among
//! several, a note says so. Names are escaped, so that none can end its label.

use std::fmt::Write;

use crate::{Explanation, NodeFacts, NodeKind};

impl Explanation {
    /// As the source of a Mermaid graph. O(nodes).
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut text = "graph BT\n".to_owned();
        let mut dashed = Vec::new();
        self.mermaid_nodes("", "    ", &mut text, &mut dashed);
        if !dashed.is_empty() {
            let _ = writeln!(text, "    classDef dashed stroke-dasharray: 4 4");
            let _ = writeln!(text, "    class {} dashed", dashed.join(","));
        }
        text
    }

    fn mermaid_nodes(
        &self,
        prefix: &str,
        indent: &str,
        text: &mut String,
        dashed: &mut Vec<String>,
    ) {
        for (id, node) in self.nodes.iter().enumerate() {
            let lines: Vec<String> = node.lines().iter().map(|line| mermaid_text(line)).collect();
            let label = lines.join("<br/>");
            let _ = match node.kind {
                NodeKind::Indicator => writeln!(text, "{indent}{prefix}n{id}([\"{label}\"])"),
                _ => writeln!(text, "{indent}{prefix}n{id}[\"{label}\"]"),
            };
            if !node.stored {
                dashed.push(format!("{prefix}n{id}"));
            }
        }
        if let Some(lines) = self.choice() {
            let lines: Vec<String> = lines.iter().map(|line| mermaid_text(line)).collect();
            let label = lines.join("<br/>");
            let _ = writeln!(text, "{indent}{prefix}engine>\"{label}\"]");
        }
        for (child, parent) in self.edges() {
            let _ = writeln!(text, "{indent}{prefix}n{child} --> {prefix}n{parent}");
        }
        for (at, beside) in self.beside.iter().enumerate() {
            let inner = format!("{prefix}b{at}");
            let title = mermaid_text(&beside.what);
            let _ = writeln!(text, "{indent}subgraph {inner}[\"{title}\"]");
            let deeper = format!("{indent}    ");
            beside.view.mermaid_nodes(&inner, &deeper, text, dashed);
            let _ = writeln!(text, "{indent}end");
        }
        for (at, below) in self.below.iter().enumerate() {
            let inner = format!("{prefix}v{at}");
            let title = mermaid_text(&below.title());
            let _ = writeln!(text, "{indent}subgraph {inner}[\"{title}\"]");
            let deeper = format!("{indent}    ");
            below.view.mermaid_nodes(&inner, &deeper, text, dashed);
            let _ = writeln!(text, "{indent}end");
        }
        for (from, to) in self.reads(prefix) {
            let _ = writeln!(text, "{indent}{from} --> {to}");
        }
    }

    /// As the source of a Graphviz graph. O(nodes).
    #[must_use]
    pub fn graphviz(&self) -> String {
        let name = dot_text(self.view.as_deref().unwrap_or("view tree"));
        let mut text = format!(
            "digraph \"{name}\" {{\n    rankdir=BT;\n    node [shape=box, fontname=\"sans-serif\"];\n"
        );
        self.dot_nodes("", "    ", &mut text);
        text.push_str("}\n");
        text
    }

    fn dot_nodes(&self, prefix: &str, indent: &str, text: &mut String) {
        for (id, node) in self.nodes.iter().enumerate() {
            let lines: Vec<String> = node.lines().iter().map(|line| dot_text(line)).collect();
            let label = lines.join("\\n");
            let rounded = node.kind == NodeKind::Indicator;
            let style = match (rounded, node.stored) {
                (false, true) => "",
                (false, false) => ", style=dashed",
                (true, true) => ", style=rounded",
                (true, false) => ", style=\"rounded,dashed\"",
            };
            let _ = writeln!(text, "{indent}{prefix}n{id} [label=\"{label}\"{style}];");
        }
        if let Some(lines) = self.choice() {
            let lines: Vec<String> = lines.iter().map(|line| dot_text(line)).collect();
            let label = lines.join("\\n");
            let _ = writeln!(
                text,
                "{indent}{prefix}engine [label=\"{label}\", shape=note];"
            );
        }
        for (child, parent) in self.edges() {
            let _ = writeln!(text, "{indent}{prefix}n{child} -> {prefix}n{parent};");
        }
        for (at, beside) in self.beside.iter().enumerate() {
            let inner = format!("{prefix}b{at}");
            let title = dot_text(&beside.what);
            let _ = writeln!(text, "{indent}subgraph cluster_{inner} {{");
            let _ = writeln!(text, "{indent}    label=\"{title}\";");
            beside
                .view
                .dot_nodes(&inner, &format!("{indent}    "), text);
            let _ = writeln!(text, "{indent}}}");
        }
        for (at, below) in self.below.iter().enumerate() {
            let inner = format!("{prefix}v{at}");
            let title = dot_text(&below.title());
            let _ = writeln!(text, "{indent}subgraph cluster_{inner} {{");
            let _ = writeln!(text, "{indent}    label=\"{title}\";");
            let deeper = format!("{indent}    ");
            below.view.dot_nodes(&inner, &deeper, text);
            let _ = writeln!(text, "{indent}}}");
        }
        for (from, to) in self.reads(prefix) {
            let _ = writeln!(text, "{indent}{from} -> {to};");
        }
    }

    /// The engine and those that were not taken; `None` where there was no choice.
    fn choice(&self) -> Option<Vec<String>> {
        let others = self.others.iter();
        let others = others.map(|other| format!("not taken: {}", other.line()));
        let lines = [format!("engine: {}", self.engine.name)].into_iter();
        (!self.others.is_empty()).then(|| lines.chain(others).collect())
    }

    /// From the roots of views below to the leaves that read them, by the names of nodes.
    fn reads(&self, prefix: &str) -> Vec<(String, String)> {
        let below = self.below.iter().enumerate();
        let below = below.map(|(at, below)| (format!("{prefix}v{at}"), &below.view));
        let mut edges = Vec::new();
        for (own, reader) in below.chain([(prefix.to_owned(), self)]) {
            for read in &reader.reads {
                // Those below draw their own nodes; edges to their readers are drawn by the whole.
                let Some(below) = self.below.get(read.below) else {
                    continue;
                };
                // A view without nodes is not drawn.
                let Some(root) = below.view.nodes.len().checked_sub(1) else {
                    continue;
                };
                let from = format!("{prefix}v{}n{root}", read.below);
                let leaves = reader.nodes.iter().enumerate();
                let leaves = leaves.filter(|(_, node)| node.table.as_ref() == Some(&read.name));
                edges.extend(leaves.map(|(leaf, _)| (from.clone(), format!("{own}n{leaf}"))));
            }
        }
        edges
    }

    fn edges(&self) -> impl Iterator<Item = (usize, usize)> {
        let of = |(id, node): (usize, &NodeFacts)| node.parent.map(|parent| (id, parent));
        self.nodes.iter().enumerate().filter_map(of)
    }
}

impl NodeFacts {
    /// The lines of a label.
    fn lines(&self) -> Vec<String> {
        let kept = if self.stored { "" } else { ", not stored" };
        let mut lines = vec![
            format!("{}{}", self.label, self.marks()),
            format!("{}{kept}", self.payload),
        ];
        lines.extend(Some(self.sizes()).filter(|sizes| !sizes.is_empty()));
        lines.extend(self.shared());
        lines
    }
}

/// Within a quoted label of Mermaid: its own entities for what would end it or be read as HTML.
fn mermaid_text(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("#quot;"),
            '<' => out.push_str("#lt;"),
            '>' => out.push_str("#gt;"),
            '&' => out.push_str("#amp;"),
            // Characters that would begin an entity, or Markdown.
            '#' | '`' | '*' | '_' | '\\' => {
                let _ = write!(out, "#{};", u32::from(letter));
            }
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

/// Within a quoted string of DOT.
fn dot_text(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
