//! A list of counts whose prefixes are found by their sum, and which can change (Fenwick's tree).
//!
//! Invariant: node i, counted from 1, holds the sum of the counts behind place i - lowbit(i), up to
//! place i. Cost: O(log n) to set a count, to append one and to find the one that a sum falls into;
//! O(1) to cut off the last.

/// The counts, by place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    nodes: Vec<u64>,
}

impl Sums {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn push(&mut self, count: u64) {
        let end = self.nodes.len() + 1;
        let first = end - (end & end.wrapping_neg());
        let (mut sum, mut at) = (count, end - 1);
        while at > first {
            sum = sum.wrapping_add(self.nodes[at - 1]);
            at &= at - 1;
        }
        self.nodes.push(sum);
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.nodes.truncate(len);
    }

    /// The sum of the counts before a place.
    fn before(&self, place: usize) -> u64 {
        let (mut sum, mut at) = (0u64, place);
        while at > 0 {
            sum = sum.wrapping_add(self.nodes[at - 1]);
            at &= at - 1;
        }
        sum
    }

    pub(crate) fn set(&mut self, place: usize, count: u64) {
        let was = self.before(place + 1).wrapping_sub(self.before(place));
        let change = count.wrapping_sub(was);
        let mut at = place + 1;
        while change != 0 && at <= self.nodes.len() {
            self.nodes[at - 1] = self.nodes[at - 1].wrapping_add(change);
            at += at & at.wrapping_neg();
        }
    }

    /// The place whose counts the sum falls into, and the sum of those before it; the number of places
    /// if it falls behind them all.
    pub(crate) fn find(&self, sum: u64) -> (usize, u64) {
        let (mut at, mut left) = (0, sum);
        let mut step = match self.nodes.len().checked_ilog2() {
            Some(log) => 1usize << log,
            None => 0,
        };
        while step > 0 {
            let next = at + step;
            if let Some(&node) = self.nodes.get(next - 1)
                && node <= left
            {
                left -= node;
                at = next;
            }
            step >>= 1;
        }
        (at, sum - left)
    }

    /// Nodes that a search or a change meets.
    pub(crate) fn depth(&self) -> u64 {
        u64::from(usize::BITS - self.nodes.len().leading_zeros())
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.nodes.capacity() * size_of::<u64>()
    }
}

impl FromIterator<u64> for Sums {
    fn from_iter<I: IntoIterator<Item = u64>>(counts: I) -> Self {
        let mut nodes: Vec<u64> = counts.into_iter().collect();
        for at in 1..=nodes.len() {
            let above = at + (at & at.wrapping_neg());
            if above <= nodes.len() {
                nodes[above - 1] = nodes[above - 1].wrapping_add(nodes[at - 1]);
            }
        }
        Self { nodes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Step {
        Push(u64),
        Set(usize, u64),
        Truncate(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1u64..9).prop_map(Step::Push),
            4 => (0usize..99, 1u64..9).prop_map(|(at, count)| Step::Set(at, count)),
            1 => (0usize..99).prop_map(Step::Truncate),
        ]
    }

    proptest! {
        #[test]
        fn a_plain_list_agrees(
            first in prop::collection::vec(1u64..9, 0..40),
            steps in prop::collection::vec(step(), 0..60),
        ) {
            let (mut ours, mut model) = (first.iter().copied().collect::<Sums>(), first);
            for step in steps {
                match step {
                    Step::Push(count) => {
                        ours.push(count);
                        model.push(count);
                    }
                    Step::Set(at, count) if at < model.len() => {
                        ours.set(at, count);
                        model[at] = count;
                    }
                    Step::Set(..) => {}
                    Step::Truncate(len) => {
                        ours.truncate(len);
                        model.truncate(len);
                    }
                }
                prop_assert_eq!(ours.len(), model.len());
            }
            let mut before = 0;
            for (place, &count) in model.iter().enumerate() {
                for sum in before..before + count {
                    prop_assert_eq!(ours.find(sum), (place, before));
                }
                before += count;
            }
            prop_assert_eq!(ours.find(before), (model.len(), before));
        }
    }
}
