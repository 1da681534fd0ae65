//! Makes a value for a place: takes the alternatives in turn, and of each the first value that fits.

use serde_json::Value;

use super::{
    Unsatisfied, arrays,
    dice::Dice,
    guide::Guide,
    numbers, objects,
    place::{Alternative, Node, alternatives},
    texts,
    types::{fixed, types},
};

/// Places that are made for the smallest arguments, and values that are checked for one, dead ends included. It is what
/// bounds the time.
const FUEL: usize = 12_000;
/// The same for random arguments, and for a part of some.
const LESS_FUEL: usize = 2_000;
/// How deep a value may become. Tried in turn: the shallowest value is the smallest, and recursion ends by it.
const DEPTHS: &[usize] = &[1, 2, 3, 4, 6, 8, 12, 16, 32, DEEPEST];
const DEEPEST: usize = 64;
/// Other values that are tried before a place is given up, where the first is refused by a `not` or its like.
const RANDOM_TRIES: usize = 8;

/// Makes values for the places of one schema.
#[derive(Debug)]
pub(super) struct Maker<'s> {
    pub(super) root: &'s Value,
    guide: &'s Guide,
    /// Without dice every choice is the smallest.
    pub(super) dice: Option<Dice>,
    fuel: usize,
    deepest: usize,
    /// Whether something was given up for its depth only.
    cut: bool,
    /// The last reference that was followed: what goes on without end goes on through it.
    referred: Option<Unsatisfied>,
}

impl<'s> Maker<'s> {
    pub(super) fn new(root: &'s Value, guide: &'s Guide) -> Self {
        Self {
            root,
            guide,
            dice: None,
            fuel: FUEL,
            deepest: 0,
            cut: false,
            referred: None,
        }
    }

    /// Fuel for the next value, or the next part of one.
    pub(super) fn refuel(&mut self) {
        self.fuel = LESS_FUEL;
    }

    /// Whether it has run out of fuel: what fails now fails for nothing else.
    pub(super) fn is_spent(&self) -> bool {
        self.fuel == 0
    }

