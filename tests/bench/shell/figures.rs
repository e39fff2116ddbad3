//! What was measured, what was aimed at, and whether it was met.

use std::process::ExitCode;
use std::time::Duration;

/// The most that a figure should be.
#[derive(Debug, Clone, Copy)]
pub struct Aim {
    most: f64,
    unit: Unit,
}

#[derive(Debug, Clone, Copy)]
enum Unit {
    Times,
    Seconds,
    Megabytes,
}

impl Aim {
    pub const fn ratio(most: f64) -> Self {
        Self {
            most,
            unit: Unit::Times,
        }
    }

    pub const fn time(most: Duration) -> Self {
        Self {
            most: most.as_secs_f64(),
            unit: Unit::Seconds,
        }
    }

    pub const fn megabytes(most: f64) -> Self {
        Self {
            most,
            unit: Unit::Megabytes,
        }
    }
}

impl Unit {
    fn say(self, figure: f64) -> String {
        match self {
            Self::Times => format!("{figure:.2}×"),
            Self::Seconds => format!("{:.2} ms", figure * 1000.0),
            Self::Megabytes => format!("{figure:.1} MB"),
        }
    }
}

/// A figure that depends on the machine.
pub fn hope(what: &str, aim: Aim, figure: f64) {
    print(what, aim, figure);
}

/// The figures that must be met wherever they are measured; each is printed as soon as it is known.
#[derive(Debug)]
pub struct Figures {
    broken: Vec<String>,
}

impl Figures {
    pub fn new() -> Self {
        Self { broken: Vec::new() }
    }

    /// Another of them.
    pub fn promise(&mut self, what: &str, aim: Aim, figure: f64) {
        if !print(what, aim, figure) {
            self.broken.push(what.to_owned());
        }
    }

    /// How the benchmark ends.
    pub fn verdict(&self) -> ExitCode {
        if self.broken.is_empty() {
            return ExitCode::SUCCESS;
        }
        println!("broken promises: {}", self.broken.join("; "));
        ExitCode::FAILURE
    }
}

/// Prints a figure; whether it is as it should be.
fn print(what: &str, aim: Aim, figure: f64) -> bool {
    let met = figure <= aim.most;
    let verdict = if met { "ok" } else { "MISSED" };
    println!(
        "{what:<72} {:>10}   aim {:>9}   {verdict}",
        aim.unit.say(figure),
        aim.unit.say(aim.most)
    );
    met
}

pub fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

pub fn worst(times: &[Duration]) -> Duration {
    times.iter().copied().max().unwrap_or_default()
}

/// Megabytes of so many KiB.
pub fn mb(kib: u64) -> f64 {
    f64::from(u32::try_from(kib).expect("less than 4 TiB")) * 1024.0 / 1e6
}
