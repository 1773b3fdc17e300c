/** Frames, the clock, and timers that a view cancels by name. */

/**
 * Request the next frame, or a timeout if nothing is painted (a hidden page, a test).
 * @param {() => void} callback @returns {any}
 */
export const frameOf = (callback) =>
  typeof requestAnimationFrame === "function" ? requestAnimationFrame(callback) : setTimeout(callback, 16);

/** @param {any} handle */
export const unframe = (handle) =>
  typeof cancelAnimationFrame === "function" ? cancelAnimationFrame(handle) : clearTimeout(handle);

export const clock = () => (typeof performance === "object" ? performance.now() : Date.now());

/** Progress of an animation, eased in and out. @param {number} t */
export const ease = (t) => (t < 0.5 ? 4 * t * t * t : 1 - (2 - 2 * t) ** 3 / 2);

/**
 * Timers by name: setting one again restarts it.
 * @param {import("./failures.js").Guard} guard
 */
export function makeTimers(guard) {
  /** @type {Map<string, any>} */
  const running = new Map();
  /** @param {string} name */
  const cancel = (name) => clearTimeout(running.get(name));
  return {
    cancel,
    /**
     * @param {string} name @param {number} ms @param {() => void} action
     * @param {string} [trait] what is to blame if it fails
     */
    after(name, ms, action, trait) {
      cancel(name);
      running.set(name, setTimeout(guard(action, trait), ms));
    },
    close: () => [...running.keys()].forEach(cancel),
  };
}
/** @typedef {ReturnType<typeof makeTimers>} Timers */
