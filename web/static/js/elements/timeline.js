/**
 * The timeline: hover looks, click holds a moment, dragging chooses a span for the next question, arrow keys
 * step through samples. For assistive technology it is a slider over the samples.
 */

import { Part, h, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { RANGES_S, focusedCamera, shadedSpan, zoneOf } from "../state.js";
import { clockSpan, clockTime, zoneOffset } from "../time.js";
import { countBefore, factAt, nearest } from "../timeline/data.js";
import { lanesFor, paint } from "../timeline/paint.js";
import { timeAt, xOf } from "../timeline/scale.js";
import { gapReason, gapSentence, keepReason } from "../words/facts.js";
import { Peek } from "./peek.js";
import { Hand, steer } from "./timeline-hand.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("../timeline/scale.js").Scale} Scale */

const NEAR_PX = 14;
const END_PX = 6;
const LANES = ["motion", "tracks", "samples", "kept"];

export class TimelineView extends Part {
  peek = new Peek();
  #drawnAt_ms = 0;
  #frame = 0;

  build() {
    this.canvas = h("canvas");
    this.surface = h(
      "div.timeline-surface",
      { tabIndex: 0, role: "slider", "aria-describedby": "timeline-help" },
      this.canvas,
    );
    this.labels = h(
      "div.lanes",
      { "aria-hidden": "true" },
      ...LANES.map((lane) => h("span", { "data-t": `timeline.${lane}` })),
    );
    this.ranges = h(
      "div.ranges",
      { role: "group", "data-t-aria-label": "timeline.range" },
      ...RANGES_S.map((range_s) => this.#rangeButton(range_s)),
    );
    this.zone = h("span.zone");
    this.summary = h("span.summary");
    this.append(
      h("div.timeline-head", {}, this.summary, this.zone, this.ranges),
      h("div.timeline-body", {}, this.labels, this.surface, this.peek.element),
      h("p.unseen", { id: "timeline-help", "data-t": "timeline.help" }),
    );
    this.#listen();
    new ResizeObserver(() => this.#soon()).observe(this.surface);
    setInterval(() => this.#tick(), 100);
  }

  /** @param {number} range_s */
  #rangeButton(range_s) {
    return h("button", {
      type: "button",
      "data-range": String(range_s),
      onclick: () => this.app.actions.setRange(range_s),
    });
  }

  #listen() {
    const { actions, clock, store } = this.app;
    this.hand = new Hand(this.surface, {
      timeAt: (x_px) => timeAt(this.#scale(), x_px),
      now: () => clock.now(),
      moved: () => this.#soon(),
      chosen: (span) => actions.chooseWindow(span),
      picked: (t_us) => {
        const { focus } = store.get();
        const sample = this.#sampleAt(t_us, this.#scale());
        if (focus && sample) actions.pin({ camera: focus, t_us: sample.t_us });
      },
    });
    this.surface.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key === "Escape") this.hand?.letGo();
      steer(event, this.app);
    });
    document.addEventListener("pointerdown", (event) => {
      this.classList.toggle("grown", this.contains(/** @type {Node} */ (event.target)));
    });
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    const say = speaker(state.language);
    if (state.language !== before.language || state.range_s !== before.range_s) {
      for (const button of this.ranges.children) {
        const range_s = Number(button.dataset.range);
        setText(button, say("timeline.minutes", { n: range_s / 60 }));
        button.setAttribute("aria-pressed", String(range_s === state.range_s));
      }
    }
    const { timeline } = state;
    const camera = focusedCamera(state);
    if (
      timeline !== before.timeline ||
      state.language !== before.language ||
      state.timelineError !== before.timelineError
    ) {
      setText(this.summary, this.#summary(say, state));
      setText(this.zone, timeline ? zoneWord(timeline) : "");
      this.surface.dataset.samples = String(timeline?.samples.length ?? "");
      this.surface.dataset.gaps = String(timeline?.gaps.length ?? "");
    }
    if (camera)
      this.surface.setAttribute("aria-label", say("timeline.label", { name: camera.name || camera.id }));
    this.#describe(say, state);
    this.#soon();
  }

  /** @param {import("../i18n.js").Say} say @param {State} state */
  #summary(say, { timeline, timelineError }) {
    if (!timeline)
      return timelineError ? say("timeline.failed", { why: timelineError }) : say("timeline.loading");
    const { samples, gaps, tracks } = timeline;
    return say("timeline.summary", { samples: samples.length, gaps: gaps.length, tracks: tracks.length });
  }

  /**
   * What a screen reader says of the slider.
   * @param {import("../i18n.js").Say} say
   * @param {State} state
   */
  #describe(say, { timeline, pin, window }) {
    const samples = timeline?.samples ?? [];
    const zone = timeline?.zone ?? "UTC";
    const at = pin ? countBefore(samples, pin.t_us) : samples.length;
    const sample = pin && nearest(samples, pin.t_us, 0);
    const text = !pin
      ? say("timeline.live")
      : sample
        ? say("timeline.at", { time: clockTime(pin.t_us, zone), reason: keepReason(say, sample.reason) })
        : clockTime(pin.t_us, zone);
    const span = window && "from_us" in window ? `, ${clockSpan(window, zone)}` : "";
    const { surface } = this;
    surface.setAttribute("aria-valuemin", "0");
    surface.setAttribute("aria-valuemax", String(samples.length));
    surface.setAttribute("aria-valuenow", String(at));
    surface.setAttribute("aria-valuetext", text + span);
  }

  /** The picture moves with the time: as often as a pixel passes, more seldom for who wants less motion. */
  #tick() {
    const { timeline, range_s } = this.app.store.get();
    if (!timeline || document.hidden || this.hidden) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const pixel_ms = (range_s * 1000) / Math.max(1, this.surface.clientWidth);
    if (Date.now() - this.#drawnAt_ms >= Math.max(still ? 1000 : 100, pixel_ms)) this.#soon();
  }

  #soon() {
    if (!this.#frame) this.#frame = requestAnimationFrame(() => this.#draw());
  }

  /** @returns {Scale} the newest end stands at now, a hand's breadth before the edge */
  #scale() {
    const { range_s } = this.app.store.get();
    const now_us = this.app.clock.now();
    const width_px = Math.max(1, this.surface.clientWidth);
    const whole_us = range_s * 1e6 * (width_px / Math.max(1, width_px - END_PX));
    return { from_us: now_us - range_s * 1e6, to_us: now_us - range_s * 1e6 + whole_us, width_px };
  }

  #draw() {
    this.#frame = 0;
    this.#drawnAt_ms = Date.now();
    const state = this.app.store.get();
    const { clientWidth: width, clientHeight: height } = this.surface;
    const ctx = this.canvas.getContext("2d");
    if (!ctx || !width || !height) return;
    const ratio = devicePixelRatio || 1;
    if (
      this.canvas.width !== Math.round(width * ratio) ||
      this.canvas.height !== Math.round(height * ratio)
    ) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const lanes = lanesFor(height);
    this.#placeLabels(lanes);
    if (!state.timeline) {
      ctx.clearRect(0, 0, width, height);
      return;
    }
    const scale = this.#scale();
    const hint = this.#hinted(state, scale);
    paint(ctx, { ...this.#scene(state), scale, lanes, hint_us: hint });
    this.#look(state, scale, hint);
  }

  /** @param {State} state */
  #scene(state) {
    const say = speaker(state.language);
    const chosen = this.hand?.dragged ?? (state.window && "from_us" in state.window ? state.window : null);
    return {
      timeline: /** @type {import("../api.js").Timeline} */ (state.timeline),
      palette: palette(this),
      zone: zoneOf(state),
      now_us: this.app.clock.now(),
      shaded: shadedSpan(state),
      chosen,
      pin_us: state.pin?.t_us ?? null,
      words: {
        now: say("timeline.now"),
        before: (/** @type {number} */ edge_us) =>
          say("timeline.edge", { time: clockTime(edge_us, zoneOf(state)) }),
        gap: (/** @type {import("../api.js").Gap} */ gap) => gapReason(say, gap.reason),
      },
    };
  }

  /** @param {State} state @param {Scale} scale @returns {number | null} */
  #hinted(state, scale) {
    const pointing_us = this.hand?.pointing_us ?? null;
    if (this.hand?.dragged) return null;
    if (pointing_us !== null) return this.#sampleAt(pointing_us, scale)?.t_us ?? null;
    return state.hint && state.hint.camera === state.focus ? state.hint.t_us : null;
  }

  /** @param {number} t_us @param {Scale} scale */
  #sampleAt(t_us, scale) {
    const near_us = (NEAR_PX / scale.width_px) * (scale.to_us - scale.from_us);
    return nearest(this.app.store.get().timeline?.samples ?? [], t_us, Math.max(near_us, 2_100_000));
  }

  /**
   * Show what is under the pointer, or the moment that is pointed at elsewhere.
   * @param {State} state
   * @param {Scale} scale
   * @param {number | null} hint_us
   */
  #look(state, scale, hint_us) {
    const at_us = this.hand?.pointing_us ?? hint_us;
    const dragged = this.hand?.dragged;
    const timeline = state.timeline;
    if (at_us === null || !timeline || !state.focus) {
      this.peek.hide();
      return;
    }
    const say = speaker(state.language);
    const zone = zoneOf(state);
    if (dragged) {
      const seconds = Math.round((dragged.to_us - dragged.from_us) / 1e6);
      this.peek.show({
        x_px: xOf(scale, at_us),
        title: `${clockSpan(dragged, zone)} · ${seconds} s`,
        lines: [],
        picture: null,
      });
      return;
    }
    if (hint_us !== null && hint_us === state.pin?.t_us) {
      this.peek.hide(); // the big picture shows it
      return;
    }
    const fact = factAt(timeline, at_us);
    const blank = fact?.kind === "gap" || fact?.kind === "before";
    const moment_us = hint_us ?? at_us;
    this.peek.show({
      x_px: xOf(scale, moment_us),
      title: clockTime(moment_us, zone, { tenths: state.range_s <= 60 }),
      lines: this.peek.sentences(say, fact, hint_us === null && !blank, zone, gapSentence),
      picture: hint_us !== null && !blank ? this.app.api.frameUrl(state.focus, hint_us) : null,
    });
  }

  /** @param {import("../timeline/paint.js").Lanes} lanes */
  #placeLabels(lanes) {
    const middles = [lanes.motion, lanes.tracks, lanes.samples, [lanes.kept, lanes.kept + 2]];
    middles.forEach(([top, bottom], i) => {
      this.labels.children[i].style.insetBlockStart = `${(top + bottom) / 2}px`;
    });
    show(this.labels, !lanes.compact);
  }
}

/** @param {import("../api.js").Timeline} timeline @returns {string} the zone that times are shown in, with its offset now */
function zoneWord({ zone, now_us }) {
  return /^(Etc\/)?(UTC|GMT)$/.test(zone) ? "UTC" : `${zone} ${zoneOffset(now_us, zone)}`;
}

/** @param {HTMLElement} element @returns {import("../timeline/paint.js").Palette} the colours of the theme in force */
function palette(element) {
  const style = getComputedStyle(element);
  const value = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    text: value("--text"),
    soft: value("--soft"),
    faint: value("--faint"),
    hairline: value("--hairline"),
    accent: value("--accent"),
    warning: value("--warning"),
    surface: value("--surface"),
    sunk: value("--sunk"),
    font: `11px ${style.fontFamily}`,
  };
}
