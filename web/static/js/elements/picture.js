/**
 * The big picture: live, or one moment. The moment stays until the first live picture is there, so that going
 * back never shows an empty frame. Where the stream breaks, its last picture stays, greyed. The stream is given
 * up while the page is hidden or a moment is shown.
 */

import { Part, h, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { draw } from "../icons.js";
import { focusedCamera, zoneOf } from "../state.js";
import { clockTime, parseTime } from "../time.js";
import { nearest } from "../timeline/data.js";
import { ago } from "../words/ago.js";
import { sentenceFor } from "../actions.js";
import { openCameraDialog } from "./dialogs.js";

/** @typedef {import("../state.js").State} State */

const RETRY_MS = 3000;
const COPY_EVERY_MS = 1000;

export class Picture extends Part {
  #streamKey = "";
  #stillKey = "";
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #retry;
  #retries = 0;

  build() {
    const { actions, store } = this.app;
    this.copy = h("canvas.copy", { "aria-hidden": "true", hidden: true });
    this.live = h("img.live", { alt: "", hidden: true });
    this.still = h("img.still", { alt: "", hidden: true });
    this.why = h("span");
    this.fix = h("button.quiet", {
      type: "button",
      "data-t": "cameras.fix",
      onclick: () => openCameraDialog(this.app, focusedCamera(store.get())),
    });
    this.nothing = h("p.nothing", { hidden: true }, this.why, this.fix);
    this.back = h(
      "button.back",
      { type: "button", hidden: true, onclick: () => actions.pin(null) },
      draw("play"),
      h("span", { "data-t": "picture.back" }),
    );
    this.hold = h(
      "button.hold",
      {
        type: "button",
        "data-t-aria-label": "picture.hold",
        "data-t-title": "picture.hold",
        onclick: () => {
          const { focus, timeline } = store.get();
          const newest = timeline && nearest(timeline.samples, this.app.clock.now());
          if (focus && newest) actions.pin({ camera: focus, t_us: newest.t_us });
        },
      },
      draw("hold"),
    );
    this.live.addEventListener("load", () => this.#liveArrived());
    this.live.addEventListener("error", () => this.#liveFailed());
    this.still.addEventListener("load", () => this.classList.remove("gone"));
    this.still.addEventListener("error", () => this.#stillFailed());
    this.append(this.copy, this.live, this.still, this.nothing, this.back, this.hold);
    setInterval(() => this.#copyLive(), COPY_EVERY_MS);
    document.addEventListener("visibilitychange", () => this.render(store.get(), {}));
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    const camera = focusedCamera(state);
    if (!camera) {
      this.#stream("");
      return;
    }
    const watched = ["cameras", "focus", "pin", "link", "language"];
    if (watched.every((key) => /** @type {any} */ (state)[key] === /** @type {any} */ (before)[key])) return;
    const { width_px, height_px } = camera.state;
    this.style.setProperty("--shape", width_px && height_px ? `${width_px} / ${height_px}` : "16 / 9");
    const online = camera.state.state === "online";
    const watching = online && !state.pin && !document.hidden;
    const back = before.link?.everOpen && before.link.status !== "open" && state.link.status === "open";
    if (back) this.#retries++; // the old stream is dead
    const seen_us = parseTime(camera.state.last_frame_at);
    if (before.focus !== undefined && before.focus !== state.focus) this.#forget();
    this.#stream(watching ? `${camera.id} ${this.#retries}` : "");
    if (state.pin)
      this.#show(`${camera.id}/${state.pin.t_us}`, this.app.api.frameUrl(camera.id, state.pin.t_us));
    else if (!seen_us) this.still.hidden = true;
    else if (!online)
      this.#show(`${camera.id}/last ${seen_us}`, `${this.app.api.latestUrl(camera.id)}?at=${seen_us}`);
    else if (!this.#stillKey)
      this.#show(`${camera.id}/first`, `${this.app.api.latestUrl(camera.id)}?at=${Date.now()}`);
    this.classList.toggle("pinned", !!state.pin);
    this.classList.toggle("cut", state.link.everOpen && state.link.status !== "open" && !state.pin);
    this.classList.toggle("away", !online && !state.pin);
    show(this.back, !!state.pin);
    show(this.hold, !state.pin && online);
    this.#describe(state, camera, seen_us);
  }

  /** @param {State} state @param {any} camera @param {number | null} seen_us */
  #describe(state, camera, seen_us) {
    const say = speaker(state.language);
    const name = camera.name || camera.id;
    const time = state.pin ? clockTime(state.pin.t_us, zoneOf(state)) : "";
    this.live.alt = say("picture.live", { name });
    this.still.alt = state.pin ? say("picture.moment", { name, time }) : say("picture.live", { name });
    if (state.pin) {
      setText(this.why, say("picture.gone", { time }));
    } else {
      const coming = ["online", "connecting", "waiting_for_keyframe"].includes(camera.state.state);
      const last = coming
        ? say("picture.waiting")
        : seen_us
          ? say("picture.last", { ago: ago(say, this.app.clock.now() - seen_us) })
          : say("picture.nothing");
      const why = camera.state.code
        ? sentenceFor(state.language, camera.state.code, camera.state.message)
        : "";
      setText(this.why, [last, why].filter(Boolean).join(say("list.stop")));
    }
    show(this.fix, !state.pin && camera.state.state === "auth_failed");
    const blank = this.live.hidden && this.still.hidden && this.copy.hidden;
    show(this.nothing, blank || this.classList.contains("gone") || this.classList.contains("away"));
  }

  /** @param {string} key which stream to show; "" for none */
  #stream(key) {
    if (key === this.#streamKey) return;
    this.#streamKey = key;
    clearTimeout(this.#retry);
    if (key) this.live.src = `${this.app.api.previewUrl(key.split(" ")[0])}?at=${Date.now()}`;
    else {
      this.live.removeAttribute("src"); // ends the request
      this.live.hidden = true;
    }
  }

  /** @param {string} key @param {string} url */
  #show(key, url) {
    if (key === this.#stillKey) return;
    this.#stillKey = key;
    this.still.hidden = false;
    this.still.src = url;
  }

  /** A browser shows nothing of a stream that broke: what it showed last is kept here, below it. */
  #copyLive() {
    const { naturalWidth, naturalHeight } = this.live;
    if (this.live.hidden || !naturalWidth || document.hidden) return;
    if (this.copy.width !== naturalWidth) this.copy.width = naturalWidth;
    if (this.copy.height !== naturalHeight) this.copy.height = naturalHeight;
    this.copy.getContext("2d")?.drawImage(this.live, 0, 0);
    this.copy.hidden = false;
  }

  #forget() {
    this.#stillKey = "";
    this.live.hidden = true;
    this.copy.hidden = true;
    this.still.hidden = true;
    this.classList.remove("gone");
  }

  #liveArrived() {
    this.live.hidden = false;
    this.classList.remove("gone");
    show(this.nothing, false);
    if (!this.app.store.get().pin) {
      this.still.hidden = true;
      this.#stillKey = `${this.app.store.get().focus}/live`;
    }
  }

  #liveFailed() {
    this.live.hidden = true;
    if (!this.#streamKey) return;
    this.#retry = setTimeout(() => {
      this.#retries++;
      this.render(this.app.store.get(), {});
    }, RETRY_MS);
  }

  #stillFailed() {
    this.still.hidden = true;
    const state = this.app.store.get();
    const nothing = this.live.hidden && (!!state.pin || this.copy.hidden);
    this.classList.toggle("gone", nothing);
    show(this.nothing, nothing);
    if (!state.pin) this.#stillKey = "none";
  }
}
