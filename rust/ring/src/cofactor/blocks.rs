//! Positions of the variables of several operands in their product, and the layout of the sums before that.
//!
//! While rows are summed, the variables are ordered by operand, an operand with an earlier first variable in the
//! product before the others: so every pair of operands is one rectangle of consecutive numbers, and every operand one
//! triangle. Copies bring them to the order of the product, run by run.
//! Invariant: the copies write every number of the product, ascending, and the next one overwrites the
//! numbers that one writes too far. Cost: O(variables) copies where no two operands interleave, else O(variables^2).

use super::shape::CofactorShape;

/// Numbers that are handled at a time.
pub(super) const LANES: usize = 8;

/// So many numbers, rounded up to whole vectors.
pub(super) fn padded(len: usize) -> usize {
    len.div_ceil(LANES) * LANES
}

/// Consecutive variables of one operand that stay together in the product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) operand: usize,
    /// Their positions in the operand.
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Segment {
    pub(super) fn len(&self) -> usize {
        self.end - self.start
    }
}

/// Appends a segment, or extends the last one if the segment continues it.
fn push(segments: &mut Vec<Segment>, next: Segment) {
    match segments.last_mut() {
        Some(last) if last.operand == next.operand && last.end == next.start => last.end = next.end,
        _ => segments.push(next),
    }
}

/// The variables of two operands merged, in runs of the same operand.
pub(super) fn merged(left: &[usize], right: &[usize]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut next = [0, 0];
    while next[0] < left.len() || next[1] < right.len() {
        let is_right =
            next[0] == left.len() || (next[1] < right.len() && right[next[1]] < left[next[0]]);
        let operand = usize::from(is_right);
        let start = next[operand];
        let end = start + 1;
        push(
            &mut segments,
            Segment {
                operand,
                start,
                end,
            },
        );
        next[operand] = end;
    }
    segments
}

/// The segments of a product with the product `first` in the place of its operand 0; its operand 1
/// becomes number `operand`.
pub(super) fn nested(first: &[Segment], next: &[Segment], operand: usize) -> Vec<Segment> {
    let mut segments = Vec::new();
    for segment in next {
        if segment.operand == 1 {
            push(
                &mut segments,
                Segment {
                    operand,
                    ..*segment
                },
            );
            continue;
        }
        let mut at = 0;
        for inner in first {
            let (from, to) = (segment.start.max(at), segment.end.min(at + inner.len()));
            if from < to {
                let start = inner.start + from - at;
                let end = start + to - from;
                push(
                    &mut segments,
                    Segment {
                        start,
                        end,
                        ..*inner
                    },
                );
            }
            at += inner.len();
        }
    }
    segments
}

/// The variables of one operand, and where its sums lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) operand: usize,
    pub(super) variables: usize,
    /// Its first column.
    pub(super) at: usize,
    /// Its triangle: Q of the operand as a payload has it.
    pub(super) triangle: usize,
    /// Its rectangle: a row a variable, of all columns behind the block, padded.
    pub(super) rectangle: usize,
    /// Numbers from one row of the rectangle to the next.
    pub(super) stride: usize,
}

impl Block {
    /// The column behind it.
    pub(super) fn end(&self) -> usize {
        self.at + self.variables
    }
}

/// `product[to..][..len] = sums[from..][..len]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) to: u32,
    pub(super) from: u32,
    pub(super) len: u32,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    /// In the order of their columns.
    pub(super) blocks: Vec<Block>,
    /// All columns.
    pub(super) variables: usize,
    /// Numbers of all sums: those of the columns, then the triangles and rectangles, each with room of
    /// a vector behind.
    pub(super) sums: usize,
    pub(super) copies: Vec<Copy>,
}

impl Blocks {
    pub(super) fn new(shapes: &[CofactorShape], segments: &[Segment]) -> Self {
        let variables: usize = shapes.iter().map(|shape| shape.variables).sum();
        let mut blocks: Vec<Block> = Vec::with_capacity(shapes.len());
        let (mut at, mut sums) = (0, padded(variables) + LANES);
        let mut add = |operand: usize| {
            let own = shapes[operand].variables;
            let stride = padded(variables - at - own);
            let triangle = sums;
            let rectangle = triangle + own * (own + 1) / 2 + LANES;
            blocks.push(Block {
                operand,
                variables: own,
                at,
                triangle,
                rectangle,
                stride,
            });
            at += own;
            sums = rectangle + own * stride + LANES;
        };
        let mut seen = vec![false; shapes.len()];
        for segment in segments {
            if !std::mem::replace(&mut seen[segment.operand], true) {
                add(segment.operand);
            }
        }
        let without = (0..shapes.len()).filter(|&operand| !seen[operand]);
        without.for_each(add);
        let mut all = Self {
            blocks,
            variables,
            sums,
            copies: Vec::new(),
        };
        all.copies = all.copies_of(segments);
        all
    }

    /// The copies of s, then of Q row by row.
    fn copies_of(&self, segments: &[Segment]) -> Vec<Copy> {
        let mut copies: Vec<Copy> = Vec::new();
        let mut to = 0;
        let mut copy = |from: usize, len: usize| {
            match copies.last_mut() {
                Some(last) if (last.from + last.len) as usize == from => last.len += len as u32,
                _ => copies.push(Copy {
                    to,
                    from: from as u32,
                    len: len as u32,
                }),
            }
            to += len as u32;
        };
        let block = |operand: usize| self.blocks.iter().find(|block| block.operand == operand);
        let place = |segment: &Segment| block(segment.operand).map(|block| (block, *segment));
        let places: Vec<(&Block, Segment)> = segments.iter().filter_map(place).collect();
        for (block, segment) in &places {
            copy(block.at + segment.start, segment.len());
        }
        for (position, (block, segment)) in places.iter().enumerate() {
            for variable in segment.start..segment.end {
                let m = block.variables;
                let diagonal = block.triangle + variable * m - (variable * variable - variable) / 2;
                copy(diagonal, segment.end - variable);
                for (other, further) in &places[position + 1..] {
                    if other.operand == block.operand {
                        copy(diagonal + further.start - variable, further.len());
                    } else if other.at > block.at {
                        let row = block.rectangle + variable * block.stride;
                        let column = other.at + further.start - block.end();
                        copy(row + column, further.len());
                    } else {
                        // A column of the other's rectangle.
                        let column = block.at + variable - other.end();
                        for row in further.start..further.end {
                            copy(other.rectangle + row * other.stride + column, 1);
                        }
                    }
                }
            }
        }
        copies
    }
}
