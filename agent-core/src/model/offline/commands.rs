//! The commands that a prompt spells out.

/// How much of a command a report repeats.
const TITLE: usize = 60;

/// The commands of a prompt in their order: each line that begins with `$ `, and each fenced shell block as a whole.
pub(super) fn in_prompt(prompt: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = prompt.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = Fence::opened_by(line) {
            let block: Vec<&str> = lines
                .by_ref()
                .take_while(|line| !fence.is_closed_by(line))
                .collect();
            if fence.is_shell {
                push(&mut commands, &block.join("\n"));
            }
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

/// An open fence of Markdown. Lines in other blocks than shell ones are no commands, whatever they begin with.
struct Fence {
    mark: char,
    length: usize,
    is_shell: bool,
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let line = line.trim_start();
        let mark = line
            .chars()
            .next()
            .filter(|mark| matches!(mark, '`' | '~'))?;
        let length = line.chars().take_while(|c| *c == mark).count();
        let language = line.trim_start_matches(mark).trim();
        // Three backquotes around a word on one line are inline code.
        if length < 3 || language.contains('`') {
            return None;
        }
        let language = language
            .split_whitespace()
            .next()
            .unwrap_or_default()
            .to_lowercase();
        let is_shell = matches!(language.as_str(), "sh" | "bash" | "shell");
        Some(Self {
            mark,
            length,
            is_shell,
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.chars().count() >= self.length && line.chars().all(|c| c == self.mark)
    }
}
