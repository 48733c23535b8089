//! Models that are inside: compact tables derived from the public TensorFlow-Slim networks.

use super::{Profile, ProfileError};

macro_rules! tables {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../profiles/", $name, ".csv")))),*]
    };
}

/// Names and tables, in alphabetical order.
const TABLES: &[(&str, &str)] = tables![
    "alexnet_v2",
    "cifarnet",
    "inception_resnet_v2",
    "inception_v1",
    "inception_v2",
    "inception_v3",
    "inception_v4",
    "lenet",
    "mobilenet_v1",
    "mobilenet_v2",
    "overfeat",
    "resnet_v1_101",
    "resnet_v1_152",
    "resnet_v1_200",
    "resnet_v1_50",
    "resnet_v2_101",
    "resnet_v2_152",
    "resnet_v2_200",
    "resnet_v2_50",
    "vgg_16",
    "vgg_19",
    "vgg_a",
];

/// The eleven models that stand for those of the CadentFlow paper.
///
/// The paper says "11 popular neural network models (including \[18, 22, 30–32\])" of TensorFlow-Slim
/// and names six in its text: CifarNet, Inception v3, ResNet v1 101 and 200, ResNet v2 50, and by its
/// references AlexNet \[22\], VGG \[30\], Inception v1 \[31\] and v3 \[32\] and ResNet \[18\]. Chosen are all that
/// it names; one VGG; and to fill up to eleven the remaining sizes of the families that it names:
/// Inception v2, ResNet v1 50, ResNet v2 101.
pub const PAPER: [&str; 11] = [
    "alexnet_v2",
    "cifarnet",
    "inception_v1",
    "inception_v2",
    "inception_v3",
    "resnet_v1_50",
    "resnet_v1_101",
    "resnet_v1_200",
    "resnet_v2_50",
    "resnet_v2_101",
    "vgg_16",
];

/// The names of all models inside.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().map(|(name, _)| *name)
}

/// The model of this name.
pub fn model(name: &str) -> Result<Profile, ProfileError> {
    let found = TABLES.iter().find(|(known, _)| *known == name);
    let (_, table) = found.ok_or_else(|| {
        let known = names().collect::<Vec<_>>().join(", ");
        ProfileError::Unknown { name: name.to_owned(), known }
    })?;
    Profile::from_table(table, "FLOPs and sizes of the public TensorFlow-Slim network")
}
