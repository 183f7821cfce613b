/** One question and its answer: words as they come, then the evidence, then the facts in one quiet line. */

import { sentenceFor } from "../actions.js";
import { cameraOf, countWords, evidence, pieces, secondsOf } from "../answer.js";
import { Part, h, keyed, setFacts, setText, show } from "../dom.js";
import { speaker } from "../i18n.js";
import { isRunning, sameMoment, zoneOf } from "../state.js";
import { clockSpan, clockTime } from "../time.js";
import { gapReason } from "../words/facts.js";
import { AnswerText } from "./answer-text.js";
import { windowWord } from "./ask-box.js";

/** @typedef {import("../i18n.js").Say} Say */
/** @typedef {import("../state.js").State} State */
/** @typedef {import("../state.js").Turn} Turn */

const SHOWN = 8; // two rows; more on request

export class TurnView extends Part {
  /** @type {Turn | null} */ #turn = null;
  words = new AnswerText((moment) => this.app.actions.hint(moment));
  #all = false;

  build() {
    const { actions } = this.app;
    this.question = h("h3.question");
    this.about = h("span.about");
    this.stop = h("button.quiet", {
      type: "button",
      "data-t": "ask.stop",
      onclick: () => this.#turn && actions.stop(this.#turn.id),
    });
    this.waiting = h("p.waiting");
    this.strip = h("div.strip", { role: "list" });
    this.facts = h("p.facts");
    this.used = h("p.facts");
    this.notice = h("p.notice");
    this.problem = h("p.problem");
    this.again = h("button.quiet", { type: "button", "data-t": "turn.again", onclick: () => this.#again() });
    this.ending = h("div.turn-problem", {}, this.problem, this.again);
    this.append(
      h("div.turn-head", {}, this.question, h("div.turn-meta", {}, this.about, this.stop)),
      this.words.element,
      this.waiting,
      this.strip,
      this.facts,
      this.used,
      this.notice,
      this.ending,
    );
    this.setAttribute("role", "article");
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    if (this.#turn && state.language !== before.language) this.draw(this.#turn, state);
    if (!sameMoment(state.hint, before.hint ?? null) || !sameMoment(state.pin, before.pin ?? null))
      this.#light(state);
  }

  /** @param {Turn} turn @param {State} state */
  draw(turn, state) {
    if (turn === this.#turn && this.dataset.language === state.language) return;
    this.#turn = turn;
    this.dataset.language = state.language;
    this.dataset.phase = turn.phase;
    const say = speaker(state.language);
    const zone = turn.zone ?? zoneOf(state);
    setText(this.stop, say("ask.stop"));
    setText(this.again, say("turn.again"));
    setText(this.question, turn.text);
    setFacts(this.about, this.#about(say, turn, state, zone));
    show(this.stop, isRunning(turn));
    this.words.draw(pieces(turn.words, turn.frames, turn.citations), turn, say);
    setText(this.waiting, waitingSentence(say, turn));
    show(this.waiting, this.waiting.textContent !== "");
    this.#drawEvidence(say, turn, state, zone);
    this.#drawFacts(say, turn, state, zone);
    setText(this.problem, turn.error ? problemSentence(say, state.language, turn.error) : "");
    show(this.ending, turn.phase === "failed");
    show(this.again, !!turn.error?.retryable || turn.error?.code === "unknown_conversation");
  }

  /** @param {Say} say @param {Turn} turn @param {State} state @param {string} zone */
  #drawFacts(say, turn, state, zone) {
    setText(
      this.facts,
      turn.done && turn.coverage ? sawLines(say, turn, zone, (id) => nameOf(state, id)) : "",
    );
    setFacts(this.used, turn.done ? usedFacts(say, turn) : []);
    this.used.title = turn.done ? timingTitle(say, turn) : "";
    setText(this.notice, turn.done ? noticeLine(say, turn) : "");
    for (const line of [this.facts, this.used, this.notice]) show(line, line.textContent !== "");
  }

  /** @param {Say} say @param {Turn} turn @param {State} state @param {string} zone */
  #about(say, turn, state, zone) {
    const cameras = [turn.camera, ...turn.others.map((other) => other.camera)];
    const names = cameras.map((id) => id && nameOf(state, id));
    const span = turn.span
      ? clockSpan(turn.span, zone)
      : turn.window
        ? windowWord(say, turn.window, zone)
        : clockTime(turn.asked_us, zone);
    return [...names, span].filter(Boolean);
  }

  /** @param {Say} say @param {Turn} turn @param {State} state @param {string} zone */
  #drawEvidence(say, turn, state, zone) {
    const all = turn.done ? evidence(turn.frames, turn.citations ?? [], turn.done.model) : [];
    show(this.strip, all.length > 0);
    if (!all.length) return;
    const hidden = this.#all || all.length <= SHOWN ? 0 : all.length - SHOWN + 1;
    const items = all
      .slice(0, all.length - hidden)
      .map(({ frame, cited }) => ({ key: frame.ref, frame, cited }));
    this.strip.setAttribute("aria-label", say("turn.evidence"));
    keyed(
      this.strip,
      [...items, ...(hidden ? [{ key: "more", frame: null, cited: false }] : [])],
      (item) => item.key,
      (item) => (item.frame ? this.#thumb(item.frame) : this.#moreButton()),
      (element, item) => {
        element.classList.toggle("cited", item.cited);
        if (!item.frame) setText(element, `+${hidden}`);
        const time = item.frame ? clockTime(item.frame.t_us, zoneIn(turn, item.frame, zone)) : "";
        const named = item.frame ? element.firstElementChild : element;
        named.setAttribute(
          "aria-label",
          item.frame
            ? say(item.cited ? "turn.frame.cited" : "turn.frame", { time })
            : say("turn.more", { n: hidden }),
        );
      },
    );
    this.#light(state);
  }

  /** @param {import("../answer.js").UsedFrame} frame */
  #thumb(frame) {
    const camera = cameraOf(frame.ref);
    const moment = { camera, t_us: frame.t_us };
    const { actions, api } = this.app;
    const thumb = h(
      "a.evidence",
      {
        href: `#${camera}/${frame.t_us}`,
        onmouseenter: () => actions.hint(moment),
        onmouseleave: () => actions.hint(null),
        onfocus: () => actions.hint(moment),
        onblur: () => actions.hint(null),
      },
      h("img", { src: api.frameUrl(camera, frame.t_us), alt: "", loading: "lazy", decoding: "async" }),
      h("span", {}, frame.label.slice(1, -1)),
    );
    thumb.dataset.moment = `${camera}/${frame.t_us}`;
    return h("div.evidence-item", { role: "listitem" }, thumb);
  }

  #moreButton() {
    const open = () => {
      this.#all = true;
      const turn = this.#turn;
      this.#turn = null;
      if (turn) this.draw(turn, this.app.store.get());
    };
    return h("button.more-evidence", { type: "button", onclick: open });
  }

  /** Light the thumbnail and the words of the moment pointed at or held. @param {State} state */
  #light(state) {
    for (const node of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll("[data-moment]"))) {
      const is = (/** @type {import("../state.js").Moment | null} */ moment) =>
        !!moment && node.dataset.moment === `${moment.camera}/${moment.t_us}`;
      node.classList.toggle("lit", is(state.hint));
      node.classList.toggle("held", is(state.pin));
    }
  }

  #again() {
    if (this.#turn)
      this.app.actions.ask(this.#turn.text, { camera: this.#turn.camera, window: this.#turn.window });
  }
}

