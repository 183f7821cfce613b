/** Wiring: makes the parts, joins them, and keeps address bar, storage and document in step with the state. */

import { createActions } from "./actions.js";
import { Api } from "./api.js";
import { HTML_LANG, chooseLanguage, speaker, translate } from "./i18n.js";
import { TimelineKeeper } from "./keeper.js";
import { Live } from "./live.js";
import { INITIAL, RANGES_S, focusedCamera, reduce } from "./state.js";
import { createStore } from "./store.js";
import { ServerClock } from "./time.js";
import { Banner } from "./elements/banner.js";
import { Cameras } from "./elements/cameras.js";
import { CameraForm } from "./elements/camera-form.js";
import { Chat } from "./elements/chat.js";
import { AskBox } from "./elements/ask-box.js";
import { Empty } from "./elements/empty.js";
import { Header } from "./elements/header.js";
import { Picture } from "./elements/picture.js";
import { Facts } from "./elements/facts.js";
import { Stage } from "./elements/stage.js";
import { TimelineView } from "./elements/timeline.js";
import { TurnView } from "./elements/turn.js";

const CAMERAS_EVERY_MS = 15_000;

const store = createStore(reduce, preferences());
const api = new Api();
const clock = new ServerClock();
const live = new Live({
  url: api.liveUrl(),
  onMessage: (message) => store.dispatch({ type: "message", message }),
  onStatus: (status, retryAt_ms) => {
    store.dispatch({ type: "link", status, retryAt_ms });
    if (status === "open") actions.readCameras();
  },
  onForgotten: () => store.dispatch({ type: "turns.lost" }),
});
const actions = createActions({ store, api, live, clock });
const app = { store, api, actions, clock };

defineElements();
store.subscribe(mirrorLanguageAndTheme());
store.subscribe(mirrorAddress());
followAddress(location.hash);
for (const part of document.querySelectorAll(
  "ll-header, ll-banner, ll-cameras, ll-stage, ll-chat, ll-empty",
)) {
  /** @type {import("./dom.js").Part} */ (part).start(app);
}
addEventListener("hashchange", (event) => followAddress(new URL(event.newURL).hash));
addEventListener("online", () => live.connect());
new TimelineKeeper(app).start();
live.connect();
actions.readCameras();
setInterval(() => document.hidden || actions.readCameras(), CAMERAS_EVERY_MS);

function defineElements() {
  for (const [name, element] of Object.entries({
    "ll-header": Header,
    "ll-banner": Banner,
    "ll-cameras": Cameras,
    "ll-camera-form": CameraForm,
    "ll-stage": Stage,
    "ll-picture": Picture,
    "ll-facts": Facts,
    "ll-timeline": TimelineView,
    "ll-chat": Chat,
    "ll-turn": TurnView,
    "ll-ask": AskBox,
    "ll-empty": Empty,
  })) {
    customElements.define(name, element);
  }
}

/** @returns {import("./state.js").State} the first state, with what was chosen on an earlier visit */
function preferences() {
  const language = stored("language");
  const range_s = Number(stored("range_s"));
  return {
    ...INITIAL,
    language: language === "en" || language === "zh" ? language : chooseLanguage(navigator.languages),
    theme: document.documentElement.dataset.theme === "light" ? "light" : "dark",
    ...(RANGES_S.includes(range_s) ? { range_s, rangeChosen: true } : {}),
  };
}

/** @param {string} key */
function stored(key) {
  try {
    return localStorage.getItem(`livelens.${key}`);
  } catch {
    return null; // storage may be forbidden
  }
}

/** @param {string} key @param {string} value */
function keep(key, value) {
  try {
    localStorage.setItem(`livelens.${key}`, value);
  } catch {
    // storage may be forbidden: the choice lasts as long as the page
  }
}

function mirrorLanguageAndTheme() {
  /** @type {import("./state.js").State | null} */ let before = null;
  return (/** @type {import("./state.js").State} */ state) => {
    const root = document.documentElement;
    if (state.language !== before?.language) {
      root.lang = HTML_LANG[state.language];
      translate(document, speaker(state.language));
      if (before) keep("language", state.language);
    }
    if (before && state.theme !== before.theme) {
      root.dataset.theme = state.theme;
      keep("theme", state.theme);
    }
    if (before && state.rangeChosen && state.range_s !== before.range_s)
      keep("range_s", String(state.range_s));
    before = state;
  };
}

/** The address names what is shown, `#gate` or `#gate/1701353045250000`, so that a moment can be passed on. */
function mirrorAddress() {
  return (/** @type {import("./state.js").State} */ state) => {
    if (!state.focus) return;
    const hash = state.pin ? `#${state.pin.camera}/${state.pin.t_us}` : `#${state.focus}`;
    if (location.hash !== hash) history.replaceState(null, "", hash);
    document.title = `${focusedCamera(state)?.name || state.focus} · livelens`;
  };
}

/**
 * Show what an address names. Of a change it is the address changed to that counts: by the time the event comes,
 * `mirrorAddress` may have written over the one in the bar.
 *
 * @param {string} hash
 */
function followAddress(hash) {
  const match = /^#([a-z0-9][a-z0-9_-]{0,62})(?:\/(\d{1,17}))?$/.exec(hash);
  if (!match) return;
  if (match[2]) actions.pin({ camera: match[1], t_us: Number(match[2]) });
  else actions.focus(match[1]);
}
