/** The hand on the timeline: pointing, clicking, dragging and keys. It knows times and samples, and draws nothing. */

import { step } from "../timeline/data.js";

/** @typedef {import("../time.js").Span} Span */
/**
 * @typedef {{
 *   timeAt: (x_px: number) => number,
 *   now: () => number,
 *   moved: () => void,
 *   picked: (t_us: number) => void,
 *   chosen: (span: Span) => void,
 * }} Reach what the hand can do: `moved` after every change, `picked` a moment, `chosen` a span
 */

const DRAG_PX = 5;
const SHORTEST_US = 1_000_000;

export class Hand {
  /** @type {Span | null} the span being dragged */ dragged = null;
  /** @type {number | null} where the pointer is, px from the surface's left edge */ #x_px = null;
  /** @type {{x_px: number, t_us: number} | null} where it was pressed */ #pressed = null;
  #surface;
  #reach;

  /** @param {HTMLElement} surface @param {Reach} reach */
  constructor(surface, reach) {
    this.#surface = surface;
    this.#reach = reach;
    surface.addEventListener("pointerdown", (event) => this.#press(event));
    surface.addEventListener("pointermove", (event) => this.#move(event));
    surface.addEventListener("pointerup", (event) => this.#release(event));
    surface.addEventListener("pointercancel", () => this.letGo());
    surface.addEventListener("pointerleave", () => this.#leave());
  }

  /** @returns {number | null} the time under the pointer now: time runs on below a hand that rests */
  get pointing_us() {
    return this.#x_px === null ? null : this.#reach.timeAt(this.#x_px);
  }

  letGo() {
    this.#pressed = null;
    this.dragged = null;
    this.#reach.moved();
  }

  /** @param {PointerEvent} event */
  #place(event) {
    const box = this.#surface.getBoundingClientRect();
    return Math.min(box.width, Math.max(0, event.clientX - box.left));
  }

  /** @param {PointerEvent} event */
  #press(event) {
    if (event.button !== 0) return;
    this.#surface.setPointerCapture(event.pointerId);
    const x_px = this.#place(event);
    this.#pressed = { x_px, t_us: this.#reach.timeAt(x_px) };
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const x_px = this.#place(event);
    this.#x_px = x_px;
    if (this.#pressed && (this.dragged || Math.abs(x_px - this.#pressed.x_px) >= DRAG_PX)) {
      const t_us = Math.min(this.#reach.timeAt(x_px), this.#reach.now());
      const from_us = Math.min(t_us, this.#pressed.t_us);
      this.dragged = { from_us, to_us: Math.max(t_us, this.#pressed.t_us, from_us + SHORTEST_US) };
    }
    this.#reach.moved();
  }

  /** @param {PointerEvent} event */
  #release(event) {
    if (this.dragged) this.#reach.chosen(this.dragged);
    else if (this.#pressed) this.#reach.picked(this.#reach.timeAt(this.#place(event)));
    this.letGo();
    if (event.pointerType === "touch") this.#leave();
  }

  #leave() {
    if (this.#pressed) return;
    this.#x_px = null;
    this.#reach.moved();
  }
}

/** @type {Record<string, number>} samples per key */
const STEPS = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 };

/**
 * Do what a key means on the timeline.
 * @param {KeyboardEvent} event
 * @param {import("../actions.js").App} app
 */
export function steer(event, { actions, store }) {
  const { focus, timeline, pin, window } = store.get();
  if (!focus || !timeline) return;
  const { samples } = timeline;
  if (event.key === "Escape" && window) actions.chooseWindow(null);
  else if (event.key === "Escape" || event.key === "End") actions.pin(null);
  else if (event.key === "Home" && samples.length) actions.pin({ camera: focus, t_us: samples[0].t_us });
  else if (event.key in STEPS) {
    const sample = step(samples, pin?.t_us ?? null, STEPS[event.key]);
    const here_us = pin?.t_us ?? timeline.to_us;
    if (event.shiftKey) actions.chooseWindow(stretched(window, here_us, sample?.t_us ?? timeline.to_us));
    actions.pin(sample ? { camera: focus, t_us: sample.t_us } : null);
  } else return;
  event.preventDefault();
}

/**
 * @param {import("../state.js").Window | null} window what was chosen so far
 * @param {number} from_us the end that moves, or where one stands when nothing was chosen
 * @param {number} to_us where it moves to
 * @returns {Span | null} null where nothing is left
 */
function stretched(window, from_us, to_us) {
  const chosen = window && "from_us" in window ? window : null;
  const fixed_us = chosen === null ? from_us : chosen.from_us === from_us ? chosen.to_us : chosen.from_us;
  if (fixed_us === to_us) return null;
  return { from_us: Math.min(fixed_us, to_us), to_us: Math.max(fixed_us, to_us) };
}
