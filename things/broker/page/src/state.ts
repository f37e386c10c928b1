// What stands in words and colour beside a value: signature, freshness, and whether somebody should look.

import { age, clock, duration } from "./format";
import { type Model, type Topic, usualInterval } from "./model";

export type Tone = "good" | "plain" | "warn" | "bad";
export interface Badge { tone: Tone; mark: string; text: string; hint: string }

/** A topic that is silent for three times as long as usual is late, and not before ten seconds. */
const LATE = 3;
const NEVER_LATE_BEFORE = 10_000;

function refusedLast(topic: Topic): boolean {
  return topic.refused !== null && (topic.value === null || topic.refused.at >= topic.value.published);
}

/** What the row says: a publication that was refused after the value that is shown, or else of this value. */
export function badge(topic: Topic): Badge {
  if (!topic.refused || !refusedLast(topic)) return signature(topic);
  const times = topic.refused.count > 1 ? ` ×${topic.refused.count}` : "";
  return { tone: "bad", mark: "✕", text: `refused${times}`, hint: topic.refused.why };
}

/** A receiver makes a topic of commands with an empty value, so that it can be observed. */
function saysNothing(topic: Topic): boolean {
  return !topic.value || topic.value.bytes === 0;
}

/** Of the value that is shown. */
export function signature(topic: Topic): Badge {
  if (saysNothing(topic)) return { tone: "plain", mark: "–", text: "no value", hint: "Nothing was published yet" };
  if (topic.value?.signed.state === "checked") {
    return { tone: "good", mark: "✓", text: "checked", hint: "The broker checked the device's signature" };
  }
  return { tone: "plain", mark: "○", text: "unchecked", hint: "The broker knows no key to check a signature with" };
}

export function freshness(model: Model, topic: Topic): { late: boolean; text: string; hint: string } {
  if (!topic.value || saysNothing(topic)) return { late: false, text: "never", hint: "Nothing was published yet" };
  const old = model.now() - topic.value.published;
  const usual = usualInterval(model.series.get(topic.id) ?? []);
  const late = usual !== null && old > Math.max(LATE * usual, NEVER_LATE_BEFORE);
  const every = usual === null ? "" : `, usually every ${duration(Math.max(usual, 1000))}`;
  return { late, text: age(old), hint: `Published ${clock(topic.value.published)}${every}` };
}

export function needsALook(model: Model, topic: Topic): boolean {
  return refusedLast(topic) || topic.value?.problem !== undefined || freshness(model, topic).late;
}
