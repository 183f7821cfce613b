/** The few drawings of the page, on a 16 px grid, drawn in the colour of the text beside them. */

import { icon } from "./dom.js";

const PATHS = {
  plus: "M8 3.5v9M3.5 8h9",
  close: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  send: "M8 12.5v-9M4 7l4-4 4 4",
  stop: "M5 5h6v6H5z",
  hold: "M6 4v8M10 4v8",
  play: "M6 4l6 4-6 4z",
  down: "M8 3.5v9M4 9l4 4 4-4",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  clock: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11zM8 5v3.2l2 1.3",
  camera: "M2.5 4.5h7v7h-7zM9.5 7l4-2v6l-4-2",
  // States, told apart by shape: full, half, broken, empty with a stroke, barred.
  online: "M8 4a4 4 0 1 1 0 8a4 4 0 0 1 0-8z",
  waiting: "M8 4a4 4 0 1 1 0 8a4 4 0 0 1 0-8zM8 4.4v7.2M6.5 5v6M5.2 6v4M7.2 4.6v6.8",
  offline: "M8 4a4 4 0 0 1 2.3.7M12 8a4 4 0 0 1-.7 2.3M8 12a4 4 0 0 1-2.3-.7M4 8a4 4 0 0 1 .7-2.3",
  refused: "M8 3.5v5.5M8 12v.2",
  disabled: "M8 4a4 4 0 1 1 0 8a4 4 0 0 1 0-8zM5.2 5.2l5.6 5.6",
};

/** @typedef {keyof typeof PATHS} IconName */

/**
 * @param {IconName} name
 * @returns {SVGElement}
 */
export function draw(name) {
  return icon(name, PATHS[name], { filled: name === "online" || name === "stop" || name === "play" });
}

/**
 * @param {string} state as the server names it
 * @returns {IconName} its shape
 */
export function shapeOf(state) {
  switch (state) {
    case "online":
      return "online";
    case "connecting":
    case "waiting_for_keyframe":
      return "waiting";
    case "auth_failed":
      return "refused";
    case "disabled":
      return "disabled";
    default:
      return "offline";
  }
}
