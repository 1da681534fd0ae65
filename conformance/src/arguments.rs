//! Generates arguments for a tool from the schema it registered.
//!
//! The arguments are ordered by how useful they are to try: the schema's own examples, the smallest
//! value, boundary values, random values from a seed, and hostile values. Each is validated against
//! the schema as the host does it, and marked as valid or invalid. The generator is pure: it uses
//! no clock and no files, so the same schema and seed produce the same arguments everywhere.

mod arrays;
mod boundaries;
mod examples;
mod generator;
mod hostile;
mod numbers;
mod objects;
mod part_validators;
mod patterns;
mod place;
mod positions;
mod rng;
mod smaller;
mod strings;
#[cfg(test)]
mod tests;
mod types;

use std::{collections::HashSet, sync::OnceLock};

use serde_json::Value;
use zot_protocol::{
    Object,
    validate::{SchemaError, ToolSchema},
};

use self::{
    examples::Annotation, generator::Generator, part_validators::PartValidators, place::SchemaNode,
    positions::Position, rng::Rng,
};

pub(crate) use boundaries::simplest;
pub(crate) use smaller::smaller;

/// Maximum size of generated arguments as compact JSON. This is the protocol's limit for the
/// arguments of a `call_tool`.
pub(crate) const LARGEST: usize = zot_protocol::limits::CALL_TOOL_BYTES;
/// Maximum length of a generated string, in characters. An ASCII string of this length keeps the
/// arguments below [`LARGEST`].
const LONGEST_STRING: usize = 200 * 1024;
/// How many levels deeper random arguments can be than the smallest arguments.
const EXTRA_DEPTH: usize = 3;
/// Number of consecutive duplicates after which the schema is assumed to allow no more values.
const MAX_DUPLICATES: usize = 8;
/// Maximum number of boundary cases.
const MAX_BOUNDARIES: usize = 300;

/// Generates arguments for one tool.
#[derive(Debug)]
pub(crate) struct Arguments {
    schema: Value,
    checker: ToolSchema,
    parts: PartValidators,
    /// The smallest arguments, cached because most other arguments are derived from them.
    minimal: OnceLock<Result<Object, Unsatisfied>>,
}

/// Generated arguments.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GeneratedArgs {
    pub(crate) args: Object,
    /// What is special about these arguments, on one line: `/days = 8, one over its maximum`.
    pub(crate) why: String,
    /// Whether they match the tool's schema.
    pub(crate) valid: bool,
}

/// No value was found for a schema. One may still exist: for `not`, the generator only guesses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found no value that satisfies `{keyword}` in the schema at {}", if pointer.is_empty() { "its root" } else { pointer })]
pub(crate) struct Unsatisfied {
    /// JSON pointer to the part of the schema; `""` is the root.
    pub(crate) pointer: String,
    /// The keyword that stopped the search; `false` for a schema that nothing matches.
    pub(crate) keyword: String,
}

impl Unsatisfied {
    fn at(node: &SchemaNode<'_>, keyword: &str) -> Self {
        Self {
            pointer: node.pointer.to_string(),
            keyword: keyword.to_owned(),
        }
    }
}

impl Arguments {
    /// Compiles the schema of a tool's arguments, as the host does.
    pub(crate) fn of(schema: &Object) -> Result<Self, SchemaError> {
        let checker = ToolSchema::for_arguments(schema)?;
        let mut schema = schema.clone();
        schema.entry("type").or_insert_with(|| "object".into());
        let schema = Value::Object(schema);
        let parts = PartValidators::of(&schema);
        Ok(Self {
            schema,
            checker,
            parts,
            minimal: OnceLock::new(),
        })
    }

    /// Reports whether the arguments match the schema.
    pub(crate) fn is_valid(&self, args: &Object) -> bool {
        self.checker.check(&Value::Object(args.clone())).is_ok()
    }

    /// Returns the smallest valid arguments, or the keyword that stopped the search for them.
    pub(crate) fn minimal(&self) -> Result<Object, Unsatisfied> {
        self.minimal.get_or_init(|| self.find_minimal()).clone()
    }

    fn find_minimal(&self) -> Result<Object, Unsatisfied> {
        match self.generator().smallest(&self.root())? {
            Value::Object(args) if size(&args) > LARGEST => Err(self.unsatisfied("minLength")),
            Value::Object(args) if self.is_valid(&args) => Ok(args),
            other => Err(self
                .parts
                .check(&self.root(), &other)
                .err()
                .unwrap_or_else(|| self.unsatisfied("type"))),
        }
    }

    /// Returns the smallest arguments with this text in every property that accepts it.
    pub(crate) fn with_text(&self, text: &str) -> Object {
        let mut args = self.minimal().unwrap_or_default();
        let properties = self.schema.get("properties").and_then(Value::as_object);
        for key in properties.into_iter().flatten().map(|(key, _)| key) {
            let mut with = args.clone();
            with.insert(key.clone(), text.into());
            if self.is_valid(&with) {
                args = with;
            }
        }
        args
    }

