//! Every scheme against what it promises and what its paper says of it.

mod approximate;
mod baselines;
mod gradual;
mod layouts;
mod promise;
mod protocol;
mod world;
