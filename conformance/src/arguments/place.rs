//! The schemas that apply to one place in a value, and the combinations of branches that satisfy
//! all of them.

use std::rc::Rc;

use serde_json::Value;

/// Maximum number of alternatives per place.
const MAX_ALTERNATIVES: usize = 24;
/// Maximum number of schemas that apply to one place.
const MAX_SCHEMAS: usize = 256;
/// Maximum number of branches taken for one place.
const MAX_CHOICES: usize = 24;

/// A schema and its position in the tool's schema.
#[derive(Debug, Clone)]
pub(super) struct SchemaNode<'s> {
    pub(super) schema: &'s Value,
    pub(super) pointer: Rc<str>,
}

impl<'s> SchemaNode<'s> {
    pub(super) fn root(schema: &'s Value) -> Self {
        Self {
            schema,
            pointer: "".into(),
        }
    }

    /// Returns the value of a keyword in this schema.
    pub(super) fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.schema.get(keyword)
    }

    /// Returns the schema under a keyword.
    pub(super) fn below(&self, keyword: &str) -> Option<Self> {
        let schema = self
            .get(keyword)
            .filter(|below| below.is_object() || below.is_boolean())?;
        Some(Self {
            schema,
            pointer: format!("{}/{keyword}", self.pointer).into(),
        })
    }

    /// Returns the schema under a name within a keyword, such as one of the `properties`.
    pub(super) fn named(&self, keyword: &str, name: &str) -> Option<Self> {
        let schema = self.get(keyword)?.as_object()?.get(name)?;
        Some(Self {
            schema,
            pointer: format!("{}/{keyword}/{}", self.pointer, escape(name)).into(),
        })
    }

    /// Returns the schemas in the array under a keyword.
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

/// Returns the largest count that a keyword requires, and the schema that requires it.
pub(super) fn largest<'n, 's>(
    leaves: &'n [SchemaNode<'s>],
    keyword: &str,
) -> Option<(usize, &'n SchemaNode<'s>)> {
    counts(leaves, keyword).max_by_key(|(count, _)| *count)
}

/// Returns the lowest limit that a keyword sets, and the schema that sets it.
pub(super) fn smallest<'n, 's>(
    leaves: &'n [SchemaNode<'s>],
    keyword: &str,
) -> Option<(usize, &'n SchemaNode<'s>)> {
    counts(leaves, keyword).min_by_key(|(count, _)| *count)
}

fn counts<'n, 's>(
    leaves: &'n [SchemaNode<'s>],
    keyword: &str,
) -> impl Iterator<Item = (usize, &'n SchemaNode<'s>)> {
    leaves
        .iter()
        .filter_map(move |node| Some((count(node.get(keyword)?)?, node)))
}

/// Reads a count, which may be written as a float: `2.0`.
fn count(value: &Value) -> Option<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "out-of-range counts saturate"
    )]
    let from_float = |number: f64| number.max(0.0) as usize;
    match value.as_u64() {
        Some(number) => Some(usize::try_from(number).unwrap_or(usize::MAX)),
        None => value.as_f64().map(from_float),
    }
}

/// Escapes a key for use in a JSON pointer.
pub(super) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// One combination of branches for a place: references resolved, and one branch taken for each
/// choice.
#[derive(Debug, Clone, Default)]
pub(super) struct Alternative<'s> {
    pub(super) leaves: Vec<SchemaNode<'s>>,
    /// Descriptions of the branches taken; empty if there was no choice.
    pub(super) taken: Vec<String>,
}

/// Returns every alternative for a place, in schema order.
pub(super) fn alternatives<'s>(root: &'s Value, place: &[SchemaNode<'s>]) -> Vec<Alternative<'s>> {
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
    pending: Vec<SchemaNode<'s>>,
    choices: Vec<Vec<Branch<'s>>>,
    so_far: Alternative<'s>,
}

#[derive(Clone)]
struct Branch<'s> {
    nodes: Vec<SchemaNode<'s>>,
    what: String,
}

fn unfold<'s>(root: &'s Value, mut state: Unfolding<'s>, unfolded: &mut Vec<Alternative<'s>>) {
    while !state.pending.is_empty() {
        let node = state.pending.remove(0);
        let leaves = &mut state.so_far.leaves;
        // A schema that refers back to itself at the same place adds nothing.
        let known = leaves
            .iter()
            .any(|leaf| std::ptr::eq(leaf.schema, node.schema));
        if known || leaves.len() >= MAX_SCHEMAS || node.schema == &Value::Bool(true) {
            continue;
        }
        leaves.push(node.clone());
        state.pending.extend(node.reference(root));
        state.pending.extend(node.listed("allOf"));
        state.choices.extend(choices(&node));
    }
    if unfolded.len() >= MAX_ALTERNATIVES {
        return;
    }
    if state.choices.is_empty() || state.so_far.taken.len() >= MAX_CHOICES {
        unfolded.push(state.so_far);
        return;
    }
    for branch in state.choices.remove(0) {
        let mut next = state.clone();
        next.pending = branch.nodes;
        next.so_far.taken.push(branch.what);
        unfold(root, next, unfolded);
    }
}

/// Returns the choices that one schema leaves open.
fn choices<'s>(node: &SchemaNode<'s>) -> Vec<Vec<Branch<'s>>> {
    let mut choices = Vec::new();
    for keyword in ["oneOf", "anyOf"] {
        let branches: Vec<_> = node
            .listed(keyword)
            .into_iter()
            .enumerate()
            .map(|(index, branch)| Branch {
                nodes: vec![branch],
                what: format!("branch {} of its {keyword}", index + 1),
            })
            .collect();
        if !branches.is_empty() {
            choices.push(branches);
        }
    }
    if let Some(condition) = node.below("if") {
        // The `else` branch usually requires less, so it comes first.
        let otherwise = Branch {
            nodes: node.below("else").into_iter().collect(),
            what: "its `if` does not match".to_owned(),
        };
        let holds = Branch {
            nodes: std::iter::once(condition)
                .chain(node.below("then"))
                .collect(),
            what: "its `if` matches".to_owned(),
        };
        choices.push(vec![otherwise, holds]);
    }
    choices
}
