//! Predicts the work needed to check a value against a schema.
//!
//! A validator visits each location of a value once for every schema that applies there: schemas
//! applied to the same location (`allOf`, `$ref`) and schemas applied from the parent
//! (`properties`, `items`). If several apply to one location and each applies several to its
//! children, the number multiplies with each level. So for every schema we count the maximum number
//! of visits to one location at each depth. That number times the size of the value is the maximum
//! cost.

use std::collections::HashMap;

use serde_json::Value;

use super::SchemaError;
use crate::limits;

/// Number of levels to count. If the number of visits still grows after that, it is treated as
/// unlimited.
const LEVELS: usize = 24;
/// This many bytes of text count as one location.
const TEXT_BYTES: usize = 64;

/// The maximum number of visits to one location, by depth.
#[derive(Debug)]
pub(super) struct Work {
    visits: Vec<u64>,
}

impl Work {
    /// Computes the work of a schema. Rejects references that are not plain pointers, and schemas
    /// with unlimited work.
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let mut graph = Graph {
            root: schema,
            nodes: Vec::new(),
            indices: HashMap::new(),
            patterns: 0,
        };
        graph.add(schema)?;
        let visits = graph.visits();
        if visits[0] > limits::TOOL_SCHEMA_WORK {
            return Err(SchemaError::TooMuchWork);
        }
        Ok(Self { visits })
    }

    /// Returns whether the work to check `value` is within the limit.
    pub(super) fn is_within_limit(&self, value: &Value) -> bool {
        let mut size = 0;
        let depth = measure(value, &mut size);
        let settled = self.visits[LEVELS - 1] == self.visits[LEVELS - 2];
        let visits = match self.visits.get(..depth) {
            Some(visits) => visits.iter().copied().max().unwrap_or(0),
            None if settled => self.visits.iter().copied().max().unwrap_or(0),
            None => return false,
        };
        visits.saturating_mul(size) <= limits::TOOL_SCHEMA_WORK
    }
}

/// Returns the depth of a value, and adds its locations and text to `size`.
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

/// One schema: its own cost at a location, and the schemas that it applies.
#[derive(Default)]
struct Node {
    own: u64,
    /// Schemas that apply to the same location.
    in_place: Vec<usize>,
    /// Schemas that each apply to a different child: two properties never share a location.
    distinct_children: Vec<usize>,
    /// Schemas that each apply to any number of children, so several can apply to the same one.
    all_children: Vec<usize>,
    /// Whether the schema has an `unevaluated…` keyword, which visits everything in `in_place`
    /// again.
    has_unevaluated: bool,
}

struct Graph<'s> {
    root: &'s Value,
    nodes: Vec<Node>,
    indices: HashMap<*const Value, usize>,
    patterns: usize,
}

impl<'s> Graph<'s> {
    /// Adds a schema and all its subschemas, each once.
    fn add(&mut self, schema: &'s Value) -> Result<usize, SchemaError> {
        let mut queue = Vec::new();
        let first = self.index_of(schema, &mut queue);
        while let Some((schema, index)) = queue.pop() {
            self.nodes[index] = self.node(schema, &mut queue)?;
        }
        Ok(first)
    }

