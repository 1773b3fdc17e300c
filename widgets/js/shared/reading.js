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
/** @param {any} value */
export const texts = (value) => list(value).map((item) => text(item));
/** @param {any} value @returns {Record<string, any>} */
export const record = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});

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
