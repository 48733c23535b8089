//! Results in a file.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use laxity_learn::{Curve, Setup};
use serde::{Deserialize, Serialize};

use crate::args::Settings;

/// One training and how it ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) model: String,
    pub(crate) policy: String,
    pub(crate) loss_pct: f64,
    pub(crate) seed: u64,
    /// Measured share of numbers that were lost.
    pub(crate) lost_pct: f64,
    /// After the last epoch.
    pub(crate) score_points: f64,
    /// Loss on the test set after the last epoch; null if it stopped being a number.
    pub(crate) test_loss: Option<f64>,
    /// After each epoch; null if there was none.
    pub(crate) score_points_by_epoch: Vec<Option<f64>>,
    /// Over each epoch, on what was trained on.
    pub(crate) train_loss_by_epoch: Vec<Option<f64>>,
}

impl Run {
    pub(crate) fn planned(model: &str, setup: &Setup) -> Self {
        Self {
            model: model.to_owned(),
            policy: setup.policy.to_string(),
            loss_pct: (setup.loss.rate.get() * 1e6).round() / 1e4,
            seed: setup.seed,
            lost_pct: 0.0,
            score_points: 0.0,
            test_loss: None,
            score_points_by_epoch: Vec::new(),
            train_loss_by_epoch: Vec::new(),
        }
    }

    pub(crate) fn finished(mut self, curve: &Curve) -> Self {
        let number = |value: f64| value.is_finite().then_some(value);
        self.lost_pct = 100.0 * curve.lost;
        self.score_points = curve.score();
        self.test_loss = curve.points.last().and_then(|point| number(point.test_loss));
        self.score_points_by_epoch = curve.points.iter().map(|point| number(point.score)).collect();
        self.train_loss_by_epoch =
            curve.points.iter().map(|point| number(point.train_loss)).collect();
        self
    }

    /// What tells one training from another.
    pub(crate) fn key(&self) -> (String, String, u64, u64) {
        (self.model.clone(), self.policy.clone(), (self.loss_pct * 1e4) as u64, self.seed)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    command: String,
    version: String,
    settings: Settings,
}

/// All results of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Store {
    meta: Meta,
    pub(crate) rows: Vec<Run>,
}

impl Store {
    pub(crate) fn new(settings: Settings) -> Self {
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Self { meta: Meta { command, version, settings }, rows: Vec::new() }
    }

    pub(crate) fn load(file: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} does not hold results of this command", file.display()))
    }

    /// Results of different settings do not go into one file.
    pub(crate) fn check(&self, settings: &Settings, file: &Path) -> Result<()> {
        ensure!(
            self.meta.settings == *settings,
            "{} holds results of other settings ({:?}); give another file or the same settings",
            file.display(),
            self.meta.settings
        );
        Ok(())
    }

    /// Writes beside the file and renames, so that a stop at any moment leaves a whole file.
    pub(crate) fn save(&self, file: &Path) -> Result<()> {
        let beside = file.with_extension("partial");
        let text = serde_json::to_string_pretty(self).context("results become JSON")?;
        fs::write(&beside, text + "\n")
            .and_then(|()| fs::rename(&beside, file))
            .with_context(|| format!("cannot write {}", file.display()))
    }
}
