//! A factorised delta on its way from a matrix to the result (paper, sections 5 and 7.1).
//!
//! d(L R) = (dL) R = u (v^T R)   for dL = u v^T
//! d(L R) = L (dR) = (L u) v^T   for dR = u v^T
//!
//! One vector meets the sibling, the other stays as it is; they are multiplied out only where a view is stored. All
//! products are computed and checked before the first view is written, and no view on the path is read on the way: a
//! propagation that is refused or interrupted leaves no trace.
//!
//! Cost: a level with p x p matrices takes O(rank p^2), against O(p^3) for a product. Factors that
//! hold more values than their product are replaced by it: a delta never costs more than a matrix.

use std::sync::Arc;

use crate::matrix::{Matrix, MatrixFactor};
use ringview_core::{Error, Result};

use crate::views::Views;

/// Delta of a stored view, as factors.
struct Gain {
    node: usize,
    left: MatrixFactor,
    right: MatrixFactor,
}

/// Adds left right^T to a matrix of the chain, and what follows from it to the views above. The
/// matrix itself gains `exactly` that, where the factors are only close to it. Returns the
/// multiply-adds that it took.
pub(crate) fn update(
    views: &mut Views,
    matrix: usize,
    exactly: Option<MatrixFactor>,
    delta: (MatrixFactor, MatrixFactor),
    poll: &mut dyn FnMut() -> Result<()>,
) -> Result<u64> {
    let came = delta.0.rank() as u64;
    let (mut gains, steps) = propagate(views, matrix, delta, poll)?;
    let own = gains.iter_mut().find(|gain| gain.node == matrix);
    if let (Some(own), Some(right)) = (own, exactly) {
        let (rows, _) = shape(views, matrix);
        (own.left, own.right) = (MatrixFactor::units((0..rows).collect()), right);
    }
    write(views, &gains)?;
    let mut reached = Some(matrix);
    while let Some(view) = reached.map(|node| &mut views.nodes[node]) {
        view.updates += came;
        reached = view.parent;
    }
    Ok(steps)
}

/// The gain of each stored view on the way to the result, and the multiply-adds that it takes.
fn propagate(
    views: &Views,
    matrix: usize,
    (mut left, mut right): (MatrixFactor, MatrixFactor),
    poll: &mut dyn FnMut() -> Result<()>,
) -> Result<(Vec<Gain>, u64)> {
    let (mut gains, mut steps, mut node) = (Vec::new(), 0, matrix);
    loop {
        let (rows, columns) = shape(views, node);
        let rank = left.rank();
        if views.nodes[node].stored {
            let values = |factor: &MatrixFactor, length: usize| match factor {
                MatrixFactor::Units(_) => rank,
                MatrixFactor::Dense(_) => rank.saturating_mul(length),
            };
            let held = values(&left, rows).saturating_add(values(&right, columns));
            if held > rows * columns + rows {
                let product = Matrix::multiplied_out(&left, &right, (rows, columns), poll)?;
                steps += (rows * columns) as u64 * rank as u64;
                (left, right) = (
                    MatrixFactor::units((0..rows).collect()),
                    MatrixFactor::dense(product),
                );
            }
            steps += written(&left, &right, rows, columns);
            gains.push(Gain {
                node,
                left: left.clone(),
                right: right.clone(),
            });
        }
        let Some(parent) = views.nodes[node].parent else {
            return Ok((gains, steps));
        };
        let Some((l, r)) = views.nodes[parent].children else {
            unreachable!("a parent has children")
        };
        let (sibling, moving) = if node == l {
            (r, &mut right)
        } else {
            (l, &mut left)
        };
        let Some(part) = &views.nodes[sibling].part else {
            unreachable!("the sibling of a view that changes is stored")
        };
        steps += read(moving, part);
        *moving = if node == l {
            moving.transposed_times(part, poll)?
        } else {
            moving.times(part, poll)?
        };
        poll()?;
        node = parent;
    }
}

/// All gains, or none where one does not fit.
fn write(views: &mut Views, gains: &[Gain]) -> Result<()> {
    for gain in gains {
        let view = &mut views.nodes[gain.node];
        let name = name(view.first, view.last);
        // A view that someone reads is copied before it is written.
        if let Some(part) = &mut view.part {
            let checked = Arc::make_mut(part).check(&gain.left, &gain.right);
            checked.map_err(|_| Error::Overflow {
                place: format!("the view {name}"),
            })?;
        }
    }
    for gain in gains {
        if let Some(part) = &mut views.nodes[gain.node].part {
            Arc::make_mut(part).add(&gain.left, &gain.right);
        }
    }
    Ok(())
}

/// The name of a view: the matrices that it multiplies.
pub(crate) fn name(first: usize, last: usize) -> String {
    if first == last {
        format!("A{}", first + 1)
    } else {
        format!("A{}..A{}", first + 1, last + 1)
    }
}

/// The rows and columns of a view, stored or not.
pub(crate) fn shape(views: &Views, node: usize) -> (usize, usize) {
    let (first, last) = (views.nodes[node].first, views.nodes[node].last);
    let of = |matrix: usize| views.nodes[matrix].part.as_ref();
    let rows = of(first).map_or(0, |part| part.rows());
    (rows, of(last).map_or(0, |part| part.columns()))
}

/// The multiply-adds of a factor that meets a matrix.
fn read(factor: &MatrixFactor, matrix: &Matrix) -> u64 {
    match factor {
        MatrixFactor::Units(places) => (places.len() * matrix.rows().max(matrix.columns())) as u64,
        MatrixFactor::Dense(_) => factor.rank() as u64 * (matrix.rows() * matrix.columns()) as u64,
    }
}

/// The multiply-adds of a delta that is added to a view.
fn written(left: &MatrixFactor, right: &MatrixFactor, rows: usize, columns: usize) -> u64 {
    let side = |factor: &MatrixFactor, length: usize| match factor {
        MatrixFactor::Units(_) => 1,
        MatrixFactor::Dense(_) => length,
    };
    left.rank() as u64 * (side(left, rows) * side(right, columns)) as u64
}
