// What each rewriter did: before and after, how it came out, which rules bit, how long it took.

import { diff, likeness } from "../diff.js";
import { h, many, ms } from "../dom.js";
import { colour, outcomeText } from "../palette.js";

const MOST_BITES = 4;
const ALIKE = 0.5; // from here on a text is the other one in other words

/** The steps of a record, each as a row. */
export function steps(record) {
  const known = [];
  return h("ol", { class: "steps" }, record.steps.map((step, at) => {
    const query = record.steps[at + 1]?.before ?? record.query;
    const changed = query !== step.before;
    const written = changed ? step.after.slice(1) : step.after;
    const row = one(record, step, changed ? query : null, written, known);
    known.push(...written);
    return row;
  }));
}

function one(record, step, query, written, known) {
  const quiet = ["unchanged", "skipped"].includes(step.outcome) && !step.rules.length;
  return h("li", { class: quiet ? "step quiet" : "step" },
    h("div", { class: "who" }, h("h3", {}, step.name), h("span", { class: `pill o-${step.outcome}` }, outcomeText(step.outcome))),
    h("div", { class: "what" },
      query !== null ? h("p", { class: "diff" }, compared(step.before, query)) : null,
      written.length ? h("ul", { class: "added" }, written.map((text) => search(record, text, known))) : null,
      remark(step) ? h("p", { class: "why-text" }, remark(step)) : null,
      bites(step.rules),
      step.tokens_in + step.tokens_out ? h("p", { class: "why-text num" }, `${many(step.tokens_in, "token")} in, ${step.tokens_out.toLocaleString("en")} out`) : null),
    h("span", { class: "ms" }, ms(step.seconds)));
}

/** A text and what became of it, as one line with what went and what came. */
export function compared(before, after) {
  return diff(before, after).map(([kind, text]) =>
    kind === "same" ? text : kind === "gone" ? h("del", {}, text.trim() || "␣", text.endsWith(" ") ? " " : "") : h("ins", {}, text));
}

/** What there is to say of a step beside what it did. */
function remark(step) {
  if (step.outcome === "skipped") return step.reason ? `Not run: ${step.reason}.` : "Not run.";
  if (step.outcome === "off_topic") return step.reason || "No search: the corpus cannot answer this.";
  if (step.outcome === "unchanged" && !step.rules.length && !step.reason) return "Nothing to change.";
  return step.reason || null;
}

function search(record, text, known) {
  const place = record.searches.findIndex((each) => each.text === text);
  const earlier = known.filter((each) => each !== text).sort((a, b) => likeness(b, text) - likeness(a, text))[0];
  const changed = earlier !== undefined && likeness(earlier, text) >= ALIKE;
  return h("li", {}, h("i", { class: "swatch", css: { "--c": colour(Math.max(place, 0)) }, "aria-hidden": "true" }),
    h("span", {}, changed ? compared(earlier, text) : text));
}

function bites(rules) {
  if (!rules.length) return null;
  const shown = rules.slice(0, MOST_BITES).map(bite);
  const rest = rules.slice(MOST_BITES);
  return h("div", { class: "bites" }, shown,
    rest.length ? h("details", {}, h("summary", {}, `${rest.length} more`), h("div", { class: "bites" }, rest.map(bite))) : null);
}

function bite(rule) {
  return h("span", { class: "bite" }, h("b", {}, rule.found.trim() || "a space"),
    h("span", {}, rule.put ? `→ ${rule.put}` : "taken out"),
    h("span", { class: "soft", title: rule.rule }, rule.source || rule.rule));
}

/** Where the time went: a bar, and the same in words. */
export function time(record) {
  const rewriting = record.steps.map((step) => ({ name: step.name, seconds: step.seconds, kind: step.seconds > 0.05 ? "t-slow" : "t-step" }));
  const rest = Math.max(0, record.seconds - rewriting.reduce((sum, part) => sum + part.seconds, 0));
  const parts = [...rewriting, { name: "searching and fusing", seconds: rest, kind: "t-rest" }];
  return h("div", { class: "time" },
    h("div", { class: "time-bar", "aria-hidden": "true" }, parts.map((part) => h("i", { class: part.kind, css: { "--w": String(Math.max(part.seconds * 1000, 0.01)) } }))),
    h("p", { class: "time-key num" }, parts.filter((part) => part.seconds >= 0.0001).map((part) => h("span", {}, `${part.name} ${ms(part.seconds)}`))));
}
