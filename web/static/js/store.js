/**
 * One state, one way round: events go in by `dispatch`, `reduce` makes the next state, subscribers hear of it.
 * Subscribers are called once per turn of the event loop however many events came, so that a burst of words
 * costs one drawing.
 */

/**
 * @template S, E
 * @typedef {{
 *   get: () => S,
 *   dispatch: (event: E) => void,
 *   subscribe: (listener: (state: S) => void) => () => void,
 * }} Store
 */

/**
 * @template S, E
 * @param {(state: S, event: E) => S} reduce pure; returns the same object where nothing changes
 * @param {S} initial
 * @returns {Store<S, E>}
 */
export function createStore(reduce, initial) {
  let state = initial;
  let announced = initial;
  let waiting = false;
  /** @type {Set<(state: S) => void>} */
  const listeners = new Set();

  const announce = () => {
    waiting = false;
    if (state === announced) return;
    announced = state;
    for (const listener of [...listeners]) listener(state);
  };

  return {
    get: () => state,
    dispatch(event) {
      state = reduce(state, event);
      if (state !== announced && !waiting) {
        waiting = true;
        queueMicrotask(announce);
      }
    },
    subscribe(listener) {
      listeners.add(listener);
      listener(state);
      return () => listeners.delete(listener);
    },
  };
}
