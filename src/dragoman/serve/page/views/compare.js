// Two configurations on one question, side by side.

import { post } from "../api.js";
import { button, fill, h, many, ms, slider } from "../dom.js";
import { colour } from "../palette.js";
import { versus } from "../parts/board.js";
import { summary } from "../parts/moves.js";
import { failed } from "../parts/states.js";
import { steps } from "../parts/steps.js";

const DEPTH = 10;

/** Show the view in `root`. */
export function compare(root, state, go) {
  state.sides ??= [side(state, state.profile, []), side(state, state.profile, state.profile.steps)];
  const found = h("div", {});
  const field = h("textarea", { rows: 1, "aria-label": "The question for both", placeholder: "A question for both", value: state.question, maxlength: 20000 });
  const run = async (event) => {
    event?.preventDefault();
    if (!field.value.trim()) { field.focus(); return; }
    state.question = field.value.trim();
    go();
    fill(found, h("p", { class: "verdict soft", role: "status" }, "Asking both …"));
    try {
      const records = await Promise.all(state.sides.map((each) => post("/v1/explain", bodyOf(each, state.question))));
      fill(found, result(state, records));
    } catch (problem) {
      fill(found, failed(problem, run));
    }
  };
  field.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) run(event); });
  const panels = h("div", { class: "pair" });
  const draw = () => fill(panels, state.sides.map((each, at) => panel(state, each, at, () => { draw(); if (state.question) run(); }, () => { if (state.question) run(); })));
  draw();
  fill(root,
    h("header", { class: "page-head" }, h("h1", {}, "Compare two configurations"), h("p", {}, "The same question under two profiles, with steps on or off, at other weights. What this does to a whole collection, ", h("code", {}, "dragoman evaluate"), " measures.")),
    h("form", { class: "ask small", role: "search", on: { submit: run } }, h("div", { class: "ask-box" }, field, h("button", { class: "button main", type: "submit" }, "Ask both")),
      state.question ? null : h("div", { class: "ask-more" }, state.examples.filter((example) => !example.history && example.kind !== "clean").slice(0, 3).map((example) => button(example.question, () => { field.value = example.question; run(); }, { class: "button small" })))),
    panels, found);
  if (state.question) run();
}

function side(_, profile, on) {
  return { profile, off: profile.steps.filter((name) => !on.includes(name)), asked: profile.weights.asked };
}

function bodyOf(each, question) {
  const on = each.profile.steps.filter((name) => !each.off.includes(name));
  return { question, profile: each.profile.name, depth: DEPTH, steps: on, weights: { asked: each.asked, origins: {}, retrievers: {} } };
}

const NAMES = ["A", "B"];

function panel(state, each, at, redraw, rerun) {
  const pick = h("select", { class: "plain", "aria-label": `Profile of ${NAMES[at]}`, on: { change: (event) => { Object.assign(each, side(state, state.profiles.find((p) => p.name === event.target.value), [])); each.off = []; redraw(); } } },
    state.profiles.map((profile) => h("option", { value: profile.name, selected: profile === each.profile }, profile.name)));
  return h("section", { class: "side", "aria-label": `Configuration ${NAMES[at]}` },
    h("div", { class: "side-head" }, h("h2", {}, NAMES[at]), pick),
    h("div", { class: "switches" }, each.profile.steps.map((name) => h("label", { class: "switch" },
      h("input", { type: "checkbox", role: "switch", checked: !each.off.includes(name), on: { change: (event) => { each.off = event.target.checked ? each.off.filter((n) => n !== name) : [...each.off, name]; rerun(); } } }), name))),
    slider("the question as asked, beside a rewritten one", each.asked, { most: 2, moved: (to) => { each.asked = to; rerun(); } }));
}

function result(state, [left, right]) {
  const lists = [left, right].map((record, at) => ({ name: NAMES[at], about: `${many(record.hits.length, "hit")}, ${ms(record.seconds)}`, hits: record.hits }));
  const both = right.hits.filter((hit) => left.hits.some((each) => each.doc_id === hit.doc_id)).length;
  return [
    h("p", { class: "verdict", role: "status" }, `From A to B: ${summary(right.hits, left.hits)}. ${both} of ${Math.max(left.hits.length, right.hits.length)} in both.`),
    versus(...lists),
    h("div", { class: "pair" }, [left, right].map((record, at) => h("section", { class: "side", "aria-label": `What ${NAMES[at]} did` },
      h("h2", {}, NAMES[at]),
      h("h3", {}, "Searches"),
      h("ol", { class: "mini" }, record.searches.map((search, place) => h("li", {}, h("i", { class: "swatch", css: { "--c": colour(place) } }), h("span", {}, search.text), h("span", { class: "num" }, String(Number(search.weight.toFixed(2))))))),
      record.steps.length ? [h("h3", {}, "Steps"), steps(record)] : h("p", { class: "soft" }, "No step ran: the question was searched as it was asked.")))),
  ];
}
