//! Charts of nothing, of one point, and of values no chart should see.

use laxity_report::chart::{Axis, BarChart, BarSeries, CdfChart, Legend, LineChart, Series};

mod markup;

const ODD: [f64; 9] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, -5.0, 1e308, -1e308, 5e-324];

fn axes() -> [Axis; 5] {
    [
        Axis::linear("x").unit("ms"),
        Axis::log("x").unit("ms"),
        Axis::linear("x").range(2.0, 2.0),
        Axis::log("x").range(-1.0, f64::NAN),
        Axis::linear("x").tight().ticks_at([1.0, f64::NAN, 1e300]),
    ]
}

#[test]
fn lines_survive_anything() {
    let data: [Vec<(f64, f64)>; 5] = [
        vec![],
        vec![(1.0, 1.0)],
        vec![(0.0, 0.0)],
        vec![(3.0, 7.0), (3.0, 7.0)],
        ODD.into_iter().flat_map(|x| ODD.map(|y| (x, y))).collect(),
    ];
    for points in data {
        let band: Vec<_> = points.iter().map(|(x, y)| (*x, y - 1.0, y + 1.0)).collect();
        for x in axes() {
            for y in axes() {
                for legend in [Legend::Auto, Legend::Top, Legend::Direct, Legend::Hidden] {
                    let svg = LineChart::new("t")
                        .x(x.clone())
                        .y(y.clone())
                        .series(Series::new("s", points.clone()).band(band.clone()))
                        .reference(f64::NAN, "nowhere")
                        .reference(1.0, "one")
                        .legend(legend)
                        .size(1, 1)
                        .to_svg();
                    markup::check("lines", &svg);
                }
            }
        }
    }
}

#[test]
fn bars_survive_anything() {
    for values in [vec![], vec![1.0], vec![0.0], ODD.to_vec()] {
        for y in axes() {
            let whiskers: Vec<_> = values.iter().map(|v| (v - 1.0, v + f64::NAN)).collect();
            let svg = BarChart::new("")
                .y(y)
                .categories(["only one name, and a very long one at that"])
                .series(BarSeries::new("s", values.clone()).whiskers(whiskers))
                .series(BarSeries::new("empty", [None, Some(2.0)]))
                .to_svg();
            markup::check("bars", &svg);
        }
    }
}

#[test]
fn distributions_survive_anything() {
    for samples in [vec![], vec![4.2], vec![0.0; 3], ODD.to_vec()] {
        for x in axes() {
            let chart = CdfChart::new("t").x(x).samples("s", samples.clone()).slot(3).guide(99.9);
            markup::check("cdf", &chart.to_svg());
        }
    }
}

#[test]
fn charts_without_data_say_so() {
    for svg in [
        LineChart::new("t").to_svg(),
        BarChart::new("t").to_svg(),
        CdfChart::new("t").samples("none", []).to_svg(),
        LineChart::new("t").series(Series::new("s", [(f64::NAN, 1.0)])).to_svg(),
    ] {
        assert!(svg.contains("no data"));
    }
}

#[test]
fn one_point_is_visible() {
    let svg = LineChart::new("t").series(Series::new("s", [(5.0, 3.0)]).without_markers()).to_svg();
    assert!(svg.contains("translate("), "a lone point needs a marker");
    assert!(!svg.contains("no data"));
}

#[test]
fn hidden_values_are_admitted() {
    let chart = LineChart::new("t").y(Axis::log("y"));
    let svg = chart.series(Series::new("s", [(1.0, 0.0), (2.0, 1.0), (3.0, 2.0)])).to_svg();
    assert!(svg.contains("1 point at or below zero is not shown"));
    let svg =
        BarChart::new("t").y(Axis::log("y")).series(BarSeries::new("s", [0.0, -1.0])).to_svg();
    assert!(svg.contains("2 values at or below zero are not shown"));
    let svg = CdfChart::new("t").x(Axis::log("x")).samples("s", [0.0, 1.0, 2.0]).to_svg();
    assert!(svg.contains("1 of the samples"));
}

#[test]
fn every_text_is_escaped() {
    let evil = "<script>&\"'\u{0}";
    let line = LineChart::new(evil)
        .subtitle(evil)
        .note(evil)
        .x(Axis::linear(evil).unit(evil))
        .y(Axis::linear(evil))
        .series(Series::new(evil, [(0.0, 1.0), (1.0, 2.0)]))
        .reference(1.5, evil);
    let bars = BarChart::new(evil)
        .categories([evil])
        .x_caption(evil)
        .series(BarSeries::new(evil, [1.0]))
        .series(BarSeries::new(evil, [1.0]));
    for svg in [line.clone().legend(Legend::Top).to_svg(), line.to_svg(), bars.to_svg()] {
        markup::check("escaping", &svg);
        assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;"));
    }
}
