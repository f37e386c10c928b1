//! Lines with confidence bands.

use super::axis::Axis;
use super::{Drawn, FONT, GRID, INK, PAPER, brief, colour, mark, width};
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const SIZE: (u32, u32) = (820, 500);
/// Between two entries of the legend.
const ENTRY: i32 = 20;
/// Left of the plot, for the numbers of the y axis.
const LEFT: u32 = 70;

/// A chart of lines.
pub struct Lines {
    pub title: String,
    pub x: String,
    pub y: String,
    pub log_x: bool,
    pub log_y: bool,
    pub series: Vec<Series>,
}

/// One line.
pub struct Series {
    pub name: String,
    /// Series of one colour belong together. Beyond the colours, marks tell them apart.
    pub colour: usize,
    pub style: Style,
    pub points: Vec<Point>,
}

/// How a line is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line through dots.
    Solid,
    /// Dots with their number beside them belong to somebody else: hollow, with a thin line.
    Hollow,
}

/// A mean, and how far it may be off.
#[derive(Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub half: Option<f64>,
}

type Plot<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

impl Lines {
    /// As SVG.
    pub fn draw(&self) -> Drawn<String> {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let x = Axis::over(points().map(|point| point.x), self.log_x, false);
        let ends = points().flat_map(|point| {
            let half = point.half.unwrap_or(0.0);
            [point.y - half, point.y, point.y + half]
        });
        let y = Axis::over(ends, self.log_y, true);
        let mut svg = String::new();
        {
            let head = 46 + ENTRY as u32 * self.series.len().div_ceil(2) as u32;
            let root = SVGBackend::with_string(&mut svg, (SIZE.0, SIZE.1 + head)).into_drawing_area();
            root.fill(&PAPER)?;
            let (head, body) = root.split_vertically(head);
            self.legend(&head)?;
            let mut plot = ChartBuilder::on(&body)
                .margin_top(10)
                .margin_right(24)
                .x_label_area_size(52)
                .y_label_area_size(LEFT)
                .build_cartesian_2d(x.range(), y.range())?;
            self.grid(&body, &plot, &x, &y)?;
            for series in &self.series {
                series.draw(&mut plot, &x, &y)?;
            }
            root.present()?;
        }
        Ok(svg)
    }

    fn legend(&self, area: &DrawingArea<SVGBackend<'_>, Shift>) -> Drawn {
        area.draw(&Text::new(self.title.clone(), (20, 10), (FONT, 19).into_font().color(&INK)))?;
        let widest = self.series.iter().step_by(2).map(|series| width(&series.name, 13)).max().unwrap_or(0);
        for (number, series) in (0_i32..).zip(&self.series) {
            let at = (20 + (number % 2) * (widest + 70), 48 + number / 2 * ENTRY);
            let ink = colour(series.colour);
            let stroke =
                ShapeStyle { color: ink.to_rgba(), filled: false, stroke_width: series.style.stroke() };
            area.draw(&PathElement::new(vec![at, (at.0 + 28, at.1)], stroke))?;
            let middle = (at.0 + 14, at.1);
            if let Some(mark) = mark(series.colour).filter(|_| series.style == Style::Solid) {
                area.draw(&(EmptyElement::at(middle) + Polygon::new(mark, ink.filled())))?;
            } else {
                area.draw(&Circle::new(middle, 4, PAPER.filled()))?;
                let dot = if series.style == Style::Solid { ink.filled() } else { ink.stroke_width(2) };
                area.draw(&Circle::new(middle, 4, dot))?;
            }
            area.draw(&Text::new(
                series.name.clone(),
                (at.0 + 36, at.1),
                TextStyle::from((FONT, 13).into_font()).color(&INK).pos(Pos::new(HPos::Left, VPos::Center)),
            ))?;
        }
        Ok(())
    }

