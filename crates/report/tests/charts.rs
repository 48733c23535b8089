//! Charts: snapshots, and what must hold for every one of them.

mod gallery;
mod markup;

#[test]
fn snapshots() {
    for (name, svg) in gallery::charts() {
        insta::assert_snapshot!(name, svg);
    }
}

#[test]
fn every_chart_is_well_formed_and_accessible() {
    for (name, svg) in gallery::charts() {
        markup::check(name, &svg);
        assert!(svg.contains("role=\"img\"") && svg.contains("viewBox="), "{name}");
        assert!(svg.contains("<title>") && svg.contains("<desc>"), "{name}");
        assert!(!svg.contains(" id="), "{name}: ids clash when charts share a page");
    }
}

#[test]
fn every_chart_is_the_same_text_twice() {
    assert_eq!(gallery::charts(), gallery::charts());
}

#[test]
fn no_labels_overlap() {
    for (name, svg) in gallery::charts() {
        let boxes = markup::text_boxes(&svg);
        assert!(boxes.len() > 4, "{name}");
        for (i, (a, first)) in boxes.iter().enumerate() {
            for (b, second) in &boxes[i + 1..] {
                let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                assert!(apart, "{name}: {first:?} and {second:?} overlap");
            }
        }
    }
}
