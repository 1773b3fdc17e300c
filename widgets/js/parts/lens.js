/** The card of the rule lens: the rule as a small picture, what it asks of each layer, and what came of it. */

import { focusedIn } from "../shared/elements.js";
import { attemptOf, beatsOf, doneBefore, lensHull } from "../plates/lens.js";
import { HULL_WORDS } from "../picture/words.js";
import { isAsking, isNarrow, lensKey, lensOf } from "./state.js";
import { matchesMedia } from "../shared/theme.js";

/** @import { Attempt, Hull, Picture, Rule, RulePart } from "../picture/types.js" */

/** Size of a box of the small picture, and the distance to the next one. */
const [WIDTH, HEIGHT, GAP] = [92, 30, 22];
/** Estimated width of a character of a title. */
const CHARACTER = 7.8;
const [ARROW, MAKES] = ["M-16 15h11m-4 -4l5 4l-5 4", "M4 15h16m-6 -6l7 6l-7 6"];

const WHAT_IF = "What if it were not so?";

/** @param {import("../graph.js").Page} page */
export function makeLens(page) {
  const { store, selecting, root } = page;
  const { h, s, button, textButton, guard, announce } = page.ui;
  const { request } = page.saving;
  const pager = page.pager.element;
  const { state } = store;
  /** The near miss whose answer the host was asked for, until it is read out. */
  let awaited = "";
  const element = h("aside", { class: "ce-lens", "aria-label": "Rule lens", tabindex: "0", hidden: true });
  const setDone = guard(() => store.set({ showDone: check.checked }));
  const check = h("input", { type: "checkbox", onchange: setDone });
  const doneWords = h("span", {});
  const done = h("label", { class: "ce-lens-done" }, check, doneWords);
  const words = h("b", {});
  const place = h("span", {});
  const next = button("Next match of this kind (})", "next", () => selecting.turnMatch(1));
  const turns = h(
    "div",
    { class: "ce-group" },
    button("Previous match of this kind ({)", "previous", () => selecting.turnMatch(-1)),
    next,
    h("div", { class: "ce-lens-place" }, words, place),
  );
  const close = button("Close the rule lens (Esc)", "close", () => selecting.light(""), { class: "ce-bare" });

  /** What the rule looks for, inputs first, and what it makes. @param {Rule} rule */
  function smallPicture(rule) {
    const finds = [...rule.finds].reverse();
    const longest = Math.max(0, ...[...finds, ...rule.makes].map(({ title }) => title.length));
    const wide = Math.max(WIDTH, Math.ceil(longest * CHARACTER) + 12);
    const size = wide + GAP;
    const count = finds.length + rule.makes.length;
    const width = count * size - GAP + (rule.makes.length ? 16 : 0);
    /** @param {RulePart} part @param {number} x @param {string | null} arrow */
    const box = (part, x, arrow) =>
      s(
        "g",
        { transform: `translate(${x} 0)` },
        arrow
          ? s("path", { d: arrow, class: "ce-lens-arrow", transform: `translate(${arrow === MAKES ? -30 : 0} 0)` })
          : null,
        s("rect", {
          width: wide,
          height: HEIGHT,
          rx: 5,
          fill: state.palette.roles[part.kind] || state.palette.roles.operator,
        }),
        s("text", { x: wide / 2, y: 20, text: part.title }),
      );
    const said = `${finds.map(({ title }) => title).join(", then ")}${rule.makes.length ? ` become ${rule.makes.map(({ title }) => title).join(", ")}` : ""}`;
    return s(
      "svg",
      {
        class: "ce-lens-picture",
        style: `max-width:${width}px`,
        viewBox: `-2 -2 ${width + 4} ${HEIGHT + 4}`,
        role: "img",
        "aria-label": said,
      },
      finds.map((part, at) => box(part, at * size, at ? ARROW : null)),
      rule.makes.map((part, at) => box(part, (finds.length + at) * size + 16, at ? ARROW : MAKES)),
    );
  }

  /** Each entry with the layer that it bound and the questions that were asked. @param {Hull} hull @param {Attempt} attempt @param {Rule} rule */
  function entries(hull, attempt, rule) {
    const beats = beatsOf(attempt, rule, hull.kind === "near-miss").slice(0, lensOf(state).beats);
    return rule.finds.map((part, entry) => {
      const own = beats.filter((beat) => beat.side === 0 && beat.entry === entry);
      const bound = own.length ? ` → #${attempt.cells[entry]}` : "";
      const failed = own.some(({ passed, question }) => !passed && question < 0);
      const questions = part.questions.map((question, number) => {
        const answer = own.find((beat) => beat.question === number);
        const sign = !answer ? "·" : answer.passed ? "✓" : "✕";
        const said = !answer ? "not asked" : answer.passed ? "yes" : "no";
        return h(
          "li",
          { class: `ce-lens-${said === "not asked" ? "open" : said}` },
          h("i", { "aria-hidden": "true", text: sign }),
          h("span", { text: question }),
          h("span", { class: "ce-said", text: `: ${said}` }),
        );
      });
      const head = h("b", { text: `${part.place}: ${part.title}${bound}${failed ? " ✕" : ""}` });
      return h("li", {}, head, h("ul", {}, questions));
    });
  }

  /** What the rule would match if it had not been refused, on request. @param {Hull} hull */
  function whatIf(hull) {
    const found = hull.lens?.whatIf;
    if (!found) return [];
    const shown = lensOf(state).otherwise && found.text !== "";
    if (shown && awaited === lensKey(state)) {
      awaited = "";
      announce(found.text);
    }
    const ask = textButton(WHAT_IF, () => {
      awaited = shown ? "" : lensKey(state);
      if (!found.text) request(`what-if:${hull.id}`);
      store.set({ otherwise: awaited });
      element.querySelector(".ce-what-if")?.focus();
    });
    ask.setAttribute("class", `${ask.getAttribute("class") || ""} ce-what-if`);
    ask.setAttribute("aria-expanded", String(shown));
    return [ask, ...(shown ? [h("p", { class: "ce-what-if-answer", text: found.text })] : [])];
  }

  /** The other side of a conflict. @param {Hull} hull @param {Attempt} attempt */
  function rivalWords(hull, attempt) {
    const rival = attempt.rival;
    if (!rival) return null;
    const layers = rival.cells.map((layer) => `#${layer}`).join(", ");
    const role = hull.kind === "lost" ? "The winner" : "The loser";
    return h("p", { class: "ce-lens-rival", text: `${role}: ${rival.rule} at ${layers} (dashed: the loser).` });
  }

  return {
    element,
    reads: /** @type {const} */ ([
      "picture",
      "hull",
      "match",
      "docked",
      "showDone",
      "otherwise",
      "palette",
      "options",
      "width",
    ]),
    draw() {
      const { picture, match } = state;
      const focused = focusedIn(root);
      const hull = isAsking(state) ? null : lensHull(picture, state.hull);
      const attempt = hull && attemptOf(hull, match);
      element.hidden = !attempt;
      if (!picture || !hull || !attempt) return;
      const rule = picture.rules.get(hull.lens?.rule || "") || { name: "", meaning: "", finds: [], makes: [] };
      const count = (/** @type {number} */ number) => number.toLocaleString("en-US");
      const { noun = "", first = 1, total = 0, atLeast = false, stop = "" } = hull.lens || {};
      words.textContent = `${noun} ${count(first + match)} of ${atLeast ? "at least " : ""}${count(total)}`;
      place.textContent = stop;
      const before = doneBefore(picture, hull, match);
      done.hidden = !before.count || hull.kind === "near-miss";
      check.checked = state.showDone;
      const layers = picture.boxes.reduce((sum, box) => sum + (box.plate?.cells.length || 0), 0);
      doneWords.textContent = `After ${count(before.count)} ${before.count === 1 ? "match" : "matches"}: ${count(layers - before.saved)} layers`;
      const beats = beatsOf(attempt, rule, hull.kind === "near-miss");
      const over = lensOf(state).beats >= beats.length;
      element.setAttribute("class", `ce-lens${isNarrow(state) ? " ce-lens-over" : ""}`);
      element.replaceChildren(
        h("h2", {}, h("span", { text: rule.name }), h("em", { text: HULL_WORDS[hull.kind] || hull.kind }), close),
        h("p", { text: rule.meaning }),
        smallPicture(rule),
        turns,
        h("p", { class: `ce-lens-verdict${over ? "" : " ce-lens-waits"}`, text: attempt.verdict }),
        ...[over ? rivalWords(hull, attempt) : null].filter(Boolean),
        ...(over ? whatIf(hull) : []),
        done,
        h("ol", { class: "ce-lens-entries" }, entries(hull, attempt, rule)),
      );
      // Its own counter takes the place of the foot's, and the focus stays on a button that turns.
      const turned = pager.contains(focused) ? next : element.contains(focused) ? focused : null;
      pager.hidden = true;
      turned?.focus({ preventScroll: true });
    },
  };
}

