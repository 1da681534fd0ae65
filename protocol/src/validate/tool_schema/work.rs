//! How much work a schema can make of a value, told before the value is checked.
//!
//! A validator looks at one place of a value once for every schema that applies to it there: those side by side (`allOf`,
//! `$ref`), and those that come down from the place above (`properties`, `items`). Where several come down to one place
//! and each sends several further, they multiply level by level. So for every schema we count how many looks one place
//! at a given depth below can get; times the size of the value, that is the most it can cost.

use std::collections::HashMap;

use serde_json::Value;

use super::SchemaFault;
use crate::limits;

/// Counts are taken for so many levels; what still grows there is taken to be without bound.
const LEVELS: usize = 24;
/// So many bytes of text are as much work as one place.
const TEXT_BYTES: usize = 64;

/// The looks that one place can get, by its depth.
#[derive(Debug)]
pub(super) struct Work {
    looks: Vec<u64>,
}

impl Work {
    /// Refuses a schema whose references are not plain, or whose work has no bound.
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaFault> {
        let mut graph = Graph {
            root: schema,
            nodes: Vec::new(),
            by_place: HashMap::new(),
            patterns: 0,
        };
        graph.add(schema)?;
        let looks = graph.looks();
        if looks[0] > limits::TOOL_SCHEMA_WORK {
            return Err(SchemaFault::TooMuchWork);
        }
        Ok(Self { looks })
    }

    /// Whether checking `value` stays within the limit.
    pub(super) fn is_bearable(&self, value: &Value) -> bool {
        let mut size = 0;
        let depth = measure(value, &mut size);
        let settled = self.looks[LEVELS - 1] == self.looks[LEVELS - 2];
        let looks = match self.looks.get(..depth) {
            Some(looks) => looks.iter().copied().max().unwrap_or(0),
            None if settled => self.looks.iter().copied().max().unwrap_or(0),
            None => return false,
        };
        looks.saturating_mul(size) <= limits::TOOL_SCHEMA_WORK
    }
}

/// The depth of a value; `size` grows by its places and its text.
fn measure(value: &Value, size: &mut u64) -> usize {
    let text = |text: &str| 1 + (text.len() / TEXT_BYTES) as u64;
    *size += 1;
    let below = match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| {
                *size += text(key);
                measure(value, size)
            })
            .max(),
        Value::Array(list) => list.iter().map(|item| measure(item, size)).max(),
        Value::String(string) => {
            *size += text(string);
            None
        }
        _ => None,
    };
    1 + below.unwrap_or(0)
}

/// One schema: what it costs at a place itself, and where it leads.
#[derive(Default)]
struct Node {
    own: u64,
    /// Applied to the same place.
    beside: Vec<usize>,
    /// Applied to places below, each group to places of its own: two properties never meet in one place.
    apart: Vec<usize>,
    /// Applied to places below, together with whatever else is.
    together: Vec<usize>,
    /// `unevaluated…` goes through all that stands beside it once more.
    again: bool,
}

struct Graph<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    by_place: HashMap<*const Value, usize>,
    patterns: usize,
}

impl<'s> Graph<'s> {
    /// Adds a schema and all that it leads to; each is added once.
    fn add(&mut self, schema: &'s Value) -> Result<usize, SchemaFault> {
        let mut waiting = Vec::new();
        let first = self.place(schema, &mut waiting);
        while let Some((schema, index)) = waiting.pop() {
            self.nodes[index] = self.node(schema, &mut waiting)?;
        }
        Ok(first)
    }

