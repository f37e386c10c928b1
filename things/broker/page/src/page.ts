// The page: groups of topics, kept in step with what the broker says.

import { counters } from "./counters";
import { arrange, byId, say } from "./dom";
import { DeviceGroup } from "./device";
import { type Changed, Feed } from "./feed";
import { clock, duration } from "./format";
import { type Device, Model, nameWithin, type Topic } from "./model";
import { needsALook } from "./state";
import { TopicRow } from "./topic";

const model = new Model();
const groups = new Map<string, DeviceGroup>();
const rows = new Map<string, TopicRow>();
const list = byId("list");
const search = byId("search") as HTMLInputElement;
const onlyLook = byId("only-look") as HTMLInputElement;

/** Loads what is plotted when a row comes into sight. */
const seen = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const row = rows.get((entry.target as HTMLElement).dataset.topic ?? "");
    if (!row) continue;
    row.visible = entry.isIntersecting;
    if (row.visible) void row.load();
  }
}, { rootMargin: "200px" });

function rowOf(topic: Topic): TopicRow {
  let row = rows.get(topic.id);
  if (!row) {
    row = new TopicRow(model, topic.id);
    rows.set(topic.id, row);
    seen.observe(row.item);
  }
  return row;
}

function groupOf(identity: string): DeviceGroup {
  let group = groups.get(identity);
  if (!group) groups.set(identity, (group = new DeviceGroup(identity)));
  return group;
}

function byName<T>(name: (one: T) => string): (one: T, other: T) => number {
  return (one, other) => name(one).localeCompare(name(other), "en", { numeric: true });
}

/** Which devices and topics there are, in which order. */
function structure(): void {
  const devices = new Map<string, Device[]>();
  for (const device of model.devices.values()) {
    devices.set(device.identity, [...(devices.get(device.identity) ?? []), device]);
  }
  // Topics that take no readings of a device, such as that of its commands, if it links to them.
  const linked = new Map<string, string>();
  for (const device of model.devices.values()) for (const { target } of device.links) linked.set(target, device.identity);
  const topics = new Map<string, Topic[]>();
  for (const topic of model.topics.values()) {
    const by = linked.get(`/ps/data/${topic.id}`) ?? "";
    const identity = topic.device ?? (nameWithin(topic.name, by) === topic.name ? "" : by);
    topics.set(identity, [...(topics.get(identity) ?? []), topic]);
  }
  const identities = new Set([...devices.keys(), ...topics.keys()]);
  for (const identity of groups.keys()) if (!identities.has(identity)) groups.delete(identity);
  for (const [id, row] of rows) {
    if (model.topics.has(id)) continue;
    seen.unobserve(row.item);
    rows.delete(id);
  }
  for (const identity of identities) {
    const group = groupOf(identity);
    group.update((devices.get(identity) ?? []).sort(byName((device) => device.name)));
    const own = (topics.get(identity) ?? []).sort(byName((topic) => topic.name));
    arrange(group.topics, own.map((topic) => rowOf(topic).item));
    for (const topic of own) {
      rowOf(topic).within = identity;
      rowOf(topic).update(topic);
    }
  }
  const sorted = [...groups.values()].sort(byName((group) => group.title));
  const rank = (group: DeviceGroup): number => (group.identity === "" ? 2 : group.section.classList.contains("unregistered") ? 1 : 0);
  arrange(list, sorted.sort((one, other) => rank(one) - rank(other)).map((group) => group.section));
  filter();
}

/** Hides what is not looked for. */
function filter(): void {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const group of groups.values()) {
    let any = false;
    const groupText = group.text();
    for (const item of group.topics.children) {
      const topic = model.topics.get((item as HTMLElement).dataset.topic ?? "");
      if (!topic) continue;
      const text = `${groupText} ${rowOf(topic).text(topic)}`;
      const fits = words.every((word) => text.includes(word)) && (!onlyLook.checked || needsALook(model, topic));
      (item as HTMLElement).hidden = !fits;
      any ||= fits;
    }
    const empty = group.topics.children.length === 0;
    const visible = any || (empty && !onlyLook.checked && words.every((word) => groupText.includes(word)));
    group.section.hidden = !visible;
    if (visible) shown += 1;
  }
  const nothing = byId("nothing");
  nothing.hidden = shown > 0 || model.status === null;
  say(nothing, groups.size > 0 ? "Nothing fits this filter." : "No device has registered here, and there is no topic.");
  summary();
}

function plural(count: number, one: string): string {
  return `${count} ${count === 1 ? one : `${one}s`}`;
}

function summary(): void {
  if (!model.status) return;
  const look = [...model.topics.values()].filter((topic) => needsALook(model, topic)).length;
  const devices = new Set([...model.devices.values()].map((device) => device.identity)).size;
  say(byId("counts"), `${plural(devices, "device")} · ${plural(model.topics.size, "topic")}`);
  say(byId("look-count"), String(look));
}

function status(): void {
  const store = model.status?.store;
  const refusing = store?.state === "refusing";
  byId("store").hidden = !refusing;
  if (refusing) {
    say(byId("store-why"), `${store.why ?? ""} (since ${clock(store.since ?? model.now())})`);
  }
  say(byId("network"), model.status?.network ?? "");
  document.title = model.status ? `${model.status.network} – motemix` : "motemix";
  byId("left-off").hidden = model.leftOff === 0;
  say(byId("left-off"), `${model.leftOff} more are not shown here; the broker's API has them.`);
}

function connection(): void {
  const { connection: now } = feed;
  document.body.dataset.connection = now.state;
  say(byId("connection"), { connecting: "Connecting", live: "Live", lost: "Not reachable" }[now.state]);
  byId("lost").hidden = now.state !== "lost";
  if (now.state === "lost") {
    const so = duration(Date.now() - now.since);
    say(byId("lost-since"), model.status ? `What you see is as it was ${so === "now" ? "just now" : `${so} ago`}.` : "");
  }
}

let structureWaits = false;

function changed(what: Changed): void {
  if (what === "everything") {
    structure();
    for (const row of rows.values()) row.outdated();
  } else if (what === "structure" && !structureWaits) {
    // Many devices that register at once are put in order once.
    structureWaits = true;
    setTimeout(() => {
      structureWaits = false;
      structure();
    }, 50);
  }
  if (what === "everything" || what === "status") status();
  if (typeof what === "object") {
    const topic = model.topics.get(what.topic);
    if (topic) rowOf(topic).update(topic);
  }
}

const feed = new Feed(model, changed, connection);

setInterval(() => {
  for (const topic of model.topics.values()) rows.get(topic.id)?.tick(topic);
  if (onlyLook.checked) filter();
  else summary();
  connection();
}, 1000);

search.addEventListener("input", filter);
onlyLook.addEventListener("change", filter);
document.addEventListener("keydown", (event) => {
  const typing = event.target instanceof HTMLInputElement && event.target.type === "search";
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    search.focus();
  } else if (event.key === "Escape" && typing) {
    search.value = "";
    filter();
  } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && document.activeElement?.matches(".row, .identity")) {
    const all = [...list.querySelectorAll<HTMLElement>("section:not([hidden]) :is(.identity, li:not([hidden]) > .row)")];
    const next = all.indexOf(document.activeElement as HTMLElement) + (event.key === "ArrowDown" ? 1 : -1);
    event.preventDefault();
    all[next]?.focus();
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const row of rows.values()) row.recolor();
});

connection();
counters(byId("counters") as HTMLDetailsElement);
feed.open();
