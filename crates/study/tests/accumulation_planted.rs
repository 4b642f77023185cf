//! Are planted orders of addition recovered, whatever their tree?

use rigel_device::contract::Fault;
use rigel_device::{Device, cpu};
use rigel_numerics::Triple;
use rigel_numerics::arithmetic::{CPlace, Evaluator, Inputs, Join, JoinOrder, Node as ModelNode, Split, library};
use rigel_numerics::order::{Node, Tree};
use rigel_numerics::random::{below, shuffle, stream};
use rigel_study::accumulation::{DotProducts, GemmDots, Unrecovered, recover, row_zero};

/// A box that adds in the order of a planted tree: two values exactly and then to 24 bits, more of them by alignment.
struct Planted {
    triple: Triple,
    k: usize,
    tree: Tree,
    toward_zero: bool,
}

impl Planted {
    fn new(tree: Tree, toward_zero: bool) -> Planted {
        let triple = "f32,f32->f32".parse().unwrap();
        Planted { triple, k: tree.root.size(), tree, toward_zero }
    }

    /// In units of the smallest product, which every product here is a multiple of.
    fn rounded(&self, sum: i128) -> i128 {
        let excess = (128 - sum.unsigned_abs().leading_zeros()).saturating_sub(24);
        if excess == 0 {
            return sum;
        }
        let (kept, rest) = (sum.unsigned_abs() >> excess, sum.unsigned_abs() & ((1 << excess) - 1));
        let half = 1u128 << (excess - 1);
        let up = !self.toward_zero && (rest > half || rest == half && kept & 1 == 1);
        let magnitude = ((kept + u128::from(up)) << excess) as i128;
        if sum < 0 { -magnitude } else { magnitude }
    }

    fn sum(&self, products: &[i128]) -> i128 {
        // From the bottom up, without recursion: chains are as deep as k.
        let mut order = vec![&self.tree.root];
        let mut at = 0;
        while at < order.len() {
            if let Node::Sum(children) = order[at] {
                order.extend(children);
            }
            at += 1;
        }
        let mut values: std::collections::HashMap<*const Node, i128> = std::collections::HashMap::new();
        for node in order.into_iter().rev() {
            let value = match node {
                Node::Product(index) => self.rounded(products[*index]),
                Node::Sum(children) => {
                    let terms: Vec<i128> = children.iter().map(|c| values[&std::ptr::from_ref(c)]).collect();
                    self.rounded(if terms.len() > 2 { aligned(&terms) } else { terms.iter().sum() })
                }
            };
            values.insert(node, value);
        }
        values[&std::ptr::from_ref(&self.tree.root)]
    }
}

/// A fused sum: terms are cut where the largest one has 25 bits, as matrix units do it.
fn aligned(terms: &[i128]) -> i128 {
    let most = terms.iter().map(|t| 128 - t.unsigned_abs().leading_zeros()).max().unwrap_or(0);
    let cut = most.saturating_sub(25);
    terms.iter().map(|t| (t.unsigned_abs() >> cut << cut) as i128 * t.signum()).sum()
}

impl DotProducts for Planted {
    fn triple(&self) -> Triple {
        self.triple
    }
    fn k(&self) -> usize {
        self.k
    }
    fn dots(&mut self, rows: &[Vec<u64>], columns: &[Vec<u64>]) -> Result<Vec<u64>, Fault> {
        let value = |code: u64| f64::from(f32::from_bits(code as u32));
        let one = |(row, column): (&Vec<u64>, &Vec<u64>)| {
            let products: Vec<f64> = row.iter().zip(column).map(|(&a, &b)| value(a) * value(b)).collect();
            let unit = products.iter().map(|p| p.abs()).fold(f64::INFINITY, f64::min);
            let units: Vec<i128> = products.iter().map(|p| (p / unit) as i128).collect();
            u64::from(((self.sum(&units) as f64 * unit) as f32).to_bits())
        };
        Ok(rows.iter().zip(columns).map(one).collect())
    }
}

fn chain(indices: &[usize], fused: usize) -> Node {
    let mut groups = indices.chunks(fused).map(|g| g.iter().map(|&i| Node::Product(i)).collect::<Vec<_>>());
    let mut first = groups.next().unwrap();
    let mut node = if first.len() == 1 { first.pop().unwrap() } else { Node::Sum(first) };
    for group in groups {
        node = Node::Sum(std::iter::once(node).chain(group).collect());
    }
    node
}

