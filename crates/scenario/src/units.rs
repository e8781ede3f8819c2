//! Numbers with units, read exactly and written so that reading them again gives the same number.

use ackclock_algorithms::Time;

/// Dimension of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dimension {
    /// No unit.
    Number,
    /// Time, in seconds.
    Time,
    /// Data rate, in bit/s.
    Rate,
    /// Amount of data, in bytes.
    Size,
    /// Number of packets (or TCP segments).
    Packets,
    /// Frequency, in Hz.
    Frequency,
    /// Per cent of one.
    Percent,
}

impl Dimension {
    /// Returns the name of the dimension in messages.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Number => "a number without a unit",
            Self::Time => "a time",
            Self::Rate => "a data rate",
            Self::Size => "a size",
            Self::Packets => "a number of packets",
            Self::Frequency => "a frequency",
            Self::Percent => "a percentage",
        }
    }

    /// An example and the units, for messages.
    #[must_use]
    pub fn allowed(self) -> &'static str {
        match self {
            Self::Number => "a plain number",
            Self::Time => r#"a time such as "10 ms" (ps, ns, us, ms, s, min, h)"#,
            Self::Rate => {
                r#"a data rate such as "100 Mbit/s" (bit/s, kbit/s, Mbit/s, Gbit/s, Tbit/s)"#
            }
            Self::Size => {
                r#"a size such as "1500 B" (B, kB, MB, GB: powers of ten; KiB, MiB, GiB)"#
            }
            Self::Packets => r#"a number of packets such as "50 packets""#,
            Self::Frequency => r#"a frequency such as "170 Hz" (Hz, kHz, MHz)"#,
            Self::Percent => r#"a percentage such as "10 %""#,
        }
    }
}

struct Unit {
    names: &'static [&'static str],
    dimension: Dimension,
    factor: u128,
    exponent: i32,
}

const fn unit(
    dimension: Dimension,
    factor: u128,
    exponent: i32,
    names: &'static [&'static str],
) -> Unit {
    Unit {
        names,
        dimension,
        factor,
        exponent,
    }
}

/// Every unit that is understood. Upper and lower case count, except where only one meaning is
/// possible: a small b is a bit, a large one a byte.
const UNITS: &[Unit] = &[
    unit(Dimension::Time, 1, -12, &["ps"]),
    unit(Dimension::Time, 1, -9, &["ns"]),
    unit(Dimension::Time, 1, -6, &["us", "\u{b5}s", "\u{3bc}s"]),
    unit(Dimension::Time, 1, -3, &["ms"]),
    unit(Dimension::Time, 1, 0, &["s", "sec", "second", "seconds"]),
    unit(Dimension::Time, 60, 0, &["min", "minute", "minutes"]),
    unit(Dimension::Time, 3600, 0, &["h", "hour", "hours"]),
    unit(Dimension::Rate, 1, 0, &["bit/s", "bits/s", "bps", "b/s"]),
    unit(
        Dimension::Rate,
        1,
        3,
        &[
            "kbit/s", "Kbit/s", "kb/s", "Kb/s", "kbps", "Kbps", "kbit", "Kbit", "kb", "Kb",
        ],
    ),
    unit(
        Dimension::Rate,
        1,
        6,
        &[
            "Mbit/s", "mbit/s", "Mb/s", "mb/s", "Mbps", "mbps", "Mbit", "mbit", "Mb", "mb",
        ],
    ),
    unit(
        Dimension::Rate,
        1,
        9,
        &[
            "Gbit/s", "gbit/s", "Gb/s", "gb/s", "Gbps", "gbps", "Gbit", "gbit", "Gb", "gb",
        ],
    ),
    unit(
        Dimension::Rate,
        1,
        12,
        &[
            "Tbit/s", "tbit/s", "Tb/s", "tb/s", "Tbps", "tbps", "Tbit", "tbit", "Tb", "tb",
        ],
    ),
    unit(Dimension::Rate, 8, 0, &["B/s"]),
    unit(Dimension::Rate, 8, 3, &["kB/s", "KB/s"]),
    unit(Dimension::Rate, 8, 6, &["MB/s"]),
    unit(Dimension::Rate, 8, 9, &["GB/s"]),
    unit(Dimension::Size, 1, 0, &["B", "byte", "bytes"]),
    unit(Dimension::Size, 1, 3, &["kB", "KB"]),
    unit(Dimension::Size, 1, 6, &["MB"]),
    unit(Dimension::Size, 1, 9, &["GB"]),
    unit(Dimension::Size, 1, 12, &["TB"]),
    unit(Dimension::Size, 1 << 10, 0, &["KiB", "kiB"]),
    unit(Dimension::Size, 1 << 20, 0, &["MiB"]),
    unit(Dimension::Size, 1 << 30, 0, &["GiB"]),
    unit(
        Dimension::Packets,
        1,
        0,
        &["packets", "packet", "pkts", "pkt", "segments", "segment"],
    ),
    unit(Dimension::Frequency, 1, 0, &["Hz", "1/s", "/s"]),
    unit(Dimension::Frequency, 1, 3, &["kHz"]),
    unit(Dimension::Frequency, 1, 6, &["MHz"]),
    unit(Dimension::Percent, 1, -2, &["%", "percent", "per cent"]),
];