    /// Returns the schema's own examples: for the whole schema, and for each part, inserted into
    /// the smallest arguments. Invalid examples are included and marked as invalid.
    pub(crate) fn examples(&self) -> Vec<GeneratedArgs> {
        self.given(Annotation::Examples)
    }

    /// Returns copies of the smallest arguments, each with one of the schema's defaults filled in.
    pub(crate) fn defaults(&self) -> Vec<GeneratedArgs> {
        self.given(Annotation::Defaults)
    }

    fn given(&self, given: Annotation) -> Vec<GeneratedArgs> {
        let whole = examples::of_whole(&self.schema, given);
        let parts = self
            .positions()
            .into_iter()
            .flat_map(|position| examples::of_part(&position, given));
        self.made(whole.into_iter().chain(parts), MAX_BOUNDARIES)
    }

    /// Returns valid arguments at the boundaries: each limit and its neighbours, each enum value,
    /// each branch, and each optional property both absent and present.
    pub(crate) fn boundaries(&self) -> Vec<GeneratedArgs> {
        let mut made = self.made(self.edges(&self.positions()), usize::MAX);
        made.retain(|made| made.valid);
        made.truncate(MAX_BOUNDARIES);
        made
    }

    /// Returns `count` distinct sets of random valid arguments, or fewer if the schema allows
    /// fewer.
    pub(crate) fn random(&self, seed: u64, count: usize) -> Vec<GeneratedArgs> {
        let deepest = self.minimal().map_or(0, |args| depth(&args)) + EXTRA_DEPTH;
        let mut rng = Rng::new(seed);
        let (mut generator, root) = (self.generator(), self.root());
        let mut values = Vec::new();
        let mut known = HashSet::new();
        let mut duplicates = 0;
        while values.len() < count && duplicates < MAX_DUPLICATES {
            let each = Rng::new(rng.next());
            match generator.random(&root, each, deepest) {
                Ok(value) if known.insert(value.to_string()) => {
                    duplicates = 0;
                    let why = format!("random case {} of seed {seed}", values.len() + 1);
                    values.push((value, why));
                }
                _ => duplicates += 1,
            }
        }
        let mut made = self.made(values, count);
        made.retain(|made| made.valid);
        made
    }

    /// Returns arguments meant to break a tool: invalid ones, and valid ones with unusual values.
    pub(crate) fn hostile(&self, seed: u64) -> Vec<GeneratedArgs> {
        let mut rng = Rng::new(seed);
        let (positions, minimal) = (self.positions(), self.minimal().unwrap_or_default());
        let kinds = hostile::kinds(&minimal, &positions);
        let mut lists: Vec<Vec<GeneratedArgs>> = kinds
            .into_iter()
            .map(|kind| self.made(kind, usize::MAX))
            .collect();
        let mut beyond = self.made(self.edges(&positions), usize::MAX);
        beyond.retain(|made| !made.valid);
        lists.push(beyond);
        for kind in &mut lists {
            if kind.len() > hostile::MAX_PER_KIND {
                rng.shuffle(kind);
            }
        }
        hostile::round_robin(lists)
    }

    /// Returns values on both sides of every boundary, valid or not.
    fn edges<'s>(&'s self, positions: &[Position<'s>]) -> Vec<(Value, String)> {
        let mut edges = boundaries::presence(positions);
        for position in positions {
            edges.extend(boundaries::of(position, &mut self.generator()));
        }
        edges
    }

    fn positions(&self) -> Vec<Position<'_>> {
        match self.minimal() {
            Ok(minimal) => {
                positions::positions(&mut self.generator(), self.root(), Value::Object(minimal))
            }
            Err(_) => Vec::new(),
        }
    }

    /// Turns the values into at most `most` sets of arguments, each marked as valid or invalid. Skips
    /// values that are too large, are not objects, or have already been seen.
    fn made(
        &self,
        values: impl IntoIterator<Item = (Value, String)>,
        most: usize,
    ) -> Vec<GeneratedArgs> {
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        for (value, why) in values {
            let Value::Object(args) = value else { continue };
            let text = serde_json::to_string(&args).unwrap_or_default();
            if text.len() > LARGEST || !seen.insert(text) {
                continue;
            }
            let valid = self.is_valid(&args);
            all.push(GeneratedArgs { args, why, valid });
            if all.len() >= most {
                break;
            }
        }
        all
    }

    fn generator(&self) -> Generator<'_> {
        Generator::new(&self.schema, &self.parts)
    }

    fn root(&self) -> Vec<SchemaNode<'_>> {
        vec![SchemaNode::root(&self.schema)]
    }

    fn unsatisfied(&self, keyword: &str) -> Unsatisfied {
        Unsatisfied::at(&SchemaNode::root(&self.schema), keyword)
    }
}

fn size(args: &Object) -> usize {
    serde_json::to_string(args).map_or(usize::MAX, |text| text.len())
}

fn depth(args: &Object) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::Object(object) => 1 + object.values().map(of).max().unwrap_or(0),
            Value::Array(list) => 1 + list.iter().map(of).max().unwrap_or(0),
            _ => 0,
        }
    }
    1 + args.values().map(of).max().unwrap_or(0)
}
