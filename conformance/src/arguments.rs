//! Arguments for a tool, made from the schema that it registered.
//!
//! In the order in which they are worth trying: the schema's own examples, the smallest value, the boundaries, random
//! ones from a seed, and those that mean no good. What is made is checked against the schema as the host checks it, and
//! says whether it fits. Pure: no clock, no files; the same schema and seed make the same arguments everywhere.

mod arrays;
mod boundaries;
mod dice;
mod examples;
mod guide;
mod hostile;
mod maker;
mod numbers;
mod objects;
mod patterns;
mod place;
mod smaller;
mod spots;
#[cfg(test)]
mod tests;
mod texts;
mod types;

use std::{collections::HashSet, sync::OnceLock};

use serde_json::Value;
use zot_protocol::{
    Object,
    validate::{SchemaError, ToolSchema},
};

use self::{dice::Dice, examples::Given, guide::Guide, maker::Maker, place::Node, spots::Spot};

pub use smaller::smaller;

/// No arguments are larger than this, as compact JSON: the bound on those of a `call_tool`.
pub const LARGEST: usize = zot_protocol::limits::CALL_TOOL_BYTES;
/// The longest text that is made, in characters; of plain ones, so that it stays below [`LARGEST`].
const LARGEST_TEXT: usize = 200 * 1024;
/// How much deeper than the smallest ones random arguments may become.
const DEEPER: usize = 3;
/// So many times in a row nothing new may come before there is taken to be nothing more.
const IN_VAIN: usize = 8;
/// No more boundaries than this are made.
const BOUNDARIES: usize = 300;

/// What can be made for one tool.
#[derive(Debug)]
pub struct Arguments {
    schema: Value,
    checker: ToolSchema,
    guide: Guide,
    /// Made once: everything else starts from it.
    minimal: OnceLock<Result<Object, Unsatisfied>>,
}

/// Arguments that were made.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The arguments.
    pub args: Object,
    /// What is special about them, on one line: `/days = 8, one over its maximum`.
    pub why: String,
    /// Whether they fit the tool's schema.
    pub valid: bool,
}

/// A schema for which no value was found. There may still be one: what a `not` refuses is only guessed around.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found nothing that fits `{keyword}` of the schema at {}", if pointer.is_empty() { "its root" } else { pointer })]
pub struct Unsatisfied {
    /// The part of the schema, as a JSON pointer; `""` is all of it.
    pub pointer: String,
    /// The keyword in it that stopped the search; `false` for a schema that nothing fits.
    pub keyword: String,
}

impl Unsatisfied {
    fn at(node: &Node<'_>, keyword: &str) -> Self {
        Self {
            pointer: node.pointer.to_string(),
            keyword: keyword.to_owned(),
        }
    }
}

impl Arguments {
    /// Compiles the schema of a tool's arguments, as the host does.
    pub fn of(schema: &Object) -> Result<Self, SchemaError> {
        let checker = ToolSchema::for_arguments(schema)?;
        let mut schema = schema.clone();
        schema.entry("type").or_insert_with(|| "object".into());
        let schema = Value::Object(schema);
        let guide = Guide::of(&schema);
        Ok(Self {
            schema,
            checker,
            guide,
            minimal: OnceLock::new(),
        })
    }

    /// Whether arguments fit the schema.
    pub fn is_valid(&self, args: &Object) -> bool {
        self.checker.check(&Value::Object(args.clone())).is_ok()
    }

    /// The smallest arguments that fit, or what stopped the search for them.
    pub fn minimal(&self) -> Result<Object, Unsatisfied> {
        self.minimal.get_or_init(|| self.find_minimal()).clone()
    }

    fn find_minimal(&self) -> Result<Object, Unsatisfied> {
        match self.maker().smallest(&self.root())? {
            Value::Object(args) if size(&args) > LARGEST => Err(self.unsatisfied("minLength")),
            Value::Object(args) if self.is_valid(&args) => Ok(args),
            other => Err(self
                .guide
                .check(&self.root(), &other)
                .err()
                .unwrap_or_else(|| self.unsatisfied("type"))),
        }
    }

    /// The examples that the schema itself gives: of the whole, and of each part put into the smallest arguments. One that
    /// does not fit is among them, and says so.
    pub fn examples(&self) -> Vec<Made> {
        self.given(Given::Examples)
    }

