/** The words of an answer. What is there already is never replaced while more arrive, so that nothing jumps. */

import { cameraOf } from "../answer.js";
import { h, setText } from "../dom.js";

/** @typedef {import("../answer.js").Piece} Piece */

export class AnswerText {
  /** @type {Piece[]} */ #drawn = [];
  #hint;

  /** @param {(moment: import("../state.js").Moment | null) => void} hint called when a moment is pointed at, and left */
  constructor(hint) {
    this.#hint = hint;
    this.element = h("p.words", { hidden: true });
  }

  /** @param {Piece[]} wanted @param {import("../state.js").Turn} turn @param {import("../i18n.js").Say} say */
  draw(wanted, turn, say) {
    const { element } = this;
    wanted.forEach((piece, i) => {
      const old = this.#drawn[i];
      const node = element.childNodes[i];
      if (old && same(old, piece)) return;
      if (old?.kind === "text" && piece.kind === "text") setText(node, piece.text);
      else if (old) element.replaceChild(this.#make(piece, turn, say), node);
      else element.append(this.#make(piece, turn, say));
    });
    while (element.childNodes.length > wanted.length) element.lastChild?.remove();
    this.#drawn = wanted;
    element.hidden = wanted.length === 0;
    element.classList.toggle("arriving", turn.phase === "answering");
  }

  /** @param {Piece} piece @param {import("../state.js").Turn} turn @param {import("../i18n.js").Say} say */
  #make(piece, turn, say) {
    if (piece.kind === "text") return document.createTextNode(piece.text);
    const why = say("turn.unverified");
    if (piece.kind === "unverified")
      return h("span.unverified", { title: why, "aria-description": why }, piece.text);
    const moment = { camera: piece.ref ? cameraOf(piece.ref) : (turn.camera ?? ""), t_us: piece.t_us };
    const link = h(
      "a.moment",
      {
        href: `#${moment.camera}/${moment.t_us}`,
        onmouseenter: () => this.#hint(moment),
        onmouseleave: () => this.#hint(null),
        onfocus: () => this.#hint(moment),
        onblur: () => this.#hint(null),
      },
      piece.text,
    );
    link.dataset.moment = `${moment.camera}/${moment.t_us}`;
    return link;
  }
}

/** @param {Piece} a @param {Piece} b */
const same = (a, b) =>
  a.kind === b.kind &&
  a.text === b.text &&
  (a.kind !== "moment" || b.kind !== "moment" || (a.t_us === b.t_us && a.ref === b.ref));
