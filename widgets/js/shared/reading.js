/**
 * Values as hosts represent them, read with a default: nothing in the data of a picture is trusted to have its type.
 */

/** @param {any} value @param {string} [otherwise] */
export const text = (value, otherwise = "") =>
  typeof value === "string" ? value : value == null ? otherwise : String(value);
/** @param {any} value @param {number} [otherwise] */
export const number = (value, otherwise = 0) =>
  typeof value === "number" && Number.isFinite(value) ? value : otherwise;
/** @param {any} value @returns {number | null} */
export const numberOrNull = (value) => (typeof value === "number" && Number.isFinite(value) ? value : null);
/** @param {any} value @returns {any[]} */
export const list = (value) => (Array.isArray(value) ? value : []);
/** @param {any} value @returns {Record<string, any>} */
export const record = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});
/**
 * What is read by an example: a function reads the value itself, a text, number or truth value is the default, a list has
 * an example of its items, an object one of each field.
 * @template T @typedef {T extends (value: any) => infer Read ? Read : T extends (infer Item)[] ? Like<Item>[]
 *   : T extends object ? {[Name in keyof T]: Like<T[Name]>} : T} Like
 */

/**
 * A reader of values that are like an example; the field `nearMisses` of an object is Python's `near_misses`.
 * @template T @param {T} example @returns {(value: any) => Like<T>}
 */
export const like = (example) => /** @type {any} */ (readerOf(example));

/** @param {any} example @returns {(value: any) => any} */
function readerOf(example) {
  if (typeof example === "function") return example;
  if (typeof example === "string") return (value) => text(value, example);
  if (typeof example === "number") return (value) => number(value, example);
  if (typeof example === "boolean") return (value) => (example ? value !== false : value === true);
  if (Array.isArray(example)) {
    const read = readerOf(example[0]);
    return (value) => list(value).map((item) => read(item));
  }
  const all = Object.entries(example).map(([name, field]) => {
    return { name, key: name.replace(/[A-Z]/g, "_$&").toLowerCase(), read: readerOf(field) };
  });
  return (value) => {
    const raw = record(value);
    /** @type {any} */
    const found = {};
    for (const { name, key, read } of all) found[name] = read(raw[key]);
    return found;
  };
}

/** What is no object is null. @template T @param {T} example @returns {(value: any) => Like<T> | null} */
export function maybe(example) {
  const read = like(example);
  return (value) => (value && typeof value === "object" ? read(value) : null);
}

/** An object whose values are all like an example. @template T @param {T} example @returns {(value: any) => Record<string, Like<T>>} */
export function dictOf(example) {
  const read = like(example);
  return (value) => Object.fromEntries(Object.entries(record(value)).map(([name, item]) => [name, read(item)]));
}

export const texts = like([""]);

/**
 * A dictionary from the representations that hosts use: an object, a Map (Bokeh), a JSON string.
 * @param {any} value @returns {Record<string, any>}
 */
export function asDict(value) {
  if (value instanceof Map) return Object.fromEntries(value);
  if (typeof value === "string") return value.trim() ? record(JSON.parse(value)) : {};
  return record(value);
}

/** @param {any} value @returns {any[]} */
export function asList(value) {
  if (typeof value === "string") return value.trim() ? list(JSON.parse(value)) : [];
  return list(value);
}

/**
 * 32-bit floats from bytes as the hosts represent them (DataView, ArrayBuffer, typed array).
 * @param {any} value @returns {Float32Array}
 */
export function asFloats(value) {
  if (value == null || typeof value === "string") return new Float32Array(0);
  if (value instanceof Float32Array) return value;
  const buffer = ArrayBuffer.isView(value) ? value.buffer : value;
  const start = ArrayBuffer.isView(value) ? value.byteOffset : 0;
  const length = value.byteLength || 0;
  return new Float32Array(buffer.slice(start, start + length - (length % 4)));
}