/// Every name of a unit of this dimension.
pub(crate) fn unit_names(dimension: Dimension) -> impl Iterator<Item = &'static str> {
    UNITS
        .iter()
        .filter(move |unit| unit.dimension == dimension)
        .flat_map(|unit| unit.names.iter().copied())
}

/// Why a quantity cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// It does not begin with a number.
    #[error("not a number")]
    NotANumber,
    /// NaN or infinite.
    #[error("not finite")]
    NotFinite,
    /// There is a number, but nothing after it.
    #[error("the unit is missing")]
    MissingUnit,
    /// The unit is not known; the nearest name that is.
    #[error("unknown unit \"{unit}\"")]
    UnknownUnit {
        /// As written.
        unit: String,
        /// The nearest name, if one is near.
        nearest: Option<&'static str>,
    },
    /// More than 27 significant digits.
    #[error("more than 27 significant digits")]
    TooLong,
    /// Beyond what the program can represent.
    #[error("too large")]
    TooLarge,
    /// Below zero where it cannot be.
    #[error("negative")]
    Negative,
    /// A fraction where only whole numbers make sense.
    #[error("not a whole number")]
    NotWhole,
}

/// An exact decimal number: `digits * 10^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: u128,
    exponent: i32,
}

/// A number with its dimension, in SI units (bytes for sizes), as exact as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    decimal: Decimal,
    /// Its dimension.
    pub dimension: Dimension,
}

const MAX_DIGITS: u32 = 27;

impl Quantity {
    /// Reads a number and its unit, such as `10 ms` or `1e6 bit/s`.
    ///
    /// # Errors
    /// Not a number, not finite, an unknown or missing unit.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let (decimal, unit) = split_number(text.trim())?;
        let unit = unit.trim();
        if unit.is_empty() {
            return Err(QuantityError::MissingUnit);
        }
        let known = UNITS
            .iter()
            .find(|candidate| candidate.names.contains(&unit))
            .ok_or_else(|| QuantityError::UnknownUnit {
                unit: shorten(unit),
                nearest: nearest_unit(unit),
            })?;
        Ok(Self {
            decimal: Decimal {
                digits: decimal.digits * known.factor,
                exponent: decimal.exponent + known.exponent,
                ..decimal
            },
            dimension: known.dimension,
        })
    }

    /// Reads a number without a unit.
    ///
    /// # Errors
    /// Not a number or not finite; [`QuantityError::UnknownUnit`] when something follows the
    /// number.
    pub fn parse_number(text: &str) -> Result<Self, QuantityError> {
        let (decimal, rest) = split_number(text.trim())?;
        if rest.is_empty() {
            Ok(Self {
                decimal,
                dimension: Dimension::Number,
            })
        } else {
            Err(QuantityError::UnknownUnit {
                unit: shorten(rest.trim()),
                nearest: None,
            })
        }
    }

    /// The nearest floating-point number, in SI units.
    ///
    /// # Errors
    /// Beyond the range of `f64`.
    pub fn value(&self) -> Result<f64, QuantityError> {
        let Decimal {
            negative,
            digits,
            exponent,
        } = self.decimal;
        let sign = if negative { "-" } else { "" };
        match format!("{sign}{digits}e{exponent}").parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value + 0.0), // no negative zero
            _ => Err(QuantityError::TooLarge),
        }
    }

    /// Rounded to the nearest integer multiple of `10^-places`.
    fn scaled(&self, places: i32) -> Result<(u64, bool), QuantityError> {
        let Decimal {
            negative,
            digits,
            exponent,
        } = self.decimal;
        if digits == 0 {
            return Ok((0, true));
        }
        if negative {
            return Err(QuantityError::Negative);
        }
        let shift = exponent + places;
        let (value, exact) = if shift >= 0 {
            let factor = 10_u128
                .checked_pow(shift as u32)
                .ok_or(QuantityError::TooLarge)?;
            (
                digits.checked_mul(factor).ok_or(QuantityError::TooLarge)?,
                true,
            )
        } else {
            match 10_u128.checked_pow(shift.unsigned_abs()) {
                Some(divisor) => ((digits + divisor / 2) / divisor, digits % divisor == 0),
                None => (0, false),
            }
        };
        Ok((
            u64::try_from(value).map_err(|_| QuantityError::TooLarge)?,
            exact,
        ))
    }

    /// As a span of time, to the nearest picosecond.
    ///
    /// # Errors
    /// Negative, or beyond 213 days.
    pub fn time(&self) -> Result<Time, QuantityError> {
        match self.scaled(12)? {
            (u64::MAX, _) => Err(QuantityError::TooLarge), // that is `Time::NEVER`
            (picoseconds, _) => Ok(Time(picoseconds)),
        }
    }

    /// As a whole number.
    ///
    /// # Errors
    /// Negative, a fraction, or beyond 64 bits.
    pub fn whole(&self) -> Result<u64, QuantityError> {
        match self.scaled(0)? {
            (value, true) => Ok(value),
            (_, false) => Err(QuantityError::NotWhole),
        }
    }
}

