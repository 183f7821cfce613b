/**
 * The page's words, in two languages. Both tables have exactly the same keys; a test compares them.
 * A value is a text with `{names}` or, where grammar needs it, a function of the values.
 */

import { EN } from "./words/en.js";
import { ZH } from "./words/zh.js";

/** @typedef {"en" | "zh"} Language */
/** @typedef {Record<string, string | number>} Values */
/** @typedef {(key: string, values?: Values) => string} Say */

/** @type {Record<Language, Record<string, string | ((values: any) => string)>>} */
export const TABLES = { en: EN, zh: ZH };

/** @type {Record<Language, string>} what `<html lang>` says */
export const HTML_LANG = { en: "en", zh: "zh-Hans" };

/**
 * @param {Language} language
 * @returns {Say} looks words up in that language; an unknown key comes back as it is
 */
export function speaker(language) {
  const table = TABLES[language];
  return (key, values = {}) => {
    const entry = table[key];
    if (entry === undefined) return key;
    if (typeof entry === "function") return entry(values);
    return entry.replace(/\{(\w+)\}/g, (whole, name) => String(values[name] ?? whole));
  };
}

/**
 * @param {Language} language
 * @param {string} key
 * @returns {boolean} whether there are words of our own for this
 */
export function knows(language, key) {
  return key in TABLES[language];
}

/**
 * @param {readonly string[]} preferred the browser's languages, best first
 * @returns {Language}
 */
export function chooseLanguage(preferred) {
  for (const tag of preferred) {
    if (/^zh\b/i.test(tag)) return "zh";
    if (/^en\b/i.test(tag)) return "en";
  }
  return "en";
}

/**
 * Fill in all fixed words below `root`: `data-t` is the text, `data-t-LABEL` an attribute.
 * @param {ParentNode} root
 * @param {Say} say
 */
export function translate(root, say) {
  for (const node of root.querySelectorAll("[data-t]")) {
    node.textContent = say(/** @type {HTMLElement} */ (node).dataset.t ?? "");
  }
  for (const name of ["aria-label", "placeholder", "title"]) {
    for (const node of root.querySelectorAll(`[data-t-${name}]`)) {
      node.setAttribute(name, say(node.getAttribute(`data-t-${name}`) ?? ""));
    }
  }
}
