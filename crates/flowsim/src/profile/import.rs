//! Profiles of others.
//!
//! - [`tf_slim`]: a training graph of TensorFlow-Slim with floating-point operations, as two tables.
//! - [`pipedream`]: a graph of the PipeDream project with measured times.
//! - [`layers`]: a table of layers of several models with measured times.

use std::collections::{BTreeMap, BTreeSet};

use laxity_interface::{Bytes, Span};

use super::{Cost, Parameter, Pass, Profile, ProfileError, Step};

fn wrong(at: usize, reason: impl Into<String>) -> ProfileError {
    ProfileError::Line { line: at + 1, reason: reason.into() }
}

/// One layer in the making.
#[derive(Debug, Default)]
struct Layer {
    name: String,
    forward: u64,
    backward: u64,
    parameters: Vec<usize>,
}

/// Reads `MODEL.params.csv` (order, variable, shape, num_params, bytes_fp32, grad_op) and
/// `MODEL.graph.csv` (id, phase, op, type, flops, out_bytes, inputs).
///
/// Operations become layers: one starts at the first operation that reads parameters of a new scope
/// (the name of a variable less its last part, and less `BatchNorm`), and takes everything up to the
/// next. Backward operations belong to the layer of the operation they are the gradient of. Variables
/// without a gradient (the auxiliary heads) are left out.
pub fn tf_slim(model: &str, parameters: &str, graph: &str) -> Result<Profile, ProfileError> {
    let mut known = Vec::new();
    let mut by_name = BTreeMap::new();
    for (at, line) in parameters.lines().enumerate().skip(1) {
        let parts: Vec<_> = line.split(',').collect();
        let [_, name, _, _, bytes, gradient] = parts[..] else {
            return Err(wrong(at, "a parameter has 6 fields"));
        };
        if gradient.trim().is_empty() {
            continue;
        }
        let size = bytes.parse().map(Bytes::new).map_err(|_| wrong(at, "no size in bytes"))?;
        by_name.insert(name.to_owned(), known.len());
        known.push(Parameter { name: short(name).to_owned(), size });
    }

    let mut layers: Vec<Layer> = Vec::new();
    let mut by_scope: BTreeMap<String, usize> = BTreeMap::new();
    // Which layer a forward operation is in, by its name.
    let mut of_operation: BTreeMap<&str, usize> = BTreeMap::new();
    // Parameters and the operations that only hand them on.
    let mut handed: BTreeMap<u32, usize> = BTreeMap::new();
    let mut current = 0;
    let mut last = None;
    for (at, line) in graph.lines().enumerate().skip(1) {
        let parts: Vec<_> = line.splitn(7, ',').collect();
        let [id, phase, name, kind, flops, _, inputs] = parts[..] else {
            return Err(wrong(at, "an operation has 7 fields"));
        };
        let id: u32 = id.parse().map_err(|_| wrong(at, "no number of an operation"))?;
        let flops: u64 = flops.parse().map_err(|_| wrong(at, "no number of operations"))?;
        let inputs = || inputs.split_whitespace().filter_map(|input| input.parse::<u32>().ok());
        match phase {
            "param" => {
                if let Some(parameter) = by_name.get(name) {
                    handed.insert(id, *parameter);
                }
            }
            "fwd" if kind == "Identity" && inputs().any(|input| handed.contains_key(&input)) => {
                let parameter = inputs().find_map(|input| handed.get(&input).copied());
                handed.extend(parameter.map(|parameter| (id, parameter)));
            }
            "fwd" => {
                for parameter in inputs().filter_map(|input| handed.get(&input).copied()) {
                    let scope = scope(&known[parameter].name);
                    let next = layers.len();
                    current = *by_scope.entry(scope.to_owned()).or_insert(next);
                    if current == next {
                        layers.push(Layer { name: scope.to_owned(), ..Layer::default() });
                    }
                    if !layers[current].parameters.contains(&parameter) {
                        layers[current].parameters.push(parameter);
                    }
                }
                of_operation.insert(name, current);
                if layers.is_empty() {
                    continue;
                }
                layers[current].forward += flops;
            }
            "bwd" => {
                let of =
                    name.strip_prefix("gradients/").and_then(|rest| rest.split("_grad/").next());
                last = of.and_then(|of| of_operation.get(of).copied()).or(last);
                let layer = last.unwrap_or_else(|| layers.len().saturating_sub(1));
                if let Some(layer) = layers.get_mut(layer) {
                    layer.backward += flops;
                }
            }
            other => return Err(wrong(at, format!("phase `{other}` is not param, fwd or bwd"))),
        }
    }
    let source = "FLOPs of the TensorFlow-Slim graph; layers in the order of the graph";
    assemble(
        model,
        32,
        source,
        known,
        layers.into_iter().map(|layer| Measured {
            forward: Cost::Flops(layer.forward),
            backward: Cost::Flops(layer.backward),
            name: layer.name,
            parameters: layer.parameters,
        }),
    )
}

/// A layer with its costs.
struct Measured {
    name: String,
    forward: Cost,
    backward: Cost,
    parameters: Vec<usize>,
}

/// Layers forward, then the same layers backward.
fn assemble(
    model: &str,
    batch: u32,
    source: &str,
    parameters: Vec<Parameter>,
    layers: impl Iterator<Item = Measured>,
) -> Result<Profile, ProfileError> {
    let (mut steps, mut backward) = (Vec::new(), Vec::new());
    for layer in layers {
        let Measured { name, forward, backward: back, parameters } = layer;
        let (reads, writes) = (parameters.clone(), Vec::new());
        let pass = Pass::Forward;
        steps.push(Step { name: name.clone(), pass, cost: forward, reads, writes });
        let (name, pass, reads) = (format!("{name}'"), Pass::Backward, Vec::new());
        backward.push(Step { name, pass, cost: back, reads, writes: parameters });
    }
    steps.extend(backward.into_iter().rev());
    let (model, source) = (model.to_owned(), source.to_owned());
    Profile { model, batch, source, parameters, steps }.check()
}

