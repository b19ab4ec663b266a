//! The triangles of a graph, counted at once and without any state that could be kept.
//!
//! Vertices are numbered by their degrees, and each edge is kept at its lower end: the edges of a vertex lead
//! upwards, to at most sqrt(2 m) others among m edges, for each of those has as many edges itself. A
//! triangle has one lowest vertex x: its upper neighbours are marked, and for each of them theirs are walked. That
//! is a generic join over lists in the order of degrees, in O(m^(3/2)) steps, most of which look
//! at a mark that is in the cache.
//!
//! Invariant: each triangle is found once, from its lowest vertex. With directions there are two lists a vertex, for
//! edges that lead up and those that lead down: a cycle leads up twice and down once, or down twice and up once. Cost:
//! O(m^(3/2)) steps, 30 bytes an edge.

use ringview_core::{Budget, Error, Result};
use ringview_relation::{KeyField, KeyLayout, KeyScratch, KeyedTable, Keys};

/// Edges that are numbered at a time.
const BLOCK: usize = 1 << 16;
/// Edges of which each vertex has a number of 32 bits.
const MOST: usize = 1 << 31;

/// Definition of a triangle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphKind {
    /// Edges have a direction, and triangles are cycles.
    pub directed: bool,
    /// A repeated edge counts with its multiplicity.
    pub multigraph: bool,
}

/// Number of triangles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Triangles {
    /// Each as often as the product of its edges.
    pub count: u128,
    /// Edges and marks that were looked at.
    pub steps: u64,
}

/// The triangles among edges, given block by block as from where and to where; loops are in none. The order
/// of the edges does not matter.
///
/// # Errors
/// `Unsupported` for more than 2^31 edges; what the budget says.
///
/// ```
/// use ringview_core::Budget;
/// use ringview_epsilon::{GraphKind, count_triangles};
///
/// let edges = [[&[1, 2, 3, 3][..], &[2, 3, 1, 2][..]]];
/// let found = count_triangles(&edges, GraphKind::default(), &Budget::free())?;
/// assert_eq!(found.count, 1);
/// # Ok::<(), ringview_core::Error>(())
/// ```
pub fn count_triangles(
    edges: &[[&[i64]; 2]],
    kind: GraphKind,
    budget: &Budget<'_>,
) -> Result<Triangles> {
    let rows: usize = edges.iter().map(|block| block[0].len()).sum();
    if rows > MOST {
        return Err(Error::Unsupported {
            what: format!("counting the triangles of {rows} edges at once"),
            why: format!("it numbers vertices of {MOST} edges at the most"),
            instead: "insert them into a TriangleCounter, some at a time".to_owned(),
        });
    }
    let mut ends = Ends::numbered(edges, budget)?;
    ends.rank();
    let mut found = Triangles {
        count: 0,
        steps: ends.pairs.len() as u64,
    };
    let Ends { pairs, vertices } = ends;
    // Each pair is (from, to); lists are of pairs (lower, upper).
    let (up, down): (Vec<Pair>, Vec<Pair>) = match kind.directed {
        true => pairs.into_iter().partition(|(from, to)| from < to),
        false => (pairs, Vec::new()),
    };
    let upper = |pairs: Vec<Pair>| {
        let sorted = pairs.into_iter().map(|(u, v)| (u.min(v), u.max(v)));
        Neighbours::new(sorted.collect(), vertices, kind.multigraph)
    };
    match kind.directed {
        true => {
            let (up, down) = (upper(up), upper(down));
            close(&up, &down, &mut found, budget)?;
            close(&down, &up, &mut found, budget)?;
        }
        false => {
            let all = upper(up);
            close(&all, &all, &mut found, budget)?;
        }
    }
    Ok(found)
}

/// Two vertices.
type Pair = (u32, u32);

/// Edges by the numbers of their ends, without loops.
struct Ends {
    pairs: Vec<Pair>,
    vertices: usize,
}

impl Ends {
    /// Vertices are numbered in the order of their first edge.
    fn numbered(edges: &[[&[i64]; 2]], budget: &Budget<'_>) -> Result<Self> {
        let word = KeyField {
            bits: 64,
            signed: true,
        };
        let mut known = KeyedTable::new(KeyLayout::new(&[word]), 1);
        let mut scratch = KeyScratch::default();
        let [mut from, mut to] = [Vec::new(), Vec::new()];
        let mut pairs = Vec::with_capacity(edges.iter().map(|block| block[0].len()).sum());
        for [sources, targets] in edges {
            for (sources, targets) in sources.chunks(BLOCK).zip(targets.chunks(BLOCK)) {
                budget.work(sources.len() as u64)?;
                for (values, out) in [(sources, &mut from), (targets, &mut to)] {
                    let column = vec![values.iter().map(|&value| value as u64).collect()];
                    let keys = Keys {
                        columns: &column,
                        fields: &[0],
                        rows: values.len(),
                    };
                    known.locate(keys, &mut scratch, out);
                }
                let both = from.iter().copied().zip(to.iter().copied());
                pairs.extend(both.filter(|(u, v)| u != v));
            }
        }
        Ok(Self {
            pairs,
            vertices: known.slots(),
        })
    }

