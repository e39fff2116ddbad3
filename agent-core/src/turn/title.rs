//! What a session is called.

/// The longest title, in characters.
const LONGEST: usize = 80;

/// A title from the first prompt: its first line with words in it, cut at a word. None where there are no words.
pub(super) fn of_prompt(prompt: &str) -> Option<String> {
    let line = prompt.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let line: String = words.join(" ");
        let line: String = line.chars().filter(|it| !it.is_control()).collect();
        (!line.is_empty()).then_some(line)
    })?;
    Some(cut(&line))
}

fn cut(line: &str) -> String {
    let Some((end, _)) = line.char_indices().nth(LONGEST) else {
        return line.to_owned();
    };
    // Room for the dots.
    let room = line[..end]
        .char_indices()
        .next_back()
        .map_or(0, |(at, _)| at);
    let cut = match line[..room].rfind(' ') {
        // A word that is longer than half a title is cut itself.
        Some(space) if space > room / 2 => &line[..space],
        _ => &line[..room],
    };
    format!("{}\u{2026}", cut.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_title_is_the_first_line_with_words() {
        let long = "word ".repeat(40);
        let table = [
            ("Fix the parser", Some("Fix the parser".to_owned())),
            (
                "\n  \n  Fix\t the   parser \nplease",
                Some("Fix the parser".to_owned()),
            ),
            (" \n ", None),
            (
                long.as_str(),
                Some(format!("{}\u{2026}", "word ".repeat(15).trim_end())),
            ),
        ];
        for (prompt, title) in table {
            assert_eq!(of_prompt(prompt), title, "{prompt}");
        }
        let one_word = of_prompt(&"\u{e9}".repeat(200)).unwrap();
        assert_eq!(one_word.chars().count(), LONGEST);
    }
}
