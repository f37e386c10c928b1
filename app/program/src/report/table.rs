//! Tables for people.

use anyhow::Result;
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment};

/// Rows under a heading, in columns.
pub struct Table(comfy_table::Table);

impl Table {
    /// A table with a heading.
    pub fn new<const N: usize>(heading: [&str; N]) -> Self {
        let mut table = Self::without_heading();
        table.0.set_header(heading);
        table
    }

    /// A table whose first column says what the others are.
    pub fn without_heading() -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(NOTHING);
        Self(table)
    }

    /// A row of text, whoever it comes from.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells.into_iter().map(|cell| super::printable(&cell)));
    }

    /// A row with a number in its second column, which is aligned to the right.
    pub fn figure(&mut self, name: &str, value: &impl ToString, unit: &str) {
        let value = Cell::new(value.to_string()).set_alignment(CellAlignment::Right);
        self.0.add_row([Cell::new(name), value, Cell::new(unit)]);
    }

    pub fn print(&self) -> Result<()> {
        super::print(self.text().as_bytes())
    }

    /// Its lines.
    pub fn text(&self) -> String {
        // Columns are padded to their width; the last one needs no blanks after it.
        self.0.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}
