//! Generates a value for a place: tries the alternatives in order and returns the first value that
//! matches its schemas.

use serde_json::Value;

use super::{
    Unsatisfied, arrays, numbers, objects,
    part_validators::PartValidators,
    place::{Alternative, SchemaNode, alternatives},
    rng::Rng,
    strings,
    types::{fixed, types},
};

/// Work allowed for the smallest arguments: one unit per place generated and per value checked,
/// dead ends included. This bounds the run time.
const FUEL: usize = 12_000;
/// Work allowed for random arguments, and for one part of the arguments.
const PART_FUEL: usize = 2_000;
/// Depth limits for a value, tried in order. The shallowest value is the smallest, and a limit
/// stops infinite recursion.
const DEPTHS: &[usize] = &[1, 2, 3, 4, 6, 8, 12, 16, 32, DEEPEST];
const DEEPEST: usize = 64;
/// Number of random values to try when a `not` or similar keyword rejects the smallest one.
const RANDOM_TRIES: usize = 8;

/// Generates values for the places of one schema.
#[derive(Debug)]
pub(super) struct Generator<'s> {
    pub(super) root: &'s Value,
    parts: &'s PartValidators,
    /// The random number generator; with `None`, every choice is the smallest one.
    pub(super) rng: Option<Rng>,
    fuel: usize,
    deepest: usize,
    /// Whether a search was abandoned because it reached the depth limit or ran out of fuel.
    gave_up: bool,
    /// The last `$ref` followed, to blame if the recursion does not end.
    last_ref: Option<Unsatisfied>,
}

impl<'s> Generator<'s> {
    pub(super) fn new(root: &'s Value, parts: &'s PartValidators) -> Self {
        Self {
            root,
            parts,
            rng: None,
            fuel: FUEL,
            deepest: 0,
            gave_up: false,
            last_ref: None,
        }
    }

    /// Resets the fuel for the next value, or for the next part of a value.
    pub(super) fn refuel(&mut self) {
        self.fuel = PART_FUEL;
    }

    /// Reports whether the fuel is used up, which makes every further attempt fail.
    pub(super) fn is_out_of_fuel(&self) -> bool {
        self.fuel == 0
    }

