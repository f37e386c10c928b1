// A device with its topics, and its identity to hold a phone or a label against.

import { element, say } from "./dom";
import { clock, grouped } from "./format";
import type { Device } from "./model";

let count = 0;

export class DeviceGroup {
  readonly section: HTMLElement;
  readonly topics = element("ul", { class: "topics" });
  readonly #name = element("bdi", { class: "device-name" });
  readonly #where = element("bdi", { class: "where" });
  readonly #button: HTMLButtonElement;
  readonly #card: HTMLElement;
  #devices: Device[] = [];

  /** `identity` is empty for topics that belong to no device. */
  constructor(readonly identity: string) {
    const card = `card-${(count += 1)}`;
    this.#button = element("button", { type: "button", class: "identity", "aria-expanded": "false", "aria-controls": card },
      element("span", { class: "key", "aria-hidden": "true" }), element("code", {}, `${identity.slice(0, 4)} ${identity.slice(4, 8)}`));
    this.#button.setAttribute("aria-label", `Identity ${identity.slice(0, 8)}…, show QR code`);
    this.#card = element("div", { id: card, class: "card", hidden: "" });
    const title = element("h2", {}, this.#name);
    const head = element("header", {}, title, this.#where, ...(identity ? [this.#button] : []));
    this.section = element("section", { class: "device", "data-identity": identity }, head, this.#card, this.topics);
    this.#button.addEventListener("click", () => this.#toggle());
  }

  /** Where it stands in the list. */
  get title(): string {
    const first = this.#devices[0];
    if (first) return first.name;
    return this.identity ? "Not registered" : "Topics of no device";
  }

  text(): string {
    const registered = this.#devices.map((one) => `${one.name} ${one.endpoint} ${one.place ?? ""} ${one.purpose ?? ""}`);
    return `${registered.join(" ")} ${this.identity}`.toLowerCase();
  }

  update(devices: Device[]): void {
    this.#devices = devices;
    say(this.#name, this.title);
    const first = devices[0];
    // A name that says this already need not say it twice.
    const where = first && first.name !== first.endpoint ? [] : [first?.place, first?.purpose];
    say(this.#where, where.filter(Boolean).join(" · "));
    this.section.classList.toggle("unregistered", !first);
    if (!this.#card.hidden) this.#fill();
  }

  #toggle(): void {
    const open = this.#card.hidden;
    this.#card.hidden = !open;
    this.#button.setAttribute("aria-expanded", String(open));
    if (open) this.#fill();
    else this.#card.replaceChildren();
  }

  #fill(): void {
    const lines: [string, string][] = [];
    for (const device of this.#devices) {
      lines.push(["Endpoint", device.sector === null ? device.endpoint : `${device.endpoint} in ${device.sector}`]);
      lines.push(["Address", device.base], ["Valid until", clock(device.expires)]);
      for (const [name, value] of device.attributes) lines.push([name, value ?? "yes"]);
      const more = device.links_left_off > 0 ? ` and ${device.links_left_off} more` : "";
      const links = device.links.map((link) => (link.type === null ? link.target : `${link.target} (${link.type})`));
      if (links.length > 0) lines.push(["Links", links.join(", ") + more]);
    }
    const image = element("img", {
      src: `/identity/${this.identity}.svg`, alt: `QR code of the identity ${this.identity}`, width: "196", height: "196",
    });
    const facts = element("dl", { class: "facts" }, ...lines.map(([name, text]) =>
      element("div", {}, element("dt", {}, element("bdi", {}, name)), element("dd", {}, element("bdi", {}, text)))));
    const identity = element("p", { class: "digits" }, element("span", {}, "Identity"), element("code", {}, grouped(this.identity)));
    this.#card.replaceChildren(image, element("div", {}, identity, facts));
  }
}