    fn grid(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        plot: &Plot<'_, '_>,
        x: &Axis,
        y: &Axis,
    ) -> Drawn {
        let text = |size: u32, horizontal, vertical| {
            TextStyle::from((FONT, size).into_font()).color(&INK).pos(Pos::new(horizontal, vertical))
        };
        let origin = (area.get_pixel_range().0.start, area.get_pixel_range().1.start);
        let at = |x_at: f64, y_at: f64| {
            let pixel = plot.plotting_area().map_coordinate(&(x_at, y_at));
            (pixel.0 - origin.0, pixel.1 - origin.1)
        };
        let (wide, high) = (x.range(), y.range());
        for tick in y.ticks() {
            let (left, right) = (at(wide.start, y.at(tick)), at(wide.end, y.at(tick)));
            area.draw(&PathElement::new(vec![left, right], GRID))?;
            let place = (left.0 - 8, left.1);
            area.draw(&Text::new(brief(tick), place, text(13, HPos::Right, VPos::Center)))?;
        }
        for tick in x.ticks() {
            let (below, above) = (at(x.at(tick), high.start), at(x.at(tick), high.end));
            area.draw(&PathElement::new(vec![below, above], GRID))?;
            area.draw(&Text::new(brief(tick), (below.0, below.1 + 8), text(13, HPos::Center, VPos::Top)))?;
        }
        let (left, right) = (at(wide.start, high.start), at(wide.end, high.start));
        area.draw(&PathElement::new(vec![left, right], INK))?;
        let middle = (i32::midpoint(left.0, right.0), left.1 + 30);
        area.draw(&Text::new(self.x.clone(), middle, text(14, HPos::Center, VPos::Top)))?;
        let top = at(wide.start, high.end);
        let turned = TextStyle::from((FONT, 14).into_font().transform(FontTransform::Rotate270));
        let turned = turned.color(&INK).pos(Pos::new(HPos::Center, VPos::Top));
        area.draw(&Text::new(self.y.clone(), (4, i32::midpoint(top.1, left.1)), turned))?;
        Ok(())
    }
}

impl Style {
    fn stroke(self) -> u32 {
        match self {
            Self::Solid => 2,
            Self::Hollow => 1,
        }
    }
}

impl Series {
    fn draw(&self, plot: &mut Plot<'_, '_>, x: &Axis, y: &Axis) -> Drawn {
        let ink = colour(self.colour);
        let edge = |sign: f64| {
            let at = move |point: &Point| (x.at(point.x), y.at(point.y + sign * point.half.unwrap_or(0.0)));
            self.points.iter().map(at)
        };
        if self.points.iter().any(|point| point.half.is_some()) {
            let band: Vec<_> = edge(1.0).chain(edge(-1.0).rev()).collect();
            plot.draw_series([Polygon::new(band, ink.mix(0.18).filled())])?;
        }
        let line = ShapeStyle { color: ink.to_rgba(), filled: false, stroke_width: self.style.stroke() };
        plot.draw_series([PathElement::new(edge(0.0).collect::<Vec<_>>(), line)])?;
        for at in edge(0.0) {
            if let Some(mark) = mark(self.colour).filter(|_| self.style == Style::Solid) {
                plot.draw_series([EmptyElement::at(at) + Polygon::new(mark, ink.filled())])?;
                continue;
            }
            let dots = match self.style {
                Style::Solid => [ink.filled(), ink.filled()],
                Style::Hollow => [PAPER.filled(), ink.stroke_width(2)],
            };
            plot.draw_series(dots.map(|dot| Circle::new(at, 4, dot)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(log: bool) -> Lines {
        let point = |x: f64, y: f64| Point { x, y, half: Some(y / 10.0) };
        let series = |name: &str, colour, style| Series {
            name: name.into(),
            colour,
            style,
            points: vec![point(10.0, 91.0), point(60.0, 62.0)],
        };
        Lines {
            title: "a title".into(),
            x: "nodes".into(),
            y: "percent".into(),
            log_x: log,
            log_y: log,
            series: vec![series("ours", 0, Style::Solid), series("theirs", 1, Style::Hollow)],
        }
    }

    #[test]
    fn a_chart_shows_its_words_bands_and_ticks() {
        for log in [false, true] {
            let svg = chart(log).draw().unwrap();
            for word in ["a title", "nodes", "percent", "ours", "theirs", "20"] {
                assert!(svg.contains(&format!("\n{word}\n")), "{word} is not in {svg}");
            }
            assert_eq!(svg.matches("<polygon").count(), 2, "two bands");
        }
    }

    #[test]
    fn as_many_lines_as_may_be_drawn_differ_in_colour_or_mark() {
        let looks: Vec<_> =
            (0..crate::chart::MOST_LINES).map(|number| (colour(number), mark(number))).collect();
        for (number, look) in looks.iter().enumerate() {
            assert!(!looks[..number].contains(look), "line {number} looks like an earlier one");
        }
        let mut many = chart(false);
        many.series = (0..9_u8)
            .map(|number| Series {
                name: format!("line {number}"),
                colour: number.into(),
                style: Style::Solid,
                points: vec![Point { x: number.into(), y: 1.0, half: None }],
            })
            .collect();
        let svg = many.draw().unwrap();
        assert_eq!(
            svg.matches("<circle").count(),
            7 * (2 + 2),
            "discs have an edge, in the plot and the legend"
        );
        assert_eq!(svg.matches("<polygon").count(), 2 * 2, "two squares, in the plot and the legend");
    }
}
