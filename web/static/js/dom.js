/** Making and keeping DOM. Text only ever becomes text nodes: nothing here parses HTML. */

import { speaker, translate } from "./i18n.js";

/** @typedef {Node | string | null | undefined | false} Child */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag with classes: `"button.chip.quiet"`
 * @param {Record<string, any>} [props] `on…` listens, `data-…`, `aria-…` and the like are attributes
 * @param {...Child} children
 * @returns {any} the new element
 */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  setProps(element, props);
  element.append(...children.filter((child) => child != null && child !== false).map((child) => child || ""));
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {Record<string, any>} props
 */
function setProps(element, props) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key in element && !key.includes("-")) /** @type {any} */ (element)[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
}

/**
 * @param {string} name a class of its own: `icon-NAME`
 * @param {string} path SVG path data on a 16 px grid
 * @param {{filled?: boolean}} [options]
 * @returns {SVGElement} hidden from screen readers: the words stand beside it
 */
export function icon(name, path, { filled = false } = {}) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}${filled ? " filled" : ""}`);
  svg.setAttribute("aria-hidden", "true");
  const drawn = document.createElementNS(SVG, "path");
  drawn.setAttribute("d", path);
  svg.append(drawn);
  return svg;
}

/**
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Short facts in a row, which break between facts only; the dots between them are drawn by the style sheet.
 * @param {HTMLElement} element
 * @param {readonly string[]} facts
 */
export function setFacts(element, facts) {
  const wanted = facts.join("\n");
  if (element.dataset.facts === wanted) return;
  element.dataset.facts = wanted;
  element.classList.add("dotted");
  element.replaceChildren(h("span.dotted-row", {}, ...facts.flatMap((fact) => [h("span", {}, fact), " "])));
}

/**
 * @param {HTMLElement} element
 * @param {boolean} shown
 */
export function show(element, shown) {
  if (element.hidden === shown) element.hidden = !shown;
}

/**
 * Make `parent`'s children match `items`, keeping the elements of keys that stay.
 * @template T
 * @param {HTMLElement} parent
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf
 * @param {(item: T) => HTMLElement} create
 * @param {(element: any, item: T) => void} [update]
 */
export function keyed(parent, items, keyOf, create, update = () => {}) {
  const old = new Map(
    [...parent.children].map((child) => [/** @type {HTMLElement} */ (child).dataset.key, child]),
  );
  let at = parent.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    let element = /** @type {HTMLElement | undefined} */ (old.get(key));
    if (element) old.delete(key);
    else {
      element = create(item);
      element.dataset.key = key;
    }
    if (element === at) at = at.nextElementSibling;
    else parent.insertBefore(element, at);
    update(element, item);
  }
  for (const gone of old.values()) gone.remove();
}

/** @typedef {import("./actions.js").App} App */
/** @typedef {import("./state.js").State} State */

/** A custom element that draws the state. The application is handed in once, by whoever makes the element. */
export class Part extends HTMLElement {
  /** @type {App} */ app = /** @type {any} */ (null);
  /** @type {(() => void) | null} */ #leave = null;
  #built = false;

  /** @param {App} app */
  start(app) {
    this.app = app;
    if (this.isConnected) this.connectedCallback();
  }

  connectedCallback() {
    if (!this.app || this.#leave) return;
    if (!this.#built) {
      this.#built = true;
      this.build();
      translate(this, speaker(this.app.store.get().language));
    }
    /** @type {State | null} */ let before = null;
    this.#leave = this.app.store.subscribe((state) => {
      this.render(state, before ?? {});
      before = state;
    });
  }

  disconnectedCallback() {
    this.#leave?.();
    this.#leave = null;
  }

  /** Make the children, once. */
  build() {}

  /**
   * Bring the children up to the state.
   * @param {State} _state
   * @param {Partial<State>} _before the state last drawn; empty the first time
   */
  render(_state, _before) {}
}
