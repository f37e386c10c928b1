// A topic: its row, and what opens below it.

import { element, say } from "./dom";
import { ask } from "./feed";
import { clock, number, unit } from "./format";
import type { Measured, Model, Series, Topic, Value } from "./model";
import { nameWithin, prolong } from "./model";
import { Plot, spark } from "./plot";
import { badge, freshness, needsALook, signature } from "./state";

function measured(record: Measured): string {
  if (typeof record.value === "number") return `${number(record.value)} ${unit(record.unit)}`.trim();
  if (record.value !== null) return String(record.value);
  return record.sum === null ? "–" : `Σ ${number(record.sum)} ${unit(record.unit)}`.trim();
}

function newest(value: Value | null): string {
  if (!value || value.bytes === 0) return "–";
  if (value.problem !== undefined) return "unreadable";
  if (value.text !== undefined) return value.text;
  const records = value.records ?? [];
  if (records.length === 0) return `${value.bytes} bytes`;
  const more = records.length - 2 + (value.records_left_off ?? 0);
  return records.slice(0, 2).map(measured).join(" · ") + (more > 0 ? ` +${more}` : "");
}

/** When the past of a topic is asked for again, in milliseconds. */
const AGAIN = 10_000;

let count = 0;

export class TopicRow {
  readonly item: HTMLElement;
  readonly #button: HTMLButtonElement;
  readonly #name = element("bdi", { class: "name" });
  readonly #value = element("bdi", { class: "value" });
  readonly #spark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  readonly #badge = element("span", { class: "badge" });
  readonly #sequence = element("span", { class: "sequence" });
  readonly #age = element("span", { class: "age" });
  readonly #details: HTMLElement;
  #plot: Plot | null = null;
  #plotted: HTMLElement | null = null;
  #facts: HTMLElement | null = null;
  #loading = false;
  #loaded = false;
  #problem: { at: number; why: string } | null = null;
  /** Whether somebody can see it. */
  visible = false;
  /** The device below whose heading it stands. */
  within = "";

  constructor(private readonly model: Model, private readonly id: string) {
    const details = `details-${(count += 1)}`;
    this.#spark.setAttribute("class", "spark");
    this.#spark.setAttribute("aria-hidden", "true");
    this.#button = element("button", { type: "button", class: "row", "aria-expanded": "false", "aria-controls": details },
      this.#name, this.#value, this.#spark, this.#badge, this.#sequence, this.#age);
    this.#details = element("div", { id: details, class: "details", hidden: "" });
    this.item = element("li", { class: "topic", "data-topic": id }, this.#button, this.#details);
    this.#button.addEventListener("click", () => this.#toggle());
  }

  #series(): Series[] {
    return this.model.series.get(this.id) ?? [];
  }

  /** Text that a filter looks into. */
  text(topic: Topic): string {
    return `${topic.name} ${topic.type ?? ""}`.toLowerCase();
  }

  update(topic: Topic): void {
    say(this.#name, nameWithin(topic.name, this.within));
    say(this.#value, newest(topic.value));
    this.#value.title = this.#value.textContent ?? "";
    const { tone, mark, text, hint } = badge(topic);
    this.#badge.dataset.tone = tone;
    say(this.#badge, `${mark} ${text}`);
    this.#badge.title = hint;
    const signed = topic.value?.signed;
    say(this.#sequence, signed?.state === "checked" ? `#${signed.sequence}` : "");
    spark(this.#spark, this.#series()[0]);
    this.tick(topic);
    if (this.#plot) this.#plot.show(this.#series());
    if (this.#facts) this.#fill(this.#facts, topic);
    if (this.#problem && Date.now() - this.#problem.at > AGAIN) void this.load();
  }

  /** The page was cut off: what is plotted may lack something. */
  outdated(): void {
    this.#loaded = false;
    if (this.visible) void this.load();
  }

  /** A second has passed. */
  tick(topic: Topic): void {
    const fresh = freshness(this.model, topic);
    say(this.#age, fresh.late ? `late: ${fresh.text}` : fresh.text);
    this.#age.title = fresh.hint;
    this.#age.classList.toggle("late", fresh.late);
    this.item.classList.toggle("look", needsALook(this.model, topic));
  }

  /** What was before this page was opened; asked for when the row is first seen. */
  async load(): Promise<void> {
    if (this.#loading || this.#loaded) return;
    this.#loading = true;
    this.#problem = null;
    try {
      const path = `/api/topics/${encodeURIComponent(this.id)}/history?last=300`;
      const { series } = await ask<{ series: Series[] }>(path);
      const topic = this.model.topics.get(this.id);
      if (!topic) return;
      // What came meanwhile.
      if (topic.value) prolong(series, topic.value);
      this.model.series.set(this.id, series);
      this.#loaded = true;
      this.update(topic);
    } catch (error) {
      this.#problem = { at: Date.now(), why: error instanceof Error ? error.message : String(error) };
      const topic = this.model.topics.get(this.id);
      if (topic) this.update(topic);
    } finally {
      this.#loading = false;
    }
  }

  recolor(): void {
    this.#plot?.redraw(this.#series());
  }

  #toggle(): void {
    const open = this.#details.hidden;
    this.#details.hidden = !open;
    this.#button.setAttribute("aria-expanded", String(open));
    this.#plot?.destroy();
    this.#plot = null;
    this.#facts = null;
    this.#details.replaceChildren();
    const topic = this.model.topics.get(this.id);
    if (!open || !topic) return;
    this.#plotted = element("div", { class: "plot" });
    this.#facts = element("dl", { class: "facts" });
    this.#details.append(this.#plotted, this.#facts);
    this.#fill(this.#facts, topic);
    this.#plot = new Plot(this.#plotted);
    this.#plot.show(this.#series());
    void this.load();
  }

  #fill(facts: HTMLElement, topic: Topic): void {
    const value = topic.value;
    const lines: [string, string][] = [["Signature", signature(topic).hint]];
    if (value) {
      if (value.signed.state === "checked") lines.push(["Number", `${value.signed.sequence}, fresh`]);
      lines.push(["Published", clock(value.published)]);
      const first = value.records?.[0];
      if (first) lines.push(["Measured", clock(first.time)]);
      lines.push(["Form", `${value.form}, ${value.bytes} bytes`]);
      if (value.problem !== undefined) lines.push(["Problem", value.problem]);
      for (const record of value.records ?? []) lines.push([record.name, measured(record)]);
    }
    if (topic.refused) {
      const { count: times, at, why } = topic.refused;
      lines.push(["Refused", `${times} ${times === 1 ? "publication" : "publications"}, last ${clock(at)}: ${why}`]);
    }
    if (this.#problem) lines.push(["Plot", `What was before is missing: ${this.#problem.why}`]);
    lines.push(["Topic", topic.name]);
    if (topic.type) lines.push(["Type", topic.type]);
    lines.push(["Path", `/ps/data/${topic.id}`]);
    if (topic.expires !== null) lines.push(["Ends", clock(topic.expires)]);
    facts.replaceChildren(...lines.map(([name, text]) =>
      element("div", {}, element("dt", {}, element("bdi", {}, name)), element("dd", {}, element("bdi", {}, text)))));
  }
}