    /// The smallest value for a place.
    pub(super) fn smallest(&mut self, place: &[Node<'s>]) -> Result<Value, Unsatisfied> {
        self.by_depth(|maker| maker.make(place, 0))
    }

    /// The smallest value for one way in which the schemas of a place hold.
    pub(super) fn smallest_of(
        &mut self,
        alternative: &Alternative<'s>,
        place: &[Node<'s>],
    ) -> Result<Value, Unsatisfied> {
        self.by_depth(|maker| maker.of_alternative(alternative, place, 0))
    }

    /// The smallest item that a list can go on with.
    pub(super) fn smallest_item(
        &mut self,
        leaves: &[Node<'s>],
        there: &[Value],
    ) -> Result<Value, Unsatisfied> {
        let place = arrays::item(leaves, there.len());
        self.by_depth(|maker| arrays::distinct(maker, leaves, &place, there, 0))
    }

    /// A random value for a place.
    pub(super) fn random(
        &mut self,
        place: &[Node<'s>],
        dice: Dice,
        deepest: usize,
    ) -> Result<Value, Unsatisfied> {
        self.refuel();
        self.dice = Some(dice);
        self.deepest = deepest;
        let made = self.make(place, 0);
        self.dice = None;
        made
    }

    fn by_depth(
        &mut self,
        mut make: impl FnMut(&mut Self) -> Result<Value, Unsatisfied>,
    ) -> Result<Value, Unsatisfied> {
        let mut fault = None;
        for deepest in DEPTHS {
            self.deepest = *deepest;
            self.cut = false;
            match make(self) {
                Ok(value) => return Ok(value),
                Err(found) => fault = Some(found),
            }
            if !self.cut || self.is_spent() {
                break;
            }
        }
        Err(fault.unwrap_or_else(|| Unsatisfied::at(&Node::root(self.root), "$ref")))
    }

    /// Whether a place at this depth would be too deep.
    fn is_too_deep(&self, depth: usize) -> bool {
        depth > self.deepest
    }

    /// A value for a place at a depth.
    pub(super) fn make(&mut self, place: &[Node<'s>], depth: usize) -> Result<Value, Unsatisfied> {
        if self.is_too_deep(depth) || self.is_spent() {
            self.cut = true;
            let endless = self.referred.clone();
            return Err(endless.unwrap_or_else(|| nothing(place)));
        }
        self.fuel -= 1;
        if let Some(node) = place.iter().find(|node| node.get("$ref").is_some()) {
            self.referred = Some(Unsatisfied::at(node, "$ref"));
        }
        let mut ways = alternatives(self.root, place);
        if let Some(dice) = &mut self.dice {
            dice.shuffle(&mut ways);
        }
        let mut fault = None;
        for way in &ways {
            if self.is_spent() {
                self.cut = true;
                break;
            }
            match self.of_alternative(way, place, depth) {
                Ok(value) => return Ok(value),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        Err(fault.unwrap_or_else(|| nothing(place)))
    }

    fn of_alternative(
        &mut self,
        alternative: &Alternative<'s>,
        place: &[Node<'s>],
        depth: usize,
    ) -> Result<Value, Unsatisfied> {
        let leaves = &alternative.leaves;
        if let Some(never) = leaves
            .iter()
            .find(|leaf| leaf.schema == &Value::Bool(false))
        {
            return Err(Unsatisfied::at(never, "false"));
        }
        if let Some((node, keyword, mut values)) = fixed(leaves) {
            if let Some(dice) = &mut self.dice {
                dice.shuffle(&mut values);
            }
            let mut fault = None;
            for value in values {
                match self.fits(leaves, value) {
                    Ok(()) => return Ok(value.clone()),
                    Err(found) => fault = fault.or(Some(found)),
                }
            }
            // Next to it, it is the list that names nothing that fits; from further up, something refuses the list.
            let above = fault.filter(|fault| fault.pointer != *node.pointer);
            return Err(above.unwrap_or_else(|| Unsatisfied::at(node, keyword)));
        }
        let mut fault = None;
        let types = self.types(leaves)?;
        let guessed = !leaves.iter().any(|leaf| leaf.get("type").is_some());
        let cut_before = std::mem::take(&mut self.cut);
        for name in types {
            match self.of_type(name, leaves, depth) {
                Ok(value) => {
                    self.cut |= cut_before;
                    return Ok(value);
                }
                Err(found) => fault = fault.or(Some(found)),
            }
            // Another type is no way around being too deep for the one that is meant, unless there is no other way.
            if self.is_spent() || (guessed && self.cut && self.deepest < DEEPEST) {
                break;
            }
        }
        self.cut |= cut_before;
        Err(fault.unwrap_or_else(|| nothing(place)))
    }

    fn of_type(
        &mut self,
        name: &str,
        leaves: &[Node<'s>],
        depth: usize,
    ) -> Result<Value, Unsatisfied> {
        let mut fault = None;
        for value in self.values(name, leaves, depth)? {
            match self.fits(leaves, &value) {
                Ok(()) => return Ok(value),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        if let Some(value) = self.by_luck(name, leaves, depth) {
            return Ok(value);
        }
        Err(fault.unwrap_or_else(|| nothing(leaves)))
    }

    /// Whether a value fits all schemas of its place; the branches taken are among them.
    fn fits(&mut self, leaves: &[Node<'s>], value: &Value) -> Result<(), Unsatisfied> {
        self.fuel = self.fuel.saturating_sub(1);
        self.guide.check(leaves, value)
    }

    /// What the smallest value cannot be, a random one may: for `not`, `if` and `oneOf`.
    fn by_luck(&mut self, name: &str, leaves: &[Node<'s>], depth: usize) -> Option<Value> {
        if self.dice.is_some() || matches!(name, "null" | "boolean") {
            return None;
        }
        for seed in 0..RANDOM_TRIES as u64 {
            self.dice = Some(Dice::new(seed));
            let values = self.values(name, leaves, depth);
            self.dice = None;
            // The first one only: those after it are not random.
            let value = values.ok()?.into_iter().next()?;
            if self.fits(leaves, &value).is_ok() {
                return Some(value);
            }
            if self.is_spent() {
                break;
            }
        }
        None
    }

    /// Values of one type, the most promising first.
    fn values(
        &mut self,
        name: &str,
        leaves: &[Node<'s>],
        depth: usize,
    ) -> Result<Vec<Value>, Unsatisfied> {
        match name {
            "null" => Ok(vec![Value::Null]),
            "boolean" => {
                let mut both = [Value::from(false), Value::from(true)];
                if let Some(dice) = &mut self.dice {
                    dice.shuffle(&mut both);
                }
                Ok(both.to_vec())
            }
            "integer" => numbers::integers(leaves, self.dice.as_mut()),
            "number" => numbers::numbers(leaves, self.dice.as_mut()),
            "string" => texts::texts(leaves, self.dice.as_mut()),
            "array" => arrays::lists(self, leaves, depth),
            _ => objects::objects(self, leaves, depth),
        }
    }

    /// The types a value may have, the one to try first first.
    fn types(&mut self, leaves: &[Node<'s>]) -> Result<Vec<&'static str>, Unsatisfied> {
        let mut types = types(leaves)?;
        if let Some(dice) = &mut self.dice
            && leaves.iter().any(|leaf| leaf.get("type").is_some())
        {
            dice.shuffle(&mut types);
        }
        Ok(types)
    }
}

/// Nothing was found, and no keyword in particular is to blame.
fn nothing(place: &[Node<'_>]) -> Unsatisfied {
    let pointer = place.first().map(|node| node.pointer.to_string());
    Unsatisfied {
        pointer: pointer.unwrap_or_default(),
        keyword: "type".to_owned(),
    }
}
