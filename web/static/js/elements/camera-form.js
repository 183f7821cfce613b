/** A camera's form: look first and show the picture or the reason, then register. */

import { sentence, sentenceFor } from "../actions.js";
import { Part, h, setText, show } from "../dom.js";
import { speaker, translate } from "../i18n.js";
import { ownZone } from "../time.js";

/** @typedef {import("../state.js").State} State */

const ADDRESS = /^(rtsps?:\/\/|file:|scene:)/i;

/**
 * @param {string} name
 * @returns {string} an id as the server takes it, or "" where the name gives none
 */
export function idFrom(name) {
  const plain = name
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase();
  return plain
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 63);
}

/**
 * @param {string} address
 * @returns {string} the host, file name or scene in it, for a camera without a name
 */
export function nameFrom(address) {
  const host = /^rtsps?:\/\/(?:[^@/]*@)?([^/:?]+)/i.exec(address)?.[1];
  const file = /^file:.*?([^/]+?)(?:\.\w+)?$/i.exec(address)?.[1];
  const scene = /^scene:(\d+)$/i.exec(address)?.[1];
  return host ?? file ?? (scene ? `scene ${scene}` : "");
}

export class CameraForm extends Part {
  /** @type {any} */ #camera = null;
  /** @type {AbortController | null} */ #looking = null;

  /** @param {any} camera whose name and password are to change; null to add one */
  about(camera) {
    this.#camera = camera;
  }