fn pairs(mut nodes: Vec<Node>) -> Node {
    while nodes.len() > 1 {
        let mut next = Vec::new();
        let mut rest = nodes.into_iter();
        while let Some(x) = rest.next() {
            next.push(match rest.next() {
                Some(y) => Node::Sum(vec![x, y]),
                None => x,
            });
        }
        nodes = next;
    }
    nodes.pop().unwrap()
}

/// A random tree over shuffled products, with sums of two to five.
fn random_tree(seed: u64, k: usize) -> Node {
    let mut indices: Vec<usize> = (0..k).collect();
    shuffle(&mut indices, stream(seed, 1));
    let mut nodes: Vec<Node> = indices.into_iter().map(Node::Product).collect();
    let (key, mut thrown) = (stream(seed, 2), 0);
    while nodes.len() > 1 {
        let mut throw = |bound: usize| {
            thrown += 1;
            below(key, thrown, bound as u64) as usize
        };
        let count = (2 + throw(4)).min(nodes.len());
        let children: Vec<Node> = (0..count).map(|_| nodes.swap_remove(throw(nodes.len()))).collect();
        nodes.push(Node::Sum(children));
    }
    nodes.pop().unwrap()
}

/// Children in the order of their first leaves, as a recovered tree has them.
fn sorted(node: Node) -> Node {
    match node {
        Node::Product(_) => node,
        Node::Sum(children) => {
            let mut children: Vec<Node> = children.into_iter().map(sorted).collect();
            children.sort_by_key(Node::first);
            Node::Sum(children)
        }
    }
}

#[test]
fn random_trees_are_recovered() {
    for seed in 0..60 {
        let tree = Tree { root: sorted(random_tree(seed, 2 + below(stream(seed, 3), 0, 90) as usize)) };
        let found = recover(&mut Planted::new(tree.clone(), false), seed).unwrap_or_else(|e| panic!("{seed}: {e}"));
        assert_eq!(found.tree, tree, "{seed}");
        // Toward zero some pairs give no count: then there is no tree, and never another one.
        match recover(&mut Planted::new(tree.clone(), true), seed) {
            Ok(found) => assert_eq!(found.tree, tree, "{seed}"),
            Err(Unrecovered::NoCount { .. }) => {}
            Err(other) => panic!("{seed}: {other}"),
        }
    }
}

/// One after another, toward zero: where the first of two masks is positive it swallows every unit.
#[test]
fn a_chain_toward_zero_is_recovered() {
    let tree = Tree { root: chain(&(0..100).collect::<Vec<_>>(), 1) };
    assert_eq!(recover(&mut Planted::new(tree.clone(), true), 1).map(|found| found.tree), Ok(tree));
}

/// The same with the two of each pair of products exchanged.
fn swapped(node: Node) -> Node {
    match node {
        Node::Product(index) => Node::Product(index ^ 1),
        Node::Sum(children) => Node::Sum(children.into_iter().map(swapped).collect()),
    }
}

#[test]
fn orders_of_libraries_are_recovered_and_said() {
    let all = |n: usize| (0..n).collect::<Vec<_>>();
    let strided = |n: usize, by: usize, j: usize| (j..n).step_by(by).collect::<Vec<_>>();
    let parts = |n: usize, each: usize, fused: usize| all(n).chunks(each).map(|c| chain(c, fused)).collect::<Vec<_>>();
    let in_turn = |nodes: Vec<Node>| nodes.into_iter().reduce(|x, y| Node::Sum(vec![x, y])).unwrap();
    let cases = [
        (chain(&all(200), 1), "200 products, one after another, k ascending"),
        (chain(&all(200).into_iter().rev().collect::<Vec<_>>(), 1), "200 products, one after another, k descending"),
        (
            chain(&all(64).into_iter().map(|i| i ^ 1).collect::<Vec<_>>(), 1),
            "64 products, one after another, k ascending in pairs, the second of each pair first",
        ),
        (
            in_turn(parts(128, 64, 1).into_iter().map(swapped).collect()),
            "2 parts (64 consecutive k each), added to each other; each: 64 products, one after another, k ascending in pairs, \
             the second of each pair first",
        ),
        (chain(&all(256), 16), "256 products in fused sums of 16 and what came before, k ascending"),
        (pairs(all(64).into_iter().map(Node::Product).collect()), "64 products, added in pairs"),
        (
            pairs((0..8).map(|j| chain(&strided(256, 8, j), 1)).collect()),
            "8 parts (k mod 8 = 0, 1, …), added in pairs; each: 32 products, one after another, k ascending",
        ),
        (
            in_turn(parts(256, 64, 1)),
            "4 parts (64 consecutive k each), added one after another; each: 64 products, one after another, k ascending",
        ),
        // A promotion every 128: each block is summed by itself, in fused sums of 32.
        (
            in_turn(parts(512, 128, 32)),
            "4 parts (128 consecutive k each), added one after another; each: 128 products in fused sums of 32 and what came \
             before, k ascending",
        ),
    ];
    for (root, words) in cases {
        let tree = Tree { root: sorted(root) };
        let found = recover(&mut Planted::new(tree.clone(), false), 1).unwrap();
        assert_eq!(found.tree, tree, "{words}");
        assert_eq!(found.tree.to_string(), words);
    }
}

