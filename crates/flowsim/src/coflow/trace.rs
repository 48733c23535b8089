//! What a trace says.

use laxity_interface::{Bytes, Span, Time};

/// A flow of a coflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The port it leaves.
    pub from: u32,
    /// The port it goes to.
    pub to: u32,
    /// How much.
    pub size: Bytes,
}

/// Flows that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Coflow {
    /// What the trace calls it.
    pub name: String,
    /// When it arrives.
    pub arrives: Time,
    /// Its flows.
    pub pieces: Vec<Piece>,
}

/// Coflows in the order of their arrival.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// How many ports the fabric has.
    pub ports: u32,
    /// The coflows.
    pub coflows: Vec<Coflow>,
}

/// What can be wrong with a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct TraceError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// A megabyte of the trace.
const MB: f64 = 1e6;

impl Trace {
    /// Reads the format of the coflow benchmark: a line with the number of ports and coflows, then for
    /// each coflow its name, arrival in milliseconds, number of mappers, their ports, number of
    /// reducers, and `PORT:MEGABYTES` for each. A reducer gets equal parts from all mappers.
    ///
    /// ```
    /// let trace = laxity_flowsim::coflow::Trace::parse("4 1\n1 500 2 0 1 2 2:3 3:1.5\n")?;
    /// assert_eq!(trace.coflows[0].pieces.len(), 4);
    /// assert_eq!(trace.coflows[0].pieces[0].size.get(), 1_500_000);
    /// # Ok::<(), laxity_flowsim::coflow::TraceError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let head = lines.next().map(|(_, line)| line.split_whitespace().collect::<Vec<_>>());
        let numbers = head.filter(|head| head.len() == 2);
        let read = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let numbers = numbers.and_then(|head| Some((read(head[0])?, read(head[1])?)));
        let Some((ports, count)) = numbers else {
            let reason = "give the number of ports and of coflows, such as `150 526`".to_owned();
            return Err(TraceError { line: 1, reason });
        };
        let mut coflows = Vec::with_capacity(count as usize);
        let mut last = 1;
        for (at, line) in lines {
            last = at + 1;
            let coflow = coflow(line, ports).map_err(|reason| TraceError { line: last, reason })?;
            coflows.push(coflow);
        }
        if coflows.len() != count as usize {
            let reason = format!("{} coflows, but the first line says {count}", coflows.len());
            return Err(TraceError { line: last, reason });
        }
        coflows.sort_by_key(|coflow| coflow.arrives);
        Ok(Self { ports, coflows })
    }

    /// How many flows there are.
    pub fn flows(&self) -> usize {
        self.coflows.iter().map(|coflow| coflow.pieces.len()).sum()
    }

    /// How much is sent.
    pub fn size(&self) -> Bytes {
        self.coflows.iter().flat_map(|coflow| &coflow.pieces).map(|piece| piece.size).sum()
    }
}

fn coflow(line: &str, ports: u32) -> Result<Coflow, String> {
    let mut words = line.split_whitespace();
    let mut next = |what: &str| words.next().ok_or_else(|| format!("it ends before {what}"));
    let name = next("the name of the coflow")?.to_owned();
    let number = |text: &str, what: &str| {
        text.parse::<u64>().map_err(|_| format!("`{text}` is not {what}: give a whole number"))
    };
    let port = |text: &str| {
        let port = number(text, "a port")?;
        match u32::try_from(port).ok().filter(|port| *port < ports) {
            Some(port) => Ok(port),
            None => Err(format!("port {port} is not there: the fabric has {ports}, from 0")),
        }
    };
    let arrives = number(next("the arrival")?, "an arrival in milliseconds")?;
    let count = number(next("the number of mappers")?, "a number of mappers")?;
    let mappers: Vec<_> =
        (0..count).map(|_| port(next("the last mapper")?)).collect::<Result<_, _>>()?;
    let count = number(next("the number of reducers")?, "a number of reducers")?;
    let mut pieces = Vec::new();
    for _ in 0..count {
        let reducer = next("the last reducer")?;
        let (to, size) = reducer
            .split_once(':')
            .ok_or_else(|| format!("`{reducer}` is not a PORT:MEGABYTES"))?;
        let to = port(to)?;
        let size = size.parse::<f64>().ok().filter(|size| size.is_finite());
        let size = size.ok_or_else(|| format!("`{reducer}` has no size in megabytes"))?;
        if size < 0.0 {
            return Err(format!("`{reducer}` has a negative size: give one above 0"));
        }
        let part = Bytes::new(((size * MB / mappers.len().max(1) as f64).round() as u64).max(1));
        pieces.extend(mappers.iter().map(|from| Piece { from: *from, to, size: part }));
    }
    if pieces.is_empty() {
        return Err(format!("coflow `{name}` has no flows: give mappers and reducers"));
    }
    if let Some(more) = words.next() {
        return Err(format!("`{more}` comes after the last reducer"));
    }
    Ok(Coflow { name, arrives: Time::ZERO + Span::from_ms(arrives), pieces })
}
