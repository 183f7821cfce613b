/** Pure: what an answer's text is made of, and the facts in the line below it. */

/** @typedef {import("./time.js").Span} Span */
/** @typedef {{ref: string, t_us: number, label: string}} UsedFrame */
/** @typedef {{text: string, offset: number, t_us: number | null, frame: string | null, verified: boolean}} Citation */
/**
 * @typedef {{kind: "text", text: string}
 *   | {kind: "moment", text: string, t_us: number, ref: string | null}
 *   | {kind: "unverified", text: string}} Piece
 */

// [14:03:05], [14:03:05.2], [2026-11-30 14:03:05], [gate 14:03:05]
const LABEL = /\[(?:[a-z0-9][a-z0-9_-]{0,62} )?(?:\d{4}-\d{2}-\d{2} )?\d{2}:\d{2}:\d{2}(?:\.\d)?\]/g;
const LONGEST_LABEL = 90;

/**
 * Split an answer's text so far. While words still come, an opened bracket at the end is held back, so that a
 * label never shows as text first and as a link later.
 *
 * @param {string} text
 * @param {readonly UsedFrame[]} frames what the answer looked at
 * @param {readonly Citation[] | null} citations the server's check; null while words still come
 * @returns {Piece[]}
 */
export function pieces(text, frames, citations) {
  const shown = citations === null ? withoutOpenLabel(text) : text;
  const places = citations && byPlace(text, citations);
  /** @type {Piece[]} */ const found = [];
  let at = 0;
  for (const match of shown.matchAll(LABEL)) {
    if (match.index > at) found.push({ kind: "text", text: shown.slice(at, match.index) });
    at = match.index + match[0].length;
    const bare = match[0].slice(1, -1);
    const citation = places?.get(match.index) ?? places?.get(match.index + 1);
    const frame = citation ? null : frames.find((used) => used.label === match[0]);
    if (citation?.verified && citation.t_us !== null) {
      found.push({ kind: "moment", text: bare, t_us: citation.t_us, ref: citation.frame });
    } else if (!citations && frame) {
      found.push({ kind: "moment", text: bare, t_us: frame.t_us, ref: frame.ref });
    } else if (!citations) {
      found.push({ kind: "text", text: bare });
    } else {
      found.push({ kind: "unverified", text: bare });
    }
  }
  if (at < shown.length) found.push({ kind: "text", text: shown.slice(at) });
  return found;
}

/**
 * @param {string} ref
 * @returns {string} whose frame it is
 */
export const cameraOf = (ref) => ref.slice(0, ref.indexOf("/"));

/** @param {string} text */
function withoutOpenLabel(text) {
  const open = text.lastIndexOf("[");
  const waiting = open >= 0 && text.indexOf("]", open) < 0 && text.length - open < LONGEST_LABEL;
  return waiting ? text.slice(0, open) : text;
}

/**
 * The server counts characters, JavaScript counts UTF-16 units.
 * @param {string} text
 * @param {readonly Citation[]} citations
 * @returns {Map<number, Citation>} by place in `text`
 */
function byPlace(text, citations) {
  const places = new Map();
  const wanted = new Map(citations.map((citation) => [citation.offset, citation]));
  let units = 0;
  let characters = 0;
  for (const character of text) {
    const citation = wanted.get(characters);
    if (citation) places.set(units, citation);
    units += character.length;
    characters += 1;
  }
  return places;
}

/**
 * @param {readonly UsedFrame[]} frames oldest first
 * @param {readonly Citation[]} citations
 * @param {string} model who answered
 * @returns {{frame: UsedFrame, cited: boolean}[]} the evidence, best first: what is cited, each once, then the rest;
 *   both by time. A measured answer names the moments in which a thing comes and goes at the picture's edge, and adds
 *   those that show it best: there the rest comes first.
 */
export function evidence(frames, citations, model) {
  const cited = new Set(citations.filter((each) => each.verified).map((each) => each.frame));
  const all = frames.map((frame) => ({ frame, cited: cited.has(frame.ref) }));
  const parts = [all.filter((each) => each.cited), all.filter((each) => !each.cited)];
  return (model === "measured" ? parts.reverse() : parts).flat();
}

/**
 * @param {string} text
 * @returns {number} words, where a Chinese character counts as one; time labels do not count
 */
export function countWords(text) {
  const plain = text.replace(LABEL, " ");
  const ideographs = plain.match(/\p{Script=Han}/gu)?.length ?? 0;
  const words = plain.replace(/\p{Script=Han}/gu, " ").match(/[\p{L}\p{N}][\p{L}\p{N}'’.,-]*/gu)?.length ?? 0;
  return ideographs + words;
}

/**
 * @param {readonly Span[]} spans
 * @returns {number} seconds in all
 */
export function secondsOf(spans) {
  return spans.reduce((sum, span) => sum + Math.max(0, span.to_us - span.from_us), 0) / 1e6;
}
