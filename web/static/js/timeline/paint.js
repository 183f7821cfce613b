/** Draws a timeline on a canvas. Knows lanes and colours; what to draw is handed in. */

import { clockTime } from "../time.js";
import { edgeOf } from "./data.js";
import { inRows, marks, motionColumns, xOf } from "./scale.js";

/** @typedef {import("./scale.js").Scale} Scale */
/** @typedef {{text: string, soft: string, faint: string, hairline: string, accent: string, warning: string,
 *   surface: string, sunk: string, font: string}} Palette */
/** @typedef {{axis: number, motion: [number, number], tracks: [number, number], samples: [number, number],
 *   kept: number, height: number, compact: boolean}} Lanes top and bottom of each lane, px */
/**
 * @typedef {{
 *   timeline: import("../api.js").Timeline, scale: Scale, lanes: Lanes, palette: Palette, zone: string,
 *   now_us: number, shaded: import("../time.js").Span | null, chosen: import("../time.js").Span | null,
 *   pin_us: number | null, hint_us: number | null,
 *   words: {now: string, before: (edge_us: number) => string, gap: (gap: import("../api.js").Gap) => string},
 * }} Scene
 */

const TRACK_ROWS = 3;
const COLUMN_PX = 3;

/**
 * @param {number} height the canvas's, px
 * @returns {Lanes}
 */
export function lanesFor(height) {
  const compact = height < 90;
  const axis = compact ? 14 : 22;
  const kept = height - (compact ? 3 : 10);
  const samples = compact ? 10 : 14;
  const tracks = compact ? 5 : TRACK_ROWS * 6;
  const gap = compact ? 3 : 9;
  const samplesTop = kept - gap - samples;
  const tracksTop = samplesTop - gap - tracks;
  return {
    axis,
    motion: [axis + (compact ? 2 : 6), tracksTop - gap],
    tracks: [tracksTop, tracksTop + tracks],
    samples: [samplesTop, samplesTop + samples],
    kept,
    height,
    compact,
  };
}

/**
 * @param {CanvasRenderingContext2D} ctx scaled so that one unit is one CSS pixel
 * @param {Scene} scene
 */
export function paint(ctx, scene) {
  ctx.clearRect(0, 0, scene.scale.width_px, scene.lanes.height);
  paintBand(ctx, scene, scene.shaded, 0.1);
  paintAxis(ctx, scene);
  paintMotion(ctx, scene);
  paintStatics(ctx, scene);
  paintTracks(ctx, scene);
  paintSamples(ctx, scene);
  paintKept(ctx, scene);
  paintGaps(ctx, scene);
  paintEdge(ctx, scene);
  paintBand(ctx, scene, scene.chosen, 0.2);
  paintNow(ctx, scene);
  paintMoment(ctx, scene, scene.hint_us, false);
  paintMoment(ctx, scene, scene.pin_us, true);
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scene} scene
 * @param {import("../time.js").Span | null} span
 * @param {number} strength
 */
