//! Units: what is printed reads back, what is written by hand means what it says.

use std::{fmt::Debug, str::FromStr, time::Duration};

use laxity_interface::{Bytes, Fraction, FractionError, Rate, Span, Time, UnitError};
use proptest::prelude::*;
use serde::{Serialize, de::DeserializeOwned};

fn comes_back<T>(value: T)
where
    T: Copy + Debug + PartialEq + ToString + FromStr + Serialize + DeserializeOwned,
    T::Err: Debug,
{
    assert_eq!(value.to_string().parse::<T>().unwrap(), value);
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
}

/// Numbers with many trailing zeros, which plain uniform numbers never have.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        (0u64..1000, 0u32..16).prop_map(|(n, zeros)| n * 10u64.pow(zeros)),
        (0u64..1000, 0u32..50).prop_map(|(n, shift)| n << shift),
        Just(u64::MAX),
    ]
}

proptest! {
    #[test]
    fn printed_units_read_back(n in number()) {
        comes_back(Time::from_ps(n));
        comes_back(Span::from_ps(n));
        comes_back(Bytes::new(n));
        comes_back(Rate::bps(n));
    }

    #[test]
    fn printed_fractions_read_back(x in prop_oneof![0.0..=1.0f64, Just(1.0), Just(5e-324)]) {
        comes_back(Fraction::new(x).unwrap());
    }

    #[test]
    fn percent_is_the_same_number(hundredths in 0u32..=10_000) {
        let text = format!("{}.{:02}%", hundredths / 100, hundredths % 100);
        let number = format!("{}.{:04}", hundredths / 10_000, hundredths % 10_000);
        prop_assert_eq!(text.parse::<Fraction>(), number.parse::<Fraction>());
    }

    /// The answer for a decimal fraction k/1000 is known exactly in integers.
    #[test]
    fn fraction_of_is_the_exact_ceiling(k in 0u64..=1000, n in 0u64..=u64::MAX / 1000) {
        let fraction = Fraction::new(k as f64 / 1000.0).unwrap();
        prop_assert!(fraction.of(n) <= n);
        if n < 1 << 44 {
            prop_assert_eq!(fraction.of(n), (k * n).div_ceil(1000));
        }
    }

    #[test]
    fn everything_is_everything(n in any::<u64>()) {
        prop_assert_eq!(Fraction::ONE.of(n), n);
        prop_assert_eq!(Fraction::ZERO.of(n), 0);
    }

    /// `time_for` rounds up and `bytes_in` down, so a size always fits into its own time, and the
    /// time is the shortest in which it does.
    #[test]
    fn time_and_size_agree(rate in 1_000u64..1 << 40, size in 1u64..1 << 30) {
        let (rate, size) = (Rate::bps(rate), Bytes::new(size));
        let span = rate.time_for(size);
        prop_assert!(rate.bytes_in(span) >= size);
        prop_assert!(rate.bytes_in(span - Span::from_ps(1)) < size);
    }
}

#[test]
fn durations_are_read_exactly() {
    for (text, ps) in [
        ("250ps", 250),
        ("10ns", 10_000),
        ("200us", 200_000_000),
        ("200µs", 200_000_000),
        ("1.5ms", 1_500_000_000),
        ("1.1ms", 1_100_000_000),
        ("3s", 3_000_000_000_000),
        ("3 s", 3_000_000_000_000),
        ("2min", 120_000_000_000_000),
        ("0.000000000001s", 1),
    ] {
        assert_eq!(text.parse::<Span>(), Ok(Span::from_ps(ps)), "{text}");
    }
    assert_eq!(Span::from_us(200).to_string(), "200us");
    assert_eq!(format!("{:?}", Span::from_ps(1_234_567)), "1.234567us");
    assert_eq!(Span::ZERO.to_string(), "0s");
    assert_eq!(format!("[{:>8}]", Span::from_ms(3)), "[     3ms]");
}

#[test]
fn sizes_are_read_and_printed_exactly() {
    for (text, bytes, printed) in [
        ("25MiB", 26_214_400, "25MiB"),
        ("25MB", 25_000_000, "25MB"),
        ("1400B", 1_400, "1400B"),
        ("1400", 1_400, "1400B"),
        ("64KiB", 65_536, "64KiB"),
        ("64KB", 64_000, "64kB"),
        ("1GB", 1_000_000_000, "1GB"),
        ("1.5MiB", 1_572_864, "1536KiB"),
        ("0", 0, "0B"),
    ] {
        let size: Bytes = text.parse().unwrap();
        assert_eq!((size.get(), size.to_string().as_str()), (bytes, printed));
    }
    assert_eq!(serde_json::from_str::<Bytes>("1400").unwrap(), Bytes::new(1400));
    assert!(serde_json::from_str::<Bytes>("-1").is_err());
}

