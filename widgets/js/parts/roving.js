/** A list of options with one in the order of Tab: the arrows up and down move the focus, Enter and Space choose. */

/**
 * @template Item
 * @param {{items(): {item: Item, element: any}[], choose(item: Item, add: boolean): void, enter(item: Item): void}} list
 */
export function makeRoving({ items, choose, enter }) {
  let at = 0;

  /** @param {number} next */
  function set(next) {
    const all = items();
    at = Math.max(0, Math.min(all.length - 1, next));
    all.forEach(({ element }, position) => element.setAttribute("tabindex", position === at ? "0" : "-1"));
    return all[at];
  }

  return {
    /** After the items have changed. */
    renew: () => set(at),
    /** An item was clicked. @param {any} element @param {boolean} add */
    click(element, add) {
      const found = set(items().findIndex((one) => one.element === element));
      if (found) choose(found.item, add);
    },
    /** @param {any} event */
    press(event) {
      const way = { ArrowDown: 1, ArrowUp: -1 }[/** @type {string} */ (event.key)];
      const found = way ? set(at + way) : items()[at];
      if (!found) return;
      if (way) {
        found.element.focus();
        enter(found.item);
      } else if (event.key === "Enter" || event.key === " ") choose(found.item, event.shiftKey);
      else return;
      event.preventDefault();
    },
  };
}
