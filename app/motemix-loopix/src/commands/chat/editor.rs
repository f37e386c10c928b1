//! The line that is being typed.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// The most characters of a line; what fits into a packet is less.
const MOST: usize = 1000;

/// A line, and where in it the next character goes.
#[derive(Debug, Default)]
pub struct Editor {
    text: Vec<char>,
    cursor: usize,
}

impl Editor {
    /// Changes the line as the key says; the line when it is finished.
    pub fn press(&mut self, key: KeyEvent) -> Option<String> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => {
                self.cursor = 0;
                return Some(std::mem::take(&mut self.text).into_iter().collect());
            }
            KeyCode::Char('u') if control => drop(self.text.drain(..std::mem::take(&mut self.cursor))),
            KeyCode::Char('w') if control => self.delete_word(),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.text.len(),
            KeyCode::Char(c) if !control && !c.is_control() => self.insert(c),
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            KeyCode::Delete if self.cursor < self.text.len() => drop(self.text.remove(self.cursor)),
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(self.text.len()),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.text.len(),
            _ => {}
        }
        None
    }

    /// What stands before the cursor, and what behind it.
    pub fn parts(&self) -> (String, String) {
        let (before, behind) = self.text.split_at(self.cursor);
        (before.iter().collect(), behind.iter().collect())
    }

    pub fn insert(&mut self, c: char) {
        if self.text.len() < MOST {
            self.text.insert(self.cursor, c);
            self.cursor += 1;
        }
    }

    fn delete_word(&mut self) {
        let before = &self.text[..self.cursor];
        let word_end = before.iter().rposition(|c| *c != ' ').map_or(0, |last| last + 1);
        let word = before[..word_end].iter().rposition(|c| *c == ' ').map_or(0, |blank| blank + 1);
        self.text.drain(word..self.cursor);
        self.cursor = word;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_into(editor: &mut Editor, text: &str) {
        text.chars().for_each(|c| editor.insert(c));
    }

    fn press(editor: &mut Editor, code: KeyCode) -> Option<String> {
        editor.press(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn control(editor: &mut Editor, c: char) {
        assert_eq!(editor.press(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)), None);
    }

    #[test]
    fn a_line_is_typed_and_mended() {
        let mut editor = Editor::default();
        type_into(&mut editor, "héllo wrld");
        for _ in 0..3 {
            press(&mut editor, KeyCode::Left);
        }
        type_into(&mut editor, "o");
        assert_eq!(editor.parts(), ("héllo wo".to_owned(), "rld".to_owned()));
        press(&mut editor, KeyCode::End);
        press(&mut editor, KeyCode::Backspace);
        press(&mut editor, KeyCode::Home);
        press(&mut editor, KeyCode::Delete);
        assert_eq!(press(&mut editor, KeyCode::Enter), Some("éllo worl".to_owned()));
        assert_eq!(press(&mut editor, KeyCode::Enter), Some(String::new()));
        assert_eq!(press(&mut editor, KeyCode::Backspace), None);
    }

    #[test]
    fn words_and_what_is_before_the_cursor_are_deleted() {
        let mut editor = Editor::default();
        type_into(&mut editor, "one two  ");
        control(&mut editor, 'w');
        assert_eq!(editor.parts().0, "one ");
        control(&mut editor, 'w');
        control(&mut editor, 'w');
        assert_eq!(editor.parts().0, "");
        type_into(&mut editor, "abc");
        press(&mut editor, KeyCode::Left);
        control(&mut editor, 'u');
        assert_eq!(editor.parts(), (String::new(), "c".to_owned()));
    }

    #[test]
    fn a_line_has_an_end() {
        let mut editor = Editor::default();
        type_into(&mut editor, &"x".repeat(2 * MOST));
        assert_eq!(editor.parts().0.len(), MOST);
    }
}