/// Without the name of the model in front.
fn short(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, rest)| rest)
}

/// The layer of a variable.
fn scope(name: &str) -> &str {
    let scope = name.rsplit_once('/').map_or(name, |(scope, _)| scope);
    scope.strip_suffix("/BatchNorm").unwrap_or(scope)
}

/// Reads a graph of PipeDream: lines `nodeN -- layer -- forward_compute_time=MS, …` and edges
/// `\tnodeA -- nodeB`. Layers run in an order that the edges allow, the smallest number first.
pub fn pipedream(model: &str, batch: u32, text: &str) -> Result<Profile, ProfileError> {
    let mut nodes = BTreeMap::new();
    let mut edges: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut waits: BTreeMap<u64, usize> = BTreeMap::new();
    let number = |at: usize, text: &str| {
        let digits = text.trim().strip_prefix("node");
        digits.and_then(|d| d.parse().ok()).ok_or_else(|| wrong(at, format!("`{text}` is no node")))
    };
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parts: Vec<_> = line.split(" -- ").collect();
        if line.starts_with('\t') {
            let [from, to] = parts[..] else { return Err(wrong(at, "an edge has two nodes")) };
            let (from, to) = (number(at, from)?, number(at, to)?);
            edges.entry(from).or_default().push(to);
            *waits.entry(to).or_default() += 1;
            continue;
        }
        let [name, layer, costs, ..] = parts[..] else {
            return Err(wrong(at, "a node has a name, a layer and costs"));
        };
        let cost = |field: &str| {
            let own =
                costs.split(", ").find_map(|cost| cost.strip_prefix(field)?.strip_prefix('='));
            own.and_then(|number| number.parse::<f64>().ok()).filter(|number| *number >= 0.0)
        };
        // What an input takes is loading data, not computing.
        let is_input = layer.starts_with("Input");
        let time = |field| {
            let ms = cost(field).ok_or_else(|| wrong(at, format!("no `{field}`")))?;
            Ok(if is_input { Span::ZERO } else { Span::from_secs_f64(ms / 1e3) })
        };
        let (there, back) = (time("forward_compute_time")?, time("backward_compute_time")?);
        let size = cost("parameter_size").ok_or_else(|| wrong(at, "no `parameter_size`"))?;
        let kind = layer.split('(').next().unwrap_or(layer);
        nodes.insert(number(at, name)?, (format!("{name} {kind}"), there, back, size as u64));
    }
    let mut free: BTreeSet<_> =
        nodes.keys().copied().filter(|node| !waits.contains_key(node)).collect();
    let (mut parameters, mut layers) = (Vec::new(), Vec::new());
    while let Some(node) = free.pop_first() {
        for next in edges.get(&node).into_iter().flatten() {
            let waits = waits.get_mut(next).expect("edges end somewhere");
            *waits -= 1;
            if *waits == 0 {
                free.insert(*next);
            }
        }
        let Some((name, there, back, size)) = nodes.remove(&node) else {
            return Err(wrong(0, format!("edges lead to node{node}, which is not described")));
        };
        let mut own = Vec::new();
        if size > 0 {
            own.push(parameters.len());
            parameters.push(Parameter { name: format!("{name}/weights"), size: Bytes::new(size) });
        }
        let (forward, backward) = (Cost::Time(there), Cost::Time(back));
        layers.push(Measured { name, forward, backward, parameters: own });
    }
    if let Some(node) = nodes.keys().next() {
        return Err(wrong(0, format!("node{node} lies on a circle of edges")));
    }
    assemble(model, batch, "PipeDream, measured times", parameters, layers.into_iter())
}

/// Reads the layers of one model from a table with the fields source, model, device, batch, order,
/// layer, type, fwd_ms, bwd_ms, activation_bytes, param_bytes, pred_orders.
pub fn layers(source: &str, model: &str, text: &str) -> Result<Profile, ProfileError> {
    let (mut parameters, mut found, mut batch) = (Vec::new(), Vec::new(), 1);
    for (at, line) in text.lines().enumerate().skip(1) {
        let parts = fields(line);
        if parts.len() < 11 || parts[0] != source || parts[1] != model {
            continue;
        }
        batch = parts[3].parse().unwrap_or(1);
        let ms = |text: &str| {
            let ms = text.parse::<f64>().ok().filter(|ms| *ms >= 0.0);
            ms.map(|ms| Cost::Time(Span::from_secs_f64(ms / 1e3)))
                .ok_or_else(|| wrong(at, format!("`{text}` is not a time in milliseconds")))
        };
        let is_input = parts[6].starts_with("Input");
        let idle = Ok(Cost::Time(Span::ZERO));
        let forward = if is_input { idle } else { ms(&parts[7]) }?;
        let backward = ms(&parts[8])?;
        let size = parts[10].parse::<f64>().map_err(|_| wrong(at, "no size in bytes"))? as u64;
        let mut own = Vec::new();
        if size > 0 {
            own.push(parameters.len());
            let name = format!("{}/weights", parts[5]);
            parameters.push(Parameter { name, size: Bytes::new(size) });
        }
        found.push(Measured { name: parts[5].clone(), forward, backward, parameters: own });
    }
    if found.is_empty() {
        let reason = format!("the table has no layers of `{model}` from `{source}`");
        return Err(ProfileError::Text { reason });
    }
    assemble(model, batch, source, parameters, found.into_iter())
}

/// The fields of a line in which texts may be in quotes.
fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            c => field.push(c),
        }
    }
    all.push(field);
    all
}
