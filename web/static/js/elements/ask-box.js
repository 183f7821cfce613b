/** Where questions are asked: chips for camera and span, suggestions, the box, send and stop in one place. */

import { Part, h, keyed, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { draw } from "../icons.js";
import { focusedCamera, isRunning, zoneOf } from "../state.js";
import { clockSpan } from "../time.js";

/** @typedef {import("../state.js").State} State */

const LAST_S = [30, 60, 300, 600];

/**
 * @param {import("../i18n.js").Say} say
 * @param {import("../state.js").Window} window
 * @param {string} zone
 */
export function windowWord(say, window, zone) {
  if ("from_us" in window) return clockSpan(window, zone);
  return window.last_s < 60
    ? say("ask.span.last.s", { n: window.last_s })
    : say("ask.span.last.min", { n: window.last_s / 60 });
}

export class AskBox extends Part {
  camera = chip(() => this.app.actions.nameCamera(false), "ask.camera.remove");
  span = chip(() => this.app.actions.chooseWindow(null), "ask.span.remove");

  build() {
    const { actions } = this.app;
    this.suggestions = h("div.suggestions", { role: "group", "data-t-aria-label": "chat.suggested" });
    this.cameraAdd = h("button.chip.ghost", { type: "button", onclick: () => actions.nameCamera(true) });
    this.choices = h(
      "div.note.menu",
      { id: "span-choices", popover: "auto" },
      ...LAST_S.map((last_s) =>
        h("button.item", {
          type: "button",
          "data-last": String(last_s),
          onclick: () => this.#choose(last_s),
        }),
      ),
      h("p.soft", { "data-t": "timeline.drag" }),
    );
    this.spanAdd = h(
      "button.chip.ghost",
      { type: "button", popovertarget: "span-choices", "data-t-aria-label": "ask.span.add.label" },
      draw("plus"),
      h("span", { "data-t": "ask.span.add" }),
    );
    this.box = h("textarea", {
      id: "Question",
      rows: 1,
      maxLength: 2000,
      "data-t-aria-label": "ask.box",
      enterKeyHint: "send",
      "aria-describedby": "ask-keys",
    });
    this.button = h("button.send", { type: "button", onclick: () => this.#press() });
    this.append(
      this.suggestions,
      h(
        "div.box",
        {},
        h(
          "div.chips",
          {},
          this.camera.element,
          this.cameraAdd,
          this.span.element,
          h("span.menu-place", {}, this.spanAdd, this.choices),
        ),
        h("div.box-row", {}, this.box, this.button),
      ),
      h("p.unseen", { id: "ask-keys", "data-t": "ask.keys" }),
    );
    this.box.addEventListener("input", () => this.#typed());
    this.box.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => this.#key(event));
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    const watched = ["language", "cameras", "focus", "window", "namesCamera", "turns"];
    if (watched.every((key) => /** @type {any} */ (state)[key] === /** @type {any} */ (before)[key])) return;
    const say = speaker(state.language);
    const camera = focusedCamera(state);
    const name = camera?.name || camera?.id || "";
    setText(this.camera.text, name);
    show(this.camera.element, state.namesCamera && !!camera);
    setText(this.cameraAdd, `+ ${name}`);
    this.cameraAdd.setAttribute("aria-label", say("ask.camera.add", { name }));
    show(this.cameraAdd, !state.namesCamera && !!camera);
    setText(this.span.text, state.window ? windowWord(say, state.window, zoneOf(state)) : "");
    show(this.span.element, state.window !== null);
    show(this.spanAdd, state.window === null);
    for (const item of this.choices.querySelectorAll("[data-last]"))
      setText(item, windowWord(say, { last_s: Number(item.dataset.last) }, "UTC"));
    this.box.placeholder = state.namesCamera && camera ? say("ask.hint", { name }) : say("ask.hint.any");
    this.#suggest(say, state);
    this.#drawButton(state);
  }

  /** @param {import("../i18n.js").Say} say @param {State} state */
  #suggest(say, state) {
    const keys = state.window
      ? ["chat.suggest.span"]
      : state.turns.length
        ? []
        : ["chat.suggest.now", "chat.suggest.last", "chat.suggest.long"];
    keyed(
      this.suggestions,
      keys,
      (key) => key,
      (key) =>
        h("button.suggestion", {
          type: "button",
          onclick: () => this.app.actions.ask(speaker(this.app.store.get().language)(key)),
        }),
      (button, key) => setText(button, say(key)),
    );
  }

  /** @param {number} last_s */
  #choose(last_s) {
    this.app.actions.chooseWindow({ last_s });
    this.choices.hidePopover();
    this.box.focus();
  }

  #typed() {
    this.box.style.blockSize = "auto";
    this.box.style.blockSize = `${Math.min(this.box.scrollHeight, 140)}px`;
    this.#drawButton(this.app.store.get());
  }

  /** Stop stands where send was, until there is something to send. @param {State} state */
  #drawButton(state) {
    const stops = !this.box.value.trim() && state.turns.some(isRunning);
    const key = stops ? "ask.stop" : "ask.send";
    if (this.button.dataset.does !== key) {
      this.button.dataset.does = key;
      this.button.replaceChildren(draw(stops ? "stop" : "send"));
    }
    const word = speaker(state.language)(key);
    this.button.setAttribute("aria-label", word);
    this.button.title = word;
    this.button.disabled = !stops && !this.box.value.trim();
  }

  #press() {
    if (this.button.dataset.does === "ask.stop") this.#stop();
    else this.#send();
  }

  #send() {
    const text = this.box.value.trim();
    if (!text) return;
    this.app.actions.ask(text);
    this.box.value = "";
    this.#typed();
    this.box.focus();
  }

  #stop() {
    const running = this.app.store.get().turns.findLast(isRunning);
    if (running) this.app.actions.stop(running.id);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.isComposing || event.keyCode === 229) return; // the key belongs to an input method
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.#send();
    } else if (event.key === "Escape" && !this.box.value) this.#stop();
  }
}

/** @param {() => void} remove @param {string} label */
function chip(remove, label) {
  const text = h("span");
  const element = h(
    "span.chip",
    {},
    text,
    h("button.chip-remove", { type: "button", "data-t-aria-label": label, onclick: remove }, draw("close")),
  );
  return { element, text };
}
