//! The programs that are known, each with the options that change nothing but what is printed.

use super::options::{Given, Options};
use super::place::{names_a_folder, names_a_place};
use super::{Argument, Classification, Part, Place};

const CAT: Options = Options {
    short: "AbeEnstTuv",
    long: "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting",
    number: false,
};

const HEAD: Options = Options {
    short: "n:c:qvz",
    long: "lines= bytes= quiet silent verbose zero-terminated",
    number: true,
};

/// Without those that wait for more.
const TAIL: Options = HEAD;

const NL: Options = Options {
    short: "b:d:f:h:i:l:n:ps:v:w:",
    long: "body-numbering= section-delimiter= footer-numbering= header-numbering= line-increment= join-blank-lines= \
           number-format= no-renumber number-separator= starting-line-number= number-width=",
    number: false,
};

/// The script is looked at on its own.
const SED: Options = Options {
    short: "nErsu",
    long: "quiet silent regexp-extended separate unbuffered",
    number: false,
};

/// Without `--pre`, `--hostname-bin` and `--search-zip`, which start programs, and `--file`, which reads another file.
const RG: Options = Options {
    short: "isSnNlcovwxFUHIaLu.pPq0e:g:t:T:A:B:C:m:M:j:d:E:",
    long: "ignore-case case-sensitive smart-case line-number no-line-number files-with-matches files-without-match count \
           count-matches only-matching invert-match word-regexp line-regexp fixed-strings multiline multiline-dotall \
           with-filename no-filename hidden no-ignore no-ignore-vcs no-ignore-parent no-ignore-dot heading no-heading follow text \
           unrestricted pretty column stats json no-messages trim vimgrep null pcre2 quiet no-config files crlf no-unicode \
           one-file-system passthru byte-offset max-columns-preview \
           regexp= glob= iglob= type= type-not= after-context= before-context= context= max-count= max-columns= threads= \
           max-depth= color= colors= sort= sortr= encoding= engine= max-filesize= context-separator=",
    number: false,
};

const GREP: Options = Options {
    short: "ivwxclLoqsnHhrREFGPaIbTUZze:A:B:C:m:",
    long: "ignore-case no-ignore-case invert-match word-regexp line-regexp count files-with-matches files-without-match \
           only-matching quiet silent no-messages line-number with-filename no-filename recursive dereference-recursive \
           extended-regexp fixed-strings basic-regexp perl-regexp text byte-offset initial-tab null null-data line-buffered binary \
           regexp= after-context= before-context= context= max-count= include= exclude= exclude-dir= binary-files= label= \
           color? colour?",
    number: true,
};

/// Without those that run something (`--exec`, `--exec-batch`, `--list-details`) or move the folder.
const FD: Options = Options {
    short: "HIusigFaLp01qt:e:E:d:S:c:j:",
    long: "hidden no-ignore no-ignore-vcs no-ignore-parent unrestricted case-sensitive ignore-case glob regex fixed-strings \
           absolute-path follow full-path print0 quiet show-errors one-file-system prune strip-cwd-prefix \
           type= extension= exclude= max-depth= min-depth= exact-depth= size= changed-within= changed-before= owner= color= \
           max-results= threads= and=",
    number: false,
};

const LS: Options = Options {
    short: "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1I:w:T:",
    long: "all almost-all author escape ignore-backups directory dired classify? file-type full-time group-directories-first \
           no-group human-readable si dereference inode kibibytes numeric-uid-gid literal hide-control-chars \
           show-control-chars quote-name reverse recursive size context zero \
           block-size= color? format= hide= hyperlink? ignore= indicator-style= quoting-style= sort= time= time-style= tabsize= width=",
    number: false,
};

/// Without `-o` and `-R`, which write files.
const TREE: Options = Options {
    short: "adfilqNQpugshDFrtUcvnCAxXJL:P:I:",
    long: "noreport dirsfirst filesfirst gitignore prune du si ignore-case matchdirs inodes device \
           filelimit= sort= charset= timefmt= gitfile= infofile=",
    number: false,
};

const WC: Options = Options {
    short: "clmLw",
    long: "bytes chars lines max-line-length words",
    number: false,
};