#[test]
fn rates_are_read_and_printed_exactly() {
    for (text, bps, printed) in [
        ("10Gbps", 10_000_000_000, "10Gbps"),
        ("10Gbit", 10_000_000_000, "10Gbps"),
        ("1.5Gbps", 1_500_000_000, "1.5Gbps"),
        ("300Mbps", 300_000_000, "300Mbps"),
        ("64kbps", 64_000, "64kbps"),
        ("0bps", 0, "0bps"),
    ] {
        let rate: Rate = text.parse().unwrap();
        assert_eq!((rate.as_bps(), rate.to_string().as_str()), (bps, printed));
    }
    assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Span::MAX);
    // 64 bytes at 400 Gbit/s: the case for which nanoseconds are too coarse.
    assert_eq!(Rate::from_gbps(400).time_for(Bytes::new(64)), Span::from_ps(1280));
    assert_eq!(Rate::bps(3).time_for(Bytes::new(1)), Span::from_ps(2_666_666_666_667));
    assert_eq!(Rate::bps(1).time_for(Bytes::MAX), Span::MAX);
}

#[test]
fn fractions_of_small_numbers() {
    for (fraction, n, enough) in
        [(0.9, 10, 9), (0.95, 100, 95), (0.07, 100, 7), (0.29, 100, 29), (0.95, 3, 3), (0.5, 3, 2)]
    {
        assert_eq!(Fraction::new(fraction).unwrap().of(n), enough, "{fraction} of {n}");
    }
    // Computed fractions are off by more than written ones.
    assert_eq!(Fraction::new(0.1 + 0.2).unwrap().of(10), 3);
    assert_eq!(Fraction::new(1.0 - 0.99).unwrap().of(100), 1);
    // The smallest positive fraction of anything is one, and rounding never swallows it.
    assert_eq!(Fraction::new(5e-324).unwrap().of(u64::MAX), 1);
    assert_eq!(Fraction::new(1e-19).unwrap().of(u64::MAX), 2);
    assert_eq!(Fraction::new(1e-21).unwrap().of(7), 1);
}

#[test]
fn fractions_refuse_the_rest() {
    for value in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(Fraction::new(value), Err(FractionError::OutOfRange { .. })), "{value}");
    }
    for text in ["", "%", "half", "120%", "9e1%"] {
        assert!(text.parse::<Fraction>().is_err(), "{text}");
    }
    assert_eq!(Fraction::new(-0.0).unwrap(), Fraction::ZERO);
    assert_eq!(serde_json::from_str::<Fraction>("\"95%\"").unwrap().get(), 0.95);
    assert_eq!(serde_json::from_str::<Fraction>("1").unwrap(), Fraction::ONE);
}

#[test]
fn refusals_say_what_to_do() {
    let said = |error: UnitError| error.to_string();
    assert_eq!(
        said("5".parse::<Span>().unwrap_err()),
        "`5` is not a duration: the unit is missing; write it like `200us`"
    );
    assert_eq!(
        said("fast".parse::<Rate>().unwrap_err()),
        "`fast` is not a rate: it does not start with a number; write it like `10Gbps`"
    );
    assert_eq!(
        said("1.5ps".parse::<Span>().unwrap_err()),
        "`1.5ps` is too fine for a duration: it is not a whole number of picoseconds; round it, for \
         example `200us`"
    );
    assert!(said("5h".parse::<Span>().unwrap_err()).contains("unknown unit `h`"));
    assert!(said("1e3s".parse::<Span>().unwrap_err()).contains("unknown unit `e3s`"));
    assert!(said("99999999999TB".parse::<Bytes>().unwrap_err()).contains("too large"));
    for text in [".5s", "5.s", "1.2.3s", "-1s", "", "s"] {
        assert!(matches!(text.parse::<Span>(), Err(UnitError::NotANumber { .. })), "{text}");
    }
    let error = serde_json::from_str::<Span>("5").unwrap_err().to_string();
    assert!(error.contains("such as \"200us\""), "{error}");
}

#[test]
fn arithmetic_saturates() {
    assert_eq!(Time::MAX + Span::from_ps(1), Time::MAX);
    assert_eq!(Time::ZERO - Span::from_ps(1), Time::ZERO);
    assert_eq!(Time::ZERO.since(Time::MAX), Span::ZERO);
    assert_eq!(Span::from_secs(u64::MAX), Span::MAX);
    assert_eq!(Span::MAX * 2, Span::MAX);
    assert_eq!(Span::from_us(1) - Span::from_us(2), Span::ZERO);
    assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
    assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
    assert_eq!(Span::from(Duration::MAX), Span::MAX);
    assert_eq!(Span::from(Duration::from_micros(7)), Span::from_us(7));
    assert_eq!(Span::from_us(7).to_std(), Duration::from_micros(7));
    assert_eq!([Span::from_us(1); 3].into_iter().sum::<Span>(), Span::from_us(3));
    assert_eq!(Span::from_us(3).mul_f64(0.5), Span::from_ns(1500));
    assert_eq!(Bytes::MAX + Bytes::new(1), Bytes::MAX);
    assert_eq!(Rate::from_gbps(10).mul_f64(1.0 / 16.0), Rate::from_mbps(625));
}
