//! The demo's picture.

use laxity_report::chart::{Axis, BarChart, BarSeries};

use super::{DemoArgs, embedded::Cell};

/// Mean completion time over size/rate, by loss rate, one bar per minimum delivery.
pub(super) fn chart(args: &DemoArgs, cells: &[Cell]) -> String {
    let ratio = |cell: &Cell| {
        let total: f64 = cell.outcomes.iter().map(|o| o.elapsed.as_secs_f64() * 1e3).sum();
        total / cell.outcomes.len().max(1) as f64 / args.ideal_ms()
    };
    let mut chart = BarChart::new("Completion time under loss")
        .subtitle(format!(
            "{} through {} with {} round trip, mean of {} transfers",
            args.size,
            args.rate,
            args.rtt,
            cells.first().map_or(0, |cell| cell.outcomes.len())
        ))
        .categories(
            args.loss
                .iter()
                .map(|loss| format!("{:.4}", loss.get() * 100.0))
                .map(|text| format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))),
        )
        .x_caption("packets lost by the link")
        .y(Axis::linear("completion time, size / rate = 1"))
        .reference(1.0, "size / rate");
    for (slot, min_delivery) in args.min_delivery.iter().enumerate() {
        let own = cells.iter().filter(|cell| cell.min_delivery == *min_delivery);
        let name = format!("at least {:.0} %", min_delivery.get() * 100.0);
        chart = chart.series(BarSeries::new(name, own.map(ratio)).slot(slot));
    }
    chart.to_svg()
}
