//! Where which part of a flat vector of parameters is.

use std::ops::Range;

/// A part of the parameters with a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layer {
    /// Its name, unique in its model.
    pub name: String,
    /// The first of its parameters.
    pub offset: usize,
    /// How many it has.
    pub length: usize,
}

/// The layers of a model, one after the other from the input to the output.
///
/// ```
/// let mut layout = laxity_learn::Layout::default();
/// assert_eq!(layout.add("weights", 100), 0..100);
/// assert_eq!(layout.add("bias", 10), 100..110);
/// assert_eq!((layout.len(), layout.layers()[1].name.as_str()), (110, "bias"));
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Layout {
    layers: Vec<Layer>,
}

impl Layout {
    /// Appends a layer and says which parameters it has.
    pub fn add(&mut self, name: impl Into<String>, length: usize) -> Range<usize> {
        let offset = self.len();
        self.layers.push(Layer { name: name.into(), offset, length });
        offset..offset + length
    }

    /// All layers in order.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// How many parameters there are.
    pub fn len(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.offset + layer.length)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
