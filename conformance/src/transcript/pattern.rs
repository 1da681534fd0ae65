//! Compiled patterns and templates: values with matchers and names in them.

mod check;
mod compile;
mod error;
mod sample;
mod send;

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;
use zot_protocol::{Object, validate::ToolSchema};

use super::{Bindings, fill::Fill, pointer::Path};
use compile::Side;
pub(super) use compile::{is_matcher, unescaped};
pub use error::{Mismatch, PatternError};

/// An expected value. Two patterns are equal if their sources are equal.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: Value,
    node: Arc<PatternNode>,
}

/// A value to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Template(Pattern);

/// One part of a pattern or template.
#[derive(Debug)]
enum PatternNode {
    /// `null`, a boolean, a number, or a string without wildcards.
    Plain(Value),
    Wildcard(String),
    List(Vec<PatternNode>),
    Object {
        fields: Vec<(String, PatternNode)>,
        exact: bool,
    },
    Any,
    /// The name of a JSON type.
    Type(&'static str),
    Regex(Regex),
    OneOf(Vec<PatternNode>),
    Absent,
    Contains(Vec<PatternNode>),
    Schema {
        checker: Box<ToolSchema>,
        source: Object,
    },
    Literal(Value),
    Fill(Fill),
    New(String),
    Ref(String),
    Capture {
        name: String,
        fits: Option<Box<PatternNode>>,
    },
}

/// A use of a name in a pattern.
pub(super) enum Naming<'a> {
    /// `$new`.
    Mints(&'a str),
    /// `$cap`.
    Captures(&'a str),
    /// `$ref`.
    Uses(&'a str),
}

impl Pattern {
    /// Compiles a pattern.
    pub fn new(source: Value) -> Result<Self, PatternError> {
        Self::compile(source, Side::Expected)
    }

    fn compile(source: Value, side: Side) -> Result<Self, PatternError> {
        let node = Arc::new(PatternNode::compile(&source, side)?);
        Ok(Self { source, node })
    }

    /// Returns the source.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Checks whether `actual` matches. Its captures are kept only if it does.
    pub fn matches(&self, actual: &Value, bindings: &mut Bindings) -> Result<(), Mismatch> {
        let mark = bindings.mark();
        self.node
            .check(Some(actual), &Path::Root, bindings)
            .inspect_err(|_| bindings.back_to(mark))
    }

    /// Returns a matching value and binds its captures; `None` if the value can be left out or no
    /// match was found.
    pub(crate) fn sample(&self, bindings: &mut Bindings) -> Option<Value> {
        self.node.sample(bindings)
    }

    /// Binds the captures that are present, even if `actual` does not match.
    pub(crate) fn capture(&self, actual: &Value, bindings: &mut Bindings) {
        self.node.capture(actual, bindings);
    }

    /// Reports whether a missing field matches.
    pub(super) fn fits_absence(&self, bindings: &mut Bindings) -> bool {
        self.node.check(None, &Path::Root, bindings).is_ok()
    }

    pub(super) fn visit_names<'a>(&'a self, visit: &mut dyn FnMut(Naming<'a>)) {
        self.node.visit_names(visit);
    }
}

impl Template {
    /// Compiles a template.
    pub fn new(source: Value) -> Result<Self, PatternError> {
        Pattern::compile(source, Side::Sent).map(Self)
    }

    /// Returns the source.
    pub fn source(&self) -> &Value {
        self.0.source()
    }

    /// Returns the frame to send, with new ids, names and directories filled in. Creates no ids on
    /// failure.
    pub fn fill(&self, bindings: &mut Bindings) -> Result<Value, PatternError> {
        let mark = bindings.mark();
        self.0
            .node
            .fill(&Path::Root, bindings)
            .inspect_err(|_| bindings.back_to(mark))
    }

    /// Returns the pattern for the other direction, where the harness plays the extension: `$new`
    /// captures the host's id.
    pub fn as_pattern(&self) -> &Pattern {
        &self.0
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

/// Checks whether `actual` matches `expected`, for a pattern that is used only once.
pub fn matches(expected: &Value, actual: &Value, bindings: &mut Bindings) -> Result<(), Mismatch> {
    match Pattern::new(expected.clone()) {
        Ok(pattern) => pattern.matches(actual, bindings),
        Err(error) => Err(Mismatch {
            pointer: error.pointer,
            expected: format!("a valid pattern ({})", error.why),
            actual: String::new(),
        }),
    }
}

impl PatternNode {
    /// Visits the names in source order, which is also the binding order.
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
            | Self::Schema { .. }
            | Self::Literal(_)
            | Self::Fill(_) => {}
        }
    }
}
