/** The small card over the timeline: the picture of a moment, its time, what is known of it. */

import { h, keyed, setText } from "../dom.js";
import { trackLines } from "../words/facts.js";
import { clockTime } from "../time.js";

const WAIT_MS = 50;

export class Peek {
  #shownUrl = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;

  constructor() {
    this.picture = h("img", { alt: "" });
    this.heading = h("strong");
    this.lines = h("div.peek-lines");
    this.element = h(
      "div.peek",
      { hidden: true, "aria-hidden": "true" },
      this.picture,
      h("div.peek-text", {}, this.heading, this.lines),
    );
    this.picture.addEventListener("error", () => (this.picture.hidden = true));
    this.picture.addEventListener("load", () => (this.picture.hidden = false));
  }

  /** @param {{x_px: number, title: string, lines: string[], picture: string | null}} about */
  show({ x_px, title, lines, picture }) {
    setText(this.heading, title);
    keyed(
      this.lines,
      lines,
      (line) => line,
      (line) => h("span", {}, line),
    );
    this.element.hidden = false;
    this.element.classList.toggle("bare", !picture);
    this.#load(picture);
    const surface = /** @type {HTMLElement} */ (this.element.previousElementSibling);
    const room = surface.offsetWidth - this.element.offsetWidth;
    const start = Math.max(0, Math.min(room, x_px - this.element.offsetWidth / 2));
    this.element.style.insetInlineStart = `${surface.offsetLeft + start}px`;
  }

  hide() {
    this.element.hidden = true;
    clearTimeout(this.#timer);
  }

  /** A pointer that runs along asks for no pictures until it slows down. @param {string | null} url */
  #load(url) {
    if (url === this.#shownUrl) return;
    this.#shownUrl = url ?? "";
    clearTimeout(this.#timer);
    if (url) this.#timer = setTimeout(() => (this.picture.src = url), WAIT_MS);
  }

  /**
   * @param {import("../i18n.js").Say} say
   * @param {ReturnType<typeof import("../timeline/data.js").factAt>} fact
   * @param {boolean} noSample
   * @param {string} zone
   * @param {typeof import("../words/facts.js").gapSentence} gapSentence
   * @returns {string[]}
   */
  sentences(say, fact, noSample, zone, gapSentence) {
    switch (fact?.kind) {
      case "gap":
        return [gapSentence(say, fact.gap, zone)];
      case "before":
        return [say("timeline.edge", { time: clockTime(fact.edge_us, zone) })];
      case "track":
        return trackLines(say, fact.track);
      case "static":
        return [say("timeline.static", { from: clockTime(fact.span.from_us, zone) })];
      default:
        return noSample ? [say("timeline.nosample")] : [];
    }
  }
}
