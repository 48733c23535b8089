//! One value, several, or a range: what a sweep goes through.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{self, IntoDeserializer, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

/// Longer lists are mistakes.
const MOST: usize = 10_000;

/// The values of one field: `0.9`, `[0.5, 0.9]`, `{ from = 0.5, to = 0.9, step = 0.1 }` or
/// `{ from = 8, to = 128, times = 2 }`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sweep<T>(pub(super) Vec<T>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Range {
    from: f64,
    to: f64,
    step: Option<f64>,
    times: Option<f64>,
}

impl Range {
    fn values(&self) -> Result<Vec<f64>, String> {
        // A hair beyond the end belongs to it: 0.1 has no exact binary form.
        let last = self.to + (self.to - self.from).abs() * 1e-9;
        let step: Box<dyn Fn(i32) -> f64> = match (self.step, self.times) {
            (Some(step), None) if step > 0.0 => Box::new(move |n| self.from + step * f64::from(n)),
            (None, Some(times)) if times > 1.0 && self.from > 0.0 => {
                Box::new(move |n| (0..n).fold(self.from, |value, _| value * times))
            }
            _ => {
                return Err(
                    "a range has `step` above 0, or `times` above 1 and `from` above 0".into()
                );
            }
        };
        let mut values = Vec::new();
        for n in 0.. {
            let value = step(n);
            if value > last {
                break;
            }
            // 0.1 · 3 is 0.30000000000000004; nobody means that.
            values.push((value * 1e12).round() / 1e12);
            if values.len() > MOST {
                return Err(format!("a range of more than {MOST} values"));
            }
        }
        match values.is_empty() {
            true => Err(format!("nothing lies between {} and {}", self.from, self.to)),
            false => Ok(values),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sweep<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values(PhantomData))
    }
}

struct Values<T>(PhantomData<T>);

/// One value as T reads it.
fn one<'de, T: Deserialize<'de>, E: de::Error>(
    value: impl IntoDeserializer<'de, E>,
) -> Result<Sweep<T>, E> {
    Ok(Sweep(vec![T::deserialize(value.into_deserializer())?]))
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
    type Value = Sweep<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list of values, or a range `{ from = …, to = …, step = … }`")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Sweep<T>, E> {
        one(text)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Sweep<T>, E> {
        one(number)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Sweep<T>, E> {
        one(number)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Sweep<T>, E> {
        one(number)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Sweep<T>, E> {
        one(value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Sweep<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        if list.is_empty() || list.len() > MOST {
            let reason = format!("a list of {}: write 1 to {MOST} values", list.len());
            return Err(de::Error::custom(reason));
        }
        Ok(Sweep(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Sweep<T>, A::Error> {
        let range = Range::deserialize(MapAccessDeserializer::new(map))?;
        let values = range.values().map_err(de::Error::custom)?;
        let whole = values.iter().all(|value| value.fract() == 0.0);
        let read = |value: f64| match whole {
            true => T::deserialize((value as i64).into_deserializer()),
            false => T::deserialize(value.into_deserializer()),
        };
        Ok(Sweep(values.into_iter().map(read).collect::<Result<_, A::Error>>()?))
    }
}

/// Chooses one value of every field that has several, by the number of the point: the digits of a
/// number whose places have different bases.
#[derive(Debug)]
pub(super) struct Picker {
    rest: u64,
    /// How many points there are.
    pub(super) points: u64,
    /// Fields with several values, and the chosen one.
    pub(super) chosen: Vec<(String, String)>,
}

impl Picker {
    pub(super) fn new(point: u64) -> Self {
        Self { rest: point, points: 1, chosen: Vec::new() }
    }

    /// The value of this field. Every field has to be picked exactly once, always in the same order.
    pub(super) fn pick<T: Clone + fmt::Display>(&mut self, path: &str, sweep: &Sweep<T>) -> T {
        let n = sweep.0.len() as u64;
        let value = sweep.0[(self.rest % n) as usize].clone();
        self.rest /= n;
        self.points = self.points.saturating_mul(n);
        if n > 1 {
            self.chosen.push((path.to_owned(), value.to_string()));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use laxity_interface::{Bytes, Fraction};

    use super::*;

    #[derive(Debug, Deserialize)]
    struct File {
        x: Sweep<Fraction>,
        n: Sweep<u32>,
        size: Sweep<Bytes>,
    }

    #[test]
    fn values_lists_and_ranges() {
        let text = "x = { from = 0.5, to = 0.8, step = 0.1 }\n\
                    n = { from = 8, to = 128, times = 2 }\nsize = ['1KB', '1MB']";
        let file: File = toml::from_str(text).unwrap();
        let x: Vec<_> = file.x.0.iter().map(|x| x.get()).collect();
        assert_eq!(x, [0.5, 0.6, 0.7, 0.8]);
        assert_eq!(file.n.0, [8, 16, 32, 64, 128]);
        assert_eq!(file.size.0, [Bytes::new(1000), Bytes::new(1_000_000)]);
        let file: File = toml::from_str("x = 1\nn = 3\nsize = '5B'").unwrap();
        assert_eq!((file.x.0, file.n.0), (vec![Fraction::ONE], vec![3]));
    }

    #[test]
    fn what_is_no_sweep_is_refused() {
        for (text, words) in [
            ("x = { from = 0.5, to = 0.8 }", "step"),
            ("x = { from = 0.8, to = 0.5, step = 0.1 }", "nothing lies"),
            ("x = { from = 0.1, to = 0.5, steps = 0.1 }", "steps"),
            ("x = []", "list of 0"),
            ("x = [0.5, 1.5]", "1.5"),
        ] {
            let error = toml::from_str::<File>(&format!("{text}\nn = 1\nsize = '1B'")).unwrap_err();
            assert!(error.to_string().contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn every_combination_is_one_point() {
        let (a, b, c) = (Sweep(vec![1, 2, 3]), Sweep(vec![7]), Sweep(vec!["x", "y"]));
        let mut seen = Vec::new();
        for point in 0..6 {
            let mut picker = Picker::new(point);
            let values = (picker.pick("a", &a), picker.pick("b", &b), picker.pick("c", &c));
            assert_eq!((picker.points, picker.chosen.len()), (6, 2));
            assert!(!seen.contains(&values));
            seen.push(values);
        }
    }
}
