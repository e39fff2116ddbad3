//! The beginning and the end of a long text, and between them how much was left out.

/// How much of a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Excerpt {
    /// All of it.
    Whole,
    /// These lines of it, and of each line a bound.
    Lines {
        /// So many lines from the beginning.
        head: usize,
        /// So many from the end.
        tail: usize,
        /// So many characters of a line.
        line: usize,
    },
}

/// What a person wants to see of an output at a glance.
pub(crate) const GLANCE: Excerpt = Excerpt::Lines {
    head: 10,
    tail: 20,
    line: 500,
};

/// The text within its bound; `gap` words the line where something was left out, such as `12 lines`.
pub(crate) fn excerpt(text: &str, bound: Excerpt, gap: impl Fn(&str) -> String) -> String {
    let Excerpt::Lines { head, tail, line } = bound else {
        return text.to_owned();
    };
    let lines: Vec<&str> = text.lines().collect();
    // A line in place of one line tells less.
    let left_out = lines.len().saturating_sub(head + tail);
    let left_out = if left_out > 1 { left_out } else { 0 };
    let mut shown = String::new();
    for (at, whole) in lines.iter().enumerate() {
        if left_out > 0 && at == head {
            shown.push_str(&gap(&format!("{left_out} lines")));
            shown.push('\n');
        }
        if left_out > 0 && (head..head + left_out).contains(&at) {
            continue;
        }
        let end = whole
            .char_indices()
            .nth(line)
            .map_or(whole.len(), |(end, _)| end);
        let (kept, rest) = whole.split_at(end);
        shown.push_str(kept);
        if !rest.is_empty() {
            shown.push('\n');
            shown.push_str(&gap(&format!("{} characters", rest.chars().count())));
        }
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_is_left_out_is_said_where_it_is_missing() {
        let bound = Excerpt::Lines {
            head: 1,
            tail: 2,
            line: 4,
        };
        let table = [
            ("", ""),
            ("a\n", "a\n"),
            ("a\nb\nc\nd\n", "a\nb\nc\nd\n"),
            ("a\nb\nc\nd\ne", "a\n<2 lines>\nd\ne\n"),
            ("a\n\n\n\n\nf\n", "a\n<3 lines>\n\nf\n"),
            ("äöüßen\nb", "äöüß\n<2 characters>\nb\n"),
        ];
        for (text, expected) in table {
            let shown = excerpt(text, bound, |left_out| format!("<{left_out}>"));
            assert_eq!(shown, expected, "{text:?}");
        }
        let whole = excerpt("a\nb", Excerpt::Whole, |_| unreachable!());
        assert_eq!(whole, "a\nb");
    }
}