/// Without `-o` and `-T`, which write files, and `--compress-program`.
const SORT: Options = Options {
    short: "bcCdfghiMnrRsuVzk:t:S:",
    long: "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort human-numeric-sort ignore-nonprinting month-sort \
           numeric-sort reverse random-sort stable unique version-sort zero-terminated check? key= field-separator= parallel=",
    number: false,
};

const UNIQ: Options = Options {
    short: "cdDiuzf:s:w:",
    long: "count repeated ignore-case unique zero-terminated skip-fields= skip-chars= check-chars=",
    number: false,
};

const CUT: Options = Options {
    short: "b:c:d:f:nsz",
    long: "bytes= characters= delimiter= fields= only-delimited complement output-delimiter= zero-terminated",
    number: false,
};

const TR: Options = Options {
    short: "cCdst",
    long: "complement delete squeeze-repeats truncate-set1",
    number: false,
};

/// What the first command of a line is; `None` where it is not certain.
pub(super) fn classify(words: &[Argument<'_>]) -> Option<Classification> {
    let (name, arguments) = words.split_first()?;
    if name.is_pattern {
        return None;
    }
    match name.text {
        "cat" => {
            let given = CAT.read(arguments)?;
            read(&given, cat_part(&given))
        }
        "nl" => read(&NL.read(arguments)?, Part::All),
        "head" => {
            let given = HEAD.read(arguments)?;
            let part = head_part(&given)?;
            read(&given, part)
        }
        "tail" => {
            let given = TAIL.read(arguments)?;
            let part = tail_part(&given)?;
            read(&given, part)
        }
        "sed" => {
            let (part, given) = sed(arguments)?;
            // Lines are counted through all files.
            if given.operands.len() != 1 {
                return None;
            }
            read(&given, part)
        }
        "rg" => rg(arguments, false),
        "grep" | "egrep" | "fgrep" => grep(arguments),
        "find" => find(arguments),
        "fd" | "fdfind" => {
            let given = FD.read(arguments)?;
            let (patterns, places) = match given.operands.split_first() {
                Some((pattern, places)) => (vec![literal(pattern)?], self::places(places)?),
                None => (Vec::new(), Vec::new()),
            };
            Some(Classification::Search {
                // An empty pattern or a dot finds every file.
                patterns: patterns
                    .into_iter()
                    .filter(|pattern| !matches!(pattern.as_str(), "" | "."))
                    .collect(),
                places,
            })
        }
        "ls" => Some(Classification::List {
            places: places(&LS.read(arguments)?.operands)?,
        }),
        "tree" => Some(Classification::List {
            places: places(&TREE.read(arguments)?.operands)?,
        }),
        _ => None,
    }
}

/// A command behind a pipe that only passes on a part of what it reads: which lines, where it cuts by lines that are known,
/// and [`Part::All`] only where each line that goes in comes out in its place.
pub(super) fn filter(words: &[Argument<'_>]) -> Option<Part> {
    let (name, arguments) = words.split_first()?;
    if name.is_pattern {
        return None;
    }
    let without_operands = |options: Options| {
        let given = options.read(arguments)?;
        given.operands.is_empty().then_some(given)
    };
    match name.text {
        "cat" => without_operands(CAT).map(|given| cat_part(&given)),
        "nl" => without_operands(NL).map(|_| Part::All),
        "wc" => without_operands(WC).map(|_| Part::Unknown),
        "sort" => without_operands(SORT).map(|_| Part::Unknown),
        "uniq" => without_operands(UNIQ).map(|_| Part::Unknown),
        "cut" => without_operands(CUT).map(|_| Part::Unknown),
        "head" => head_part(&without_operands(HEAD)?),
        "tail" => tail_part(&without_operands(TAIL)?),
        "tr" => {
            let given = TR.read(arguments)?;
            let is_literal = given.operands.iter().all(|operand| !operand.is_pattern);
            (is_literal && (1..=2).contains(&given.operands.len())).then_some(Part::Unknown)
        }
        "sed" => {
            let (part, given) = sed(arguments)?;
            given.operands.is_empty().then_some(part)
        }
        "grep" | "egrep" | "fgrep" => {
            let given = GREP.read(arguments)?;
            let (_, places) = pattern_and_places(&given, &["e", "regexp"])?;
            let is_recursive = given.has(&["r", "R", "recursive", "dereference-recursive"]);
            (places.is_empty() && !is_recursive).then_some(Part::Unknown)
        }
        "rg" => rg(arguments, true).map(|_| Part::Unknown),
        _ => None,
    }
}

fn literal(argument: &Argument<'_>) -> Option<String> {
    (!argument.is_pattern).then(|| argument.text.to_owned())
}

fn places(operands: &[Argument<'_>]) -> Option<Vec<Place>> {
    operands
        .iter()
        .map(|operand| {
            names_a_place(operand.text).then(|| Place {
                name: operand.text.to_owned(),
                is_pattern: operand.is_pattern,
            })
        })
        .collect()
}

/// A read of files that are named one by one.
fn read(given: &Given<'_>, part: Part) -> Option<Classification> {
    let files: Option<Vec<String>> = given
        .operands
        .iter()
        // `tail +5 a` is an old way to write a number, and `a/` is no file.
        .filter(|file| {
            names_a_place(file.text) && !names_a_folder(file.text) && !file.text.starts_with('+')
        })
        .map(literal)
        .collect();
    let files = files.filter(|files| !files.is_empty() && files.len() == given.operands.len())?;
    Some(Classification::Read { files, part })
}

/// All lines, unless `cat` leaves out some that are empty.
fn cat_part(given: &Given<'_>) -> Part {
    if given.has(&["s", "squeeze-blank"]) {
        Part::Unknown
    } else {
        Part::All
    }
}

/// Whether `head` or `tail` cuts by something other than lines.
fn cuts_no_lines(given: &Given<'_>) -> bool {
    given.has(&["c", "bytes", "z", "zero-terminated"])
}

/// A number of nothing but digits.
fn number(text: &str) -> Option<u32> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// The beginning of a file, as `head` cuts it.
fn head_part(given: &Given<'_>) -> Option<Part> {
    if cuts_no_lines(given) {
        return Some(Part::Unknown);
    }
    let count = given.values(&["n", "lines", "#"]).last().unwrap_or("10");
    match count.strip_prefix('-') {
        // All but the last so many.
        Some(left_out) => number(left_out).map(|_| Part::Lines {
            first: 1,
            last: None,
        }),
        None => number(count)
            .filter(|last| *last > 0)
            .map(|last| Part::Lines {
                first: 1,
                last: Some(last),
            }),
    }
}

/// The end of a file, as `tail` cuts it: where it begins is known only when it is counted from the front.
fn tail_part(given: &Given<'_>) -> Option<Part> {
    if cuts_no_lines(given) {
        return Some(Part::Unknown);
    }
    let count = given.values(&["n", "lines", "#"]).last().unwrap_or("10");
    match count.strip_prefix('+') {
        Some(first) => number(first)
            .filter(|first| *first > 0)
            .map(|first| Part::Lines { first, last: None }),
        None => number(count.strip_prefix('-').unwrap_or(count)).map(|_| Part::Unknown),
    }
}

/// `sed -n` with a script that prints lines and does nothing else; its operands are the files.
fn sed<'w>(arguments: &[Argument<'w>]) -> Option<(Part, Given<'w>)> {
    let mut given = SED.read(arguments)?;
    if !given.has(&["n", "quiet", "silent"]) || given.operands.is_empty() {
        return None;
    }
    let script = given.operands.remove(0);
    let range = script
        .text
        .strip_suffix('p')
        .filter(|_| !script.is_pattern)?;
    let line = |text: &str| number(text).filter(|line| *line > 0);
    let part = match range.split_once(',') {
        None => {
            let line = line(range)?;
            Part::Lines {
                first: line,
                last: Some(line),
            }
        }
        Some((first, "$")) => Part::Lines {
            first: line(first)?,
            last: None,
        },
        Some((first, last)) => {
            let first = line(first)?;
            let last = match last.strip_prefix('+') {
                Some(more) => first.checked_add(number(more)?)?,
                None => line(last)?,
            };
            // With a last line before the first, one is printed.
            Part::Lines {
                first,
                last: Some(last.max(first)),
            }
        }
    };
    Some((part, given))
}

/// The patterns, by option or as the first operand, and the other operands.
fn pattern_and_places<'g, 'w>(
    given: &'g Given<'w>,
    by_option: &[&str],
) -> Option<(Vec<String>, &'g [Argument<'w>])> {
    let patterns: Vec<String> = given.values(by_option).map(str::to_owned).collect();
    if !patterns.is_empty() {
        return Some((patterns, &given.operands));
    }
    let (pattern, places) = given.operands.split_first()?;
    Some((vec![literal(pattern)?], places))
}

