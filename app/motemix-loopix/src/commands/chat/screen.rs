//! The chat on a terminal: what is said, the line that is typed, and beside them who is there and
//! what goes by.

use super::Running;
use super::editor::Editor;
use super::talk::{Cover, Entry, Talk, ago};
use anyhow::Context;
use motemix_program::failure::Failure;
use motemix_program::report::printable;
use ratatui::crossterm::event::{self, Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line as Row, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Sparkline};
use ratatui::{DefaultTerminal, Frame};
use std::collections::VecDeque;
use std::sync::mpsc::TryRecvError;
use std::time::{Duration, Instant};

/// How often what has happened is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Columns beside the conversation.
const SIDE: u16 = 34;
/// Lines that one key scrolls.
const SCROLL: usize = 5;

/// A kind of cover, and how much of it there is.
type Kind = (&'static str, fn(&Cover) -> u64);

const KINDS: [Kind; 4] = [
    ("loops sent", |cover| cover.loops_sent),
    ("loops back", |cover| cover.loops_returned),
    ("drops sent", |cover| cover.drops_sent),
    ("dummies", |cover| cover.dummies),
];

/// What is on the screen besides the conversation itself.
#[derive(Default)]
struct View {
    editor: Editor,
    /// Lines between the newest one and the last one that is shown.
    scrolled: usize,
}

pub fn chat(node: &Running, talk: Talk) -> Result<(), Failure> {
    let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
    let chatted = converse(&mut terminal, node, talk);
    ratatui::restore();
    chatted
}

fn converse(terminal: &mut DefaultTerminal, node: &Running, mut talk: Talk) -> Result<(), Failure> {
    let mut view = View::default();
    loop {
        loop {
            match node.events.try_recv() {
                Ok(event) => {
                    let new = talk.heed(event, Instant::now());
                    if view.scrolled > 0 {
                        // What is being read stays where it is.
                        view.scrolled += new;
                    }
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
        }
        terminal.draw(|frame| draw(frame, &talk, &view, Instant::now())).context("cannot draw")?;
        if !event::poll(LOOK_EVERY).context("cannot read the keyboard")? {
            continue;
        }
        match event::read().context("cannot read the keyboard")? {
            Input::Key(key) if key.kind != KeyEventKind::Release => {
                if ends(key) {
                    return Ok(());
                }
                if let Some(said) = press(&mut view, key, talk.lines.len())
                    && talk.say(&node.handle, &said).is_err()
                {
                    return Ok(());
                }
            }
            Input::Paste(text) => {
                text.chars().filter(|c| !c.is_control()).for_each(|c| view.editor.insert(c))
            }
            _ => {}
        }
    }
}

fn ends(key: KeyEvent) -> bool {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    matches!((key.code, control), (KeyCode::Esc, _) | (KeyCode::Char('c' | 'd'), true))
}

/// Something to say, when a line is finished.
fn press(view: &mut View, key: KeyEvent, lines: usize) -> Option<String> {
    match key.code {
        KeyCode::PageUp | KeyCode::Up => {
            view.scrolled = (view.scrolled + SCROLL).min(lines.saturating_sub(1));
            None
        }
        KeyCode::PageDown | KeyCode::Down => {
            view.scrolled = view.scrolled.saturating_sub(SCROLL);
            None
        }
        _ => view.editor.press(key).filter(|line| !line.trim().is_empty()).inspect(|_| view.scrolled = 0),
    }
}

fn draw(frame: &mut Frame, talk: &Talk, view: &View, now: Instant) {
    let side = if frame.area().width > 2 * SIDE { SIDE } else { 0 };
    let [left, right] =
        Layout::horizontal([Constraint::Min(1), Constraint::Length(side)]).areas(frame.area());
    let [conversation, input] = Layout::vertical([Constraint::Min(1), Constraint::Length(3)]).areas(left);
    draw_conversation(frame, conversation, talk, view);
    draw_input(frame, input, view);
    if side > 0 {
        let [people, traffic] = Layout::vertical([Constraint::Min(3), Constraint::Length(15)]).areas(right);
        draw_people(frame, people, talk, now);
        draw_traffic(frame, traffic, talk);
    }
}

fn draw_conversation(frame: &mut Frame, area: Rect, talk: &Talk, view: &View) {
    let title = if view.scrolled > 0 { " conversation (earlier) " } else { " conversation " };
    let block = Block::new().borders(Borders::TOP).title(title);
    let inner = block.inner(area);
    let last = talk.lines.len().saturating_sub(view.scrolled);
    // From the last one upwards, until the area is full.
    let mut rows = VecDeque::new();
    for entry in talk.lines.range(..last).rev() {
        if rows.len() >= usize::from(inner.height) {
            break;
        }
        for row in wrap(row(entry), usize::from(inner.width)).into_iter().rev() {
            rows.push_front(row);
        }
    }
    let hidden = rows.len().saturating_sub(usize::from(inner.height));
    let rows: Vec<_> = rows.into_iter().skip(hidden).collect();
    frame.render_widget(Paragraph::new(rows).block(block), area);
}

/// Breaks a row into rows of at most `width` columns.
fn wrap(row: Row<'static>, width: usize) -> Vec<Row<'static>> {
    let (mut rows, mut spans, mut used) = (Vec::new(), Vec::<Span>::new(), 0);
    for span in row.spans {
        let mut part = String::new();
        for c in span.content.chars() {
            let columns = Span::raw(c.to_string()).width();
            if used + columns > width && used > 0 {
                spans.push(Span::styled(std::mem::take(&mut part), span.style));
                rows.push(Row::from(std::mem::take(&mut spans)).style(row.style));
                used = 0;
            }
            part.push(c);
            used += columns;
        }
        spans.push(Span::styled(part, span.style));
    }
    rows.push(Row::from(spans).style(row.style));
    rows
}

fn row(entry: &Entry) -> Row<'static> {
    match entry {
        Entry::Said(line) => Row::from(vec![
            Span::raw(format!("{} ", line.time)).dim(),
            Span::raw(format!("<{}> ", line.name)).bold(),
            Span::raw(line.text.clone()),
        ]),
        Entry::Notice(notice) => Row::from(format!("* {notice}")).dim().italic(),
    }
}

fn draw_input(frame: &mut Frame, area: Rect, view: &View) {
    let block = Block::bordered().title(" say (Enter sends, PageUp scrolls, Ctrl-C ends) ");
    let inner = block.inner(area);
    let (before, behind) = view.editor.parts();
    let at = Span::raw(before.as_str()).width();
    // The cursor stays in view.
    let hidden = (at + 1).saturating_sub(usize::from(inner.width));
    let hidden = u16::try_from(hidden).unwrap_or(u16::MAX);
    let text = Paragraph::new(before + &behind).scroll((0, hidden)).block(block);
    frame.render_widget(text, area);
    let column = u16::try_from(at).unwrap_or(u16::MAX).saturating_sub(hidden);
    frame.set_cursor_position((inner.x.saturating_add(column), inner.y));
}

fn draw_people(frame: &mut Frame, area: Rect, talk: &Talk, now: Instant) {
    let rows: Vec<_> = talk
        .peers
        .iter()
        .map(|(name, peer)| {
            let noticed = [(peer.heard, "heard"), (peer.reached, "reached")];
            let words: Vec<_> = noticed
                .iter()
                .filter_map(|(when, how)| Some(format!("{how} {}", ago((*when)?, now))))
                .collect();
            let style = if words.is_empty() { Style::new().dim() } else { Style::new().fg(Color::Green) };
            let name = printable(name);
            Row::from(vec![Span::styled(format!("{name} "), style), Span::raw(words.join(", ")).dim()])
        })
        .collect();
    let block = Block::bordered().title(" who (heard from, reached) ");
    frame.render_widget(Paragraph::new(rows).block(block), area);
}

fn draw_traffic(frame: &mut Frame, area: Rect, talk: &Talk) {
    let block = Block::bordered().title(" packets a second ");
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let totals = Cover::of(&talk.totals.role);
    let [queued, charts] = Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(inner);
    let waiting = format!("queued: {}", talk.totals.waiting);
    frame.render_widget(Paragraph::new(waiting).add_modifier(Modifier::BOLD), queued);
    let areas: [Rect; 4] = Layout::vertical([Constraint::Length(3); 4]).areas(charts);
    for ((name, count), area) in KINDS.into_iter().zip(areas) {
        let [title, chart] = Layout::vertical([Constraint::Length(1), Constraint::Length(2)]).areas(area);
        frame.render_widget(Paragraph::new(format!("{name} {}", count(&totals))).dim(), title);
        let width = usize::from(chart.width);
        let shown = talk.cover.iter().skip(talk.cover.len().saturating_sub(width));
        frame.render_widget(Sparkline::default().data(shown.map(count).collect::<Vec<_>>()), chart);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use motemix_loopix::files::{Profile, Role};
    use motemix_loopix::runtime::{Event, Totals};
    use motemix_loopix::wire::message::Encoding;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn talk() -> Talk {
        let mut talk = Talk::new("Ann", "Client1");
        let users = ["Client1", "Client2"].map(Into::into).to_vec();
        let ready = Event::Ready {
            role: Role::Client,
            name: "Client1".into(),
            port: 7,
            profile: Profile::Hardened,
            users,
        };
        talk.heed(ready, Instant::now());
        talk
    }

    fn drawn(width: u16, height: u16, talk: &Talk, view: &View) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, talk, view, Instant::now())).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn everything_has_its_place() {
        let mut talk = talk();
        talk.heed(
            Event::Received {
                message: b"CHAT10:10:50 <Client2> all is well".to_vec(),
                encoding: Encoding::Bytes,
            },
            Instant::now(),
        );
        let mut totals = Totals { waiting: 4, ..Totals::default() };
        totals.role.loops_sent = 9;
        talk.heed(Event::Counters(Box::new(totals)), Instant::now());
        let mut view = View::default();
        "typing".chars().for_each(|c| view.editor.insert(c));
        let screen = drawn(100, 30, &talk, &view);
        for part in
            ["10:10:50 <Client2> all is well", "typing", "Client2 heard 0s", "queued: 4", "loops sent 9", "█"]
        {
            assert!(screen.contains(part), "no {part:?} in\n{screen}");
        }
    }

    #[test]
    fn the_newest_lines_are_seen_unless_one_scrolls_back() {
        let mut talk = talk();
        for number in 0..100 {
            let message =
                format!("CHAT10:10:50 <Client2> {} number {number}.", "long ".repeat(30)).into_bytes();
            talk.heed(Event::Received { message, encoding: Encoding::Bytes }, Instant::now());
        }
        let mut view = View::default();
        let screen = drawn(100, 24, &talk, &view);
        assert!(screen.contains("number 99.") && !screen.contains("number 60."), "{screen}");
        for _ in 0..4 {
            press(&mut view, KeyEvent::from(KeyCode::PageUp), talk.lines.len());
        }
        let screen = drawn(100, 24, &talk, &view);
        assert!(!screen.contains("number 99.") && screen.contains("number 79."), "{screen}");
    }

    #[test]
    fn a_tiny_terminal_is_no_reason_to_end() {
        let (talk, view) = (talk(), View::default());
        for (width, height) in [(1, 1), (2, 3), (10, 4), (35, 2), (80, 5)] {
            drawn(width, height, &talk, &view);
        }
    }
}
