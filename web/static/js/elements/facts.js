/** The numbers under the picture: what comes in, what is kept and why, how late, how often it broke. */

import { Part, h, keyed, setFacts, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { focusedCamera, zoneOf } from "../state.js";
import { clockTime } from "../time.js";
import { countBefore, nearest } from "../timeline/data.js";
import { keepReason, percent, tenths } from "../words/facts.js";

/** @typedef {import("../state.js").State} State */

const MINUTE_US = 60_000_000;

/**
 * Pure: the last minute of a timeline, counted.
 * @param {import("../api.js").Timeline} timeline
 * @returns {{kept: number, byReason: [string, number][], static_s: number, gap_s: number}}
 */
export function lastMinute(timeline) {
  const from_us = timeline.to_us - MINUTE_US;
  const recent = timeline.samples.slice(countBefore(timeline.samples, from_us));
  /** @type {Map<string, number>} */ const byReason = new Map();
  for (const { reason } of recent) byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
  const within = (/** @type {readonly {from_us: number, to_us: number | null}[]} */ spans) =>
    Math.round(
      spans.reduce(
        (sum, span) => sum + Math.max(0, (span.to_us ?? timeline.to_us) - Math.max(span.from_us, from_us)),
        0,
      ) / 1e6,
    );
  return {
    kept: recent.length,
    byReason: [...byReason].sort((a, b) => b[1] - a[1]),
    static_s: within(timeline.statics),
    gap_s: within(timeline.gaps),
  };
}

export class Facts extends Part {
  build() {
    this.rate = h("span");
    this.kept = h("button.why", { type: "button", popovertarget: "last-minute" });
    this.delay = h("span");
    this.reconnects = h("span");
    this.size = h("span.minor");
    this.about = h("span");
    this.minuteTitle = h("strong");
    this.rows = h("ul");
    this.clockNote = h("p.soft");
    this.minute = h(
      "div.note",
      { id: "last-minute", popover: "auto" },
      this.minuteTitle,
      this.rows,
      h("p.soft", { "data-t": "facts.note" }),
      this.clockNote,
    );
    this.append(this.about, this.rate, this.kept, this.delay, this.reconnects, this.size, this.minute);
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    const camera = focusedCamera(state);
    const same = ["cameras", "focus", "pin", "timeline", "language"].every(
      (key) => /** @type {any} */ (state)[key] === /** @type {any} */ (before)[key],
    );
    if (!camera || same) return;
    const say = speaker(state.language);
    const { frame_rate, delay_s, reconnects, codec, width_px, height_px, clock } = camera.state;
    const minute = state.timeline && lastMinute(state.timeline);
    setFacts(this.about, state.pin ? this.#moment(say, state) : []);
    setText(this.rate, say("facts.rate", { rate: (frame_rate ?? 0).toFixed(1) }));
    setText(this.kept, minute ? say("facts.kept", { rate: (minute.kept / 60).toFixed(1) }) : "");
    setText(this.delay, delay_s == null ? "" : say("facts.delay", { delay: tenths(delay_s) }));
    setText(this.reconnects, say("facts.reconnects", { n: reconnects ?? 0 }));
    setText(this.size, codec ? `${codec.toUpperCase()} ${width_px}×${height_px}` : "");
    for (const part of [this.rate, this.kept, this.delay, this.reconnects, this.size]) {
      show(part, !state.pin && part.textContent !== "");
    }
    show(this.about, !!state.pin);
    if (minute) this.#explain(say, minute, camera.state.skipped ?? {});
    setText(this.minuteTitle, say("facts.title"));
    setText(this.clockNote, clock === "arrival" ? say("facts.arrival") : "");
  }

  /** @param {import("../i18n.js").Say} say @param {State} state */
  #moment(say, state) {
    const t_us = state.pin?.t_us ?? 0;
    const sample = state.timeline && nearest(state.timeline.samples, t_us, 0);
    const time = clockTime(t_us, zoneOf(state), { tenths: true });
    if (!sample) return [time];
    const moved = sample.motion > 0 ? [say("timeline.moved", { percent: percent(sample.motion) })] : [];
    return [time, say("facts.kept.because", { reason: keepReason(say, sample.reason) }), ...moved];
  }

  /**
   * @param {import("../i18n.js").Say} say
   * @param {ReturnType<typeof lastMinute>} minute
   * @param {Record<string, number>} skipped
   */
  #explain(say, minute, skipped) {
    const rows = [
      say("facts.kept.total", { n: minute.kept }),
      ...minute.byReason.map(([reason, n]) => say("facts.kept.by", { n, reason: keepReason(say, reason) })),
      ...(minute.static_s ? [say("facts.static", { n: minute.static_s })] : []),
      ...(minute.gap_s ? [say("facts.gap", { n: minute.gap_s })] : []),
      ...Object.entries(skipped).map(([reason, n]) => say("facts.skipped", { n, reason })),
    ];
    keyed(
      this.rows,
      rows,
      (row) => row,
      (row) => h("li", {}, row),
    );
  }
}