/// A model of a unit, used for rows of many instructions.
struct OfModel(Evaluator);

impl DotProducts for OfModel {
    fn triple(&self) -> Triple {
        self.0.model().triple
    }
    fn k(&self) -> usize {
        self.0.k()
    }
    fn dots(&mut self, rows: &[Vec<u64>], columns: &[Vec<u64>]) -> Result<Vec<u64>, Fault> {
        let mut scratch = self.0.scratch();
        Ok(rows.iter().zip(columns).map(|(a, b)| self.0.dot(&mut scratch, Inputs::new(a, b, 0))).collect())
    }
}

#[test]
fn orders_of_published_units_are_seen() {
    let of = |name: &str, k: usize, parts: Option<usize>| {
        let mut model = library().iter().find(|p| p.name == name).unwrap_or_else(|| panic!("{name}")).model.clone();
        if let Some(count) = parts {
            let sum = model.body.step().sum.clone();
            let (each, order) = (Box::new(model.body), JoinOrder::InTurn { c: CPlace::First });
            model.body = ModelNode::Join(Join { split: Split::Parts { count }, each, order, sum });
        }
        let found = recover(&mut OfModel(Evaluator::new(&model, k).unwrap()), 3);
        found.map(|found| found.tree.to_string())
    };
    let fused = |k: usize, n: usize| format!("{k} products in fused sums of {n} and what came before, k ascending");
    assert_eq!(of("hopper mma f16 to f32, floored", 128, None), Ok(fused(128, 16)));
    assert_eq!(of("hopper wgmma e4m3 to f32, floored", 128, None), Ok(fused(128, 32)));
    assert_eq!(of("f32 fma ascending", 96, None), Ok("96 products, one after another, k ascending".to_owned()));
    let split = of("hopper mma f16 to f32, floored", 256, Some(4)).unwrap();
    assert!(
        split.starts_with("4 parts (64 consecutive k each), added one after another; each: 64 products in fused"),
        "{split}"
    );
    let promoted = of("hopper wgmma e4m3 to f32, promoted every 128", 256, None).unwrap();
    assert!(promoted.contains("128 consecutive k each") && promoted.contains("fused sums of 32"), "{promoted}");
    assert!(matches!(of("vpdpbusd", 16, None), Err(Unrecovered::Unmaskable(_))));
}

/// The processor's own products: the order is the same for every element and said in words; integers have none.
#[test]
fn products_of_the_processor_have_an_order() {
    let mut device = cpu::Cpu::new();
    let offers: Vec<_> = device.offers().into_iter().filter(|o| o.absent.is_empty()).collect();
    let mut seen = 0;
    for offer in offers.iter().filter(|o| ["scalar", "tiled", "avx512-bf16"].contains(&o.path.as_str())) {
        let tile = device.tiles(&offer.path, offer.triple).remove(0);
        let mut asked = 0;
        let mut ask = || asked += 1;
        let mut gemm = GemmDots::new(&mut device, &offer.path, offer.triple, 96, &tile, &mut ask);
        match recover(&mut gemm, 1) {
            Ok(found) => {
                let words = found.tree.to_string();
                assert!(!words.contains("irregular"), "{} {}: {words}", offer.path, offer.triple);
                seen += 1;
            }
            Err(Unrecovered::Unmaskable(_)) => {}
            Err(other) => panic!("{} {}: {other}", offer.path, offer.triple),
        }
    }
    assert!(seen >= 2);
    // Its rows do not depend on their batch.
    let triple = "f32,f32->f32".parse().unwrap();
    let tile = device.tiles("tiled", triple).remove(0);
    let mut ask = || {};
    let rows = row_zero(&mut GemmDots::new(&mut device, "tiled", triple, 64, &tile, &mut ask), 48, 16, 1).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].from, rows[0].d.0.len()), (1, 16));
}
