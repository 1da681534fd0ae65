//! The schemas that apply to one place of a value, and the ways in which all of them can hold.

use std::rc::Rc;

use serde_json::Value;

/// More ways to hold than this are not told apart: generate-and-check finds what is left out here, or nothing does.
const ALTERNATIVES: usize = 24;
/// So many schemas side by side are looked into.
const SIDE_BY_SIDE: usize = 256;
/// So many choices between branches are made for one place.
const CHOICES: usize = 24;

/// A schema, and where it stands in the tool's schema.
#[derive(Debug, Clone)]
pub(super) struct Node<'s> {
    pub(super) schema: &'s Value,
    pub(super) pointer: Rc<str>,
}

impl<'s> Node<'s> {
    pub(super) fn root(schema: &'s Value) -> Self {
        Self {
            schema,
            pointer: "".into(),
        }
    }

    /// What a keyword of this schema says.
    pub(super) fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.schema.get(keyword)
    }

    /// The schema under a keyword.
    pub(super) fn below(&self, keyword: &str) -> Option<Self> {
        let schema = self
            .get(keyword)
            .filter(|below| below.is_object() || below.is_boolean())?;
        Some(Self {
            schema,
            pointer: format!("{}/{keyword}", self.pointer).into(),
        })
    }

    /// The schema under a name within a keyword, such as one of the `properties`.
    pub(super) fn named(&self, keyword: &str, name: &str) -> Option<Self> {
        let schema = self.get(keyword)?.as_object()?.get(name)?;
        Some(Self {
            schema,
            pointer: format!("{}/{keyword}/{}", self.pointer, escape(name)).into(),
        })
    }

    /// The schemas in the list under a keyword.
    pub(super) fn listed(&self, keyword: &str) -> Vec<Self> {
        let list = self.get(keyword).and_then(Value::as_array);
        let node = |(index, schema)| Self {
            schema,
            pointer: format!("{}/{keyword}/{index}", self.pointer).into(),
        };
        list.into_iter().flatten().enumerate().map(node).collect()
    }

    fn reference(&self, root: &'s Value) -> Option<Self> {
        let pointer = self.get("$ref")?.as_str()?.strip_prefix('#')?;
        Some(Self {
            schema: root.pointer(pointer)?,
            pointer: pointer.into(),
        })
    }
}

/// The largest count that a keyword asks for, and the schema that does.
pub(super) fn largest<'n, 's>(
    leaves: &'n [Node<'s>],
    keyword: &str,
) -> Option<(usize, &'n Node<'s>)> {
    counts(leaves, keyword).max_by_key(|(count, _)| *count)
}

/// The smallest count that a keyword allows, and the schema that does.
pub(super) fn smallest<'n, 's>(
    leaves: &'n [Node<'s>],
    keyword: &str,
) -> Option<(usize, &'n Node<'s>)> {
    counts(leaves, keyword).min_by_key(|(count, _)| *count)
}

fn counts<'n, 's>(
    leaves: &'n [Node<'s>],
    keyword: &str,
) -> impl Iterator<Item = (usize, &'n Node<'s>)> {
    leaves
        .iter()
        .filter_map(move |node| Some((count(node.get(keyword)?)?, node)))
}

/// A count, which may be written with a point: `2.0`.
fn count(value: &Value) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count beyond the range becomes the end of the range"
    )]
    let from_float = |number: f64| number.max(0.0) as usize;
    match value.as_u64() {
        Some(number) => Some(usize::try_from(number).unwrap_or(usize::MAX)),
        None => value.as_f64().map(from_float),
    }
}

/// One key as a part of a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// One way in which the schemas of a place hold: no references left, and one branch taken wherever there are several.
#[derive(Debug, Clone, Default)]
pub(super) struct Alternative<'s> {
    pub(super) leaves: Vec<Node<'s>>,
    /// The branches taken, in words; empty where there was no choice.
    pub(super) taken: Vec<String>,
}

/// Every way in which the schemas of a place hold, the one that is written first first.
pub(super) fn alternatives<'s>(root: &'s Value, place: &[Node<'s>]) -> Vec<Alternative<'s>> {
    let mut unfolded = Vec::new();
    let start = Unfolding {
        pending: place.to_vec(),
        choices: Vec::new(),
        so_far: Alternative::default(),
    };
    unfold(root, start, &mut unfolded);
    unfolded
}

#[derive(Clone)]
struct Unfolding<'s> {
    pending: Vec<Node<'s>>,
    choices: Vec<Vec<Branch<'s>>>,
    so_far: Alternative<'s>,
}

#[derive(Clone)]
struct Branch<'s> {
    nodes: Vec<Node<'s>>,
    words: String,
}

fn unfold<'s>(root: &'s Value, mut state: Unfolding<'s>, unfolded: &mut Vec<Alternative<'s>>) {
    while !state.pending.is_empty() {
        let node = state.pending.remove(0);
        let leaves = &mut state.so_far.leaves;
        // A schema that leads back to itself at the same place says nothing new by that.
        let known = leaves
            .iter()
            .any(|leaf| std::ptr::eq(leaf.schema, node.schema));
        if known || leaves.len() >= SIDE_BY_SIDE || node.schema == &Value::Bool(true) {
            continue;
        }
        leaves.push(node.clone());
        state.pending.extend(node.reference(root));
        state.pending.extend(node.listed("allOf"));
        state.choices.extend(choices(&node));
    }
    if unfolded.len() >= ALTERNATIVES {
        return;
    }
    if state.choices.is_empty() || state.so_far.taken.len() >= CHOICES {
        unfolded.push(state.so_far);
        return;
    }
    for branch in state.choices.remove(0) {
        let mut next = state.clone();
        next.pending = branch.nodes;
        next.so_far.taken.push(branch.words);
        unfold(root, next, unfolded);
    }
}

/// The choices that one schema leaves.
fn choices<'s>(node: &Node<'s>) -> Vec<Vec<Branch<'s>>> {
    let mut choices = Vec::new();
    for keyword in ["oneOf", "anyOf"] {
        let branches: Vec<_> = node
            .listed(keyword)
            .into_iter()
            .enumerate()
            .map(|(index, branch)| Branch {
                nodes: vec![branch],
                words: format!("number {} of its {keyword}", index + 1),
            })
            .collect();
        if !branches.is_empty() {
            choices.push(branches);
        }
    }
    if let Some(condition) = node.below("if") {
        // What the condition does not hold for asks for less, as a rule; so it comes first.
        let otherwise = Branch {
            nodes: node.below("else").into_iter().collect(),
            words: "its `if` does not hold".to_owned(),
        };
        let holds = Branch {
            nodes: std::iter::once(condition)
                .chain(node.below("then"))
                .collect(),
            words: "its `if` holds".to_owned(),
        };
        choices.push(vec![otherwise, holds]);
    }
    choices
}
