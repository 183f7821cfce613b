/** The conversation: turns from first to last, the box below. It follows the newest words unless one reads back. */

import { Part, h, keyed, show } from "../dom.js";
import { draw } from "../icons.js";
import { isRunning } from "../state.js";

/** @typedef {import("../state.js").State} State */

const AT_END_PX = 48;
const WORDS_CLEAR_PX = 12;

export class Chat extends Part {
  #following = true;
  #top_px = 0;

  build() {
    const { actions } = this.app;
    this.turns = h("div.turns", { role: "log", "data-t-aria-label": "chat.title" });
    this.hint = h(
      "div.chat-empty",
      {},
      h("p", { "data-t": "chat.empty" }),
      h("p.soft", { "data-t": "chat.empty.note" }),
    );
    this.scroller = h("div.chat-scroll", { tabIndex: -1 }, this.hint, this.turns);
    this.newest = h(
      "button.newest",
      { type: "button", hidden: true, onclick: () => this.#follow() },
      draw("down"),
      h("span", { "data-t": "chat.newest" }),
    );
    this.fresh = h("button.quiet", { type: "button", "data-t": "chat.new", onclick: () => actions.clear() });
    this.box = document.createElement("ll-ask");
    this.append(
      h("div.chat-head", {}, h("h2", { "data-t": "chat.title" }), this.fresh),
      this.scroller,
      this.newest,
      this.box,
    );
    /** @type {any} */ (this.box).start(this.app);
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    new ResizeObserver(() => this.#keepUp()).observe(this.turns);
    new ResizeObserver(() => this.#keepUp()).observe(this.scroller);
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    show(this, !!state.cameras?.length);
    if (state.turns === before.turns && state.language === before.language) return;
    if (state.turns.length > (before.turns?.length ?? 0)) this.#following = true;
    keyed(
      this.turns,
      state.turns,
      (turn) => turn.id,
      () => this.#turn(),
      (element, turn) => element.draw(turn, state),
    );
    this.turns.setAttribute("aria-busy", String(state.turns.some(isRunning)));
    show(this.hint, state.turns.length === 0);
    show(this.fresh, state.turns.length > 0);
  }

  #turn() {
    const element = document.createElement("ll-turn");
    /** @type {any} */ (element).start(this.app);
    return element;
  }

  /** Only a hand scrolls upwards; growing content never does. */
  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const atEnd = scrollHeight - scrollTop - clientHeight < AT_END_PX;
    if (atEnd) this.#following = true;
    else if (scrollTop < this.#top_px - 2) this.#following = false;
    this.#top_px = scrollTop;
    show(this.newest, !atEnd);
  }

  #follow() {
    this.#following = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  /** Words are followed to the end. What comes after them, the evidence, never pushes them out of sight. */
  #keepUp() {
    const { scroller } = this;
    const last = /** @type {HTMLElement | null} */ (this.turns.lastElementChild);
    const end_px = scroller.scrollHeight - scroller.clientHeight;
    if (!this.#following || !last) return;
    if (last.dataset.phase === "asked" || last.dataset.phase === "answering") scroller.scrollTop = end_px;
    else {
      const view = scroller.getBoundingClientRect();
      const words = last.querySelector(".words")?.getBoundingClientRect();
      const turnStarts_px = scroller.scrollTop + last.getBoundingClientRect().top - view.top;
      const wordsEnd_px = words ? scroller.scrollTop + words.bottom - view.bottom + WORDS_CLEAR_PX : 0;
      scroller.scrollTop = Math.max(
        scroller.scrollTop,
        Math.min(end_px, Math.max(turnStarts_px, wordsEnd_px)),
      );
    }
    this.#scrolled();
  }
}