/** @param {Say} say @param {Turn} turn @returns {string} what stands in place of words that have not come */
function waitingSentence(say, { phase, words, done }) {
  if (words) return "";
  if (phase === "asked") return say("turn.looking");
  if (phase === "answering") return say("turn.answering");
  return done ? say(`outcome.${done.outcome}`) : "";
}

/** @param {State} state @param {string} id @returns {string} what people call a camera */
const nameOf = (state, id) => state.cameras?.find((each) => each.id === id)?.name || id;

/** @param {Turn} turn @param {import("../answer.js").UsedFrame} frame @param {string} zone the first camera's */
const zoneIn = (turn, frame, zone) =>
  turn.others.find((other) => other.camera === cameraOf(frame.ref))?.zone ?? zone;

/**
 * @param {Say} say @param {Turn} turn @param {string} zone
 * @param {(id: string) => string} name
 * @returns {string} what could be seen, and what not; of each camera where the question was about several
 */
export function sawLines(say, turn, zone, name) {
  if (!turn.others.length) return sawLine(say, turn, zone);
  return [{ camera: turn.camera ?? "", zone, coverage: turn.coverage, span: turn.span }, ...turn.others]
    .map((sight) =>
      say("turn.saw.of", { name: name(sight.camera), what: sawLine(say, sight, sight.zone) }),
    )
    .join(say("list.stop"));
}

