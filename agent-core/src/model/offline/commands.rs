//! The commands that a prompt spells out.

/// How much of a command a report repeats.
const TITLE: usize = 60;

/// The commands of a prompt in their order: each line that begins with `$ `, and each fenced shell block as a whole.
pub(super) fn in_prompt(prompt: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = prompt.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = Fence::opened_by(line) {
            let block = lines.by_ref().take_while(|line| !fence.is_closed_by(line));
            push(&mut commands, &block.collect::<Vec<_>>().join("\n"));
        } else if let Some(command) = line.trim_start().strip_prefix("$ ") {
            push(&mut commands, command);
        }
    }
    commands
}

/// A command as a report names it: its first line as inline code, shortened.
pub(super) fn title(command: &str) -> String {
    let mut lines = command.trim().lines();
    let first = lines.next().unwrap_or_default();
    let mut title: String = first.chars().take(TITLE).collect();
    if title.len() < first.len() || lines.next().is_some() {
        title.push('…');
    }
    // Inline code ends at the first run of as many backquotes as it began with.
    let ticks = title.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 1;
    let fence = "`".repeat(ticks);
    let space = if ticks > 1 { " " } else { "" };
    format!("{fence}{space}{title}{space}{fence}")
}

fn push(commands: &mut Vec<String>, command: &str) {
    if !command.trim().is_empty() {
        commands.push(command.trim_end().to_owned());
    }
}

/// An open fence of a shell block. Other fences are nothing special: people put `$ ` lines into them, too.
struct Fence {
    mark: char,
    length: usize,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let mark = line
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let language = line
            .trim_start_matches(mark)
            .split_whitespace()
            .next()?
            .to_lowercase();
        let is_shell = length >= 3 && matches!(language.as_str(), "sh" | "bash" | "shell");
        is_shell.then_some(Self { mark, length })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.chars().count() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::{in_prompt, title};

    #[test]
    fn commands_of_prompts() {
        let cases: [(&str, &[&str]); 14] = [
            ("", &[]),
            ("What is this?", &[]),
            ("$ ls", &["ls"]),
            ("  $ ls -l  ", &["ls -l"]),
            ("$ls\n$\n$ \n$  \nIt costs $ 5", &[]),
            (
                "$ echo a\n$ echo b\r\n\ttext\n$ echo '$ c'",
                &["echo a", "echo b", "echo '$ c'"],
            ),
            ("```sh\necho a\n\n  echo b\n```", &["echo a\n\n  echo b"]),
            (
                "First\n$ one\n```bash\ntwo\n$ not-a-line\n```\n$ three",
                &["one", "two\n$ not-a-line", "three"],
            ),
            ("```Shell title=x\nls\n```", &["ls"]),
            (
                "~~~~sh\nls\n~~~\n````\n~~~~\n$ pwd",
                &["ls\n~~~\n````", "pwd"],
            ),
            ("```sh\nls", &["ls"]),
            ("```sh\n\n```", &[]),
            ("```python\nprint()\n```\n```\nls\n```", &[]),
            ("```console\n$ ls\na.txt\n```", &["ls"]),
        ];
        for (prompt, commands) in cases {
            assert_eq!(in_prompt(prompt), commands, "{prompt:?}");
        }
    }

    #[test]
    fn titles_of_commands() {
        let long = format!("echo {}", "ä".repeat(80));
        let short = format!("`echo {}…`", "ä".repeat(55));
        let cases = [
            ("ls", "`ls`"),
            ("echo a\necho b", "`echo a…`"),
            ("echo `date`", "`` echo `date` ``"),
            (long.as_str(), short.as_str()),
        ];
        for (command, expected) in cases {
            assert_eq!(title(command), expected);
        }
    }
}
