//! Rust source as the rules see it: without comments, texts and tests.

/// The code of a file, ready to be searched for words.
pub struct Source(String);

impl Source {
    pub fn new(text: &str) -> Self {
        Self(strip(without_tests(text)))
    }

    /// Whether the code says this, as whole words.
    pub fn has(&self, phrase: &str) -> bool {
        self.0.match_indices(phrase).any(|(at, _)| {
            let before = self.0[..at].chars().next_back();
            let after = self.0[at + phrase.len()..].chars().next();
            let continues_left = starts_word(phrase) && before.is_some_and(in_word);
            let continues_right = ends_word(phrase) && after.is_some_and(in_word);
            !continues_left && !continues_right
        })
    }
}

fn starts_word(phrase: &str) -> bool {
    phrase.chars().next().is_some_and(in_word)
}

fn ends_word(phrase: &str) -> bool {
    phrase.chars().next_back().is_some_and(in_word)
}

fn in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

pub fn lines_without_tests(text: &str) -> usize {
    without_tests(text).lines().count()
}

/// Numbers of the lines on which a documentation comment begins with "Of", and so says whose, and
/// not what.
pub fn comments_without_a_noun(text: &str) -> impl Iterator<Item = usize> {
    let comment = |line: &str| line.trim_start().starts_with("//");
    let mut before = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let begins = comment(line) && !before;
        before = comment(line);
        let (_, words) =
            line.trim_start().split_at_checked(3).filter(|(mark, _)| ["///", "//!"].contains(mark))?;
        (begins && words.starts_with(" Of ")).then_some(index + 1)
    })
}

/// Columns of a comment's sentences. Code has a few more.
pub const COLUMNS: usize = 100;

/// Numbers of the lines of a comment that are longer than that. Tables, drawings and examples have
/// the width that they need.
pub fn long_comments(text: &str) -> Vec<usize> {
    let mut in_example = false;
    let mut long = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(words) = line.trim_start().strip_prefix("//") else {
            in_example = false;
            continue;
        };
        let words = words.trim_start_matches(['/', '!']);
        in_example ^= words.trim_start().starts_with("```");
        let is_drawn = in_example || words.trim_start().starts_with('|');
        if line.chars().count() > COLUMNS && !is_drawn {
            long.push(index + 1);
        }
    }
    long
}

/// The file up to its `#[cfg(test)] mod … {`, which stands last by convention.
fn without_tests(text: &str) -> &str {
    let starts_tests = |at: usize| {
        let next = text[at..].lines().nth(1).unwrap_or("");
        next.starts_with("mod ") && next.ends_with('{')
    };
    let end = text.match_indices("#[cfg(test)]\n").map(|(at, _)| at).find(|at| starts_tests(*at));
    &text[..end.unwrap_or(text.len())]
}

/// Without comments and without what is between quotation marks.
fn strip(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if starts_raw_string(rest) && !code.ends_with(in_word) {
            raw_string(rest)
        } else if c == '"' {
            quoted(rest, '"')
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\") {
            quoted(rest, '\'')
        } else {
            0
        };
        if skipped == 0 {
            code.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            code.push(' ');
            rest = &rest[skipped..];
        }
    }
    code
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let here = &text.as_bytes()[at..];
        if here.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn starts_raw_string(text: &str) -> bool {
    text.strip_prefix('r').is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
}

fn raw_string(text: &str) -> usize {
    let hashes = text[1..].bytes().take_while(|b| *b == b'#').count();
    let close = format!("\"{}", "#".repeat(hashes));
    let body = 2 + hashes;
    text[body..].find(&close).map_or(text.len(), |end| body + end + close.len())
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    text.len()
}

#[test]
fn comments_and_texts_are_no_code() {
    let code = Source::new(concat!(
        "// f32 in a comment\n/* f32 /* nested */ f32 */ let a = \"f32 \\\" f32\";\n",
        "let b = r#\"f32 \" f32\"#; let c = '\"'; let d: f64 = 0.0; let not_f32_either = '\\'';\n",
        "#[cfg(test)]\nmod tests {\n    const X: f32 = 0.0;\n}\n"
    ));
    assert!(!code.has("f32"));
    assert!(code.has("f64"));
    assert!(code.has("not_f32_either"));
}
