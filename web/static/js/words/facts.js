/** Sentences about gaps, tracks and samples, the same wherever they are shown. */

import { knows } from "../i18n.js";
import { clockSpan, clockTime } from "../time.js";

/** @typedef {import("../i18n.js").Say} Say */

/** @param {Say} say @param {string} reason */
export const gapReason = (say, reason) =>
  knows("en", `gap.${reason}`) ? say(`gap.${reason}`) : say("gap.other");

/** @param {Say} say @param {string} reason why a sample was kept */
export const keepReason = (say, reason) =>
  knows("en", `reason.${reason}`) ? say(`reason.${reason}`) : reason;

/** @param {Say} say @param {string} state */
export const stateWord = (say, state) =>
  knows("en", `state.${state}`) ? say(`state.${state}`) : say("state.unknown");

/**
 * @param {Say} say
 * @param {import("../api.js").Gap} gap
 * @param {string} zone
 */
export function gapSentence(say, gap, zone) {
  const why = gapReason(say, gap.reason);
  if (gap.to_us === null) return say("timeline.gap.open", { from: clockTime(gap.from_us, zone), why });
  return say("timeline.gap", { span: clockSpan({ from_us: gap.from_us, to_us: gap.to_us }, zone), why });
}

/**
 * @param {Say} say
 * @param {import("../api.js").Track} track
 * @returns {string[]} what was measured of a thing that moved, line by line
 */
export function trackLines(say, track) {
  const what = track.colour
    ? say("track.something", { colour: say(`colour.${track.colour}`) })
    : say("track.thing");
  const seconds = ((track.to_us - track.from_us) / 1e6).toFixed(1);
  const ways = [
    ...(track.entered ? [say("track.entered", { side: say(`side.${track.entered}`) })] : []),
    ...(track.open ? [say("track.open")] : []),
    ...(!track.open && track.left ? [say("track.left", { side: say(`side.${track.left}`) })] : []),
  ];
  return [
    say("track.text", { what, seconds }),
    ...(ways.length ? [ways.join(say("list.comma"))] : []),
    say("track.size", { percent: percent(track.size) }),
  ];
}

/**
 * @param {number} share 0 to 1
 * @returns {string} in percent: whole from ten on, one decimal below
 */
export const percent = (share) => (share >= 0.1 ? (share * 100).toFixed(0) : (share * 100).toFixed(1));

/**
 * @param {number} delay_s
 * @returns {string} in tenths of a second; what is shorter is said to be shorter
 */
export const tenths = (delay_s) => (delay_s < 0.1 ? "< 0.1" : delay_s.toFixed(1));
