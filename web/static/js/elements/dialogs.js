/** The two dialogs: a camera's form, and the question before it is removed. */

import { h } from "../dom.js";
import { speaker, translate } from "../i18n.js";
import { sentence } from "../actions.js";

/** @typedef {import("../actions.js").App} App */

/**
 * @param {App} app
 * @param {any} [camera] to give it another name and password; none to add one
 */
export function openCameraDialog(app, camera = null) {
  const say = speaker(app.store.get().language);
  const title = camera ? say("form.fix", { name: camera.name || camera.id }) : say("form.title");
  const form = document.createElement("ll-camera-form");
  const dialog = h("dialog.drawer", { "aria-label": title }, h("h2", {}, title), form);
  /** @type {any} */ (form).about(camera);
  form.addEventListener("done", () => dialog.close());
  open(dialog, app, () => /** @type {any} */ (form).start(app));
}

/** @param {App} app @param {any} camera */
export function openRemoveDialog(app, camera) {
  const say = speaker(app.store.get().language);
  const title = say("cameras.remove.ask", { name: camera.name || camera.id });
  const problem = h("p.problem", { hidden: true, role: "alert" });
  const dialog = h("dialog.drawer.small", { "aria-label": title });
  const remove = async () => {
    try {
      await app.actions.removeCamera(camera.id);
      dialog.close();
    } catch (error) {
      problem.textContent = sentence(app.store.get().language, error);
      problem.hidden = false;
    }
  };
  dialog.append(
    h("h2", {}, title),
    h("p.soft", {}, say("cameras.remove.note")),
    problem,
    h(
      "div.buttons",
      {},
      h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, say("form.cancel")),
      h("button.danger", { type: "button", onclick: remove }, say("cameras.remove.yes")),
    ),
  );
  open(dialog, app);
}

/** @param {HTMLDialogElement} dialog @param {App} app @param {() => void} [begin] */
function open(dialog, app, begin = () => {}) {
  document.body.append(dialog);
  begin();
  translate(dialog, speaker(app.store.get().language));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.showModal();
}
