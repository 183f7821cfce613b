/**
 * Keeps the focused camera's timeline fresh: read whole when camera or range change and every now and then,
 * its newest end once a second in between. Rests while nobody looks at the page.
 */

import { sentence } from "./actions.js";

const EVERY_MS = 1000;
const OVERLAP_US = 6_000_000;
const WHOLE_AGAIN_MS = 30_000;

export class TimelineKeeper {
  #store;
  #api;
  #clock;
  /** @type {AbortController | null} */ #reading = null;
  #wholeAt_ms = 0;
  #about = "";

  /**
   * @param {{store: import("./store.js").Store<import("./state.js").State, any>, api: import("./api.js").Api,
   *   clock: import("./time.js").ServerClock}} parts
   */
  constructor({ store, api, clock }) {
    this.#store = store;
    this.#api = api;
    this.#clock = clock;
  }

  start() {
    this.#store.subscribe((state) => {
      const about = `${state.focus}/${state.range_s}`;
      if (about === this.#about) return;
      this.#about = about;
      this.#reading?.abort();
      this.#reading = null;
      this.read();
    });
    setInterval(() => this.read(), EVERY_MS);
    document.addEventListener("visibilitychange", () => this.read());
  }

  async read() {
    const { focus, range_s, timeline, link } = this.#store.get();
    if (!focus || document.hidden || this.#reading || (link.everOpen && link.status !== "open")) return;
    const tail = timeline !== null && Date.now() - this.#wholeAt_ms < Math.max(WHOLE_AGAIN_MS, range_s * 25);
    const reading = new AbortController();
    this.#reading = reading;
    try {
      const sent_us = Date.now() * 1000;
      const window = tail
        ? {
            from_us: timeline.to_us - OVERLAP_US,
            to_us: Math.max(this.#clock.now(), timeline.to_us) + 1_000_000,
          }
        : { last_s: range_s };
      const read = await this.#api.timeline(focus, window, reading.signal);
      this.#clock.learn(read.now_us, sent_us, Date.now() * 1000);
      const until_now = { ...read, to_us: Math.min(read.to_us, read.now_us) };
      if (!tail) this.#wholeAt_ms = Date.now();
      this.#store.dispatch({ type: "timeline.read", timeline: until_now, range_s, tail });
    } catch (error) {
      if (reading.signal.aborted) return;
      this.#store.dispatch({ type: "timeline.failed", message: sentence(this.#store.get().language, error) });
    } finally {
      if (this.#reading === reading) this.#reading = null;
    }
  }
}
