/** What stands in the middle while there is no camera: it teaches the first step. */

import { Part, h, setText, show } from "../dom.js";
import { speaker, translate } from "../i18n.js";

/** @typedef {import("../state.js").State} State */

export class Empty extends Part {
  build() {
    this.form = document.createElement("ll-camera-form");
    this.heading = h("h2");
    this.line = h("p.soft");
    this.body = h(
      "div",
      {},
      this.form,
      h("p.soft.demo", {}, h("span", { "data-t": "empty.demo" }), h("code.command", {}, "livelens demo")),
    );
    this.append(h("div.empty", {}, this.heading, this.line, this.body));
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    const none = state.cameras?.length === 0;
    const failed = state.cameras === null && state.camerasError !== null;
    if (
      state.cameras === before.cameras &&
      state.language === before.language &&
      state.camerasError === before.camerasError
    )
      return;
    const say = speaker(state.language);
    show(this, none || failed);
    document.body.classList.toggle("no-camera", none || failed);
    show(this.body, none);
    setText(this.heading, none ? say("empty.title") : "livelens");
    setText(this.line, none ? say("empty.line") : (state.camerasError ?? ""));
    if (none && !(/** @type {any} */ (this.form).app)) {
      /** @type {any} */ (this.form).start(this.app);
      translate(this, say);
    }
  }
}