export const STYLE = `
.ce-lens{flex:0 0 316px;min-width:0;overflow:auto;border-left:1px solid var(--ce-line);background:var(--ce-panel);padding:10px 12px 14px}
.ce-compact .ce-lens{flex-basis:280px;padding:6px 10px 10px}
.ce-lens-over{position:absolute;right:0;top:0;bottom:0;width:min(300px,86%);z-index:3;box-shadow:-4px 0 18px var(--ce-shade)}
.ce-lens h2{display:flex;align-items:center;gap:8px;font-size:14px;line-height:1.3;margin:0 0 4px;font-weight:650;color:inherit}
.ce-lens h2 em{flex:1;font-style:normal;font-weight:400;color:var(--ce-muted);font-size:12.5px}
.ce-lens p{margin:4px 0;overflow-wrap:anywhere}
.ce-lens-picture{display:block;width:100%;max-height:44px;margin:8px 0}
.ce-lens-picture text{text-anchor:middle;font-size:13px;font-weight:600;fill:var(--ce-onCell)}
.ce-lens-picture rect{stroke:var(--ce-kept);stroke-width:.8}
.ce-lens-arrow{fill:none;stroke:var(--ce-fg);stroke-width:1.8}
.ce-lens-place{display:flex;flex-direction:column;min-width:0;padding-left:8px;font-size:12.5px;font-variant-numeric:tabular-nums}
.ce-lens-place span{color:var(--ce-muted);overflow-wrap:anywhere}
.ce-lens-entries,.ce-lens-entries ul{list-style:none;margin:8px 0 0;padding:0}
.ce-lens-entries ul{margin:1px 0 0 2px}
.ce-lens-entries ul li{display:flex;gap:6px;font-size:12.5px;line-height:1.45}
.ce-lens-entries i{font-style:normal;width:12px;text-align:center;font-weight:700}
.ce-lens-open{color:var(--ce-muted)}
.ce-lens-no{font-weight:650}
.ce-lens-no i,.ce-lens-no span{color:var(--ce-error)}
.ce-lens p.ce-lens-verdict{font-weight:600;margin-top:8px}
.ce-lens-waits{visibility:hidden}
.ce-lens-done{display:flex;gap:6px;align-items:center;min-height:24px}
.ce-lens p.ce-what-if-answer{border-left:3px solid var(--ce-matched);padding:2px 0 2px 8px}
.ce-lens-rival{color:var(--ce-muted);font-size:12.5px}
`;

