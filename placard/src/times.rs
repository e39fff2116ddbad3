//! Times in words: how long, how old, when.

/// A duration: tenths of a second below ten seconds, whole seconds below ten minutes.
pub(crate) fn duration_words(milliseconds: u64) -> String {
    let tenths = (milliseconds + 50) / 100;
    if tenths < 100 {
        // A whole number of seconds is said without a fraction, nothing at all with one.
        return match (tenths / 10, tenths % 10) {
            (0, 0) => "0.0 s".to_owned(),
            (seconds, 0) => format!("{seconds} s"),
            (seconds, tenth) => format!("{seconds}.{tenth} s"),
        };
    }
    let seconds = (milliseconds + 500) / 1000;
    match (seconds / 60, seconds / 3600) {
        (0..10, _) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, hours) => format!("{hours} h {} min", minutes % 60),
    }
}

/// How long ago a time was, both in milliseconds of Unix time. What clocks put into the future is now.
pub(crate) fn age_words(at: u64, now: u64) -> String {
    const UNITS: [(u64, &str); 6] = [
        (365 * 24 * 3600, "year"),
        (30 * 24 * 3600, "month"),
        (7 * 24 * 3600, "week"),
        (24 * 3600, "day"),
        (3600, "hour"),
        (60, "minute"),
    ];
    let seconds = now.saturating_sub(at) / 1000;
    for (unit, name) in UNITS {
        match seconds / unit {
            0 => {}
            1 => return format!("1 {name} ago"),
            count => return format!("{count} {name}s ago"),
        }
    }
    "just now".to_owned()
}

/// A time in milliseconds of Unix time as a date and a time of day, such as `2026-07-30 09:05 UTC`. Of the whole world, since
/// what is stored knows no time zone.
pub(crate) fn date_words(at: u64) -> String {
    let minutes = at / 60_000;
    let (year, month, day) = civil(minutes / (24 * 60));
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02} UTC",
        minutes / 60 % 24,
        minutes % 60
    )
}

/// Year, month and day of a number of days since 1970-01-01. Counted from a March, so that a leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    const ERA: u64 = 146_097; // days in 400 years
    let days = days + 719_468; // since 0000-03-01
    let era = days / ERA;
    let of_era = days % ERA;
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / (ERA - 1)) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (400 * era + years + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn durations() {
        let table = [
            (0, "0.0 s"),
            (49, "0.0 s"),
            (50, "0.1 s"),
            (400, "0.4 s"),
            (1_960, "2 s"),
            (9_949, "9.9 s"),
            (9_950, "10 s"),
            (41_300, "41 s"),
            (599_000, "599 s"),
            (600_000, "10 min"),
            (3_720_000, "1 h 2 min"),
        ];
        for (milliseconds, words) in table {
            assert_eq!(duration_words(milliseconds), words);
        }
    }

    #[test]
    fn ages() {
        const MINUTE: u64 = 60_000;
        const DAY: u64 = 24 * 60 * MINUTE;
        let table = [
            (0, "just now"),
            (MINUTE - 1, "just now"),
            (MINUTE, "1 minute ago"),
            (59 * MINUTE, "59 minutes ago"),
            (60 * MINUTE, "1 hour ago"),
            (DAY - 1, "23 hours ago"),
            (DAY, "1 day ago"),
            (7 * DAY, "1 week ago"),
            (29 * DAY, "4 weeks ago"),
            (30 * DAY, "1 month ago"),
            (364 * DAY, "12 months ago"),
            (800 * DAY, "2 years ago"),
        ];
        let now = 2_000 * DAY;
        for (ago, words) in table {
            assert_eq!(age_words(now - ago, now), words);
        }
        assert_eq!(age_words(now + DAY, now), "just now");
    }

    #[test]
    fn dates() {
        let table = [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_399_000, "2000-02-28 23:59 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (951_868_800_000, "2000-03-01 00:00 UTC"),
            (1_785_402_300_000, "2026-07-30 09:05 UTC"),
            (4_107_542_399_000, "2100-02-28 23:59 UTC"),
            (4_107_542_400_000, "2100-03-01 00:00 UTC"),
        ];
        for (at, words) in table {
            assert_eq!(date_words(at), words);
        }
    }
}
