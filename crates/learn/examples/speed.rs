use laxity_learn::*;
use std::time::Instant;
fn main() {
    for name in ["mlp", "cnn", "lstm", "mf", "lda"] {
        let job = Job::new(name, None, Size::Quick).unwrap();
        let p = job.model.start(1);
        let n = job.setup.batch;
        let batch: Vec<_> = (0..n).collect();
        job.model.gradient(&p, &batch);
        let t = Instant::now();
        let mut k = 0;
        while t.elapsed().as_secs_f64() < 1.0 {
            job.model.gradient(&p, &batch);
            k += 1;
        }
        println!(
            "{name}: {} parameters, {:.3} ms per gradient of {n}",
            p.len(),
            t.elapsed().as_secs_f64() * 1e3 / k as f64
        );
    }
}
