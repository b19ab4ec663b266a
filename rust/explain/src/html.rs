//! An explanation as HTML, for notebooks: what changes cost, then the tree as nested, foldable
//! blocks with what each node holds, then why.
//!
//! Invariant: a fragment that needs no other file (styles inline, no scripts, nothing loaded), in
//! which names of any characters are text.

use std::fmt::Write;

use crate::Explanation;
use crate::text::{power, shown};

const GREY: &str = "color:#777";
const INDENT: &str = "margin-left:1.2em;border-left:1px solid #ccc;padding-left:.6em";

impl Explanation {
    /// As a fragment of HTML. O(nodes).
    #[must_use]
    pub fn html(&self) -> String {
        let mut text = "<div style=\"font-family:sans-serif;line-height:1.45\">".to_owned();
        if let Some(headline) = self.headline() {
            let _ = write!(text, "<div><b>{}</b></div>", escaped(&headline));
        }
        self.html_costs(&mut text);
        self.html_tree(&mut text);
        text.push_str("<details><summary>why</summary>");
        self.choices(&mut text);
        text.push_str("</details>");
        for beside in &self.beside {
            let what = escaped(&beside.what);
            let _ = write!(
                text,
                "<details><summary>beside it, {what}</summary><div style=\"{INDENT}\">"
            );
            beside.view.html_costs(&mut text);
            beside.view.html_tree(&mut text);
            beside.view.html_theory(&mut text);
            text.push_str("</div></details>");
        }
        for below in self.below.iter().rev() {
            let what = escaped(&below.title());
            let _ = write!(
                text,
                "<details><summary>below it, {what}</summary><div style=\"{INDENT}\">"
            );
            for view in
                std::iter::once(&below.view).chain(below.view.beside.iter().map(|b| &b.view))
            {
                view.html_costs(&mut text);
                view.html_tree(&mut text);
            }
            below.view.html_theory(&mut text);
            text.push_str("</div></details>");
        }
        text.push_str("</div>");
        text
    }

    /// The chosen engine and form, and the conditions.
    fn choices(&self, text: &mut String) {
        for (what, choice) in [("engine", &self.engine), ("kept as", &self.form)] {
            let (name, because) = (escaped(&choice.name), escaped(&choice.because));
            let _ = write!(
                text,
                "<div>{what} <b>{name}</b> <span style=\"{GREY}\">{because}</span></div>"
            );
        }
        for other in &self.others {
            let line = escaped(&other.line());
            let _ = write!(text, "<div style=\"{GREY}\">not taken: {line}</div>");
        }
        self.html_theory(text);
        for condition in self.shown() {
            let line = escaped(&condition.line());
            let _ = write!(text, "<div style=\"{GREY}\">{line}</div>");
        }
    }

    /// The cost of a change of each relation.
    fn html_costs(&self, text: &mut String) {
        let _ = write!(
            text,
            "<details open><summary>{}</summary><table><tbody>",
            escaped(&self.change)
        );
        for change in &self.changes {
            let colour = if change.constant || change.is_static {
                "#009e73"
            } else {
                "#d55e00"
            };
            let _ = write!(
                text,
                "<tr><td>{}</td><td style=\"text-align:left;color:{colour}\">{}</td></tr>",
                escaped(&change.relation),
                escaped(&change.cost)
            );
        }
        text.push_str("</tbody></table></details>");
    }

    fn html_tree(&self, text: &mut String) {
        if let Some(root) = self.nodes.len().checked_sub(1) {
            self.node(root, text);
        }
    }

    /// The class of the query and the variable order.
    fn html_theory(&self, text: &mut String) {
        if let Some(classes) = self.classes() {
            let _ = write!(text, "<div>query: {}</div>", escaped(&classes));
        }
        if !self.order.is_empty() {
            let _ = write!(
                text,
                "<div>variable order: {}</div>",
                escaped(&shown(&self.order))
            );
        }
    }

    fn node(&self, id: usize, text: &mut String) {
        let node = &self.nodes[id];
        let label = escaped(&format!("{}{}", node.label, node.marks()));
        let (shown, kept) = if node.stored {
            (
                format!("<b>{label}</b>"),
                format!("stored: {}", node.payload),
            )
        } else {
            (label, "not stored".to_owned())
        };
        let mut why = node.because.clone();
        if let Some(closes) = &node.closes {
            let _ = write!(why, "; {closes}");
        }
        if let Some(space) = node.space.filter(|space| *space > 1.0) {
            let _ = write!(why, "; up to {} keys", power(space));
        }
        let line = format!(
            "<span title=\"{}\">{shown}</span> <span style=\"{GREY}\">{}</span> {}",
            escaped(&why),
            escaped(&kept),
            escaped(&node.state())
        );
        if node.children.is_empty() {
            let _ = write!(text, "<div>{line}</div>");
            return;
        }
        let _ = write!(
            text,
            "<details open><summary>{line}</summary><div style=\"{INDENT}\">"
        );
        for child in &node.children {
            self.node(*child, text);
        }
        text.push_str("</div></details>");
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            letter => out.push(letter),
        }
    }
    out
}