/** How long the docking of an entry takes, and the answer to a question. */
const [DOCK_MS, ANSWER_MS] = [420, 150];

/**
 * A part that draws nothing: a match that is lit in another picture, or another match, begins anew.
 * @param {import("../graph.js").Page} page
 */
export function makeDockingClock({ ui: { timers }, store }) {
  const { state } = store;
  let running = "";

  /** What happens at the lit match, one after the other. */
  function beats() {
    const hull = lensHull(state.picture, state.hull);
    const attempt = hull && attemptOf(hull, state.match);
    return attempt ? beatsOf(attempt, state.picture?.rules.get(hull.lens?.rule || ""), hull.kind === "near-miss") : [];
  }

  const isStill = () => state.options.animate === false || matchesMedia("(prefers-reduced-motion: reduce)");

  /** @param {number} count how many are shown */
  function show(count) {
    const all = beats();
    const shown = isStill() ? all.length : count;
    store.set({ docked: { at: lensKey(state), beats: shown } });
    if (shown >= all.length) return;
    timers.after("dock", all[shown].question < 0 ? DOCK_MS : ANSWER_MS, () => show(shown + 1));
  }

  return {
    reads: /** @type {const} */ (["picture", "hull", "match"]),
    draw() {
      const key = lensKey(state);
      if (key === running) return;
      running = key;
      timers.cancel("dock");
      if (beats().length) timers.after("dock", 0, () => show(0));
    },
  };
}
