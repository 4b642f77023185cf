//! What is a tree of sums, and which of its leaves meet where?

/// A tree of sums over the products 0 … k − 1, each a leaf once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tree {
    /// The whole.
    pub root: Node,
}

/// A product, or a sum of several values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// The product at an index of k.
    Product(usize),
    /// A sum; of more than two children a fused one. Children are in the order of their first leaves.
    Sum(Vec<Node>),
}

impl Node {
    /// Indices below, in the order of the tree.
    pub fn leaves(&self) -> Vec<usize> {
        let mut leaves = Vec::new();
        let mut open = vec![self];
        while let Some(node) = open.pop() {
            match node {
                Node::Product(index) => leaves.push(*index),
                Node::Sum(children) => open.extend(children.iter().rev()),
            }
        }
        leaves
    }

    /// How many products are below.
    pub fn size(&self) -> usize {
        self.leaves().len()
    }

    /// The smallest index below.
    pub fn first(&self) -> usize {
        self.leaves().into_iter().min().unwrap_or(0)
    }
}

impl Tree {
    /// Where products meet, made ready for many questions.
    pub fn meetings(&self) -> Meetings {
        let mut meetings = Meetings { parent: Vec::new(), size: Vec::new(), depth: Vec::new(), of_product: Vec::new() };
        let mut open = vec![(&self.root, usize::MAX, 0)];
        while let Some((node, parent, depth)) = open.pop() {
            let number = meetings.parent.len();
            meetings.parent.push(parent);
            meetings.depth.push(depth);
            meetings.size.push(usize::from(matches!(node, Node::Product(_))));
            match node {
                Node::Product(index) => {
                    if meetings.of_product.len() <= *index {
                        meetings.of_product.resize(*index + 1, 0);
                    }
                    meetings.of_product[*index] = number;
                }
                Node::Sum(children) => open.extend(children.iter().map(|child| (child, number, depth + 1))),
            }
        }
        // Parents come before their children.
        for number in (1..meetings.parent.len()).rev() {
            let size = meetings.size[number];
            meetings.size[meetings.parent[number]] += size;
        }
        meetings
    }

    /// Whether the children of every sum stand in the order of their first products.
    pub fn is_sorted(&self) -> bool {
        // Children come after their parents here, so that the way back has first products ready.
        let mut order = vec![&self.root];
        let mut at = 0;
        let mut below: Vec<Vec<usize>> = Vec::new();
        while at < order.len() {
            let mut own = Vec::new();
            if let Node::Sum(children) = order[at] {
                own.extend(order.len()..order.len() + children.len());
                order.extend(children);
            }
            below.push(own);
            at += 1;
        }
        let mut first = vec![0; order.len()];
        for (at, node) in order.iter().enumerate().rev() {
            first[at] = match node {
                Node::Product(index) => *index,
                Node::Sum(_) => below[at].first().map_or(0, |&child| first[child]),
            };
            if !below[at].is_sorted_by(|&x, &y| first[x] < first[y]) {
                return false;
            }
        }
        true
    }

    /// Sums on the longest way from a product to the root.
    pub fn depth(&self) -> usize {
        let mut deepest = 0;
        let mut open = vec![(&self.root, 0)];
        while let Some((node, depth)) = open.pop() {
            deepest = deepest.max(depth);
            if let Node::Sum(children) = node {
                open.extend(children.iter().map(|child| (child, depth + 1)));
            }
        }
        deepest
    }
}

/// Which products of a tree meet in how large a sum.
#[derive(Debug, Clone)]
pub struct Meetings {
    parent: Vec<usize>,
    size: Vec<usize>,
    depth: Vec<usize>,
    of_product: Vec<usize>,
}

impl Meetings {
    /// The products below the lowest sum that has both `i` and `j` below it.
    pub fn size(&self, i: usize, j: usize) -> usize {
        let (mut x, mut y) = (self.of_product[i], self.of_product[j]);
        while x != y {
            if self.depth[x] >= self.depth[y] {
                x = self.parent[x];
            } else {
                y = self.parent[y];
            }
        }
        self.size[x]
    }
}
