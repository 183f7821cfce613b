/**
 * The REST client. It speaks the wire's language outward (docs/api.md) and the page's inward: times become
 * integers of microseconds, every failure becomes an `ApiError` with a sentence.
 */

import { parseTime, wireTime } from "./time.js";

/** @typedef {import("./time.js").Span} Span */
/** @typedef {{url: string, username?: string, password?: string, transport?: "tcp" | "udp", loop?: boolean}} Source */
/** @typedef {{t_us: number, reason: string, motion: number}} Sample */
/** @typedef {{from_us: number, to_us: number | null, reason: string}} Gap `to_us` is null while it lasts */
/**
 * @typedef {{from_us: number, to_us: number, open: boolean, entered: string | null, left: string | null,
 *   direction: string | null, size: number, colour: string | null}} Track
 */
/**
 * @typedef {{camera: string, from_us: number, to_us: number, now_us: number, zone: string,
 *   evicted_us: number | null, samples: Sample[], statics: Span[], gaps: Gap[], tracks: Track[],
 *   scenes: {t_us: number, kind: string}[], tiers: {from_us: number, to_us: number, tier: string}[]}} Timeline
 */
/** @typedef {{ok: boolean, codec: string | null, width_px: number, height_px: number, frame_rate: number | null,
 *   picture: string | null, code: string | null, message: string | null}} Probe */

/** A request that did not work. `code` is stable and public, `message` is for people. */
export class ApiError extends Error {
  /**
   * @param {string} code `no_connection` where no answer came at all
   * @param {string} message
   * @param {number} [status]
   */
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

export class Api {
  #base;

  /** @param {string} [base] where the API lives */
  constructor(base = "/api/v1") {
    this.#base = base;
  }

  /** @returns {Promise<any[]>} every camera that may be seen, as the server shows it */
  async cameras() {
    return (await this.#call("GET", "/cameras")).cameras;
  }

  /** @param {{id: string, name?: string, zone?: string, source: Source}} camera */
  addCamera(camera) {
    return this.#call("POST", "/cameras", camera);
  }

  /**
   * @param {string} id
   * @param {Record<string, unknown>} change
   */
  changeCamera(id, change) {
    return this.#call("PATCH", `/cameras/${encodeURIComponent(id)}`, change);
  }

  /** @param {string} id */
  removeCamera(id) {
    return this.#call("DELETE", `/cameras/${encodeURIComponent(id)}`);
  }

  /**
   * @param {Source} source
   * @param {AbortSignal} [signal]
   * @returns {Promise<Probe>}
   */
  probe(source, signal) {
    return this.#call("POST", "/camera-probes", { source }, signal);
  }

  /**
   * @param {string} id
   * @param {{last_s: number} | Span} window
   * @param {AbortSignal} [signal]
   * @returns {Promise<Timeline>}
   */
  async timeline(id, window, signal) {
    /** @type {Record<string, string>} */
    const query =
      "last_s" in window
        ? { last_s: String(window.last_s) }
        : { from: wireTime(window.from_us), to: wireTime(window.to_us) };
    const path = `/cameras/${encodeURIComponent(id)}/timeline?${new URLSearchParams(query)}`;
    return timelineFromWire(await this.#call("GET", path, undefined, signal));
  }

  /** @param {string} id */
  latestUrl(id) {
    return `${this.#base}/cameras/${encodeURIComponent(id)}/latest.jpg`;
  }

  /** @param {string} id */
  previewUrl(id) {
    return `${this.#base}/cameras/${encodeURIComponent(id)}/preview.mjpeg`;
  }

  /**
   * @param {string} id
   * @param {number} t_us a sample's own time
   */
  frameUrl(id, t_us) {
    return `${this.#base}/cameras/${encodeURIComponent(id)}/frames/${t_us}.jpg`;
  }

  /** @returns {string} the WebSocket's address on this host */
  liveUrl() {
    const url = new URL(`${this.#base}/live`, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    return url.href;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>}
   */
  async #call(method, path, body, signal) {
    /** @type {Response} */ let reply;
    try {
      reply = await fetch(this.#base + path, {
        method,
        signal,
        headers: { accept: "application/json", ...(body ? { "content-type": "application/json" } : {}) },
        body: body ? JSON.stringify(body) : undefined,
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new ApiError("no_connection", "livelens did not answer.");
    }
    const text = await reply.text();
    const value = text && /json/.test(reply.headers.get("content-type") ?? "") ? JSON.parse(text) : null;
    if (reply.ok) return value;
    const sentence = value?.detail || value?.title || `livelens answered with status ${reply.status}.`;
    throw new ApiError(value?.code ?? `http_${reply.status}`, String(sentence), reply.status);
  }
}

/**
 * @param {{from: string, to: string | null}} span
 * @returns {{from_us: number, to_us: number | null}}
 */
const spanFromWire = (span) => ({ from_us: parseTime(span.from) ?? 0, to_us: parseTime(span.to) });

/**
 * @param {any} span
 * @returns {Span}
 */
export const closedSpanFromWire = (span) => ({
  from_us: parseTime(span.from) ?? 0,
  to_us: parseTime(span.to) ?? parseTime(span.from) ?? 0,
});

/**
 * @param {any} wire
 * @returns {Timeline}
 */
export function timelineFromWire(wire) {
  return {
    camera: wire.camera,
    ...closedSpanFromWire(wire),
    now_us: parseTime(wire.now) ?? 0,
    zone: wire.zone,
    evicted_us: parseTime(wire.evicted_before),
    samples: wire.samples.map((/** @type {any} */ { t_us, reason, motion }) => ({ t_us, reason, motion })),
    statics: wire.static.map(closedSpanFromWire),
    gaps: wire.gaps.map((/** @type {any} */ gap) => ({ ...spanFromWire(gap), reason: gap.reason })),
    tracks: wire.tracks.map((/** @type {any} */ track) => ({ ...track, ...closedSpanFromWire(track) })),
    scenes: wire.scenes.map((/** @type {any} */ scene) => ({
      t_us: parseTime(scene.t) ?? 0,
      kind: scene.kind,
    })),
    tiers: wire.tiers.map((/** @type {any} */ tier) => ({ ...closedSpanFromWire(tier), tier: tier.tier })),
  };
}