    /// Returns the index of a schema. A new schema is added to `queue`.
    fn index_of(&mut self, schema: &'s Value, queue: &mut Vec<(&'s Value, usize)>) -> usize {
        *self
            .indices
            .entry(std::ptr::from_ref(schema))
            .or_insert_with(|| {
                self.nodes.push(Node::default());
                queue.push((schema, self.nodes.len() - 1));
                self.nodes.len() - 1
            })
    }

    fn node(
        &mut self,
        schema: &'s Value,
        queue: &mut Vec<(&'s Value, usize)>,
    ) -> Result<Node, SchemaError> {
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
                "$ref" => node.in_place.push(self.reference(value, queue)?),
                "$dynamicRef" => return Err(SchemaError::Unsupported("$dynamicRef")),
                "$recursiveRef" => return Err(SchemaError::Unsupported("$recursiveRef")),
                "$anchor" => return Err(SchemaError::Unsupported("$anchor")),
                "$dynamicAnchor" => return Err(SchemaError::Unsupported("$dynamicAnchor")),
                "$id" | "id" if value.is_string() && !std::ptr::eq(schema, self.root) => {
                    return Err(SchemaError::Unsupported("nested $id"));
                }
                "allOf" | "anyOf" | "oneOf" => {
                    for below in listed() {
                        node.in_place.push(self.index_of(below, queue));
                    }
                }
                "not" | "if" | "then" | "else" => node.in_place.push(self.index_of(value, queue)),
                "dependentSchemas" | "dependencies" => {
                    for below in named() {
                        node.in_place.push(self.index_of(below, queue));
                    }
                }
                "properties" => {
                    for below in named() {
                        node.distinct_children.push(self.index_of(below, queue));
                    }
                }
                "patternProperties" => {
                    for below in named() {
                        self.pattern()?;
                        node.own += 1;
                        node.all_children.push(self.index_of(below, queue));
                    }
                }
                "pattern" => {
                    self.pattern()?;
                    node.own += 1;
                }
                "prefixItems" => {
                    for below in listed() {
                        node.distinct_children.push(self.index_of(below, queue));
                    }
                }
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "unevaluatedProperties"
                | "unevaluatedItems" => {
                    node.has_unevaluated |= keyword.starts_with("unevaluated");
                    for below in listed() {
                        node.distinct_children.push(self.index_of(below, queue));
                    }
                    if !value.is_array() {
                        node.all_children.push(self.index_of(value, queue));
                    }
                }
                "enum" => node.own += listed().count() as u64,
                _ => {}
            }
        }
        Ok(node)
    }

    fn pattern(&mut self) -> Result<(), SchemaError> {
        self.patterns += 1;
        if self.patterns > limits::TOOL_SCHEMA_PATTERNS.0 {
            Err(SchemaError::TooManyPatterns)
        } else {
            Ok(())
        }
    }

    /// Resolves a reference. Only a plain pointer into the schema is allowed, because the cost of
    /// anything else cannot be counted.
    fn reference(
        &mut self,
        target: &'s Value,
        queue: &mut Vec<(&'s Value, usize)>,
    ) -> Result<usize, SchemaError> {
        let text = target.as_str().unwrap_or_default();
        let place = text
            .strip_prefix('#')
            .filter(|pointer| {
                pointer.is_empty() || (pointer.starts_with('/') && !pointer.contains('%'))
            })
            .and_then(|pointer| self.root.pointer(pointer));
        match place {
            Some(place) => Ok(self.index_of(place, queue)),
            None => Err(SchemaError::Reference(super::plain(text, 60))),
        }
    }

    /// Returns the maximum number of visits from the root schema to one location, by depth.
    fn visits(&self) -> Vec<u64> {
        let mut above = vec![0; self.nodes.len()];
        let mut visits = Vec::with_capacity(LEVELS);
        for _ in 0..LEVELS {
            let from_parents: Vec<u64> = self
                .nodes
                .iter()
                .map(|node| Self::down(node, &above, visits.is_empty()))
                .collect();
            above = self.in_place(&from_parents);
            visits.push(above[0]);
        }
        visits
    }

    /// Returns the maximum number of visits to one location at the next level, given the number
    /// for each node at this level (`above`).
    fn down(node: &Node, above: &[u64], is_first: bool) -> u64 {
        if is_first {
            return node.own;
        }
        let distinct_children = node
            .distinct_children
            .iter()
            .map(|below| above[*below])
            .max()
            .unwrap_or(0);
        node.all_children
            .iter()
            .fold(distinct_children, |sum, below| {
                sum.saturating_add(above[*below])
            })
    }

    /// Adds up the schemas applied to the same location. A schema that refers back to itself at the
    /// same location adds nothing.
    fn in_place(&self, own: &[u64]) -> Vec<u64> {
        let mut sums: Vec<Option<u64>> = vec![None; self.nodes.len()];
        let mut on_path = vec![false; self.nodes.len()];
        for start in 0..self.nodes.len() {
            // Uses an explicit stack, because a chain of references can be as long as the schema.
            let mut path = vec![(start, 0)];
            while let Some((node, next)) = path.last_mut() {
                let index = *node;
                if sums[index].is_some() {
                    path.pop();
                    continue;
                }
                on_path[index] = true;
                let pending = self.nodes[index].in_place[*next..]
                    .iter()
                    .position(|in_place| sums[*in_place].is_none() && !on_path[*in_place]);
                if let Some(skipped) = pending {
                    let child = self.nodes[index].in_place[*next + skipped];
                    *next += skipped + 1;
                    path.push((child, 0));
                    continue;
                }
                let in_place = self.nodes[index]
                    .in_place
                    .iter()
                    .map(|in_place| sums[*in_place].unwrap_or(0));
                let sum = in_place.fold(own[index], u64::saturating_add);
                sums[index] = Some(if self.nodes[index].has_unevaluated {
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
