//! Bars that lie, one below the other, with their names beside them.

use super::{Drawn, FONT, GRID, INK, PAPER, brief, colour, width};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDE: i32 = 820;
const HEAD: i32 = 50;
const BAR: i32 = 34;
/// For the number at the end of a bar, and what somebody else measured.
const NUMBER: i32 = 150;

/// A chart of bars.
pub struct Bars {
    pub title: String,
    /// What the numbers are.
    pub unit: String,
    pub bars: Vec<Bar>,
}

/// One bar.
pub struct Bar {
    pub name: String,
    pub colour: usize,
    pub value: f64,
    /// How far it may be off.
    pub half: Option<f64>,
    /// Who else measured it, and what.
    pub measured: Option<(&'static str, f64)>,
}

impl Bars {
    /// As SVG. Bars begin at zero.
    pub fn draw(&self) -> Drawn<String> {
        let bottom = HEAD + BAR * i32::try_from(self.bars.len()).unwrap_or(0);
        let size = (WIDE.cast_unsigned(), (bottom + 40).cast_unsigned());
        let left = 30 + self.bars.iter().map(|bar| width(&bar.name, 14)).max().unwrap_or(0);
        let of = |bar: &Bar| bar.value.max(bar.measured.map_or(0.0, |(_, measured)| measured));
        let most = self.bars.iter().map(of).fold(f64::MIN_POSITIVE, f64::max);
        let pixels = f64::from(WIDE - left - NUMBER);
        let at = |value: f64| left + (value.max(0.0) / most * pixels) as i32;
        let text = |horizontal| {
            TextStyle::from((FONT, 14).into_font()).color(&INK).pos(Pos::new(horizontal, VPos::Center))
        };
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            root.fill(&PAPER)?;
            root.draw(&Text::new(self.title.clone(), (20, 12), (FONT, 19).into_font().color(&INK)))?;
            for (bar, number) in self.bars.iter().zip(0..) {
                let (top, middle) = (HEAD + number * BAR, HEAD + number * BAR + BAR / 2 - 3);
                let ink = colour(bar.colour);
                root.draw(&Text::new(bar.name.clone(), (left - 10, middle), text(HPos::Right)))?;
                root.draw(&Rectangle::new([(left, top), (at(bar.value), top + BAR - 8)], ink.filled()))?;
                let half = bar.half.unwrap_or(0.0);
                let whisker = vec![(at(bar.value - half), middle), (at(bar.value + half), middle)];
                root.draw(&PathElement::new(whisker, INK.stroke_width(2)))?;
                let mut end = at(bar.value + half);
                let mut said = brief((bar.value * 100.0).round() / 100.0);
                if let Some((by, measured)) = bar.measured {
                    let line = vec![(at(measured), top - 3), (at(measured), top + BAR - 5)];
                    root.draw(&PathElement::new(line, INK.stroke_width(3)))?;
                    said = format!("{said}; {by} {}", brief(measured));
                    end = end.max(at(measured));
                }
                root.draw(&Text::new(said, (end + 8, middle), text(HPos::Left)))?;
            }
            root.draw(&PathElement::new(vec![(left, HEAD - 6), (left, bottom)], GRID))?;
            root.draw(&Text::new(self.unit.clone(), (left, bottom + 16), text(HPos::Left)))?;
            root.present()?;
        }
        Ok(svg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_its_name_and_numbers() {
        let measured = Some(("thesis", 62.0));
        let bar = Bar { name: "nodes".into(), colour: 6, value: 61.234, half: Some(2.0), measured };
        let chart = Bars { title: "why".into(), unit: "percent".into(), bars: vec![bar] };
        let svg = chart.draw().unwrap();
        for word in ["why", "percent", "nodes", "61.23; thesis 62"] {
            assert!(svg.contains(&format!("\n{word}\n")), "{word} is not in {svg}");
        }
    }
}
