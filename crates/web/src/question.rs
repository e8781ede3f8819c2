//! The questions that a page asks, as JSON has them: `{"ask": "check", "text": ...}`.

use serde_json::Value;

use crate::Refusal;

/// A question: `ask` says which, the other keys what about.
pub(crate) struct Question(Value);

impl Question {
    pub(crate) fn read(text: &str) -> Result<Self, Refusal> {
        serde_json::from_str(text)
            .map(Self)
            .map_err(|error| Refusal::engine("question", error))
    }

    fn get<'a, T>(&'a self, key: &str, form: fn(&'a Value) -> Option<T>) -> Result<T, Refusal> {
        self.0
            .get(key)
            .and_then(form)
            .ok_or_else(|| Refusal::engine("question", format_args!("`{key}` is missing or wrong")))
    }

    pub(crate) fn text(&self, key: &str) -> Result<&str, Refusal> {
        self.get(key, Value::as_str)
    }

    pub(crate) fn number(&self, key: &str) -> Result<f64, Refusal> {
        self.get(key, Value::as_f64)
    }

    pub(crate) fn whole(&self, key: &str) -> Result<u64, Refusal> {
        self.get(key, Value::as_u64)
    }

    pub(crate) fn whole_32(&self, key: &str) -> Result<u32, Refusal> {
        self.get(key, |value| u32::try_from(value.as_u64()?).ok())
    }

    pub(crate) fn size(&self, key: &str) -> Result<usize, Refusal> {
        self.get(key, |value| usize::try_from(value.as_u64()?).ok())
    }

    pub(crate) fn numbers(&self, key: &str) -> Result<Vec<f64>, Refusal> {
        self.get(key, |value| {
            value.as_array()?.iter().map(Value::as_f64).collect()
        })
    }

    /// Two texts.
    pub(crate) fn pair(&self, key: &str) -> Result<(&str, &str), Refusal> {
        self.get(key, |value| match value.as_array()?.as_slice() {
            [first, second] => Some((first.as_str()?, second.as_str()?)),
            _ => None,
        })
    }

    /// `[[name, value], ...]`; none where the key is absent.
    pub(crate) fn settings(&self, key: &str) -> Result<Vec<(&str, f64)>, Refusal> {
        if self.0.get(key).is_none() {
            return Ok(Vec::new());
        }
        self.get(key, |value| {
            value
                .as_array()?
                .iter()
                .map(|pair| Some((pair.get(0)?.as_str()?, pair.get(1)?.as_f64()?)))
                .collect()
        })
    }

    /// `None` where the key is absent or null.
    pub(crate) fn seed(&self) -> Result<Option<u64>, Refusal> {
        match self.0.get("seed") {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.whole("seed").map(Some),
        }
    }

    /// True where the key is.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0.get(key) == Some(&Value::Bool(true))
    }
}