/// For messages: the text, cut where it would fill the screen.
pub(crate) fn shorten(text: &str) -> String {
    const MAX_TEXT: usize = 60;
    if text.chars().count() <= MAX_TEXT {
        text.to_owned()
    } else {
        text.chars().take(MAX_TEXT).chain("...".chars()).collect()
    }
}

fn nearest_unit(unit: &str) -> Option<&'static str> {
    let lower = unit.to_lowercase();
    let bytes = unit.contains('B'); // a factor of 8 is a worse guess than another spelling
    UNITS
        .iter()
        .flat_map(|known| known.names.iter().copied())
        .map(|name| {
            (
                strsim::damerau_levenshtein(&shorten(&lower), &name.to_lowercase())
                    + 2 * usize::from(bytes != name.contains('B')),
                name,
            )
        })
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, name)| *distance <= 2 && *distance < name.len())
        .map(|(_, name)| name)
}

/// Splits `12.5e3 ms` into its number and `ms`.
fn split_number(text: &str) -> Result<(Decimal, &str), QuantityError> {
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = body.get(..3).unwrap_or("").to_ascii_lowercase();
    if lower == "nan" || lower == "inf" || body.starts_with('\u{221e}') {
        return Err(QuantityError::NotFinite);
    }
    let bytes = body.as_bytes();
    let (mut digits, mut length, mut fraction, mut observed, mut point) =
        (0_u128, 0_u32, 0_i32, false, false);
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'0'..=b'9' => {
                observed = true;
                if length > 0 || byte != b'0' {
                    length += 1;
                }
                if length > MAX_DIGITS {
                    return Err(QuantityError::TooLong);
                }
                digits = digits * 10 + u128::from(byte - b'0');
                fraction += i32::from(point);
            }
            b'.' if !point && bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => point = true,
            b'_' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
                && at > 0
                && bytes[at - 1].is_ascii_digit() => {}
            _ => break,
        }
        if fraction > 400 {
            return Err(QuantityError::TooLong);
        }
        at += 1;
    }
    if !observed {
        return Err(QuantityError::NotANumber);
    }
    let mut exponent = -fraction;
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let mut end = at + 1;
        if matches!(bytes.get(end), Some(b'+' | b'-')) {
            end += 1;
        }
        let first = end;
        while bytes.get(end).is_some_and(u8::is_ascii_digit) {
            end += 1;
        }
        if end > first {
            let written: i32 = body[at + 1..end]
                .parse()
                .map_err(|_| QuantityError::TooLarge)?;
            if written.abs() > 400 {
                return Err(QuantityError::TooLarge);
            }
            exponent += written;
            at = end;
        }
    }
    Ok((
        Decimal {
            negative: negative && digits != 0,
            digits,
            exponent,
        },
        &body[at..],
    ))
}

