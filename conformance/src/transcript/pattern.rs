//! What is expected and what is sent: values with matchers and names in them, compiled.

mod check;
mod compile;
mod error;
mod send;

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;
use zot_protocol::validate::ToolSchema;

use super::{Bindings, fill::Fill, pointer::Path};
pub(super) use compile::{is_matcher, unescaped};
pub use error::{FillError, Mismatch, PatternError};

/// A value that is expected. Two are equal that were written alike.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Value,
    node: Arc<Node>,
}

/// A value that is sent. Two are equal that were written alike.
#[derive(Debug, Clone)]
pub struct Template {
    source: Value,
    node: Arc<Node>,
}

/// One part of either.
#[derive(Debug)]
enum Node {
    /// `null`, a boolean, a number, or a text without wildcards.
    Plain(Value),
    Wildcard(String),
    List(Vec<Node>),
    Object {
        fields: Vec<(String, Node)>,
        exact: bool,
    },
    Any,
    Type(Kind),
    Regex(Regex),
    OneOf(Vec<Node>),
    Absent,
    Contains(Vec<Node>),
    Schema(Box<ToolSchema>),
    Literal(Value),
    Fill(Fill),
    New(String),
    Ref(String),
    Capture {
        name: String,
        fits: Option<Box<Node>>,
    },
}

/// What `$type` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
    Null,
}

/// What a pattern does with a name.
pub(super) enum Naming<'a> {
    /// `$new`.
    Mints(&'a str),
    /// `$cap`.
    Captures(&'a str),
    /// `$ref`.
    Uses(&'a str),
}

impl Pattern {
    /// Compiles what is expected.
    pub fn new(source: Value) -> Result<Self, PatternError> {
        let node = Arc::new(Node::compile(&source, compile::Side::Expected)?);
        Ok(Self { source, node })
    }

    /// As it was written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Whether `actual` is what is expected. What it captures is kept when it fits and forgotten when it does not.
    pub fn matches(&self, actual: &Value, bindings: &mut Bindings) -> Result<(), Mismatch> {
        let mark = bindings.mark();
        self.node
            .check(Some(actual), &Path::Root, bindings)
            .inspect_err(|_| bindings.back_to(&mark))
    }

    /// Whether it is content with a field that is not there.
    pub(super) fn fits_absence(&self, bindings: &mut Bindings) -> bool {
        self.node.check(None, &Path::Root, bindings).is_ok()
    }

    pub(super) fn visit_names<'a>(&'a self, visit: &mut dyn FnMut(Naming<'a>)) {
        self.node.visit_names(visit);
    }
}

impl Template {
    /// Compiles what is sent.
    pub fn new(source: Value) -> Result<Self, PatternError> {
        let node = Arc::new(Node::compile(&source, compile::Side::Sent)?);
        Ok(Self { source, node })
    }

    /// As it was written.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// What goes over the wire: ids minted, names and places filled in. Nothing is minted where that fails.
    pub fn fill(&self, bindings: &mut Bindings) -> Result<Value, FillError> {
        let mark = bindings.mark();
        self.node
            .fill(&Path::Root, bindings)
            .inspect_err(|_| bindings.back_to(&mark))
    }

    /// The same seen from the other end, where the harness is the extension: `$new` captures what the host has minted.
    pub fn to_pattern(&self) -> Pattern {
        Pattern {
            source: self.source.clone(),
            node: Arc::clone(&self.node),
        }
    }

    pub(super) fn visit_names<'a>(&'a self, visit: &mut dyn FnMut(Naming<'a>)) {
        self.node.visit_names(visit);
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl PartialEq for Template {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// Whether `actual` is what `expected` says, for a pattern that is used once.
pub fn matches(expected: &Value, actual: &Value, bindings: &mut Bindings) -> Result<(), Mismatch> {
    match Pattern::new(expected.clone()) {
        Ok(pattern) => pattern.matches(actual, bindings),
        Err(error) => Err(Mismatch {
            pointer: error.pointer,
            expected: format!("a pattern ({})", error.why),
            actual: String::new(),
        }),
    }
}

impl Node {
    /// In the order in which they are written, which is the order in which they are bound.
    fn visit_names<'a>(&'a self, visit: &mut dyn FnMut(Naming<'a>)) {
        match self {
            Self::New(name) => visit(Naming::Mints(name)),
            Self::Ref(name) => visit(Naming::Uses(name)),
            Self::Capture { name, fits } => {
                if let Some(fits) = fits {
                    fits.visit_names(visit);
                }
                visit(Naming::Captures(name));
            }
            Self::List(nodes) | Self::OneOf(nodes) | Self::Contains(nodes) => {
                for node in nodes {
                    node.visit_names(visit);
                }
            }
            Self::Object { fields, .. } => {
                for (_, node) in fields {
                    node.visit_names(visit);
                }
            }
            Self::Plain(_)
            | Self::Wildcard(_)
            | Self::Any
            | Self::Type(_)
            | Self::Regex(_)
            | Self::Absent
            | Self::Schema(_)
            | Self::Literal(_)
            | Self::Fill(_) => {}
        }
    }
}
