/** Pure: time against width, the marks of the axis, motion gathered per column, tracks in rows. */

import { MINUTE_US, SECOND_US } from "../time.js";

/** @typedef {{from_us: number, to_us: number, width_px: number}} Scale */

/**
 * @param {Scale} scale
 * @param {number} t_us
 */
export const xOf = (scale, t_us) => ((t_us - scale.from_us) / (scale.to_us - scale.from_us)) * scale.width_px;

/**
 * @param {Scale} scale
 * @param {number} x_px
 */
export const timeAt = (scale, x_px) =>
  Math.round(scale.from_us + (x_px / scale.width_px) * (scale.to_us - scale.from_us));

const STEPS_US = [5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].map((seconds) => seconds * SECOND_US);

/**
 * @param {Scale} scale
 * @param {number} [apart_px] at least this much between two marks
 * @returns {{t_us: number, seconds: boolean}[]} round instants; `seconds` says whether they need seconds
 */
export function marks(scale, apart_px = 84) {
  const per_px = (scale.to_us - scale.from_us) / Math.max(1, scale.width_px);
  const every_us = STEPS_US.find((step) => step >= per_px * apart_px) ?? 3600 * SECOND_US;
  const found = [];
  for (let t_us = Math.ceil(scale.from_us / every_us) * every_us; t_us < scale.to_us; t_us += every_us) {
    found.push({ t_us, seconds: every_us < MINUTE_US });
  }
  return found;
}

const FULL_MOTION = 0.25; // more than this share of the picture is a full column

/**
 * The greatest motion per column, each sample reaching to the next one but at most `reach_us`.
 * @param {readonly import("../api.js").Sample[]} samples by time
 * @param {Scale} scale
 * @param {number} column_px
 * @param {number} [reach_us]
 * @returns {Float32Array} 0 to 1 per column, the root of the motion so that small things show
 */
export function motionColumns(samples, scale, column_px, reach_us = 600_000) {
  const columns = new Float32Array(Math.max(1, Math.ceil(scale.width_px / column_px)));
  for (let i = 0; i < samples.length; i++) {
    const sample = samples[i];
    if (sample.reason === "heartbeat" || sample.motion <= 0) continue; // what is left there is noise
    const until_us = Math.min(samples[i + 1]?.t_us ?? Infinity, sample.t_us + reach_us);
    const first = Math.max(0, Math.floor(xOf(scale, sample.t_us) / column_px));
    const last = Math.min(
      columns.length - 1,
      Math.max(first, Math.ceil(xOf(scale, until_us) / column_px) - 1),
    );
    const level = Math.min(1, Math.sqrt(sample.motion / FULL_MOTION));
    for (let column = first; column <= last; column++) columns[column] = Math.max(columns[column], level);
  }
  return columns;
}

/**
 * @template {{from_us: number, to_us: number}} T
 * @param {readonly T[]} spans
 * @param {number} rows how many rows there are; what does not fit shares the last one
 * @returns {{span: T, row: number}[]} so placed that spans of a row do not overlap while there is room
 */
export function inRows(spans, rows) {
  const ends = new Array(rows).fill(-Infinity);
  return [...spans]
    .sort((a, b) => a.from_us - b.from_us)
    .map((span) => {
      const free = ends.findIndex((end_us) => end_us <= span.from_us);
      const row = free < 0 ? rows - 1 : free;
      ends[row] = Math.max(ends[row], span.to_us);
      return { span, row };
    });
}
