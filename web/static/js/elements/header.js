/** The head of the page: what answers, language, light or dark. */

import { Part, h, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { draw } from "../icons.js";
import { focusedCamera } from "../state.js";

/** @typedef {import("../state.js").State} State */

export class Header extends Part {
  build() {
    const { actions, store } = this.app;
    this.model = h("span.model");
    this.line = h("span.model-line");
    this.noteLine = h("p");
    this.how = h(
      "div",
      {},
      h("p", { "data-t": "head.measured.how" }),
      h("code.command", {}, "livelens serve --model NAME"),
      h("code.command", {}, "livelens serve --model-url URL --model-name NAME"),
    );
    this.note = h("div.note", { id: "model-note", popover: "auto" }, this.noteLine, this.how);
    this.answers = h(
      "button.answers",
      { type: "button", popovertarget: "model-note", "data-t-title": "head.answers" },
      this.model,
    );
    this.language = h("button.plain.language", {
      type: "button",
      "data-t-aria-label": "head.language",
      "data-t-title": "head.language",
      onclick: () => actions.setLanguage(store.get().language === "en" ? "zh" : "en"),
    });
    this.theme = h(
      "button.plain",
      {
        type: "button",
        "data-t-aria-label": "head.theme",
        "data-t-title": "head.theme",
        onclick: () => actions.setTheme(store.get().theme === "dark" ? "light" : "dark"),
      },
      draw("theme"),
    );
    this.append(
      h("h1.brand", {}, "livelens"),
      this.answers,
      this.note,
      this.line,
      h("div.tools", {}, this.language, this.theme),
    );
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    if (
      state.language === before.language &&
      state.cameras === before.cameras &&
      state.focus === before.focus
    )
      return;
    const say = speaker(state.language);
    const model = focusedCamera(state)?.answered_by ?? null;
    const measured = model === "measured";
    setText(this.model, measured ? say("head.measured") : (model ?? say("head.none")));
    setText(
      this.line,
      measured ? say("head.measured.line") + say("list.space") + say("head.measured.short") : "",
    );
    const builtin = model === "builtin";
    const about = builtin ? say("head.builtin.line") : say("head.model.line", { model: model ?? "" });
    setText(this.noteLine, measured || !model ? say("head.measured.line") : about);
    show(this.how, measured || builtin);
    show(this.answers, model !== null);
    setText(this.language, say("head.language.short"));
    this.theme.setAttribute("aria-pressed", String(state.theme === "light"));
  }
}
