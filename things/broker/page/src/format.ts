// Numbers, units, times and identities as people read them.

/** Units of SenML (RFC 8428, 12.1) that are written in another way elsewhere. */
const UNITS: Record<string, string> = {
  Cel: "°C", "%RH": "% RH", Ohm: "Ω", m2: "m²", m3: "m³", "m/s2": "m/s²", "W/m2": "W/m²",
  deg: "°", "/": "", degC: "°C", "%EL": "% battery", EL: "%", count: "", lat: "° lat", lon: "° lon",
};

export function unit(name: string | null): string {
  return name === null ? "" : (UNITS[name] ?? name);
}

const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 3, useGrouping: true });
const large = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function number(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e9)) return value.toExponential(2).replace("e+", "e");
  // A narrow space between thousands is no decimal point anywhere.
  return (size >= 1000 ? large : plain).format(value).replaceAll(",", "\u202f").replace("-", "−");
}

const STEPS: [number, string][] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];

/** How long, in its largest unit; below ten of it with the next one. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  for (const [at, [size, name]] of STEPS.entries()) {
    if (seconds < size) continue;
    const whole = Math.floor(seconds / size);
    const next = STEPS[at + 1];
    const rest = next && size > 60 && whole < 10 ? Math.floor((seconds % size) / next[0]) : 0;
    return `${whole} ${name}` + (next && rest > 0 ? ` ${rest} ${next[1]}` : "");
  }
  return "now";
}

export function age(milliseconds: number): string {
  const text = duration(milliseconds);
  return text === "now" ? text : `${text} ago`;
}

export function clock(moment: number): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "at no time";
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Hex digits in fours, as on a label. */
export function grouped(identity: string): string {
  return (identity.match(/.{1,4}/g) ?? []).join(" ");
}