/// Writes `digits * 10^exponent` without an exponent.
fn positional(digits: &str, exponent: i32) -> String {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return "0".to_owned();
    }
    if exponent >= 0 {
        return format!("{digits}{}", "0".repeat(exponent as usize));
    }
    let places = exponent.unsigned_abs() as usize;
    let padded = format!(
        "{}{digits}",
        "0".repeat((places + 1).saturating_sub(digits.len()))
    );
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{fraction}")
    }
}

/// Writes a number with the largest prefix that leaves at least one before the point.
fn with_prefix(digits: &str, exponent: i32, prefixes: &[(i32, &str)]) -> String {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        let base = prefixes
            .iter()
            .find(|(power, _)| *power == 0)
            .map_or("", |(_, name)| name);
        return format!("0 {base}");
    }
    let magnitude = exponent + digits.len() as i32 - 1;
    let (power, name) = prefixes
        .iter()
        .find(|(power, _)| magnitude >= *power)
        .or(prefixes.last())
        .copied()
        .unwrap_or((0, ""));
    format!("{} {name}", positional(digits, exponent - power))
}

/// The shortest decimal digits that read back as `value` (finite, not negative), and their
/// exponent.
fn shortest(value: f64) -> (String, i32) {
    let text = format!("{:e}", value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    match mantissa.split_once('.') {
        Some((whole, fraction)) => (
            format!("{whole}{fraction}"),
            exponent - fraction.len() as i32,
        ),
        None => (mantissa.to_owned(), exponent),
    }
}

const TIMES: &[(i32, &str)] = &[(0, "s"), (-3, "ms"), (-6, "us"), (-9, "ns"), (-12, "ps")];
const RATES: &[(i32, &str)] = &[
    (12, "Tbit/s"),
    (9, "Gbit/s"),
    (6, "Mbit/s"),
    (3, "kbit/s"),
    (0, "bit/s"),
];
const FREQUENCIES: &[(i32, &str)] = &[(0, "Hz")];

/// A span of time in seconds, correctly rounded ([`Time::seconds`] may be off in the last digit,
/// which would show in print).
#[must_use]
pub fn seconds(time: Time) -> f64 {
    time.0 as f64 / Time::PER_SECOND as f64
}

/// A span of time in the unit that reads best; reads back as the same picosecond.
#[must_use]
pub fn format_time(time: Time) -> String {
    with_prefix(&time.0.to_string(), -12, TIMES)
}

/// Seconds in the unit that reads best; reads back as the same number.
#[must_use]
pub fn format_seconds(seconds: f64) -> String {
    let (digits, exponent) = shortest(seconds);
    with_prefix(&digits, exponent, TIMES)
}

/// bit/s in the unit that reads best; reads back as the same number.
#[must_use]
pub fn format_rate(rate: f64) -> String {
    let (digits, exponent) = shortest(rate);
    with_prefix(&digits, exponent, RATES)
}

/// Hz; reads back as the same number.
#[must_use]
pub fn format_frequency(frequency: f64) -> String {
    let (digits, exponent) = shortest(frequency);
    with_prefix(&digits, exponent, FREQUENCIES)
}

/// Bytes in the largest decimal unit that needs no fraction.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    [(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB")]
        .into_iter()
        .find(|(factor, _)| bytes > 0 && bytes.is_multiple_of(*factor))
        .map_or_else(
            || format!("{bytes} B"),
            |(factor, name)| format!("{} {name}", bytes / factor),
        )
}

