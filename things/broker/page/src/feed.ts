// The connection to the broker: first the feed, then everything there is, so that nothing is missed.

import type { Device, DeviceEvent, Model, Refused, Status, Store, Topic, TopicEvent, Value } from "./model";

export type Connection = { state: "connecting" | "live" } | { state: "lost"; since: number };
/** What has changed: a topic by its id, the devices or topics that there are, or everything. */
export type Changed = { topic: string } | "structure" | "status" | "everything";

/** The broker says something every ten seconds. */
const SILENT = 25_000;
const AGAIN = [1_000, 2_000, 5_000, 10_000];

export async function ask<T>(path: string): Promise<T> {
  const response = await fetch(path, { headers: { accept: "application/json" } });
  if (!response.ok) {
    const said = (await response.json().catch(() => ({}))) as { problem?: string };
    throw new Error(said.problem ?? `the broker answered ${response.status}`);
  }
  return (await response.json()) as T;
}

export class Feed {
  connection: Connection = { state: "connecting" };
  #source: EventSource | null = null;
  #failures = 0;
  #watchdog = 0;
  #mustLoad = true;
  /** Events that came while everything was loaded. */
  #held: (() => void)[] | null = null;

  constructor(
    private readonly model: Model,
    private readonly changed: (what: Changed) => void,
    private readonly connectionChanged: () => void,
  ) {}

  open(): void {
    this.#source?.close();
    this.#mustLoad = true;
    const source = new EventSource("/api/feed");
    this.#source = source;
    this.#heard();
    const on = (kind: string, take: (data: unknown) => void): void => {
      source.addEventListener(kind, (event) => {
        if (this.#source !== source) return;
        this.#heard();
        take(JSON.parse((event as MessageEvent<string>).data));
      });
    };
    on("hello", (data) => {
      this.model.isNow((data as { now: number }).now);
      if (this.#mustLoad) void this.#load(source);
      else this.#isLive();
    });
    on("now", (data) => this.model.isNow((data as { now: number }).now));
    on("reload", () => {
      source.close();
      clearTimeout(this.#watchdog);
      this.#watchdog = setTimeout(() => this.open(), 500);
    });
    on("device", (data) => this.#apply("structure", () => this.model.device(data as DeviceEvent)));
    on("topic", (data) => this.#apply("structure", () => this.model.topic(data as TopicEvent)));
    on("value", (data) => {
      const { topic, value } = data as { topic: string; value: Value | null };
      this.#apply({ topic }, () => this.model.value(topic, value));
    });
    on("refused", (data) => {
      const { topic, refused } = data as { topic: string; refused: Refused };
      this.#apply({ topic }, () => this.model.refused(topic, refused));
    });
    on("store", (data) => {
      this.#apply("status", () => {
        if (this.model.status) this.model.status.store = data as Store;
      });
    });
    source.onerror = () => {
      if (this.#source !== source) return;
      // Else the browser tries again by itself, and says what it has seen.
      if (source.readyState === EventSource.CLOSED) this.#lost();
      else this.#isLost();
    };
  }

  #apply(changed: Changed, change: () => void): void {
    const both = (): void => {
      change();
      this.changed(changed);
    };
    if (this.#held) this.#held.push(both);
    else both();
  }

  async #load(source: EventSource): Promise<void> {
    this.#held = [];
    try {
      const [status, devices, topics] = await Promise.all([
        ask<Status>("/api/status"),
        ask<{ devices: Device[]; left_off: number }>("/api/devices"),
        ask<{ topics: Topic[]; left_off: number }>("/api/topics"),
      ]);
      if (this.#source !== source) return;
      this.#mustLoad = false;
      this.model.load(status, devices.devices, topics.topics, devices.left_off + topics.left_off);
      this.changed("everything");
      const held = this.#held;
      this.#held = null;
      for (const change of held ?? []) change();
      this.#isLive();
    } catch {
      if (this.#source === source) this.#lost();
    }
  }

  #heard(): void {
    clearTimeout(this.#watchdog);
    this.#watchdog = setTimeout(() => this.#lost(), SILENT);
  }

  #isLive(): void {
    this.#failures = 0;
    if (this.connection.state === "live") return;
    this.connection = { state: "live" };
    this.connectionChanged();
  }

  #isLost(): void {
    if (this.connection.state === "lost") return;
    this.connection = { state: "lost", since: Date.now() };
    this.connectionChanged();
  }

  /** The browser does not try again by itself. */
  #lost(): void {
    clearTimeout(this.#watchdog);
    this.#source?.close();
    this.#source = null;
    this.#held = null;
    this.#isLost();
    const pause = AGAIN[Math.min(this.#failures, AGAIN.length - 1)] ?? 10_000;
    this.#failures += 1;
    this.#watchdog = setTimeout(() => this.open(), pause);
  }
}