    /// Renumbers the vertices: those with fewer edges are first.
    fn rank(&mut self) {
        let mut degrees = vec![0u32; self.vertices];
        for &(u, v) in &self.pairs {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        }
        let mut order: Vec<u32> = (0..self.vertices as u32).collect();
        order.sort_by_key(|&vertex| degrees[vertex as usize]);
        let mut ranks = degrees;
        for (rank, vertex) in (0u32..).zip(order) {
            ranks[vertex as usize] = rank;
        }
        for (u, v) in &mut self.pairs {
            (*u, *v) = (ranks[*u as usize], ranks[*v as usize]);
        }
    }
}

/// By vertex: its upper neighbours, each once and ascending.
struct Neighbours {
    starts: Vec<u32>,
    others: Vec<u32>,
    /// Multiplicity of each of those edges; 1 where absent.
    times: Option<Vec<u32>>,
}

impl Neighbours {
    fn new(pairs: Vec<Pair>, vertices: usize, multigraph: bool) -> Self {
        let by_upper = sorted(&pairs, vertices, |pair| pair.1);
        let pairs = sorted(&by_upper, vertices, |pair| pair.0);
        let mut all = Self {
            starts: Vec::with_capacity(vertices + 1),
            others: Vec::with_capacity(pairs.len()),
            times: multigraph.then(|| Vec::with_capacity(pairs.len())),
        };
        let mut last = None;
        for pair in pairs {
            if last == Some(pair) {
                let times = all.times.as_mut().and_then(|times| times.last_mut());
                times.into_iter().for_each(|times| *times += 1);
                continue;
            }
            last = Some(pair);
            let start = all.others.len() as u32;
            let behind = all.starts.len();
            all.starts.extend((behind..=pair.0 as usize).map(|_| start));
            all.others.push(pair.1);
            all.times.iter_mut().for_each(|times| times.push(1));
        }
        all.starts.resize(vertices + 1, all.others.len() as u32);
        all
    }

    fn range(&self, vertex: usize) -> std::ops::Range<usize> {
        self.starts[vertex] as usize..self.starts[vertex + 1] as usize
    }

    fn times(&self, at: usize) -> u32 {
        self.times.as_ref().map_or(1, |times| times[at])
    }
}

/// Pairs in the order of one of their vertices, else as they are.
fn sorted(pairs: &[Pair], vertices: usize, by: impl Fn(&Pair) -> u32) -> Vec<Pair> {
    let mut next = vec![0u32; vertices + 1];
    for pair in pairs {
        next[by(pair) as usize + 1] += 1;
    }
    for vertex in 0..vertices {
        next[vertex + 1] += next[vertex];
    }
    let mut out = vec![(0, 0); pairs.len()];
    for pair in pairs {
        let place = &mut next[by(pair) as usize];
        out[*place as usize] = *pair;
        *place += 1;
    }
    out
}

/// Adds the triangles x, y, z with y above x and z above y among some edges, and z above x among others. No
/// product is too large: there are less than 2^32 edges, so all together are less than 2^96.
fn close(
    through: &Neighbours,
    across: &Neighbours,
    found: &mut Triangles,
    budget: &Budget<'_>,
) -> Result<()> {
    let vertices = through.starts.len() - 1;
    let mut marks = vec![0u32; vertices];
    for x in 0..vertices {
        let (ys, zs) = (through.range(x), across.range(x));
        if ys.is_empty() || zs.is_empty() {
            continue;
        }
        for at in zs.clone() {
            marks[across.others[at] as usize] = across.times(at);
        }
        let mut steps = 2 * zs.len() as u64;
        for at in ys {
            let below = through.range(through.others[at] as usize);
            steps += 1 + below.len() as u64;
            let marked = through.others[below.clone()].iter();
            let marked = marked.map(|&z| u64::from(marks[z as usize]));
            let closed = match &through.times {
                None => u128::from(marked.sum::<u64>()),
                Some(times) => {
                    let both = marked.zip(&times[below]);
                    both.map(|(mark, &times)| u128::from(mark * u64::from(times)))
                        .sum()
                }
            };
            found.count += u128::from(through.times(at)) * closed;
        }
        zs.for_each(|at| marks[across.others[at] as usize] = 0);
        found.steps += steps;
        budget.work(steps)?;
    }
    Ok(())
}
