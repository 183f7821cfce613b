/** One line over everything while the connection is away: what happened, when the next try is, a button. */

import { Part, h, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";

/** @typedef {import("../state.js").State} State */

const PATIENCE_MS = 1200;

export class Banner extends Part {
  /** @type {ReturnType<typeof setInterval> | undefined} */ #ticking;
  #since_ms = Date.now();

  build() {
    this.text = h("span");
    this.button = h("button.quiet", {
      type: "button",
      "data-t": "link.retry",
      onclick: () => this.app.actions.retryConnection(),
    });
    this.append(h("div.banner-line", {}, this.text, this.button));
    this.hidden = true;
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    if (state.link === before.link && state.language === before.language) return;
    if (before.link?.status === "open") this.#since_ms = Date.now();
    clearInterval(this.#ticking);
    if (state.link.status !== "open")
      this.#ticking = setInterval(() => this.#draw(this.app.store.get()), 500);
    this.#draw(state);
  }

  /** @param {State} state */
  #draw(state) {
    const say = speaker(state.language);
    const { status, retryAt_ms, everOpen } = state.link;
    show(this, status !== "open" && Date.now() - this.#since_ms > PATIENCE_MS);
    show(this.button, status === "lost");
    if (status === "connecting") setText(this.text, say(everOpen ? "link.trying" : "link.connecting"));
    if (status === "lost") {
      const seconds = Math.max(1, Math.ceil(((retryAt_ms ?? 0) - Date.now()) / 1000));
      setText(this.text, say("link.lost", { seconds }));
    }
  }
}
