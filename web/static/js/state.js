/**
 * What the page knows, and how each event changes it. Pure: no clock, no DOM, no network.
 */

import { closedSpanFromWire } from "./api.js";
import { edgeOf, extend } from "./timeline/data.js";
import { parseTime } from "./time.js";

/** @typedef {import("./time.js").Span} Span */
/** @typedef {import("./answer.js").UsedFrame} UsedFrame */
/** @typedef {import("./answer.js").Citation} Citation */
/** @typedef {{camera: string, t_us: number}} Moment a sample of a camera */
/** @typedef {Span | {last_s: number}} Window what a question may be limited to */
/**
 * @typedef {{
 *   id: string, camera: string | null, text: string, window: Window | null, asked_us: number,
 *   phase: "asked" | "answering" | "done" | "failed",
 *   conversation: string | null, span: Span | null, zone: string | null,
 *   frames: UsedFrame[], frames_in_span: number, coverage: any, others: Sight[], words: string,
 *   done: any, citations: Citation[] | null, error: {code: string, message: string, retryable: boolean} | null,
 * }} Turn one question and its answer; `others` are the cameras after the first, where it is about several
 */
/** @typedef {{camera: string, span: Span, zone: string, frames_in_span: number, coverage: any}} Sight of one camera */
/**
 * @typedef {{
 *   language: import("./i18n.js").Language, theme: "dark" | "light",
 *   link: {status: import("./live.js").LinkStatus, retryAt_ms: number | null, everOpen: boolean},
 *   cameras: {id: string, [field: string]: any}[] | null, camerasError: string | null,
 *   focus: string | null, range_s: number, rangeChosen: boolean,
 *   timeline: import("./api.js").Timeline | null, timelineError: string | null,
 *   pin: Moment | null, hint: Moment | null,
 *   window: Window | null, namesCamera: boolean,
 *   turns: Turn[],
 * }} State
 * `cameras` is null until they were read; `pin` is the moment in the big picture, null while live; `hint` is
 * the moment under the pointer somewhere; `rangeChosen` says that a person chose the range; `window` and
 * `namesCamera` are the chips of the next question.
 */

export const RANGES_S = [60, 600, 3600];

/** @type {State} */
export const INITIAL = {
  language: "en",
  theme: "dark",
  link: { status: "connecting", retryAt_ms: null, everOpen: false },
  cameras: null,
  camerasError: null,
  focus: null,
  range_s: 600,
  rangeChosen: false,
  timeline: null,
  timelineError: null,
  pin: null,
  hint: null,
  window: null,
  namesCamera: true,
  turns: [],
};

/**
 * @param {State} state
 * @param {{type: string, [field: string]: any}} event
 * @returns {State}
 */
export function reduce(state, event) {
  switch (event.type) {
    case "preferred":
      return { ...state, ...event.values };
    case "link":
      return {
        ...state,
        link: {
          status: event.status,
          retryAt_ms: event.retryAt_ms,
          everOpen: state.link.everOpen || event.status === "open",
        },
      };
    case "cameras.read":
      return refocused({ ...state, cameras: byId(event.cameras), camerasError: null });
    case "cameras.failed":
      return { ...state, camerasError: event.message };
    case "camera.changed":
      return refocused({
        ...state,
        cameras: byId([...(state.cameras ?? []).filter((each) => each.id !== event.camera.id), event.camera]),
      });
    case "camera.removed":
      return refocused({ ...state, cameras: (state.cameras ?? []).filter((each) => each.id !== event.id) });
    case "camera.focused":
      return state.focus === event.id ? state : focused(state, event.id);
    case "range.chosen":
      return { ...state, range_s: event.range_s, rangeChosen: true, timeline: null };
    case "timeline.read":
      return withTimeline(state, event);
    case "timeline.failed":
      return { ...state, timelineError: event.message };
    case "moment.pinned":
      return pinned(state, event.moment);
    case "moment.hinted":
      return sameMoment(state.hint, event.moment) ? state : { ...state, hint: event.moment };
    case "window.chosen":
      return { ...state, window: event.window };
    case "camera.named":
      return { ...state, namesCamera: event.named };
    case "turn.asked":
      return { ...state, turns: [...state.turns, event.turn], window: null };
    case "turns.cleared":
      return { ...state, turns: [] };
    case "turns.lost":
      return { ...state, turns: state.turns.map((turn) => (isRunning(turn) ? failed(turn, LOST) : turn)) };
    case "message":
      return heard(state, event.message);
    default:
      return state;
  }
}

const LOST = { code: "connection_lost", message: "", retryable: true };

/** @param {readonly {id: string, [field: string]: any}[]} cameras */
const byId = (cameras) => [...cameras].sort((a, b) => (a.id < b.id ? -1 : 1));

/**
 * @param {Moment | null} a
 * @param {Moment | null} b
 */
export const sameMoment = (a, b) => a === b || (!!a && !!b && a.camera === b.camera && a.t_us === b.t_us);

/**
 * @param {State} state
 * @param {string | null} id
 * @returns {State}
 */
const focused = (state, id) => ({
  ...state,
  focus: id,
  timeline: null,
  timelineError: null,
  pin: null,
  hint: null,
  window: state.window && "last_s" in state.window ? state.window : null,
  namesCamera: true,
});

/**
 * Keep an eye on a camera that exists.
 * @param {State} state
 */
function refocused(state) {
  if (state.cameras?.some((camera) => camera.id === state.focus)) return state;
  const best = state.cameras?.find((camera) => camera.state.state === "online") ?? state.cameras?.[0];
  return focused(state, best?.id ?? null);
}

/**
 * @param {State} state
 * @param {Moment | null} moment
 */
