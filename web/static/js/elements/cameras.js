/** The cameras: a small picture each, its state in word and shape, when it was last seen. */

import { Part, h, keyed, setFacts, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { draw, shapeOf } from "../icons.js";
import { parseTime } from "../time.js";
import { ago } from "../words/ago.js";
import { stateWord } from "../words/facts.js";
import { openCameraDialog } from "./dialogs.js";

/** @typedef {import("../state.js").State} State */

const PICTURE_EVERY_MS = 2000;
const DENSE_FROM = 6;

export class Cameras extends Part {
  build() {
    this.list = h("ul.camera-list");
    this.append(
      this.list,
      h(
        "button.add",
        { type: "button", onclick: () => openCameraDialog(this.app) },
        draw("plus"),
        h("span", { "data-t": "cameras.add" }),
      ),
    );
    setInterval(() => this.#refreshPictures(), PICTURE_EVERY_MS);
    setInterval(() => {
      const state = this.app.store.get();
      this.render(state, { focus: state.focus }); // ages grow by themselves
    }, 5000);
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    show(this, !!state.cameras?.length);
    if (
      state.cameras === before.cameras &&
      state.focus === before.focus &&
      state.language === before.language
    )
      return;
    this.classList.toggle("dense", (state.cameras?.length ?? 0) >= DENSE_FROM);
    keyed(
      this.list,
      state.cameras ?? [],
      (camera) => camera.id,
      (camera) => this.#card(camera.id),
      (card, camera) => this.#update(card, camera, state),
    );
    if (state.focus !== before.focus) {
      this.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
  }

  /** @param {string} id */
  #card(id) {
    const picture = h("img", { alt: "", decoding: "async" });
    picture.addEventListener("load", () => card.classList.add("seen"));
    const choose = h(
      "button.camera",
      { type: "button", onclick: () => this.app.actions.focus(id) },
      h("span.thumb", {}, draw("camera"), picture),
      h("span.camera-name"),
      h("span.camera-state", {}, h("span.shape"), h("span.word")),
    );
    const fix = h("button.fix", {
      type: "button",
      hidden: true,
      onclick: () =>
        openCameraDialog(
          this.app,
          this.app.store.get().cameras?.find((each) => each.id === id),
        ),
    });
    const card = h("li.card", {}, choose, fix);
    return card;
  }

  /** @param {HTMLElement} card @param {any} camera @param {State} state */
  #update(card, camera, state) {
    const say = speaker(state.language);
    const name = camera.state.state;
    const part = (/** @type {string} */ css) => /** @type {HTMLElement} */ (card.querySelector(css));
    part(".camera").setAttribute("aria-current", String(camera.id === state.focus));
    setText(part(".camera-name"), camera.name || camera.id);
    const shape = part(".shape");
    if (shape.dataset.state !== name) {
      shape.dataset.state = name;
      shape.replaceChildren(draw(shapeOf(name)));
    }
    const seen_us = parseTime(camera.state.last_frame_at);
    const away = name !== "online";
    const seen = seen_us ? [ago(say, this.app.clock.now() - seen_us)] : [];
    setFacts(part(".word"), [stateWord(say, name), ...(away ? seen : [])]);
    const picture = /** @type {HTMLImageElement} */ (card.querySelector("img"));
    if (seen_us && !picture.src) picture.src = `${this.app.api.latestUrl(camera.id)}?at=${seen_us}`;
    setText(part(".fix"), say("cameras.fix"));
    show(part(".fix"), name === "auth_failed" && camera.id !== state.focus); // else the picture offers it
    card.classList.toggle("away", away);
    card.classList.toggle("refused", name === "auth_failed");
  }

  /** A picture is swapped only when the next one is decoded, so that nothing flickers. */
  #refreshPictures() {
    if (document.hidden || this.app.store.get().link.status !== "open") return;
    for (const card of /** @type {NodeListOf<HTMLElement>} */ (
      this.list.querySelectorAll(".card:not(.away)")
    )) {
      const shown = /** @type {HTMLImageElement} */ (card.querySelector("img"));
      const next = new Image();
      next.src = `${this.app.api.latestUrl(card.dataset.key ?? "")}?at=${Date.now()}`;
      next.decode().then(
        () => (shown.src = next.src),
        () => card.classList.toggle("seen", shown.naturalWidth > 0),
      );
    }
  }
}
