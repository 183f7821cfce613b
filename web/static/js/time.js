/**
 * Times. Inside the page an instant is an integer of microseconds since 1970 UTC, as everywhere in livelens
 * (exact as a JavaScript number until the year 2255); text appears at the edges only: RFC 3339 on the wire,
 * the camera's own zone for people.
 */

/** @typedef {{from_us: number, to_us: number}} Span half-open, `from_us < to_us` */

export const SECOND_US = 1_000_000;
export const MINUTE_US = 60 * SECOND_US;

const WIRE = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/;

/**
 * @param {string | null | undefined} text RFC 3339, any offset, up to nine decimals
 * @returns {number | null} microseconds since 1970, rounded down; null for nothing or nonsense
 */
export function parseTime(text) {
  const match = text ? WIRE.exec(text) : null;
  if (!match) return null;
  const whole_ms = Date.parse(`${match[1]}T${match[2]}${match[4]}`);
  if (Number.isNaN(whole_ms)) return null;
  return whole_ms * 1000 + Number((match[3] ?? "").padEnd(6, "0").slice(0, 6));
}

/**
 * @param {number} t_us
 * @returns {string} RFC 3339 UTC with microseconds
 */
export function wireTime(t_us) {
  const whole_s = Math.floor(t_us / SECOND_US);
  const rest_us = String(Math.floor(t_us - whole_s * SECOND_US)).padStart(6, "0");
  return new Date(whole_s * 1000).toISOString().replace(".000Z", `.${rest_us}Z`);
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/**
 * @param {string} zone
 * @param {Intl.DateTimeFormatOptions} options
 */
function formatter(zone, options) {
  const key = zone + JSON.stringify(options);
  let format = formats.get(key);
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: knownZone(zone), hourCycle: "h23" });
    formats.set(key, format);
  }
  return format;
}

/** @param {string} zone */
function knownZone(zone) {
  try {
    new Intl.DateTimeFormat("en-GB", { timeZone: zone });
    return zone;
  } catch {
    return "UTC"; // a zone that this browser does not know
  }
}

/**
 * @param {number} t_us
 * @param {string} zone IANA name
 * @param {{tenths?: boolean, seconds?: boolean}} [options]
 * @returns {string} `14:03:05`, never rounded up; `14:03:05.2` with tenths; `14:03` without seconds
 */
export function clockTime(t_us, zone, { tenths = false, seconds = true } = {}) {
  const shown = { hour: "2-digit", minute: "2-digit", ...(seconds ? { second: "2-digit" } : {}) };
  const text = formatter(zone, /** @type {Intl.DateTimeFormatOptions} */ (shown)).format(
    Math.floor(t_us / 1000),
  );
  return tenths ? `${text}.${Math.floor((t_us % SECOND_US) / 100_000)}` : text;
}

/**
 * @param {Span} span
 * @param {string} zone
 * @returns {string} `14:03:02–14:03:44`
 */
export function clockSpan(span, zone) {
  return `${clockTime(span.from_us, zone)}–${clockTime(span.to_us, zone)}`;
}

/**
 * @param {number} t_us
 * @param {string} zone
 * @returns {string} `UTC+1` or the zone's own short name, as it stands at that instant
 */
export function zoneOffset(t_us, zone) {
  const parts = formatter(zone, { timeZoneName: "shortOffset" }).formatToParts(Math.floor(t_us / 1000));
  const name = parts.find((part) => part.type === "timeZoneName")?.value ?? "UTC";
  return name.replace("GMT", "UTC");
}

/** The zone of the person in front of the page. */
export function ownZone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/**
 * Follows the server's clock, so that "now" on the timeline is the server's now.
 * The reading that took the shortest way there and back is the best one; it fades, because clocks drift.
 */
export class ServerClock {
  #offset_us = 0;
  #trip_us = Infinity;

  /**
   * @param {number} server_us what the server called now
   * @param {number} sent_us this machine's clock when it asked
   * @param {number} received_us and when it heard
   */
  learn(server_us, sent_us, received_us) {
    const trip_us = Math.max(0, received_us - sent_us);
    if (trip_us > this.#trip_us) {
      this.#trip_us *= 1.05;
      return;
    }
    this.#trip_us = trip_us;
    this.#offset_us = server_us - (sent_us + trip_us / 2);
  }

  /** @returns {number} the server's now, µs */
  now() {
    return Math.round(Date.now() * 1000 + this.#offset_us);
  }
}
