//! Text of strangers, made harmless: it must not reach the terminal's own language, nor change how
//! other text reads.

use std::fmt::Write as _;

/// Whether a terminal would act on the character, or show the text around it in another order or
/// not at all.
fn is_harmful(c: char) -> bool {
    // Controls with those of ISO 6429's upper half, marks that turn the direction of writing
    // (Unicode's UAX 9), ends of lines and paragraphs, and what Unicode's
    // Default_Ignorable_Code_Point has: no width, and room for hidden data. The joiners U+200C and
    // U+200D stay, which Persian and others need, and the selectors of text and picture, U+FE0E and
    // U+FE0F.
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The text with harmful characters escaped: `\u{1b}`.
pub fn printable(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) { plain.extend(c.escape_default()) } else { plain.push(c) }
    }
    plain
}

/// JSON with harmful characters escaped: `\u001b`. Whoever reads it finds the same values, for they
/// stand in strings alone; the ends of lines and the blanks between values stay.
pub fn printable_json(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if is_harmful(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // A string takes all that is written into it.
                let _ = write!(plain, "\\u{unit:04x}");
            }
        } else {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\u{1b}[2J\u{9b}2J\u{7f}\r\n\u{202e}evil\u{2066}\u{200b}\u{feff}\u{e0041} \u{2028}\u{ad}\u{3164}\u{180e}\u{e0101}";

    #[test]
    fn what_a_terminal_acts_on_is_shown_and_not_done() {
        let shown = printable(HOSTILE);
        assert!(!shown.chars().any(is_harmful), "{shown}");
        assert_eq!(printable("\u{1b}a\u{9b}\t"), "\\u{1b}a\\u{9b}\\t");
        let plain = "Größe 21 °C, \"ok\" \\ 日本 می‌خواهم 👩‍🚀";
        assert_eq!(printable(plain), plain);
    }

    #[test]
    fn json_says_the_same_in_harmless_characters() {
        let value = serde_json::json!({ "text": HOSTILE, HOSTILE: [1, "Größe"] });
        for json in [serde_json::to_string(&value), serde_json::to_string_pretty(&value)] {
            let plain = printable_json(&json.unwrap());
            assert!(!plain.chars().any(|c| is_harmful(c) && c != '\n'), "{plain}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&plain).unwrap(), value);
            assert!(plain.contains("Größe"));
        }
    }
}
