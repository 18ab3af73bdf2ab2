//! Scales of an axis and the positions of its tick labels.

use std::str::FromStr;

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Scale {
    /// Linear scale.
    #[default]
    Linear,
    /// Logarithmic scale, base 10.
    Log,
    /// Square-root scale.
    Sqrt,
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "linear" => Ok(Self::Linear),
            "log" => Ok(Self::Log),
            "sqrt" => Ok(Self::Sqrt),
            _ => Err(format!("{name:?} is no scale; there are linear, log and sqrt")),
        }
    }
}

impl Scale {
    /// Returns the position of a number on the scale; `None` if the scale cannot show it.
    fn place(self, number: f64) -> Option<f64> {
        let place = match self {
            Self::Linear => number,
            Self::Log => number.log10(),
            Self::Sqrt => number.sqrt(),
        };
        place.is_finite().then_some(place)
    }

    fn number(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Log => 10f64.powf(place),
            Self::Sqrt => place.max(0.0).powi(2),
        }
    }
}

/// The visible range of an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Span {
    /// Returns a range that contains all numbers, with a margin on both sides.
    pub(super) fn of(scale: Scale, numbers: impl Iterator<Item = f64>) -> Self {
        let places = numbers.filter_map(|number| scale.place(number));
        let (low, high) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), place| {
            (low.min(place), high.max(place))
        });
        let (low, high) = match (low <= high, low < high) {
            (false, _) => (0.0, 1.0),
            (_, false) => (low - 0.5, high + 0.5),
            _ => (low - (high - low) * MARGIN, high + (high - low) * MARGIN),
        };
        Self { scale, low, high }
    }

    /// Returns the position of a number within the range, from 0 (low end) to 1 (high end); `None`
    /// if the scale cannot show it.
    pub(super) fn share(&self, number: f64) -> Option<f64> {
        Some((self.scale.place(number)? - self.low) / (self.high - self.low))
    }

    /// Returns the numbers at which the axis has labels.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let decades = self.high - self.low;
        if self.scale == Scale::Log && decades >= 1.0 {
            return self.powers(if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] });
        }
        let (low, high) = (self.scale.number(self.low), self.scale.number(self.high));
        let step = step((high - low) / MOST_TICKS);
        let first = (low / step).ceil();
        let ticks = (0..).map(|count| (first + f64::from(count)) * step);
        ticks.take_while(|tick| *tick <= high).collect()
    }

    fn powers(&self, of_each: &[f64]) -> Vec<f64> {
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = decades.flat_map(|power| of_each.iter().map(move |n| n * 10f64.powi(power)));
        all.filter(|tick| self.share(*tick).is_some_and(|at| (0.0..=1.0).contains(&at))).collect()
    }
}

/// Returns the smallest round number (1, 2, 2.5 or 5 times a power of ten) not below `least`.
fn step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let round = [1.0, 2.0, 2.5, 5.0].map(|digit| digit * power);
    round.into_iter().find(|step| *step >= least * (1.0 - 1e-9)).unwrap_or(10.0 * power)
}

const MARGIN: f64 = 0.05;
const MOST_TICKS: f64 = 7.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ticks(scale: Scale, numbers: &[f64], expected: &[f64]) {
        assert_eq!(Span::of(scale, numbers.iter().copied()).ticks(), expected);
    }

    #[test]
    fn ticks_are_round_numbers() {
        ticks(Scale::Linear, &[0.0, 100.0], &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        ticks(Scale::Linear, &[3.0, 4.0], &[3.0, 3.2, 3.4, 3.6, 3.8, 4.0].map(round));
        ticks(Scale::Log, &[1.0, 100.0], &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        ticks(Scale::Log, &[1.0, 1e6], &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
        ticks(Scale::Sqrt, &[0.0, 100.0], &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        ticks(Scale::Linear, &[], &[0.0, 0.2, 0.4, 0.6, 0.8, 1.0].map(round));
    }

    /// Rounds to a multiple of 0.2 with the rounding error of a step times a count.
    fn round(number: f64) -> f64 {
        (number / 0.2).round() * 0.2
    }

    #[test]
    fn what_has_no_place_is_left_out() {
        let span = Span::of(Scale::Log, [0.0, f64::INFINITY, 1.0, 10.0].into_iter());
        assert_eq!(span.share(0.0), None);
        assert_eq!(span.share(f64::INFINITY), None);
        assert!((span.share(10f64.sqrt()).unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn scales_have_names() {
        assert_eq!("sqrt".parse(), Ok(Scale::Sqrt));
        let refusal = "logit".parse::<Scale>().unwrap_err();
        assert_eq!(refusal, "\"logit\" is no scale; there are linear, log and sqrt");
    }
}
