//! Products compiled to vectors: each a run of consecutive values times one number.
//!
//! Every row of a degree-m payload is made of slices of the operands times one number, and they are
//! short. Terms are computed once a product, in the order in which they are written: so a narrow
//! product costs a handful of vector operations, whatever its shape. A vector that is longer than
//! its slice writes too far, and the next one puts that right: what is written to has room behind.

use super::shape::CofactorShape;

/// Values that are multiplied at a time.
pub(super) const LANES: usize = 8;

/// `out[out..][..LANES] = scales[scale] * operands[side][from..][..LANES]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Term {
    out: u32,
    from: u32,
    scale: u32,
    side: u32,
}

/// Consecutive variables of one operand that stay together in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) side: usize,
    /// Their positions in the operand.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Segment {
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }
}

/// The variables of both operands merged, in runs of the same operand.
pub(super) fn segments(left: &[usize], right: &[usize]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut next = [0, 0];
    while next[0] < left.len() || next[1] < right.len() {
        let is_right =
            next[0] == left.len() || (next[1] < right.len() && right[next[1]] < left[next[0]]);
        let side = usize::from(is_right);
        let at = next[side];
        match segments.last_mut() {
            Some(segment) if segment.side == side => segment.end += 1,
            _ => segments.push(Segment {
                side,
                start: at,
                end: at + 1,
            }),
        }
        next[side] += 1;
    }
    segments
}

/// The terms of a product; also, whether one reads behind the end of an operand's values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    terms: Vec<Term>,
    pub(super) beyond: [bool; 2],
}

impl Terms {
    /// (c, s, Q) of two payloads. The scales are the count and the sums of the left one, then those
    /// of the right one.
    pub(super) fn product(shapes: [CofactorShape; 2], segments: &[Segment]) -> Self {
        let mut compiler = Compiler {
            shapes,
            terms: Self::default(),
            at: 0,
        };
        let count = |side: usize| side * (shapes[0].variables + 1);
        for segment in segments {
            let (own, other) = (segment.side, 1 - segment.side);
            compiler.slice(segment.len(), count(other), own, segment.start);
        }
        for (position, segment) in segments.iter().enumerate() {
            let (own, other) = (segment.side, 1 - segment.side);
            let further = &segments[position + 1..];
            if further.is_empty() {
                // The last rows are the rest of one operand's triangle, which is one slice.
                let from = shapes[own].row(segment.start);
                compiler.slice(shapes[own].words() - 1 - from, count(other), own, from);
            }
            for variable in (segment.start..segment.end).filter(|_| !further.is_empty()) {
                // Within its own segment, the row starts at the diagonal.
                let row = shapes[own].row(variable);
                compiler.slice(segment.end - variable, count(other), own, row);
                for further in further {
                    if further.side == own {
                        let from = row + further.start - variable;
                        compiler.slice(further.len(), count(other), own, from);
                    } else {
                        let scale = count(own) + 1 + variable;
                        compiler.slice(further.len(), scale, other, further.start);
                    }
                }
            }
        }
        compiler.terms
    }

    /// (c, c x, c x x^T) of a row x. The scales are c, then c x; the operand is x.
    pub(super) fn square(shape: CofactorShape) -> Self {
        let m = shape.variables;
        let mut compiler = Compiler {
            shapes: [shape; 2],
            terms: Self::default(),
            at: 0,
        };
        compiler.slice(m, 0, 0, 0);
        for i in 0..m {
            compiler.slice(m - i, 1 + i, 0, i);
        }
        compiler.terms
    }

    /// out = the sum over the rows of each term. All has room of `LANES` behind.
    #[inline(always)]
    pub(super) fn write<const ROWS: usize>(
        &self,
        operands: [[&[f64]; ROWS]; 2],
        scales: [&[f64]; ROWS],
        out: &mut [f64],
    ) {
        for term in &self.terms {
            let operand = &operands[term.side as usize];
            let mut sum = [0.0; LANES];
            for row in 0..ROWS {
                let from = &operand[row][term.from as usize..][..LANES];
                let scale = scales[row][term.scale as usize];
                for (sum, from) in sum.iter_mut().zip(from) {
                    let value = scale * from;
                    *sum = if row == 0 { value } else { *sum + value };
                }
            }
            out[term.out as usize..][..LANES].copy_from_slice(&sum);
        }
    }
}

struct Compiler {
    shapes: [CofactorShape; 2],
    terms: Terms,
    at: usize,
}

impl Compiler {
    /// Terms for the next `len` values. The last vector of a long slice repeats some of what the
    /// one before it wrote.
    fn slice(&mut self, len: usize, scale: usize, side: usize, from: usize) {
        for start in (0..len).step_by(LANES) {
            let start = start.min(len.max(LANES) - LANES);
            self.terms.terms.push(Term {
                out: (self.at + start) as u32,
                from: (from + start) as u32,
                scale: scale as u32,
                side: side as u32,
            });
            self.terms.beyond[side] |= from + start + LANES > self.shapes[side].words() - 1;
        }
        self.at += len;
    }
}
