//! Profiles as compact tables: one line for each layer, a few kilobytes for a large model.
//!
//! ```text
//! lenet 32
//! conv1,41746432,43147264,weights=3200 biases=128
//! ```
//!
//! The first line has the model and the batch size. Every other has a layer, the floating-point
//! operations forward and backward, and its parameters with their bytes. Layers are in the order of
//! the forward pass; the backward pass goes the other way.

use laxity_interface::Bytes;

use super::{Cost, Parameter, Pass, Profile, ProfileError, Step};

impl Profile {
    /// Reads a compact table.
    pub fn from_table(text: &str, source: &str) -> Result<Self, ProfileError> {
        let wrong = |line: usize, reason: String| ProfileError::Line { line: line + 1, reason };
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let head = lines.next().and_then(|(_, line)| line.split_once(' '));
        let head = head.and_then(|(model, batch)| Some((model, batch.trim().parse().ok()?)));
        let Some((model, batch)) = head.filter(|(_, batch)| *batch > 0) else {
            return Err(wrong(0, "give the model and its batch size, such as `lenet 32`".into()));
        };
        let mut profile = Self {
            model: model.to_owned(),
            batch,
            source: source.to_owned(),
            parameters: Vec::new(),
            steps: Vec::new(),
        };
        let mut backward = Vec::new();
        for (at, line) in lines {
            let parts: Vec<_> = line.split(',').collect();
            let [name, there, back, parameters] = parts[..] else {
                let reason = format!("{} fields, but a layer has 4", parts.len());
                return Err(wrong(at, reason));
            };
            let flops = |text: &str| {
                let reason = || wrong(at, format!("`{text}` is not a whole number of operations"));
                text.trim().parse().map(Cost::Flops).map_err(|_| reason())
            };
            let first = profile.parameters.len();
            for parameter in parameters.split_whitespace() {
                let size = parameter.split_once('=').and_then(|(own, size)| {
                    Some(Parameter {
                        name: format!("{name}/{own}"),
                        size: Bytes::new(size.parse().ok().filter(|size| *size > 0)?),
                    })
                });
                let reason = || wrong(at, format!("`{parameter}` is not a NAME=BYTES"));
                profile.parameters.push(size.ok_or_else(reason)?);
            }
            let own: Vec<_> = (first..profile.parameters.len()).collect();
            let (name, reads) = (name.to_owned(), own.clone());
            let pass = Pass::Forward;
            let cost = flops(there)?;
            profile.steps.push(Step { name: name.clone(), pass, cost, reads, writes: Vec::new() });
            let (pass, cost, reads) = (Pass::Backward, flops(back)?, Vec::new());
            backward.push(Step { name: format!("{name}'"), pass, cost, reads, writes: own });
        }
        profile.steps.extend(backward.into_iter().rev());
        profile.check()
    }

    /// Writes a compact table. Forward steps give the layers; each backward step belongs to the layer
    /// whose parameters it writes, those that write none to the layer before.
    ///
    /// Works for profiles whose costs are floating-point operations; times count as nothing.
    pub fn to_table(&self) -> String {
        let flops = |step: &Step| match step.cost {
            Cost::Flops(flops) => flops,
            Cost::Time(_) => 0,
        };
        let forward: Vec<_> = self.steps.iter().filter(|s| s.pass == Pass::Forward).collect();
        let mut back = vec![0; forward.len()];
        let mut current = forward.len().saturating_sub(1);
        for step in self.steps.iter().filter(|step| step.pass == Pass::Backward) {
            if let Some(first) = step.writes.first() {
                let found = forward.iter().position(|layer| layer.reads.contains(first));
                current = found.unwrap_or(current);
            }
            back[current] += flops(step);
        }
        let mut text = format!("{} {}\n", self.model, self.batch);
        for (layer, back) in forward.iter().zip(back) {
            let parameters: Vec<_> = layer
                .reads
                .iter()
                .map(|at| {
                    let parameter = &self.parameters[*at];
                    let prefix = format!("{}/", layer.name);
                    let name = parameter.name.strip_prefix(&prefix).unwrap_or(&parameter.name);
                    format!("{name}={}", parameter.size.get())
                })
                .collect();
            let (there, parameters) = (flops(layer), parameters.join(" "));
            text += &format!("{},{there},{back},{parameters}\n", layer.name);
        }
        text
    }
}
