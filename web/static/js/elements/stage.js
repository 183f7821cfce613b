/** The focused camera: heading, picture, facts, timeline. */

import { Part, h, setFacts, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { draw, shapeOf } from "../icons.js";
import { focusedCamera, zoneOf } from "../state.js";
import { clockTime } from "../time.js";
import { ago } from "../words/ago.js";
import { stateWord, tenths } from "../words/facts.js";
import { openCameraDialog, openRemoveDialog } from "./dialogs.js";

/** @typedef {import("../state.js").State} State */

export class Stage extends Part {
  build() {
    const { app } = this;
    this.heading = h("h2.stage-name", { id: "stage-name" });
    this.shape = h("span.shape");
    this.word = h("span.word");
    this.chip = h("span.delay", {}, this.shape, this.word);
    this.menu = h(
      "div.note.menu",
      { id: "camera-menu", popover: "auto" },
      this.#item("form.user.change", () => openCameraDialog(app, focusedCamera(app.store.get()))),
      this.#item("cameras.remove.item", () => openRemoveDialog(app, focusedCamera(app.store.get()))),
    );
    this.more = h("button.plain", { type: "button", popovertarget: "camera-menu" }, draw("more"));
    this.parts = ["ll-picture", "ll-facts", "ll-timeline"].map((name) => document.createElement(name));
    this.append(
      h("div.stage-head", {}, this.heading, this.chip, h("span.menu-place", {}, this.more, this.menu)),
      ...this.parts,
    );
    this.setAttribute("role", "region");
    this.setAttribute("aria-labelledby", "stage-name");
    for (const part of this.parts) /** @type {any} */ (part).start(app);
    setInterval(() => this.#draw(app.store.get()), 1000);
  }

  /** @param {string} key @param {() => void} act */
  #item(key, act) {
    const choose = () => {
      this.menu.hidePopover();
      act();
    };
    return h("button.item", { type: "button", "data-t": key, onclick: choose });
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    show(this, !!state.cameras?.length);
    if (
      state.cameras !== before.cameras ||
      state.focus !== before.focus ||
      state.pin !== before.pin ||
      state.link !== before.link ||
      state.language !== before.language
    ) {
      this.#draw(state);
    }
  }

  /** @param {State} state */
  #draw(state) {
    const camera = focusedCamera(state);
    if (!camera) return;
    const say = speaker(state.language);
    const name = camera.state.state;
    setText(this.heading, camera.name || camera.id);
    this.more.setAttribute("aria-label", say("cameras.menu", { name: camera.name || camera.id }));
    const cut = state.link.everOpen && state.link.status !== "open";
    const shown = state.pin ? "pinned" : cut ? "offline" : name;
    const shape = state.pin ? "clock" : shapeOf(shown);
    if (this.shape.dataset.shape !== shape) {
      this.shape.dataset.shape = shape;
      this.shape.replaceChildren(draw(shape));
    }
    this.chip.dataset.state = shown;
    setFacts(this.word, cut && !state.pin ? [say("link.cut")] : this.#chipFacts(say, state, camera));
    this.chip.title = shown === "online" ? say("picture.delay.title") : "";
  }

  /** @param {import("../i18n.js").Say} say @param {State} state @param {any} camera */
  #chipFacts(say, state, camera) {
    if (state.pin) {
      const age = ago(say, this.app.clock.now() - state.pin.t_us);
      return [clockTime(state.pin.t_us, zoneOf(state)), age];
    }
    const { state: name, delay_s } = camera.state;
    if (name !== "online") return [stateWord(say, name)];
    return [delay_s === null ? say("state.online") : say("picture.delay", { delay: tenths(delay_s) })];
  }
}
