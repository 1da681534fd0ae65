//! The path from the root of a value to a part of it, formatted as a JSON pointer only when needed.

use std::fmt;

#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(parent, key) => {
                let key = key.replace('~', "~0").replace('/', "~1");
                write!(formatter, "{parent}/{key}")
            }
            Self::Item(parent, index) => write!(formatter, "{parent}/{index}"),
        }
    }
}