  build() {
    const camera = this.#camera;
    this.address = input("text", {
      placeholder: "form.address.hint",
      value: camera?.source.url,
      inputMode: "url",
      readOnly: !!camera,
    });
    this.name = input("text", { placeholder: "form.name.hint" });
    this.ident = input("text", { pattern: "[a-z0-9][a-z0-9_-]{0,62}" });
    this.user = input("text", { value: camera?.source.username ?? "" });
    this.password = input("password", {
      placeholder: camera?.source.has_password ? "form.password.kept" : undefined,
      autocomplete: "new-password",
    });
    this.transport = h(
      "select",
      {},
      h("option", { value: "tcp", "data-t": "form.tcp" }),
      h("option", { value: "udp", "data-t": "form.udp" }),
    );
    this.zone = input("text", { value: ownZone() });
    this.loop = h("input", { type: "checkbox", checked: true });
    this.idRow = field("form.id", this.ident);
    this.loopRow = h("label.check", {}, this.loop, h("span", { "data-t": "form.loop" }));
    this.found = h("div.found", { role: "status" });
    this.problem = h("p.problem", { role: "alert", hidden: true });
    this.look = h("button", { type: "button", "data-t": "form.look", onclick: () => this.#look() });
    this.save = h("button.primary", { type: "submit" });
    this.form = h(
      "form.camera-form",
      { noValidate: true, onsubmit: (/** @type {Event} */ event) => this.#submit(event) },
      field("form.address", this.address, camera ? null : "form.address.note"),
      camera ? null : field("form.name", this.name),
      this.idRow,
      h("div.pair", {}, field("form.user", this.user), field("form.password", this.password)),
      this.loopRow,
      camera ? null : this.#more(),
      this.found,
      this.problem,
      h("div.buttons", {}, this.look, this.save),
    );
    this.address.addEventListener("input", () => this.#addressChanged());
    this.append(this.form);
    show(this.idRow, false);
    show(this.loopRow, false);
    setText(this.save, this.#say("form.add"));
    translate(this, speaker(this.app.store.get().language));
  }

  #more() {
    return h(
      "details.more",
      {},
      h("summary", { "data-t": "form.more" }),
      h("div.pair", {}, field("form.transport", this.transport), field("form.zone", this.zone)),
    );
  }

  /** @param {State} state @param {Partial<State>} before */
  render(state, before) {
    if (state.language !== before.language) setText(this.save, this.#say(this.#saveWord));
  }

  get #saveWord() {
    if (this.#camera) return "form.save";
    return this.found.classList.contains("refused") ? "form.add.anyway" : "form.add";
  }

  /** @param {string} key @param {import("../i18n.js").Values} [values] */
  #say(key, values) {
    return speaker(this.app.store.get().language)(key, values);
  }

  #addressChanged() {
    show(this.loopRow, /^file:/i.test(this.address.value.trim()));
    this.#looking?.abort();
    this.#show([]);
    show(this.problem, false);
  }

  /** @returns {import("../api.js").Source | null} null, with a sentence shown, where the address cannot be one */
  #source() {
    const url = this.address.value.trim();
    const wrong = !url ? "form.need.address" : ADDRESS.test(url) ? null : "form.bad.address";
    if (wrong) {
      this.#complain(this.#say(wrong));
      this.address.focus();
      return null;
    }
    show(this.problem, false);
    const source = this.#camera?.source ?? {};
    const file = /^file:/i.test(url);
    return {
      url,
      ...(this.user.value ? { username: this.user.value } : {}),
      ...(this.password.value ? { password: this.password.value } : {}),
      ...(file
        ? { loop: this.#camera ? source.loop : this.loop.checked }
        : { transport: this.#camera ? source.transport : this.transport.value }),
    };
  }

  async #look() {
    const source = this.#source();
    if (!source) return;
    this.#looking?.abort();
    const looking = (this.#looking = new AbortController());
    this.#show([h("p.soft", {}, this.#say("form.looking"))]);
    try {
      const found = await this.app.actions.probe(source, looking.signal);
      this.#showProbe(found);
    } catch (error) {
      if (looking.signal.aborted) return;
      this.#show([h("p.problem", {}, sentence(this.app.store.get().language, error))], true);
    }
  }

  /** @param {import("../api.js").Probe} found */
  #showProbe(found) {
    if (!found.ok) {
      const told = sentenceFor(this.app.store.get().language, found.code, found.message);
      const detail = found.message && found.message !== told ? h("p.soft", {}, found.message) : null;
      this.#show([h("p.problem", {}, told), detail], true);
      return;
    }
    const rate = found.frame_rate ? String(Math.round(found.frame_rate * 100) / 100) : "?";
    const facts = {
      codec: (found.codec ?? "?").toUpperCase(),
      width: found.width_px,
      height: found.height_px,
      rate,
    };
    const picture = found.picture?.startsWith("data:image/jpeg")
      ? h("img", { src: found.picture, alt: this.#say("form.found.picture") })
      : null;
    this.#show([picture, h("p.soft", {}, this.#say("form.found", facts))]);
  }

  /** @param {(Node | null)[]} nodes @param {boolean} [refused] */
  #show(nodes, refused = false) {
    this.found.replaceChildren(...nodes.filter((node) => node !== null));
    this.found.classList.toggle("refused", refused);
    setText(this.save, this.#say(this.#saveWord));
  }

  /** @param {string} text */
  #complain(text) {
    this.problem.textContent = text;
    show(this.problem, true);
  }

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const source = this.#source();
    if (!source) return;
    const name = this.name.value.trim() || nameFrom(source.url);
    const id = this.ident.value.trim() || idFrom(name);
    if (!this.#camera && !id) {
      show(this.idRow, true);
      this.#complain(this.#say("form.bad.name"));
      this.ident.focus();
      return;
    }
    this.save.disabled = true;
    setText(this.save, this.#say("form.saving"));
    try {
      if (this.#camera) await this.app.actions.changeSource(this.#camera.id, source);
      else await this.app.actions.addCamera({ id, name, zone: this.zone.value.trim() || ownZone(), source });
      this.dispatchEvent(new Event("done"));
    } catch (error) {
      this.#complain(sentence(this.app.store.get().language, error));
    } finally {
      this.save.disabled = false;
      setText(this.save, this.#say(this.#saveWord));
    }
  }
}

/** @param {string} type @param {Record<string, any>} props */
function input(type, { placeholder, ...props }) {
  return h("input", {
    type,
    spellcheck: false,
    autocomplete: "off",
    autocapitalize: "none",
    "data-t-placeholder": placeholder,
    ...props,
  });
}

/** @param {string} label @param {HTMLElement} control @param {string | null} [note] */
function field(label, control, note = null) {
  return h(
    "label.field",
    {},
    h("span.field-label", { "data-t": label }),
    control,
    note ? h("span.field-note", { "data-t": note }) : null,
  );
}
