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
/** Room for the numbers at the corners of boxes. */
const CORNER = 8;
/** What feeds the next layer is an arrow, what a rule makes of them stands behind a chevron. */
const [ARROW, MAKES] = ["M-16 15h11m-4 -4l5 4l-5 4", "M-25 2l9 13l-9 13h8l9 -13l-9 -13z"];
/** Room for the chevron. */
const MADE = 16;
/** The result of a rule that the trace does not tell. */
const UNKNOWN = "not applied";
/** Maximum number of lines that say what came of a match. */
const MAX_LINES = 3;

const WHAT_IF = "What if this check had passed?";

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
  const checks = h("ol", { class: "ce-lens-entries" });
  const every = h("details", { class: "ce-lens-every" }, h("summary", { text: "What the rule checked" }), checks);
  const close = button("Close the rule lens (Esc)", "close", () => selecting.light(""), { class: "ce-bare" });

  /** What the rule looks for, inputs first, with their numbers, and what it makes. @param {Rule} rule */
  function smallPicture(rule) {
    const finds = [...rule.finds].reverse();
    const makes = rule.makes.length ? rule.makes : [{ title: UNKNOWN, kind: "", place: "" }];
    const longest = Math.max(...[...finds, ...makes].map(({ title }) => title.length));
    const wide = Math.max(WIDTH, Math.ceil(longest * CHARACTER) + 12);
    const size = wide + GAP;
    const width = (finds.length + makes.length) * size - GAP + MADE;
    /** @param {{title: string, kind: string, place: string}} part @param {number} x @param {string} [mark] */
    const box = ({ title, kind, place: number }, x, mark) =>
      s(
        "g",
        { transform: `translate(${x} 0)` },
        mark ? s("path", { d: mark, class: mark === MAKES ? "ce-lens-makes" : "ce-lens-arrow" }) : null,
        s("rect", {
          ...{ width: wide, height: HEIGHT, rx: 5, class: kind ? "" : "ce-lens-unknown" },
          fill: kind ? state.palette.roles[kind] || state.palette.roles.operator : "none",
        }),
        number ? s("circle", { cx: 2, cy: 2, r: 8.5 }) : null,
        number ? s("text", { x: 2, y: 6.5, class: "ce-lens-number", text: number }) : null,
        s("text", { x: wide / 2, y: 20, class: kind ? "" : "ce-lens-unknown", text: title }),
      );
    const become = `become ${makes.map(({ title }) => title).join(", ")}`;
    const said = `${finds.map(({ title }) => title).join(", then ")} ${become}`;
    const [across, down] = [width + CORNER + 2, HEIGHT + CORNER + 2];
    const look = {
      class: "ce-lens-picture",
      style: `max-width:${across}px`,
      viewBox: `-${CORNER} -${CORNER} ${across} ${down}`,
    };
    return s(
      "svg",
      { ...look, role: "img", "aria-label": said },
      finds.map((part, at) => box(part, at * size, at ? ARROW : "")),
      makes.map((part, at) => box({ ...part, place: "" }, (finds.length + at) * size + MADE, at ? ARROW : MAKES)),
    );
  }

  /**
   * What came of each layer of the rule in a few words, inputs first: at most three lines, with the one that refused.
   * @param {Hull} hull @param {Attempt} attempt @param {Rule} rule
   */
  function lines(hull, attempt, rule) {
    const isMiss = hull.kind === "near-miss";
    const beats = beatsOf(attempt, rule, isMiss).slice(0, lensOf(state).beats);
    const all = rule.finds.map((part, entry) => {
      const own = beats.filter((beat) => beat.side === 0 && beat.entry === entry);
      const failed = own.some(({ passed }) => !passed);
      const asked = own.filter(({ question }) => question >= 0).length;
      const why = failed
        ? hull.lens?.sign || "refused"
        : asked === 1
          ? "its check passed"
          : `its ${asked} checks passed`;
      const [sign, name] = failed ? ["✕", "no"] : own.length ? ["✓", "yes"] : ["·", "open"];
      const text = `${part.place} ${part.title}${own.length ? ` #${attempt.cells[entry]}: ${why}` : ": not reached"}`;
      return {
        failed,
        line: h(
          "li",
          { class: `ce-lens-is-${name}` },
          h("i", { "aria-hidden": "true", text: sign }),
          h("span", { text }),
        ),
      };
    });
    const kept =
      all.length > MAX_LINES ? [...all.filter(({ failed }) => failed), ...all.filter(({ failed }) => !failed)] : all;
    const shown = new Set(kept.slice(0, MAX_LINES));
    return all.reverse().flatMap((one) => (shown.has(one) ? [one.line] : []));
  }

  /** Each entry with the layer that it bound and the questions that were asked. @param {Hull} hull @param {Attempt} attempt @param {Rule} rule */
  function entries(hull, attempt, rule) {
    const beats = beatsOf(attempt, rule, hull.kind === "near-miss").slice(0, lensOf(state).beats);
    const found = rule.finds.map((part, entry) => {
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
      const head = h("b", { text: `${part.place} ${part.title}${bound}${failed ? " ✕" : ""}` });
      return h("li", {}, head, h("ul", {}, questions));
    });
    return found.reverse();
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
      checks.replaceChildren(...entries(hull, attempt, rule));
      element.replaceChildren(
        h("h2", {}, h("span", { text: rule.name }), h("em", { text: HULL_WORDS[hull.kind] || hull.kind }), close),
        h("p", { text: rule.meaning }),
        smallPicture(rule),
        turns,
        h("ol", { class: "ce-lens-lines" }, lines(hull, attempt, rule)),
        h("p", { class: `ce-lens-verdict${over ? "" : " ce-lens-waits"}`, text: attempt.verdict }),
        ...[over ? rivalWords(hull, attempt) : null].filter(Boolean),
        ...(over ? whatIf(hull) : []),
        done,
        every,
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
.ce-lens-picture{display:block;width:100%;max-height:48px;margin:8px 0}
.ce-lens-picture text{text-anchor:middle;font-size:13px;font-weight:600;fill:var(--ce-onCell)}
.ce-lens-picture rect{stroke:var(--ce-kept);stroke-width:.8}
.ce-lens-picture .ce-lens-unknown{stroke-dasharray:4 3;font-weight:400;fill:none}
.ce-lens-picture text.ce-lens-unknown{fill:var(--ce-muted)}
.ce-lens-picture circle{fill:var(--ce-panel);stroke:var(--ce-fg);stroke-width:1.2}
.ce-lens-picture text.ce-lens-number{fill:var(--ce-fg);font-size:12px;font-weight:700}
.ce-lens-makes{fill:var(--ce-fg)}
.ce-lens-lines{list-style:none;margin:8px 0 0;padding:0}
.ce-lens-lines li{display:flex;gap:6px;line-height:1.5}
.ce-lens-lines i{font-style:normal;width:14px;text-align:center;font-weight:700}
.ce-lens-is-open{color:var(--ce-muted)}
.ce-lens-is-no{font-weight:650;color:var(--ce-error)}
.ce-lens-every summary{cursor:pointer;min-height:24px;color:var(--ce-muted)}
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