/**
 * @param {Say} say @param {{coverage: any, span: import("../time.js").Span | null}} sight @param {string} zone
 * @returns {string} what could be seen of one camera, and what not
 */
export function sawLine(say, sight, zone) {
  const { coverage, span } = sight;
  const seen = coverage.covered;
  const still = Math.round(secondsOf(coverage.statics));
  const gaps = coverage.gaps.map((/** @type {any} */ gap) =>
    say("turn.saw.gap", { span: clockSpan(gap, zone), why: gapReason(say, gap.reason) }),
  );
  const evicted = coverage.evicted_us !== null && span && coverage.evicted_us > span.from_us;
  const whole = seen.length && { from_us: seen[0].from_us, to_us: seen[seen.length - 1].to_us };
  return [
    whole ? say("turn.saw", { span: clockSpan(whole, zone) }) : say("turn.saw.nothing"),
    ...(still ? [say("turn.saw.static", { n: still })] : []),
    ...(gaps.length || !whole ? gaps : [say("turn.saw.nogap")]),
    ...(evicted ? [say("turn.saw.evicted", { time: clockTime(coverage.evicted_us, zone) })] : []),
  ].join(say("list.comma"));
}

/** @param {Say} say @param {Turn} turn @returns {string[]} what it took */
export function usedFacts(say, { done, words, frames_in_span }) {
  const all = frames_in_span > done.frames_used;
  return [
    all
      ? say("turn.frames", { shown: done.frames_used, all: frames_in_span })
      : say("turn.used", { n: done.frames_used }),
    say("turn.encoded", { n: done.frames_encoded_now }),
    say("turn.first", { n: Math.round(done.timings.first_word_ms) }),
    say("turn.words", { n: countWords(words) }),
    done.model === "measured" ? say("turn.model.measured") : done.model,
  ];
}

/** @param {Say} say @param {Turn} turn */
const timingTitle = (say, { done }) =>
  say("turn.first.title", {
    first: Math.round(done.timings.first_word_ms),
    total: Math.round(done.timings.total_ms),
  });

/** @param {Say} say @param {Turn} turn @returns {string} what is to be known about how it came out */
export function noticeLine(say, { done, words }) {
  const cut =
    done.outcome === "shortened" || (done.outcome === "cancelled" && words)
      ? say(`outcome.${done.outcome}`)
      : "";
  return [cut, done.notice ?? ""].filter(Boolean).join(" ");
}

/** @param {Say} say @param {import("../i18n.js").Language} language @param {{code: string, message: string}} error */
const problemSentence = (say, language, { code, message }) =>
  code === "connection_lost" ? say("turn.lost") : sentenceFor(language, code, message);