    /// Returns the smallest value for a place.
    pub(super) fn smallest(&mut self, place: &[SchemaNode<'s>]) -> Result<Value, Unsatisfied> {
        self.by_depth(|generator| generator.make(place, 0))
    }

    /// Returns the smallest value for one alternative of a place.
    pub(super) fn smallest_of(
        &mut self,
        alternative: &Alternative<'s>,
        place: &[SchemaNode<'s>],
    ) -> Result<Value, Unsatisfied> {
        self.by_depth(|generator| generator.of_alternative(alternative, place, 0))
    }

    /// Returns the smallest item that can be appended to an array.
    pub(super) fn smallest_item(
        &mut self,
        leaves: &[SchemaNode<'s>],
        there: &[Value],
    ) -> Result<Value, Unsatisfied> {
        let place = arrays::item(leaves, there.len());
        self.by_depth(|generator| arrays::distinct(generator, leaves, &place, there, 0))
    }

    /// Returns a random value for a place.
    pub(super) fn random(
        &mut self,
        place: &[SchemaNode<'s>],
        rng: Rng,
        deepest: usize,
    ) -> Result<Value, Unsatisfied> {
        self.refuel();
        self.rng = Some(rng);
        self.deepest = deepest;
        let made = self.make(place, 0);
        self.rng = None;
        made
    }

    fn by_depth(
        &mut self,
        mut make: impl FnMut(&mut Self) -> Result<Value, Unsatisfied>,
    ) -> Result<Value, Unsatisfied> {
        let mut fault = None;
        for deepest in DEPTHS {
            self.deepest = *deepest;
            self.gave_up = false;
            match make(self) {
                Ok(value) => return Ok(value),
                Err(found) => fault = Some(found),
            }
            if !self.gave_up || self.is_out_of_fuel() {
                break;
            }
        }
        Err(fault.unwrap_or_else(|| Unsatisfied::at(&SchemaNode::root(self.root), "$ref")))
    }

    fn is_too_deep(&self, depth: usize) -> bool {
        depth > self.deepest
    }

    /// Returns a value for a place at the given depth.
    pub(super) fn make(
        &mut self,
        place: &[SchemaNode<'s>],
        depth: usize,
    ) -> Result<Value, Unsatisfied> {
        if self.is_too_deep(depth) || self.is_out_of_fuel() {
            self.gave_up = true;
            let endless = self.last_ref.clone();
            return Err(endless.unwrap_or_else(|| nothing(place)));
        }
        self.fuel -= 1;
        if let Some(node) = place.iter().find(|node| node.get("$ref").is_some()) {
            self.last_ref = Some(Unsatisfied::at(node, "$ref"));
        }
        let mut ways = alternatives(self.root, place);
        if let Some(rng) = &mut self.rng {
            rng.shuffle(&mut ways);
        }
        let mut fault = None;
        for way in &ways {
            if self.is_out_of_fuel() {
                self.gave_up = true;
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
        place: &[SchemaNode<'s>],
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
            if let Some(rng) = &mut self.rng {
                rng.shuffle(&mut values);
            }
            let mut fault = None;
            for value in values {
                match self.fits(leaves, value) {
                    Ok(()) => return Ok(value.clone()),
                    Err(found) => fault = fault.or(Some(found)),
                }
            }
            // If the first fault is in another schema, blame that one. Otherwise, blame the `enum`
            // or `const` itself.
            let above = fault.filter(|fault| fault.pointer != *node.pointer);
            return Err(above.unwrap_or_else(|| Unsatisfied::at(node, keyword)));
        }
        let mut fault = None;
        let types = self.types(leaves)?;
        let guessed = !leaves.iter().any(|leaf| leaf.get("type").is_some());
        let gave_up_before = std::mem::take(&mut self.gave_up);
        for name in types {
            match self.of_type(name, leaves, depth) {
                Ok(value) => {
                    self.gave_up |= gave_up_before;
                    return Ok(value);
                }
                Err(found) => fault = fault.or(Some(found)),
            }
            // If the type is a guess, do not try another type just because this one reached the
            // depth limit, unless the limit is already the largest one.
            if self.is_out_of_fuel() || (guessed && self.gave_up && self.deepest < DEEPEST) {
                break;
            }
        }
        self.gave_up |= gave_up_before;
        Err(fault.unwrap_or_else(|| nothing(place)))
    }

    fn of_type(
        &mut self,
        name: &str,
        leaves: &[SchemaNode<'s>],
        depth: usize,
    ) -> Result<Value, Unsatisfied> {
        let mut fault = None;
        for value in self.values(name, leaves, depth)? {
            match self.fits(leaves, &value) {
                Ok(()) => return Ok(value),
                Err(found) => fault = fault.or(Some(found)),
            }
        }
        if let Some(value) = self.try_random(name, leaves, depth) {
            return Ok(value);
        }
        Err(fault.unwrap_or_else(|| nothing(leaves)))
    }

    /// Checks a value against every schema that applies at its position, including the branches taken.
    fn fits(&mut self, leaves: &[SchemaNode<'s>], value: &Value) -> Result<(), Unsatisfied> {
        self.fuel = self.fuel.saturating_sub(1);
        self.parts.check(leaves, value)
    }

    /// Tries random values where `not`, `if` or `oneOf` rejects the smallest one.
    fn try_random(&mut self, name: &str, leaves: &[SchemaNode<'s>], depth: usize) -> Option<Value> {
        if self.rng.is_some() || matches!(name, "null" | "boolean") {
            return None;
        }
        for seed in 0..RANDOM_TRIES as u64 {
            self.rng = Some(Rng::new(seed));
            let values = self.values(name, leaves, depth);
            self.rng = None;
            // Only the first candidate is random.
            let value = values.ok()?.into_iter().next()?;
            if self.fits(leaves, &value).is_ok() {
                return Some(value);
            }
            if self.is_out_of_fuel() {
                break;
            }
        }
        None
    }

    /// Returns candidate values of one type, the most promising first.
    fn values(
        &mut self,
        name: &str,
        leaves: &[SchemaNode<'s>],
        depth: usize,
    ) -> Result<Vec<Value>, Unsatisfied> {
        match name {
            "null" => Ok(vec![Value::Null]),
            "boolean" => {
                let mut both = [Value::from(false), Value::from(true)];
                if let Some(rng) = &mut self.rng {
                    rng.shuffle(&mut both);
                }
                Ok(both.to_vec())
            }
            "integer" => numbers::integers(leaves, self.rng.as_mut()),
            "number" => numbers::numbers(leaves, self.rng.as_mut()),
            "string" => strings::strings(leaves, self.rng.as_mut()),
            "array" => arrays::lists(self, leaves, depth),
            _ => objects::objects(self, leaves, depth),
        }
    }

    /// Returns the allowed types, in the order in which to try them.
    fn types(&mut self, leaves: &[SchemaNode<'s>]) -> Result<Vec<&'static str>, Unsatisfied> {
        let mut types = types(leaves)?;
        if let Some(rng) = &mut self.rng
            && leaves.iter().any(|leaf| leaf.get("type").is_some())
        {
            rng.shuffle(&mut types);
        }
        Ok(types)
    }
}

/// The fault to report when no keyword in particular is to blame.
fn nothing(place: &[SchemaNode<'_>]) -> Unsatisfied {
    let pointer = place.first().map(|node| node.pointer.to_string());
    Unsatisfied {
        pointer: pointer.unwrap_or_default(),
        keyword: "type".to_owned(),
    }
}
