// What the broker says (docs/reference/broker-api.md), and what this page remembers of it.

export interface Store { state: "working" | "refusing"; since?: number; why?: string }
export interface Status { now: number; network: string; version: string; store: Store }
export interface Link { target: string; type: string | null }
export interface Device {
  id: string; endpoint: string; name: string; sector: string | null; base: string; expires: number; lifetime: number;
  identity: string; place: string | null; purpose: string | null;
  attributes: [string, string | null][]; links: Link[]; links_left_off: number;
}
export interface Measured {
  name: string; unit: string | null; time: number; value: number | string | boolean | null; sum: number | null;
}
export interface Value {
  published: number; bytes: number; form: string;
  signed: { state: "checked"; sequence: number } | { state: "unchecked" };
  records?: Measured[]; records_left_off?: number; text?: string; problem?: string;
}
export interface Refused { at: number; count: number; why: string }
export interface Topic {
  id: string; name: string; type: string | null; device: string | null; expires: number | null;
  value: Value | null; refused: Refused | null;
}
export interface Series { name: string; unit: string | null; times: number[]; values: number[] }
type Gone = { id: string; gone: true };
export type DeviceEvent = Device | Gone;
export type TopicEvent = Omit<Topic, "value" | "refused"> | Gone;

/** The name of a topic below the heading of a device, which says the rest. */
export function nameWithin(name: string, identity: string): string {
  const prefix = `devices/${identity.slice(0, 32)}/`;
  return identity !== "" && name.length > prefix.length && name.startsWith(prefix) ? name.slice(prefix.length) : name;
}

/** Points of a name that are kept. */
const MOST_POINTS = 1000;
const MOST_SERIES = 8;
/** How far a time may be from when it came, in milliseconds; as the broker judges it. */
const BACK = 366 * 86_400_000;
const AHEAD = 86_400_000;

/** The series of a topic go on with what has just come. */
export function prolong(series: Series[], value: Value): void {
  for (const record of value.records ?? []) {
    const measured = typeof record.value === "boolean" ? Number(record.value) : record.value;
    if (typeof measured !== "number") continue;
    const apart = record.time - value.published;
    const time = apart >= -BACK && apart <= AHEAD ? record.time : value.published;
    let one = series.find((other) => other.name === record.name);
    if (!one) {
      if (series.length >= MOST_SERIES) continue;
      one = { name: record.name, unit: record.unit, times: [], values: [] };
      series.push(one);
    }
    // Readings that took another path may come late.
    let at = one.times.length;
    while (at > 0 && (one.times[at - 1] ?? 0) > time) at -= 1;
    if (one.times[at - 1] === time && one.values[at - 1] === measured) continue;
    one.times.splice(at, 0, time);
    one.values.splice(at, 0, measured);
    if (one.times.length > MOST_POINTS) {
      one.times.shift();
      one.values.shift();
    }
  }
}

/** How long a topic is usually silent, in milliseconds: the median of its last intervals. */
export function usualInterval(series: Series[]): number | null {
  const times = series[0]?.times.slice(-12) ?? [];
  const intervals = times.slice(1).map((time, at) => time - (times[at] ?? time)).sort((a, b) => a - b);
  return intervals.length < 3 ? null : (intervals[Math.floor(intervals.length / 2)] ?? null);
}

export class Model {
  readonly devices = new Map<string, Device>();
  readonly topics = new Map<string, Topic>();
  readonly series = new Map<string, Series[]>();
  status: Status | null = null;
  leftOff = 0;
  /** What this machine's clock is behind the broker's, in milliseconds. */
  #behind = 0;

  now(): number {
    return Date.now() + this.#behind;
  }

  isNow(moment: number): void {
    this.#behind = moment - Date.now();
  }

  load(status: Status, devices: Device[], topics: Topic[], leftOff: number): void {
    this.status = status;
    this.leftOff = leftOff;
    this.isNow(status.now);
    this.devices.clear();
    for (const device of devices) this.devices.set(device.id, device);
    this.topics.clear();
    for (const topic of topics) this.topics.set(topic.id, topic);
    for (const id of this.series.keys()) if (!this.topics.has(id)) this.series.delete(id);
  }

  device(event: DeviceEvent): void {
    if ("gone" in event) this.devices.delete(event.id);
    else this.devices.set(event.id, event);
  }

  topic(event: TopicEvent): void {
    if ("gone" in event) {
      this.topics.delete(event.id);
      this.series.delete(event.id);
      return;
    }
    const before = this.topics.get(event.id);
    this.topics.set(event.id, { ...event, value: before?.value ?? null, refused: before?.refused ?? null });
  }

  value(id: string, value: Value | null): void {
    const topic = this.topics.get(id);
    if (!topic) return;
    topic.value = value;
    const series = this.series.get(id);
    if (series && value) prolong(series, value);
  }

  refused(id: string, refused: Refused): void {
    const topic = this.topics.get(id);
    if (topic) topic.refused = refused;
  }
}