function paintBand(ctx, { scale, lanes, palette }, span, strength) {
  if (!span) return;
  const from = xOf(scale, span.from_us);
  const to = Math.max(from + 1, xOf(scale, span.to_us));
  ctx.globalAlpha = strength;
  ctx.fillStyle = palette.accent;
  ctx.fillRect(from, lanes.axis, to - from, lanes.height - lanes.axis);
  ctx.globalAlpha = Math.min(1, strength * 4);
  ctx.fillRect(Math.round(from), lanes.axis, 1, lanes.height - lanes.axis);
  ctx.fillRect(Math.round(to) - 1, lanes.axis, 1, lanes.height - lanes.axis);
  ctx.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintAxis(ctx, { scale, lanes, palette, zone, words }) {
  ctx.font = palette.font;
  ctx.textBaseline = "middle";
  const nowWidth = ctx.measureText(words.now).width;
  for (const mark of marks(scale, lanes.compact ? 64 : 92)) {
    const x = Math.round(xOf(scale, mark.t_us));
    ctx.fillStyle = palette.hairline;
    ctx.fillRect(x, lanes.axis, 1, lanes.height - lanes.axis);
    const text = clockTime(mark.t_us, zone, { seconds: mark.seconds });
    const half = ctx.measureText(text).width / 2;
    if (x - half < 0 || x + half > scale.width_px - nowWidth - 14) continue;
    ctx.fillStyle = palette.faint;
    ctx.fillText(text, x - half, lanes.axis / 2 - 1);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintMotion(ctx, { timeline, scale, lanes, palette, shaded }) {
  const [top, bottom] = lanes.motion;
  const columns = motionColumns(timeline.samples, scale, COLUMN_PX);
  columns.forEach((level, column) => {
    if (level <= 0) return;
    const height = Math.max(2, Math.round(level * (bottom - top)));
    const x = column * COLUMN_PX;
    const t_us = scale.from_us + (x / scale.width_px) * (scale.to_us - scale.from_us);
    const answered = shaded && t_us >= shaded.from_us && t_us < shaded.to_us;
    ctx.fillStyle = answered ? palette.text : palette.faint;
    ctx.fillRect(x, bottom - height, COLUMN_PX - 1, height);
  });
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintStatics(ctx, { timeline, scale, lanes, palette }) {
  ctx.fillStyle = palette.faint;
  ctx.globalAlpha = 0.8;
  for (const span of timeline.statics) {
    const from = xOf(scale, span.from_us);
    ctx.fillRect(from, lanes.motion[1] - 1, Math.max(1, xOf(scale, span.to_us) - from - 1), 1);
  }
  ctx.globalAlpha = 1;
}

/** @type {Record<string, string>} rough colours that show on both grounds */
const COLOURS = {
  red: "#d9534a",
  orange: "#d98a3a",
  yellow: "#c9b03a",
  green: "#58a55c",
  blue: "#5b8fd6",
  purple: "#9a78d0",
  brown: "#9a7250",
  white: "#d8dadd",
  grey: "#8d949b",
  black: "#4b5157",
};

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintTracks(ctx, { timeline, scale, lanes, palette, now_us }) {
  const [top, bottom] = lanes.tracks;
  const rows = lanes.compact ? 1 : TRACK_ROWS;
  const height = (bottom - top) / rows - 2;
  for (const { span: track, row } of inRows(timeline.tracks, rows)) {
    const from = xOf(scale, track.from_us);
    const width = Math.max(3, xOf(scale, track.open ? now_us : track.to_us) - from);
    const y = top + row * (height + 2);
    ctx.fillStyle = palette.soft;
    ctx.globalAlpha = 0.4;
    bar(ctx, from, y, width, height);
    ctx.globalAlpha = 1;
    ctx.fillStyle = COLOURS[track.colour ?? ""] ?? palette.faint;
    bar(ctx, from, y, Math.min(width, 5), height);
    ctx.strokeStyle = palette.soft;
    ctx.lineWidth = 0.5;
    ctx.stroke();
  }
  for (const scene of timeline.scenes) {
    const x = xOf(scale, scene.t_us);
    ctx.fillStyle = palette.warning;
    ctx.beginPath();
    ctx.moveTo(x, lanes.axis - 1);
    ctx.lineTo(x + 4, lanes.axis + 3);
    ctx.lineTo(x, lanes.axis + 7);
    ctx.lineTo(x - 4, lanes.axis + 3);
    ctx.fill();
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {number} x @param {number} y @param {number} width @param {number} height */
function bar(ctx, x, y, width, height) {
  ctx.beginPath();
  ctx.roundRect(x, y, width, height, Math.min(2, height / 2));
  ctx.fill();
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintSamples(ctx, { timeline, scale, lanes, palette }) {
  const [top, bottom] = lanes.samples;
  const half = (bottom - top) / 2;
  let lastX = -9;
  let lastTall = false;
  for (const sample of timeline.samples) {
    const x = Math.round(xOf(scale, sample.t_us));
    const tall = sample.reason !== "heartbeat";
    if (x === lastX && (lastTall || !tall)) continue;
    ctx.fillStyle = tall ? palette.soft : palette.faint;
    ctx.globalAlpha = tall ? 0.9 : 0.65;
    ctx.fillRect(x, tall ? top : bottom - half, 1, tall ? bottom - top : half);
    lastX = x;
    lastTall = tall;
  }
  ctx.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintKept(ctx, { timeline, scale, lanes, palette }) {
  ctx.fillStyle = palette.faint;
  for (const tier of timeline.tiers) {
    const from = Math.max(0, xOf(scale, tier.from_us));
    const to = Math.min(scale.width_px, xOf(scale, tier.to_us));
    if (tier.tier === "redis") for (let x = from; x < to; x += 5) ctx.fillRect(x, lanes.kept, Math.min(3, to - x), 2);
    else ctx.fillRect(from, lanes.kept, to - from, tier.tier === "gpu" ? 4 : 2);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintGaps(ctx, { timeline, scale, lanes, palette, now_us, words }) {
  for (const gap of timeline.gaps) {
    const from = Math.max(0, xOf(scale, gap.from_us));
    const to = Math.min(scale.width_px, xOf(scale, gap.to_us ?? now_us));
    if (to <= 0 || from >= scale.width_px) continue;
    hatch(ctx, from, Math.max(from + 2, to), lanes, palette);
    const text = words.gap(gap);
    ctx.font = palette.font;
    const width = ctx.measureText(text).width;
    if (lanes.compact || width + 20 > to - from) continue;
    const x = (from + to) / 2 - width / 2;
    const y = (lanes.axis + lanes.samples[0]) / 2;
    ctx.fillStyle = palette.sunk;
    ctx.fillRect(x - 6, y - 10, width + 12, 20);
    ctx.fillStyle = palette.warning;
    ctx.fillText(text, x, y);
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} from
 * @param {number} to
 * @param {Lanes} lanes
 * @param {Palette} palette
 */
function hatch(ctx, from, to, lanes, palette) {
  const top = lanes.axis;
  const height = lanes.height - top;
  ctx.save();
  ctx.beginPath();
  ctx.rect(from, top, to - from, height);
  ctx.clip();
  ctx.fillStyle = palette.sunk;
  ctx.fillRect(from, top, to - from, height);
  ctx.strokeStyle = palette.warning;
  ctx.globalAlpha = 0.45;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (let x = from - height - (from % 7); x < to; x += 7) {
    ctx.moveTo(x, top + height);
    ctx.lineTo(x + height, top);
  }
  ctx.stroke();
  ctx.restore();
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintEdge(ctx, { timeline, scale, lanes, palette, words }) {
  const edge_us = edgeOf(timeline);
  if (edge_us === null) return;
  const edge = Math.round(xOf(scale, edge_us));
  if (edge <= 0) return;
  ctx.fillStyle = palette.sunk;
  ctx.fillRect(0, lanes.axis, edge, lanes.height - lanes.axis);
  ctx.fillStyle = palette.faint;
  for (let y = lanes.axis; y < lanes.height; y += 6) ctx.fillRect(edge, y, 1, 3);
  ctx.font = palette.font;
  const text = words.before(edge_us);
  if (!lanes.compact && ctx.measureText(text).width + 16 < edge) {
    ctx.fillText(text, 8, (lanes.axis + lanes.samples[0]) / 2);
  }
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene */
function paintNow(ctx, { scale, lanes, palette, now_us, words }) {
  const x = Math.round(xOf(scale, now_us));
  ctx.fillStyle = palette.accent;
  ctx.fillRect(x, lanes.axis - 3, 1, lanes.height - lanes.axis + 3);
  ctx.font = palette.font;
  const width = ctx.measureText(words.now).width;
  ctx.fillText(words.now, Math.min(x + 4, scale.width_px) - width, lanes.axis / 2 - 1);
}

/** @param {CanvasRenderingContext2D} ctx @param {Scene} scene @param {number | null} t_us @param {boolean} held */
function paintMoment(ctx, { scale, lanes, palette }, t_us, held) {
  if (t_us === null || t_us < scale.from_us || t_us > scale.to_us) return;
  const x = Math.round(xOf(scale, t_us));
  ctx.fillStyle = held ? palette.accent : palette.text;
  ctx.globalAlpha = held ? 1 : 0.55;
  ctx.fillRect(x, lanes.axis, 1, lanes.height - lanes.axis);
  ctx.globalAlpha = 1;
  ctx.fillRect(x - 1, lanes.samples[0], 3, lanes.samples[1] - lanes.samples[0]);
  if (!held) return;
  ctx.beginPath();
  ctx.moveTo(x - 5, lanes.axis - 5);
  ctx.lineTo(x + 6, lanes.axis - 5);
  ctx.lineTo(x + 0.5, lanes.axis + 2);
  ctx.fill();
}