/// Packets; reads back as the same number.
#[must_use]
pub fn format_packets(packets: f64) -> String {
    let (digits, exponent) = shortest(packets);
    let number = positional(&digits, exponent);
    let name = if packets == 1.0 { "packet" } else { "packets" };
    format!("{number} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        Quantity::parse(text).unwrap().value().unwrap()
    }

    #[test]
    fn units_are_exact() {
        for (text, dimension, expected) in [
            ("10 ms", Dimension::Time, 0.01),
            ("10ms", Dimension::Time, 0.01),
            ("3 \u{b5}s", Dimension::Time, 3e-6),
            ("1.5 min", Dimension::Time, 90.0),
            ("0.1 h", Dimension::Time, 360.0),
            ("100 Mbit/s", Dimension::Rate, 1e8),
            ("100 mbit", Dimension::Rate, 1e8),
            ("100 Mb/s", Dimension::Rate, 1e8),
            ("100 Mbps", Dimension::Rate, 1e8),
            ("0.3 Gbit/s", Dimension::Rate, 3e8),
            ("1 tbit", Dimension::Rate, 1e12),
            ("1 MB/s", Dimension::Rate, 8e6),
            ("1e3 bit/s", Dimension::Rate, 1000.0),
            ("300 kB", Dimension::Size, 3e5),
            ("1 KiB", Dimension::Size, 1024.0),
            ("2 MiB", Dimension::Size, 2_097_152.0),
            ("1 packet", Dimension::Packets, 1.0),
            ("64 segments", Dimension::Packets, 64.0),
            ("170 Hz", Dimension::Frequency, 170.0),
            ("7 %", Dimension::Percent, 0.07),
            ("0.5 percent", Dimension::Percent, 0.005),
            ("1_000 B", Dimension::Size, 1000.0),
        ] {
            let quantity = Quantity::parse(text).unwrap();
            assert_eq!(quantity.dimension, dimension, "{text}");
            assert_eq!(quantity.value().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn times_are_whole_picoseconds() {
        let time = |text: &str| Quantity::parse(text).unwrap().time();
        assert_eq!(time("0.1 s"), Ok(Time(100_000_000_000)));
        assert_eq!(time("0.333333333333333333 s"), Ok(Time(333_333_333_333)));
        assert_eq!(time("1 ps"), Ok(Time(1)));
        assert_eq!(time("0.6 ps"), Ok(Time(1)));
        assert_eq!(time("1e-300 s"), Ok(Time(0)));
        assert_eq!(time("1 h"), Ok(Time(3600 * Time::PER_SECOND)));
        assert_eq!(time("1e12 s"), Err(QuantityError::TooLarge));
        assert_eq!(time("1e300 h"), Err(QuantityError::TooLarge));
        assert_eq!(time("-1 s"), Err(QuantityError::Negative));
        assert_eq!(time("-0 s"), Ok(Time(0)));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Quantity::parse(text).unwrap_err();
        assert_eq!(error("10"), QuantityError::MissingUnit);
        assert_eq!(error("ten ms"), QuantityError::NotANumber);
        assert_eq!(error(""), QuantityError::NotANumber);
        assert_eq!(error("."), QuantityError::NotANumber);
        assert_eq!(error("nan s"), QuantityError::NotFinite);
        assert_eq!(error("-inf s"), QuantityError::NotFinite);
        assert_eq!(
            error("5 mss"),
            QuantityError::UnknownUnit {
                unit: "mss".into(),
                nearest: Some("ms")
            }
        );
        assert_eq!(
            error(&format!("1{} s", "0".repeat(40))),
            QuantityError::TooLong
        );
        assert_eq!(error("1e500 s"), QuantityError::TooLarge);
        assert_eq!(
            Quantity::parse("1e380 s").unwrap().value(),
            Err(QuantityError::TooLarge)
        );
        assert_eq!(
            Quantity::parse("1.5 packets").unwrap().whole(),
            Err(QuantityError::NotWhole)
        );
    }

    #[test]
    fn written_numbers_read_back() {
        for seconds in [
            0.0,
            1e-12,
            0.01,
            0.1 + 0.2,
            1.0 / 3.0,
            5e-324,
            12345.678,
            1e9,
        ] {
            assert_eq!(value(&format_seconds(seconds)), seconds);
        }
        for rate in [1.0, 1e8, 1e8 / 3.0, 2.5e12, 0.001] {
            assert_eq!(value(&format_rate(rate)), rate);
        }
        for packets in [0.0, 1.0, 1.5, 1e6, 1.0 / 3.0] {
            assert_eq!(value(&format_packets(packets)), packets);
        }
        for picoseconds in [0, 1, 999, 1000, 123_456_789_012_345, u64::MAX - 1] {
            let text = format_time(Time(picoseconds));
            assert_eq!(
                Quantity::parse(&text).unwrap().time(),
                Ok(Time(picoseconds)),
                "{text}"
            );
        }
        for bytes in [0, 1, 1500, 300_000, 1024, u64::MAX] {
            assert_eq!(
                Quantity::parse(&format_size(bytes)).unwrap().whole(),
                Ok(bytes)
            );
        }
        assert_eq!(format_time(Time(10_000_000_000)), "10 ms");
        assert_eq!(format_time(Time(1_500_000_000_000)), "1.5 s");
        assert_eq!(format_rate(1e8), "100 Mbit/s");
        assert_eq!(format_size(1500), "1500 B");
        assert_eq!(format_size(300_000), "300 kB");
        assert_eq!(format_packets(0.5), "0.5 packets");
    }
}
