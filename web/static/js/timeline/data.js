/** Pure: one camera's timeline as it grows, and where things are in it. */

/** @typedef {import("../api.js").Timeline} Timeline */
/** @typedef {import("../api.js").Sample} Sample */

/**
 * Put a freshly read tail onto what is already known. The tail is the truth about its own span; records that
 * reach across its start are joined with their older part.
 *
 * @param {Timeline} known
 * @param {Timeline} tail a later reading of the same camera, which begins within `known`
 * @param {number} keep_us how far back to keep
 * @returns {Timeline}
 */
export function extend(known, tail, keep_us) {
  const start_us = Math.max(tail.to_us - keep_us, tail.evicted_us ?? -Infinity);
  const cut_us = tail.from_us;
  return {
    ...tail,
    from_us: Math.max(known.from_us, tail.to_us - keep_us),
    samples: [
      ...known.samples.filter((sample) => sample.t_us >= start_us && sample.t_us < cut_us),
      ...tail.samples,
    ],
    statics: joined(known.statics, tail.statics, cut_us, start_us, () => true),
    gaps: joined(known.gaps, tail.gaps, cut_us, tail.to_us - keep_us, (a, b) => a.reason === b.reason),
    tracks: joined(
      known.tracks,
      tail.tracks,
      cut_us,
      start_us,
      (a, b) => a.from_us === b.from_us || a.colour === b.colour,
    ),
    scenes: [
      ...known.scenes.filter((scene) => scene.t_us >= start_us && scene.t_us < cut_us),
      ...tail.scenes,
    ],
    tiers: joined(known.tiers, tail.tiers, cut_us, start_us, (a, b) => a.tier === b.tier),
  };
}

/**
 * @template {{from_us: number, to_us: number | null}} S
 * @param {readonly S[]} known
 * @param {readonly S[]} fresh
 * @param {number} cut_us where the fresh reading begins
 * @param {number} start_us what ends before this is let go
 * @param {(a: S, b: S) => boolean} same whether two that meet at the cut are one
 * @returns {S[]}
 */
function joined(known, fresh, cut_us, start_us, same) {
  /** @type {S[]} */ const older = [];
  const newer = [...fresh];
  for (const span of known) {
    if (span.to_us !== null && span.to_us <= start_us) continue;
    if (span.to_us !== null && span.to_us < cut_us) {
      older.push(span);
      continue;
    }
    if (span.from_us >= cut_us) continue;
    const at = newer.findIndex((each) => each.from_us <= cut_us && same(span, each));
    if (at >= 0) newer[at] = { ...newer[at], from_us: Math.min(span.from_us, newer[at].from_us) };
    else if (!newer.some((each) => each.from_us === span.from_us))
      older.push({ ...span, to_us: span.to_us ?? cut_us });
  }
  return [...older, ...newer];
}

/**
 * @param {readonly Sample[]} samples by time
 * @param {number} t_us
 * @returns {number} how many lie before `t_us`
 */
export function countBefore(samples, t_us) {
  let low = 0;
  let high = samples.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (samples[middle].t_us < t_us) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {readonly Sample[]} samples by time
 * @param {number} t_us
 * @param {number} [within_us] farther away is none
 * @returns {Sample | null}
 */
export function nearest(samples, t_us, within_us = Infinity) {
  const after = countBefore(samples, t_us);
  /** @type {Sample | null} */ let best = null;
  for (const sample of samples.slice(Math.max(0, after - 1), after + 1)) {
    const distance = Math.abs(sample.t_us - t_us);
    if (distance <= within_us && (!best || distance < Math.abs(best.t_us - t_us))) best = sample;
  }
  return best;
}

/**
 * @param {readonly Sample[]} samples by time
 * @param {number | null} t_us where one stands; null is the live end
 * @param {number} steps negative goes back
 * @returns {Sample | null} null where the step leads past the newest: live again
 */
export function step(samples, t_us, steps) {
  if (!samples.length) return null;
  const at = t_us === null ? samples.length : countBefore(samples, t_us);
  const exact = t_us !== null && samples[at]?.t_us === t_us;
  const to = steps > 0 && !exact && t_us !== null ? at + steps - 1 : at + steps;
  return to >= samples.length ? null : samples[Math.max(0, to)];
}

/**
 * @param {Timeline} timeline
 * @returns {number | null} how far back one can ask; null where that is before everything shown
 */
export function edgeOf(timeline) {
  if (timeline.evicted_us !== null)
    return timeline.evicted_us > timeline.from_us ? timeline.evicted_us : null;
  const first_us = Math.min(
    ...[
      timeline.samples[0]?.t_us,
      ...[...timeline.gaps, ...timeline.statics].map((span) => span.from_us),
    ].filter((t_us) => t_us !== undefined),
  );
  return Number.isFinite(first_us) && first_us > timeline.from_us + 3_000_000 ? first_us : null;
}

/**
 * @param {Timeline} timeline
 * @param {number} t_us
 * @returns {{kind: "gap", gap: import("../api.js").Gap} | {kind: "static", span: import("../time.js").Span}
 *   | {kind: "before", edge_us: number} | {kind: "track", track: import("../api.js").Track} | null}
 *   what there is to say of an instant
 */
export function factAt(timeline, t_us) {
  const gap = timeline.gaps.find((each) => t_us >= each.from_us && t_us < (each.to_us ?? Infinity));
  if (gap) return { kind: "gap", gap };
  const edge_us = edgeOf(timeline);
  if (edge_us !== null && t_us < edge_us) return { kind: "before", edge_us };
  const track = timeline.tracks.find((each) => t_us >= each.from_us && t_us < each.to_us);
  if (track) return { kind: "track", track };
  const span = timeline.statics.find((each) => t_us >= each.from_us && t_us < each.to_us);
  return span ? { kind: "static", span } : null;
}