fn rg(arguments: &[Argument<'_>], is_filter: bool) -> Option<Classification> {
    let given = RG.read(arguments)?;
    let (patterns, operands) = if given.has(&["files"]) {
        if is_filter {
            return None;
        }
        (Vec::new(), given.operands.as_slice())
    } else {
        pattern_and_places(&given, &["e", "regexp"])?
    };
    if is_filter && !operands.is_empty() {
        return None;
    }
    Some(Classification::Search {
        patterns,
        places: places(operands)?,
    })
}

fn grep(arguments: &[Argument<'_>]) -> Option<Classification> {
    let given = GREP.read(arguments)?;
    let (patterns, operands) = pattern_and_places(&given, &["e", "regexp"])?;
    // Without a file it reads what is typed.
    if operands.is_empty() && !given.has(&["r", "R", "recursive", "dereference-recursive"]) {
        return None;
    }
    Some(Classification::Search {
        patterns,
        places: places(operands)?,
    })
}

/// Words of an expression of `find` that stand alone.
const ALONE: &[&str] = &[
    "!",
    "(",
    ")",
    ",",
    "-not",
    "-a",
    "-and",
    "-o",
    "-or",
    "-depth",
    "-d",
    "-empty",
    "-prune",
    "-print",
    "-print0",
    "-true",
    "-false",
    "-follow",
    "-mount",
    "-xdev",
    "-readable",
    "-writable",
    "-executable",
    "-daystart",
    "-quit",
    "-ls",
    "-ignore_readdir_race",
    "-noignore_readdir_race",
    "-noleaf",
    "-nouser",
    "-nogroup",
    "-warn",
    "-nowarn",
];

/// Those with a value.
const WITH_VALUE: &[&str] = &[
    "-path",
    "-ipath",
    "-wholename",
    "-iwholename",
    "-type",
    "-xtype",
    "-size",
    "-mtime",
    "-mmin",
    "-atime",
    "-amin",
    "-ctime",
    "-cmin",
    "-newer",
    "-anewer",
    "-cnewer",
    "-maxdepth",
    "-mindepth",
    "-user",
    "-group",
    "-uid",
    "-gid",
    "-perm",
    "-links",
    "-inum",
    "-samefile",
    "-fstype",
    "-regextype",
    "-printf",
    "-used",
];

/// Those whose value is what is looked for.
const NAMES: &[&str] = &["-name", "-iname", "-regex", "-iregex", "-lname", "-ilname"];

/// `find`: places first, then an expression of tests and of actions that only print.
fn find(arguments: &[Argument<'_>]) -> Option<Classification> {
    let mut rest = arguments;
    while let [first, others @ ..] = rest
        && matches!(first.text, "-H" | "-L" | "-P")
    {
        rest = others;
    }
    let begins_expression = |argument: &Argument<'_>| {
        argument.text.starts_with('-') || matches!(argument.text, "(" | ")" | "!" | ",")
    };
    let split = rest
        .iter()
        .position(begins_expression)
        .unwrap_or(rest.len());
    let (operands, expression) = rest.split_at(split);
    let mut patterns = Vec::new();
    let mut negated = false;
    let mut expression = expression.iter();
    while let Some(part) = expression.next() {
        if part.is_pattern {
            return None;
        }
        if ALONE.contains(&part.text) {
            if part.text == "-prune" {
                // What stands before it is passed over.
                patterns.clear();
            }
            negated = matches!(part.text, "!" | "-not");
        } else if NAMES.contains(&part.text) {
            let value = literal(expression.next()?)?;
            // What is left out is not what is looked for.
            if !negated {
                patterns.push(value);
            }
            negated = false;
        } else if WITH_VALUE.contains(&part.text) {
            literal(expression.next()?)?;
            negated = false;
        } else {
            return None;
        }
    }
    Some(Classification::Search {
        patterns,
        places: places(operands)?,
    })
}
