//! Many points, a few at a time.

/// How many are under way at a time.
const AT_A_TIME: usize = 4;

/// Runs a future to its end on this thread.
pub fn alone<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(what)
}

/// The variable that names the only point to try.
const POINT: &str = "PLACARD_CRASH_POINT";

/// Tries every point, a few at a time, and gives what was wrong, under the names of the points.
pub fn side_by_side<P: Sync + std::fmt::Display>(
    points: &[P],
    try_one: impl Fn(&P) -> Result<(), String> + Sync,
) -> Vec<String> {
    let only = std::env::var(POINT).ok();
    let try_one = |point: &P| {
        let name = point.to_string();
        if only.as_ref().is_some_and(|only| *only != name) {
            return Ok(());
        }
        try_one(point).map_err(|fault| format!("{name}: {fault}"))
    };
    let try_one = &try_one;
    // In groups: between them a test that runs alone may have its turn.
    let groups = points.chunks(AT_A_TIME).flat_map(|group| {
        std::thread::scope(|scope| {
            let running: Vec<_> = group
                .iter()
                .map(|point| scope.spawn(move || try_one(point)))
                .collect();
            let ended = running.into_iter().map(|point| point.join().unwrap());
            ended.filter_map(Result::err).collect::<Vec<_>>()
        })
    });
    groups.collect()
}

/// Fails a test with what was wrong at its points.
pub fn report(wrong: &[String], points: usize) {
    // One fault is often seen at many points.
    let shown = wrong.iter().take(10).cloned().collect::<Vec<_>>();
    assert!(
        wrong.is_empty(),
        "wrong at {} of {points} points:\n\n{}",
        wrong.len(),
        shown.join("\n\n")
    );
}
