/**
 * The WebSocket: one session that outlives its connections. After a break it comes back by itself, asks for
 * what it missed (`resume`), and leaves out what it has already seen. Pauses grow from half a second to ten,
 * with some chance in them, so that a thousand pages do not knock on a restarted server at once.
 */

/** @typedef {"connecting" | "open" | "lost"} LinkStatus */
/** @typedef {{session: string, seq: number, resumed: boolean}} Welcome */
/**
 * @typedef {{
 *   url: string,
 *   onMessage: (message: any) => void,
 *   onStatus: (status: LinkStatus, retryAt_ms: number | null) => void,
 *   onForgotten: () => void,
 *   open?: (url: string, protocol: string) => WebSocket,
 *   random?: () => number,
 * }} LiveOptions
 * `onForgotten`: the server no longer knows this session, running answers will not come.
 */

export const PROTOCOL = "livelens.v1";
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const READY_WITHIN_MS = 8_000;

/**
 * @param {number} attempt 0 for the first pause
 * @param {number} chance 0 to 1
 * @returns {number} milliseconds to wait
 */
export function pauseBefore(attempt, chance) {
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
  return Math.round(pause * (0.7 + 0.3 * chance));
}

export class Live {
  #options;
  /** @type {WebSocket | null} */ #socket = null;
  /** @type {string | null} */ #session = null;
  #seq = 0;
  /** @type {Welcome | null} the new session, while an older one is asked for */ #fresh = null;
  #ready = false;
  #attempt = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */ #timer;
  /** @type {object[]} */ #outbox = [];

  /** @param {LiveOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Connect now; also cuts a pause short. Does nothing while a connection stands or is being made. */
  connect() {
    if (this.#socket) return;
    clearTimeout(this.#timer);
    const {
      url,
      open = (/** @type {string} */ at, /** @type {string} */ protocol) => new WebSocket(at, protocol),
    } = this.#options;
    this.#options.onStatus("connecting", null);
    const socket = open(url, PROTOCOL);
    this.#socket = socket;
    this.#timer = setTimeout(() => socket.close(), READY_WITHIN_MS); // a server that accepts and then says nothing
    socket.onopen = () => {
      if (this.#session)
        socket.send(JSON.stringify({ type: "resume", session: this.#session, seq: this.#seq }));
    };
    socket.onmessage = (event) => this.#take(String(event.data));
    socket.onclose = () => this.#lose(socket);
  }

  /**
   * Send now, or as soon as the session stands again.
   * @param {object} message
   */
  send(message) {
    if (this.#ready) this.#socket?.send(JSON.stringify(message));
    else this.#outbox.push(message);
  }

  /** @param {string} text */
  #take(text) {
    const message = JSON.parse(text);
    if (message.type === "session.ready") return this.#welcome(message);
    if (this.#fresh) return this.#takeWhileResuming(this.#fresh, message);
    if (message.seq <= this.#seq) return;
    this.#seq = message.seq;
    this.#options.onMessage(message);
  }

  /**
   * Every connection begins with a new session. Where an older one was asked for, a second welcome follows when
   * it goes on, or an error when it is forgotten; then the new one holds.
   * @param {Welcome} welcome
   */
  #welcome(welcome) {
    if (this.#session !== null && !welcome.resumed && !this.#fresh) {
      this.#fresh = welcome;
      return;
    }
    if (!welcome.resumed) this.#adopt(welcome);
    this.#begin();
  }

  /** @param {Welcome} fresh @param {any} message of the new session */
  #takeWhileResuming(fresh, message) {
    this.#fresh = { ...fresh, seq: message.seq };
    if (message.type === "error" && message.id == null) {
      this.#adopt(this.#fresh);
      this.#options.onForgotten();
      this.#begin();
    } else {
      this.#options.onMessage(message);
    }
  }

  /** @param {Welcome} welcome */
  #adopt(welcome) {
    this.#session = welcome.session;
    this.#seq = welcome.seq ?? 0;
  }

  #begin() {
    clearTimeout(this.#timer);
    this.#fresh = null;
    this.#attempt = 0;
    this.#ready = true;
    this.#options.onStatus("open", null);
    for (const waiting of this.#outbox.splice(0)) this.send(waiting);
  }

  /** @param {WebSocket} socket */
  #lose(socket) {
    if (socket !== this.#socket) return;
    this.#socket = null;
    this.#ready = false;
    this.#fresh = null;
    clearTimeout(this.#timer);
    const pause_ms = pauseBefore(this.#attempt++, (this.#options.random ?? Math.random)());
    this.#timer = setTimeout(() => this.connect(), pause_ms);
    this.#options.onStatus("lost", Date.now() + pause_ms);
  }
}
