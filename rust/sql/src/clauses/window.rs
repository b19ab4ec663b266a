//! Windows, with a name or within OVER.
//!
//! Invariant and cost: those of the folder.

use datafusion_sql::sqlparser::ast::{WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec};

use super::query;
use super::unread::{Checked, READ};

/// A window, with a name or within OVER.
pub(super) fn of_window(spec: &WindowSpec) -> Checked {
    let WindowSpec {
        window_name: _,
        partition_by: _,
        order_by,
        window_frame,
    } = spec;
    query::of_keys(order_by)?;
    if let Some(WindowFrame {
        units,
        start_bound,
        end_bound,
    }) = window_frame
    {
        match units {
            WindowFrameUnits::Rows | WindowFrameUnits::Range | WindowFrameUnits::Groups => {}
        }
        for bound in [Some(start_bound), end_bound.as_ref()]
            .into_iter()
            .flatten()
        {
            match bound {
                WindowFrameBound::CurrentRow
                | WindowFrameBound::Preceding(_)
                | WindowFrameBound::Following(_) => {}
            }
        }
    }
    READ
}
