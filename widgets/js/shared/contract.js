/** What the hosts give to a view, and the version of the data that these views draw (`widgets/explorer_widgets/schema/`). */

/**
 * The model interface that all three hosts share.
 * @typedef {{get(name: string): any, set(name: string, value: any): void, save_changes(): void,
 *   on(event: string, callback: () => void): void, off(event: string, callback: () => void): void}} Model
 * @typedef {{model: Model, el: any}} Context
 */

const VERSION = 1;

/** The event of the document that tells the views of a page that its server has stopped. */
export const STOPPED = "circuit-explorer-stopped";

/**
 * Parse a trait that holds JSON; throws an Error with a message for the user if it is not JSON.
 * @param {string} what its name in messages: "The bars are"
 * @param {any} json
 */
export function parseJson(what, json) {
  try {
    return typeof json === "string" ? JSON.parse(json) : json;
  } catch (error) {
    throw new Error(`${what} not JSON: ${errorText(error)}`);
  }
}

/**
 * Throws an Error if the data has a later version than these views know.
 * @param {string} what its name in messages: "The bars have"
 * @param {any} version
 */
export function checkVersion(what, version) {
  if (typeof version === "number" && version > VERSION) {
    throw new Error(`${what} version ${version}; this drawing knows version ${VERSION}. Update the explorer.`);
  }
}

/** @param {unknown} error */
export const errorText = (error) => (error instanceof Error ? error.message : String(error));
