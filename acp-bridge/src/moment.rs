//! Moments as the protocol writes them.

const MILLISECONDS_PER_DAY: u64 = 24 * 60 * 60 * 1000;

/// Days from 1 March of the year 0 to 1 January 1970.
const DAYS_BEFORE_1970: u64 = 719_468;

/// Milliseconds of Unix time as ISO 8601 writes them, in UTC.
pub(crate) fn iso_8601(milliseconds: u64) -> String {
    let (year, month, day) = date(milliseconds / MILLISECONDS_PER_DAY);
    let of_day = milliseconds % MILLISECONDS_PER_DAY;
    let seconds = of_day / 1000;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        of_day % 1000
    )
}

/// The date of a day counted from 1 January 1970. Counted in years that begin in March, so that the odd day of a leap year is
/// the last one, within the 400 years after which the calendar repeats.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_BEFORE_1970;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let january_or_february = u64::from(month <= 2);
    (
        cycle * 400 + year + january_or_february,
        month,
        day_of_month,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn moments_are_written_in_utc() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599_000, "2024-12-31T23:59:59.000Z"),
            (1_790_000_000_123, "2026-09-21T14:13:20.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ];
        for (milliseconds, text) in table {
            assert_eq!(iso_8601(milliseconds), text);
        }
    }
}