    /// The defaults that the schema gives, said aloud.
    pub fn defaults(&self) -> Vec<Made> {
        self.given(Given::Defaults)
    }

    fn given(&self, given: Given) -> Vec<Made> {
        let whole = examples::of_whole(&self.schema, given);
        let parts = self
            .spots()
            .into_iter()
            .flat_map(|spot| examples::of_part(&spot, given));
        self.made(whole.into_iter().chain(parts), BOUNDARIES)
    }

    /// Arguments that fit and are at an edge: each bound and its neighbours, each value of an enum, each branch, each
    /// optional property absent and present.
    pub fn boundaries(&self) -> Vec<Made> {
        let mut made = self.made(self.edges(&self.spots()), usize::MAX);
        made.retain(|made| made.valid);
        made.truncate(BOUNDARIES);
        made
    }

    /// Random arguments that fit, different ones as far as the schema allows it.
    pub fn random(&self, seed: u64, count: usize) -> Vec<Made> {
        let deepest = self.minimal().map_or(0, |args| depth(&args)) + DEEPER;
        let mut dice = Dice::new(seed);
        let (mut maker, root) = (self.maker(), self.root());
        let mut values = Vec::new();
        let mut known = HashSet::new();
        // Some schemas have few values; those are not looked for without end.
        let mut in_vain = 0;
        while values.len() < count && in_vain < IN_VAIN {
            let each = Dice::new(dice.next());
            match maker.random(&root, each, deepest) {
                Ok(value) if known.insert(value.to_string()) => {
                    in_vain = 0;
                    let why = format!("random, number {} of seed {seed}", values.len() + 1);
                    values.push((value, why));
                }
                _ => in_vain += 1,
            }
        }
        let mut made = self.made(values, count);
        made.retain(|made| made.valid);
        made
    }

    /// Arguments that mean no good: those that do not fit, and those that fit and are nasty.
    pub fn hostile(&self, seed: u64) -> Vec<Made> {
        let mut dice = Dice::new(seed);
        let (spots, minimal) = (self.spots(), self.minimal().unwrap_or_default());
        let kinds = hostile::kinds(&minimal, &spots);
        let mut lists: Vec<Vec<Made>> = kinds
            .into_iter()
            .map(|kind| self.made(kind, usize::MAX))
            .collect();
        let mut beyond = self.made(self.edges(&spots), usize::MAX);
        beyond.retain(|made| !made.valid);
        lists.push(beyond);
        for kind in &mut lists {
            if kind.len() > hostile::OF_A_KIND {
                dice.shuffle(kind);
            }
        }
        hostile::in_turn(lists)
    }

    /// Both sides of every edge, whether they fit or not.
    fn edges<'s>(&'s self, spots: &[Spot<'s>]) -> Vec<(Value, String)> {
        let mut edges = boundaries::presence(spots);
        for spot in spots {
            edges.extend(boundaries::of(spot, &mut self.maker()));
        }
        edges
    }

    fn spots(&self) -> Vec<Spot<'_>> {
        match self.minimal() {
            Ok(minimal) => spots::spots(&mut self.maker(), self.root(), Value::Object(minimal)),
            Err(_) => Vec::new(),
        }
    }

    /// Checks what was made; what is too large, no object, or there already is left out.
    fn made(&self, values: impl IntoIterator<Item = (Value, String)>, most: usize) -> Vec<Made> {
        let mut seen = HashSet::new();
        let mut all = Vec::new();
        for (value, why) in values {
            let Value::Object(args) = value else { continue };
            let text = serde_json::to_string(&args).unwrap_or_default();
            if text.len() > LARGEST || !seen.insert(text) {
                continue;
            }
            let valid = self.is_valid(&args);
            all.push(Made { args, why, valid });
            if all.len() >= most {
                break;
            }
        }
        all
    }

    fn maker(&self) -> Maker<'_> {
        Maker::new(&self.schema, &self.guide)
    }

    fn root(&self) -> Vec<Node<'_>> {
        vec![Node::root(&self.schema)]
    }

    fn unsatisfied(&self, keyword: &str) -> Unsatisfied {
        Unsatisfied::at(&Node::root(&self.schema), keyword)
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
