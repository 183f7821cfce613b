/**
 * What people can do. Each action talks to the server where it must and tells the store; elements call these
 * and never the network.
 */

import { ApiError } from "./api.js";
import { knows, speaker } from "./i18n.js";
import { conversationFor } from "./state.js";
import { wireTime } from "./time.js";

/** @typedef {import("./state.js").State} State */
/** @typedef {import("./state.js").Moment} Moment */
/** @typedef {import("./state.js").Window} Window */
/** @typedef {ReturnType<typeof createActions>} Actions */
/**
 * @typedef {{
 *   store: import("./store.js").Store<State, any>,
 *   api: import("./api.js").Api,
 *   actions: Actions,
 *   clock: import("./time.js").ServerClock,
 * }} App what every element is handed
 */

/**
 * @param {{
 *   store: import("./store.js").Store<State, any>,
 *   api: import("./api.js").Api,
 *   live: import("./live.js").Live,
 *   clock: import("./time.js").ServerClock,
 * }} parts
 */
export function createActions({ store, api, live, clock }) {
  const { dispatch, get } = store;

  return {
    /** @param {string} id */
    focus: (id) => dispatch({ type: "camera.focused", id }),

    /** @param {Moment | null} moment shown in the big picture; null is live again */
    pin: (moment) => dispatch({ type: "moment.pinned", moment }),

    /** @param {Moment | null} moment lit on the timeline and in the evidence */
    hint: (moment) => dispatch({ type: "moment.hinted", moment }),

    /** @param {number} range_s */
    setRange: (range_s) => dispatch({ type: "range.chosen", range_s }),

    /** @param {Window | null} window */
    chooseWindow: (window) => dispatch({ type: "window.chosen", window }),

    /** @param {boolean} named whether the next question names the focused camera */
    nameCamera: (named) => dispatch({ type: "camera.named", named }),

    /** @param {import("./i18n.js").Language} language */
    setLanguage: (language) => dispatch({ type: "preferred", values: { language } }),

    /** @param {"dark" | "light"} theme */
    setTheme: (theme) => dispatch({ type: "preferred", values: { theme } }),

    clear: () => dispatch({ type: "turns.cleared" }),

    retryConnection: () => live.connect(),

    async readCameras() {
      try {
        dispatch({ type: "cameras.read", cameras: await api.cameras() });
      } catch (error) {
        dispatch({ type: "cameras.failed", message: sentence(get().language, error) });
      }
    },

    /**
     * @param {string} text
     * @param {{camera?: string | null, window?: Window | null}} [about] in place of the chips
     */
    ask(text, about = {}) {
      const state = get();
      const camera = about.camera !== undefined ? about.camera : state.namesCamera ? state.focus : null;
      const window = about.window !== undefined ? about.window : state.window;
      const conversation = conversationFor(state, camera);
      const id = newId();
      const asked_us = clock.now();
      dispatch({ type: "turn.asked", turn: newTurn({ id, camera, text, window, asked_us }) });
      live.send({
        type: "ask",
        id,
        cameras: camera ? [camera] : [],
        text,
        ...(window ? { window: windowOnWire(window) } : {}),
        ...(conversation ? { conversation } : {}),
      });
    },

    /** @param {string} id */
    stop: (id) => live.send({ type: "cancel", id }),

    /** @param {import("./api.js").Source} source @param {AbortSignal} [signal] */
    probe: (source, signal) => api.probe(source, signal),

    /** @param {{id: string, name?: string, zone?: string, source: import("./api.js").Source}} camera */
    async addCamera(camera) {
      const added = await api.addCamera(camera);
      dispatch({ type: "camera.changed", camera: added });
      dispatch({ type: "camera.focused", id: added.id });
    },

    /** @param {string} id @param {import("./api.js").Source} source */
    async changeSource(id, source) {
      dispatch({ type: "camera.changed", camera: await api.changeCamera(id, { source }) });
    },

    /** @param {string} id */
    async removeCamera(id) {
      await api.removeCamera(id);
      dispatch({ type: "camera.removed", id });
    },
  };
}

/**
 * @param {import("./i18n.js").Language} language
 * @param {unknown} error
 * @returns {string} our own words for a code we know, else the server's sentence
 */
export function sentence(language, error) {
  if (!(error instanceof ApiError)) throw error;
  return sentenceFor(language, error.code, error.message);
}

/**
 * @param {import("./i18n.js").Language} language
 * @param {string | null} code
 * @param {string | null} message
 */
export function sentenceFor(language, code, message) {
  const key = `error.${code}`;
  return knows(language, key) ? speaker(language)(key) : (message ?? code ?? "");
}

/** @param {Window} window */
const windowOnWire = (window) =>
  "last_s" in window ? window : { from: wireTime(window.from_us), to: wireTime(window.to_us) };

function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(8)); // randomUUID needs a secure context; a LAN page has none
  return `q_${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** @returns {import("./state.js").Turn} */
function newTurn(/** @type {any} */ known) {
  return {
    phase: "asked",
    conversation: null,
    span: null,
    zone: null,
    frames: [],
    frames_in_span: 0,
    coverage: null,
    others: [],
    words: "",
    done: null,
    citations: null,
    error: null,
    ...known,
  };
}
