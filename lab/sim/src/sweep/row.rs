//! An outcome as one row: nested fields get dotted names, in the order in which the outcome has
//! them.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// One figure.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// There is none.
    Empty,
    /// A count.
    Integer(i64),
    /// A measure.
    Float(f64),
    /// A name.
    Text(String),
    /// Yes or no.
    Flag(bool),
}

impl Cell {
    /// As a number, if it is one.
    #[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(count) => Some(*count as f64),
            Self::Float(measure) => Some(*measure),
            Self::Empty | Self::Text(_) | Self::Flag(_) => None,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Integer(count) => count.fmt(f),
            Self::Float(measure) => measure.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::Flag(flag) => flag.fmt(f),
        }
    }
}

impl From<&toml::Value> for Cell {
    fn from(value: &toml::Value) -> Self {
        match value {
            toml::Value::Integer(count) => Self::Integer(*count),
            toml::Value::Float(measure) => Self::Float(*measure),
            toml::Value::Boolean(flag) => Self::Flag(*flag),
            toml::Value::String(text) => Self::Text(text.clone()),
            other => Self::Text(other.to_string()),
        }
    }
}

/// Figures with their names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Row(pub Vec<(String, Cell)>);

impl Row {
    /// Reads the JSON of an outcome.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn parse(json: &str) -> Result<Self, serde_json::Error> {
        let tree: Tree = serde_json::from_str(json)?;
        let mut row = Self::default();
        match tree {
            Tree::Fields(fields) => fields.into_iter().for_each(|(name, inner)| row.add(name, inner)),
            Tree::Cell(_) => return Err(serde_json::Error::custom("an outcome is an object")),
        }
        Ok(row)
    }

    fn add(&mut self, name: String, tree: Tree) {
        match tree {
            Tree::Cell(cell) => self.0.push((name, cell)),
            Tree::Fields(fields) => {
                for (inner, tree) in fields {
                    self.add(format!("{name}.{inner}"), tree);
                }
            }
        }
    }
}

/// JSON in the order of its text.
enum Tree {
    Cell(Cell),
    Fields(Vec<(String, Tree)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a figure, or figures with names")
    }

    fn visit_unit<E: Error>(self) -> Result<Tree, E> {
        Ok(Tree::Cell(Cell::Empty))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Tree, E> {
        Ok(Tree::Cell(Cell::Flag(flag)))
    }

    fn visit_i64<E: Error>(self, count: i64) -> Result<Tree, E> {
        Ok(Tree::Cell(Cell::Integer(count)))
    }

    fn visit_u64<E: Error>(self, count: u64) -> Result<Tree, E> {
        i64::try_from(count).map(|count| Tree::Cell(Cell::Integer(count))).map_err(E::custom)
    }

    fn visit_f64<E: Error>(self, measure: f64) -> Result<Tree, E> {
        Ok(Tree::Cell(Cell::Float(measure)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Cell(Cell::Text(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(tree) = list.next_element()? {
            fields.push((fields.len().to_string(), tree));
        }
        Ok(Tree::Fields(fields))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Tree::Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_fields_have_dotted_names_in_the_order_of_the_text() {
        let row = Row::parse(r#"{"z":1,"a":{"y":0.5,"b":null},"l":[true,"t"]}"#).expect("an object");
        let expected = [
            ("z", Cell::Integer(1)),
            ("a.y", Cell::Float(0.5)),
            ("a.b", Cell::Empty),
            ("l.0", Cell::Flag(true)),
            ("l.1", Cell::Text("t".into())),
        ];
        assert_eq!(row.0, expected.map(|(name, cell)| (name.to_owned(), cell)));
        assert!(Row::parse("3").is_err());
    }
}
