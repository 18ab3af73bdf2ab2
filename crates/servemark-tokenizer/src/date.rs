//! Dates as templates print them, in UTC, the time zone of most servers. The current time is an
//! argument.

use std::time::Duration;

/// Formats the time since the Unix epoch like C's `strftime`. The error is the unknown conversion
/// letter.
pub(crate) fn strftime(since_epoch: Duration, format: &str) -> Result<String, char> {
    let date = Date::of(since_epoch);
    let mut out = String::new();
    let mut letters = format.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => date.write(&mut out, letters.next().unwrap_or('%'))?,
            other => out.push(other),
        }
    }
    Ok(out)
}

/// A day of the Gregorian calendar and a second of that day.
struct Date {
    year: u64,
    /// Zero-based month.
    month: usize,
    day: u64,
    /// Zero-based day of the week, starting with Sunday.
    weekday: usize,
    second: u64,
}

impl Date {
    fn of(since_epoch: Duration) -> Self {
        let seconds = since_epoch.as_secs();
        let days = seconds / 86_400;
        let (mut year, mut day) = (1970, days);
        while day >= days_of_year(year) {
            day -= days_of_year(year);
            year += 1;
        }
        let mut month = 0;
        while day >= days_of_month(year, month) {
            day -= days_of_month(year, month);
            month += 1;
        }
        // The epoch was a Thursday.
        let weekday = ((days + 4) % 7) as usize;
        Self { year, month, day: day + 1, weekday, second: seconds % 86_400 }
    }

    fn write(&self, out: &mut String, letter: char) -> Result<(), char> {
        let two = |number: u64| format!("{number:02}");
        out.push_str(&match letter {
            '%' => "%".to_owned(),
            'A' => WEEKDAYS[self.weekday].to_owned(),
            'a' => WEEKDAYS[self.weekday][..3].to_owned(),
            'B' => MONTHS[self.month].to_owned(),
            'b' => MONTHS[self.month][..3].to_owned(),
            'd' => two(self.day),
            'H' => two(self.second / 3600),
            'M' => two(self.second / 60 % 60),
            'm' => two(self.month as u64 + 1),
            'S' => two(self.second % 60),
            'Y' => self.year.to_string(),
            'y' => two(self.year % 100),
            unknown => return Err(unknown),
        });
        Ok(())
    }
}

fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_of_month(year: u64, month: usize) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seconds: u64, format: &str, expected: &str) {
        let date = strftime(Duration::from_secs(seconds), format);
        assert_eq!(date.as_deref(), Ok(expected));
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        check(0, "%A %Y-%m-%d %H:%M:%S", "Thursday 1970-01-01 00:00:00");
        check(1_709_210_096, "%a, %d %b %Y, %H:%M:%S", "Thu, 29 Feb 2024, 12:34:56");
        check(1_735_689_599, "%d %B %y 100%% %", "31 December 24 100% %");
        check(951_868_800, "%Y-%m-%d", "2000-03-01");
    }

    #[test]
    fn an_unknown_letter_is_named() {
        assert_eq!(strftime(Duration::ZERO, "%Y %Q"), Err('Q'));
    }
}
