// The plots: a line without axes in each row, and uPlot in what is open.

import uPlot from "uplot";
import { clock, number, unit } from "./format";
import type { Series } from "./model";

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [120, 28];
/** Points of the line in a row. */
const SHOWN = 80;

/** The line in a row, of the first name that the topic has. */
export function spark(svg: SVGSVGElement, series: Series | undefined): void {
  const times = series?.times.slice(-SHOWN) ?? [];
  const values = series?.values.slice(-SHOWN) ?? [];
  let path = svg.querySelector("path");
  if (!path) {
    svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
    svg.setAttribute("preserveAspectRatio", "none");
    path = svg.appendChild(document.createElementNS(SVG, "path"));
  }
  const [first, last] = [times[0] ?? 0, times[times.length - 1] ?? 0];
  const low = Math.min(...values);
  const range = Math.max(...values) - low;
  const points = times.map((time, at) => {
    const x = last > first ? ((time - first) / (last - first)) * (WIDTH - 4) + 2 : WIDTH / 2;
    const share = range > 0 ? ((values[at] ?? low) - low) / range : 0.5;
    return `${x.toFixed(1)} ${(HEIGHT - 3 - share * (HEIGHT - 6)).toFixed(1)}`;
  });
  path.setAttribute("d", points.length > 1 ? `M${points.join("L")}` : "");
}

function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const LINES = ["--line-1", "--line-2", "--line-3", "--line-4"];

/** A plot of all names of a topic; those of one unit share an axis. */
export class Plot {
  #plot: uPlot | null = null;
  #shape = "";
  readonly #resized: ResizeObserver;

  constructor(private readonly where: HTMLElement) {
    this.#resized = new ResizeObserver(() => this.#plot?.setSize(this.#size()));
    this.#resized.observe(where);
  }

  #size(): { width: number; height: number } {
    return { width: Math.max(200, Math.floor(this.where.clientWidth)), height: 200 };
  }

  show(series: Series[]): void {
    const tables = series.map((one): uPlot.AlignedData => [one.times.map((time) => time / 1000), one.values]);
    const data: uPlot.AlignedData = tables.length > 0 ? uPlot.join(tables) : [[]];
    const shape = JSON.stringify(series.map((one) => [one.name, one.unit]));
    if (this.#plot && shape === this.#shape) {
      this.#plot.setData(data);
      return;
    }
    this.#shape = shape;
    this.#plot?.destroy();
    this.#plot = new uPlot(this.#options(series), data, this.where);
  }

  /** In the colours that hold now. */
  redraw(series: Series[]): void {
    this.#shape = "";
    this.show(series);
  }

  destroy(): void {
    this.#resized.disconnect();
    this.#plot?.destroy();
    this.#plot = null;
  }

  #options(series: Series[]): uPlot.Options {
    const ink = color("--muted");
    const grid = { stroke: color("--rule"), width: 1 };
    const font = "12px system-ui, sans-serif";
    const units = [...new Set(series.map((one) => one.unit ?? ""))];
    const axis = (name: string, at: number): uPlot.Axis => ({
      scale: `y:${name}`, stroke: ink, font, size: 58, side: at % 2 === 0 ? 3 : 1,
      grid: at === 0 ? grid : { show: false }, ticks: { show: false },
      values: (_plot, ticks) => ticks.map((tick) => number(tick)),
      label: unit(name) || undefined, labelFont: font, labelSize: 18,
    });
    return {
      ...this.#size(),
      padding: [8, 24, 0, 0],
      cursor: { y: false, points: { size: 6 } },
      scales: { x: { time: true } },
      axes: [{ stroke: ink, font, grid, ticks: { show: false }, space: 70, values: TIMES }, ...units.slice(0, 2).map(axis)],
      series: [
        { label: "time", value: (plot, time) => shown(time, plot.data[0], (seconds) => clock(seconds * 1000)) },
        ...series.map((one, at): uPlot.Series => ({
          label: one.name, scale: `y:${one.unit ?? ""}`, stroke: color(LINES[at % LINES.length] ?? "--line-1"),
          width: 1.5, spanGaps: true, points: { size: 4 },
          value: (plot, value) => shown(value, plot.data[at + 1], (it) => `${number(it)} ${unit(one.unit)}`),
        })),
      ],
    };
  }
}

/** What the pointer is at, or else the newest. */
function shown(value: number | null, all: ArrayLike<number | null | undefined> | undefined, say: (value: number) => string): string {
  const newest = Array.from(all ?? []).findLast((one) => typeof one === "number");
  const either = value ?? newest;
  return typeof either === "number" ? say(either) : "–";
}

/** 24 hours, and the date where a day begins: for years, days, hours, minutes, seconds. */
const TIMES: uPlot.Axis.Values = [
  [31536000, "{YYYY}", null, null, null, null, null, null, 1],
  [2419200, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
];