function pinned(state, moment) {
  if (sameMoment(state.pin, moment)) return state;
  if (!moment) return { ...state, pin: null };
  const there = moment.camera === state.focus ? state : focused(state, moment.camera);
  const age_s = there.timeline ? (there.timeline.to_us - moment.t_us) / 1e6 : 0;
  const wide_s = RANGES_S.find((range_s) => range_s >= Math.max(age_s + 1, there.range_s)) ?? 3600;
  const widened = wide_s === there.range_s ? there : { ...there, range_s: wide_s, timeline: null };
  return { ...widened, pin: moment };
}

/**
 * @param {State} state
 * @param {any} event
 */
function withTimeline(state, event) {
  if (event.timeline.camera !== state.focus || event.range_s !== state.range_s) return state; // came too late
  const known = event.tail ? state.timeline : null;
  const timeline = known ? extend(known, event.timeline, state.range_s * 1e6) : event.timeline;
  return ranged({ ...state, timeline, timelineError: null }, timeline);
}

/**
 * Until somebody chooses a range: one minute for a camera that is younger than that, else ten.
 * @param {State} state
 * @param {import("./api.js").Timeline} timeline
 * @returns {State}
 */
function ranged(state, timeline) {
  if (state.rangeChosen || state.pin) return state;
  const edge_us = edgeOf(timeline);
  const young = edge_us !== null && timeline.to_us - edge_us < 60e6;
  if (young && state.range_s === 600) return { ...state, range_s: 60 };
  if (!young && state.range_s === 60) return { ...state, range_s: 600, timeline: null };
  return state;
}

/** @param {Turn} turn */
export const isRunning = (turn) => turn.phase === "asked" || turn.phase === "answering";

/**
 * @param {Turn} turn
 * @param {Turn["error"]} error
 * @returns {Turn}
 */
const failed = (turn, error) => ({ ...turn, phase: "failed", error });

/**
 * @param {State} state
 * @param {any} message as it came from the server
 * @returns {State}
 */
function heard(state, message) {
  switch (message.type) {
    case "camera.state":
      return withCameraState(state, message);
    case "answer.started":
    case "answer.delta":
    case "answer.done":
      return {
        ...state,
        turns: state.turns.map((turn) => (turn.id === message.id ? advanced(turn, message) : turn)),
      };
    case "error":
      return {
        ...state,
        turns: state.turns.map((turn) =>
          turn.id === message.id && isRunning(turn)
            ? failed(turn, { code: message.code, message: message.message, retryable: !!message.retryable })
            : turn,
        ),
      };
    default:
      return state; // a newer server may say more than this page knows
  }
}

/**
 * @param {State} state
 * @param {any} message
 */
function withCameraState(state, message) {
  if (message.removed) return reduce(state, { type: "camera.removed", id: message.camera });
  const camera = state.cameras?.find((each) => each.id === message.camera);
  if (!camera) return state;
  return reduce(state, { type: "camera.changed", camera: { ...camera, state: message.state } });
}

/**
 * @param {Turn} turn
 * @param {any} message
 * @returns {Turn}
 */
function advanced(turn, message) {
  if (!isRunning(turn)) return turn;
  if (message.type === "answer.started") {
    return {
      ...turn,
      phase: "answering",
      camera: message.camera,
      conversation: message.conversation,
      span: closedSpanFromWire(message.window),
      zone: message.window.zone,
      frames: message.frames.map((/** @type {any} */ { ref, t_us, label }) => ({ ref, t_us, label })),
      frames_in_span: message.frames_in_span,
      coverage: coverageFromWire(message.coverage),
      others: (message.others ?? []).map(sightFromWire),
    };
  }
  if (message.type === "answer.delta")
    return { ...turn, phase: "answering", words: turn.words + message.text };
  return { ...turn, phase: "done", done: message, citations: message.citations.map(citationFromWire) };
}

/** @param {any} wire */
function citationFromWire(wire) {
  const t_us = wire.frame ? Number(wire.frame.split("/")[1]) : parseTime(wire.t);
  return { text: wire.text, offset: wire.offset, t_us, frame: wire.frame, verified: wire.verified };
}

/**
 * @param {any} wire
 * @returns {Sight}
 */
const sightFromWire = (wire) => ({
  camera: wire.camera,
  span: closedSpanFromWire(wire.window),
  zone: wire.zone,
  frames_in_span: wire.frames_in_span,
  coverage: coverageFromWire(wire.coverage),
});

/** @param {any} wire */
function coverageFromWire(wire) {
  return {
    asked: closedSpanFromWire(wire.asked),
    covered: wire.covered.map(closedSpanFromWire),
    statics: wire.static.map(closedSpanFromWire),
    gaps: wire.gaps.map((/** @type {any} */ gap) => ({ ...closedSpanFromWire(gap), reason: gap.reason })),
    evicted_us: parseTime(wire.evicted_before),
  };
}

/** @param {State} state */
export const focusedCamera = (state) => state.cameras?.find((camera) => camera.id === state.focus) ?? null;

/** @param {State} state */
export const zoneOf = (state) => focusedCamera(state)?.zone ?? "UTC";

/**
 * @param {State} state
 * @param {string | null} camera
 * @returns {string | null} the conversation that a question about this camera goes on with
 */
export function conversationFor(state, camera) {
  const forgotten = state.turns.findLastIndex((turn) => turn.error?.code === "unknown_conversation");
  const last = state.turns.slice(forgotten + 1).findLast((turn) => turn.conversation);
  return last && (camera === null || last.camera === camera) ? last.conversation : null;
}

/** @param {State} state */
export const shadedSpan = (state) => {
  const last = state.turns.findLast((turn) => turn.span);
  return last && last.camera === state.focus ? last.span : null;
};
