// What the broker counted since it began, for whoever opens it.

import { element, say } from "./dom";
import { number } from "./format";

type Groups = Record<string, Record<string, number>>;

const AGAIN = 5000;

/** Asks for the counters while they are open, and shows those that have counted something. */
export function counters(details: HTMLDetailsElement): void {
  const body = element("tbody");
  const nothing = element("p", { class: "quiet" });
  const heads = ["Group", "Counter", "Count"].map((head) => element("th", { scope: "col" }, head));
  const table = element("table", { class: "counters" }, element("thead", {}, element("tr", {}, ...heads)), body);
  details.append(table, nothing);

  function show(groups: Groups): void {
    const rows = Object.entries(groups).flatMap(([group, named]) => Object.entries(named)
      .filter(([, count]) => count > 0)
      .map(([name, count]) => element(
        "tr", {},
        element("td", {}, group), element("td", {}, name.replaceAll("_", " ")), element("td", {}, number(count)),
      )));
    body.replaceChildren(...rows);
    table.hidden = rows.length === 0;
    say(nothing, rows.length === 0 ? "Nothing was counted yet." : "");
  }

  async function load(): Promise<void> {
    if (!details.open) return;
    try {
      const answer = await fetch("/api/counters");
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      show(await answer.json() as Groups);
    } catch {
      say(nothing, "The broker does not tell its counters now.");
    }
  }

  details.addEventListener("toggle", () => void load());
  setInterval(() => void load(), AGAIN);
}