    /// The index of a schema; a new one waits to be looked into.
    fn place(&mut self, schema: &'s Value, waiting: &mut Vec<(&'s Value, usize)>) -> usize {
        *self
            .by_place
            .entry(std::ptr::from_ref(schema))
            .or_insert_with(|| {
                self.nodes.push(Node::default());
                waiting.push((schema, self.nodes.len() - 1));
                self.nodes.len() - 1
            })
    }

    fn node(
        &mut self,
        schema: &'s Value,
        waiting: &mut Vec<(&'s Value, usize)>,
    ) -> Result<Node, SchemaFault> {
        let mut node = Node {
            own: 1,
            ..Node::default()
        };
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            let named = || {
                value
                    .as_object()
                    .into_iter()
                    .flat_map(serde_json::Map::values)
            };
            let listed = || value.as_array().into_iter().flatten();
            match keyword.as_str() {
                "$ref" => node.beside.push(self.reference(value, waiting)?),
                "$dynamicRef" => return Err(SchemaFault::Unsupported("$dynamicRef")),
                "$recursiveRef" => return Err(SchemaFault::Unsupported("$recursiveRef")),
                "$anchor" => return Err(SchemaFault::Unsupported("$anchor")),
                "$dynamicAnchor" => return Err(SchemaFault::Unsupported("$dynamicAnchor")),
                "$id" | "id" if value.is_string() && !std::ptr::eq(schema, self.root) => {
                    return Err(SchemaFault::Unsupported("$id within the schema"));
                }
                "allOf" | "anyOf" | "oneOf" => {
                    for below in listed() {
                        node.beside.push(self.place(below, waiting));
                    }
                }
                "not" | "if" | "then" | "else" => node.beside.push(self.place(value, waiting)),
                "dependentSchemas" | "dependencies" => {
                    for below in named() {
                        node.beside.push(self.place(below, waiting));
                    }
                }
                "properties" => {
                    for below in named() {
                        node.apart.push(self.place(below, waiting));
                    }
                }
                "patternProperties" => {
                    for below in named() {
                        self.pattern()?;
                        node.own += 1;
                        node.together.push(self.place(below, waiting));
                    }
                }
                "pattern" => {
                    self.pattern()?;
                    node.own += 1;
                }
                "prefixItems" => {
                    for below in listed() {
                        node.apart.push(self.place(below, waiting));
                    }
                }
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "unevaluatedProperties"
                | "unevaluatedItems" => {
                    node.again |= keyword.starts_with("unevaluated");
                    for below in listed() {
                        node.apart.push(self.place(below, waiting));
                    }
                    if !value.is_array() {
                        node.together.push(self.place(value, waiting));
                    }
                }
                "enum" => node.own += listed().count() as u64,
                _ => {}
            }
        }
        Ok(node)
    }

    fn pattern(&mut self) -> Result<(), SchemaFault> {
        self.patterns += 1;
        if self.patterns > limits::TOOL_SCHEMA_PATTERNS.0 {
            Err(SchemaFault::TooManyPatterns)
        } else {
            Ok(())
        }
    }

    /// Only a pointer into the schema, written out: whatever else a validator would follow, we could not count.
    fn reference(
        &mut self,
        target: &'s Value,
        waiting: &mut Vec<(&'s Value, usize)>,
    ) -> Result<usize, SchemaFault> {
        let text = target.as_str().unwrap_or_default();
        let place = text
            .strip_prefix('#')
            .filter(|pointer| {
                pointer.is_empty() || (pointer.starts_with('/') && !pointer.contains('%'))
            })
            .and_then(|pointer| self.root.pointer(pointer));
        match place {
            Some(place) => Ok(self.place(place, waiting)),
            None => Err(SchemaFault::Reference(super::plain(text, 60))),
        }
    }

    /// For each depth, how many looks one place there can get from the first schema.
    fn looks(&self) -> Vec<u64> {
        let mut above = vec![0; self.nodes.len()];
        let mut looks = Vec::with_capacity(LEVELS);
        for _ in 0..LEVELS {
            let came_down: Vec<u64> = self
                .nodes
                .iter()
                .map(|node| Self::down(node, &above, looks.is_empty()))
                .collect();
            above = self.beside(&came_down);
            looks.push(above[0]);
        }
        looks
    }

    /// What the schemas for places below make of a place one level further up.
    fn down(node: &Node, above: &[u64], is_first: bool) -> u64 {
        if is_first {
            return node.own;
        }
        let apart = node
            .apart
            .iter()
            .map(|below| above[*below])
            .max()
            .unwrap_or(0);
        node.together
            .iter()
            .fold(apart, |sum, below| sum.saturating_add(above[*below]))
    }

    /// Adds up what stands side by side. A schema that leads back to itself at the same place adds nothing by that.
    fn beside(&self, own: &[u64]) -> Vec<u64> {
        let mut sums: Vec<Option<u64>> = vec![None; self.nodes.len()];
        let mut on_path = vec![false; self.nodes.len()];
        for start in 0..self.nodes.len() {
            // By hand instead of by recursion: a chain of references may be as long as the schema.
            let mut path = vec![(start, 0)];
            while let Some((node, next)) = path.last_mut() {
                let index = *node;
                if sums[index].is_some() {
                    path.pop();
                    continue;
                }
                on_path[index] = true;
                let pending = self.nodes[index].beside[*next..]
                    .iter()
                    .position(|beside| sums[*beside].is_none() && !on_path[*beside]);
                if let Some(skipped) = pending {
                    let child = self.nodes[index].beside[*next + skipped];
                    *next += skipped + 1;
                    path.push((child, 0));
                    continue;
                }
                let beside = self.nodes[index]
                    .beside
                    .iter()
                    .map(|beside| sums[*beside].unwrap_or(0));
                let sum = beside.fold(own[index], u64::saturating_add);
                sums[index] = Some(if self.nodes[index].again {
                    sum.saturating_mul(2)
                } else {
                    sum
                });
                on_path[index] = false;
                path.pop();
            }
        }
        sums.into_iter().map(Option::unwrap_or_default).collect()
    }
}
