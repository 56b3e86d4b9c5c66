// The states in which there is nothing to show yet, nothing at all, or something went wrong.

import { key } from "../api.js";
import { button, h } from "../dom.js";

/** A large quiet message in the middle: a drawing, a heading, what to do. */
export function blank(heading, ...rest) {
  return h("section", { class: "blank" },
    h("svg", { viewBox: "0 0 80 80", "aria-hidden": "true", fill: "none", stroke: "currentColor", "stroke-width": "2.2", "stroke-linecap": "round" },
      h("path", { d: "M40 6 50.5 22H70v19.5l6 .5-6 .5V58H50.5L40 74 29.5 58H10V42.5L4 42l6-.5V22h19.5z", opacity: ".28" }),
      h("path", { d: "M26 34h24m-7-7 7 7-7 7M54 47H30m7-7-7 7 7 7" })),
    h("h2", {}, heading), ...rest);
}

const ADVICE = {
  0: "Is the service still running? Its address is the one of this page.",
  401: "This service asks for a key. It stays in this tab and is forgotten when the tab is closed.",
  429: "You have asked as often as this key may for now.",
  502: "The question was rewritten, but nothing could be searched: look at the engines behind the service.",
  503: "The service is busy with as many questions as it takes at once.",
};

/** A problem, with what to do about it. */
export function failed(problem, again) {
  if (problem.status === 401) return askForKey(problem, again);
  const wait = problem.retryAfter ? ` Try again in ${problem.retryAfter} s.` : "";
  return h("section", { class: "notice bad", role: "alert" },
    h("strong", {}, problem.title),
    h("p", {}, problem.detail),
    ADVICE[problem.status] || wait ? h("p", { class: "soft" }, (ADVICE[problem.status] ?? "") + wait) : null,
    h("div", { class: "row" }, again ? button("Try again", again) : null));
}

function askForKey(problem, again) {
  const field = h("input", { class: "input", type: "password", id: "key", autocomplete: "off", required: true });
  const save = (event) => {
    event.preventDefault();
    key.set(field.value.trim());
    again();
  };
  return h("form", { class: "notice", on: { submit: save } },
    h("strong", {}, problem.title),
    h("p", {}, key.get() ? problem.detail : ADVICE[401]),
    h("label", { for: "key" }, "Key"), field,
    h("div", { class: "row" }, h("button", { class: "button main", type: "submit" }, "Use this key")));
}

/** The stages of a journey that is under way. */
export function waiting(question) {
  const stage = (name, ...bones) => h("section", { class: "stage" },
    h("span", { class: "dot", "aria-hidden": "true" }), h("div", {}, h("div", { class: "stage-head" }, h("h2", {}, name)), ...bones));
  const bone = (width, tall) => h("div", { class: tall ? "bone tall" : "bone", css: { "--w": width } });
  return h("div", { class: "wait", "aria-busy": "true" },
    h("header", { class: "said" }, h("h1", { class: "hidden" }, question), h("p", { class: "soft" }, "On its way …")),
    stage("Rewritten", bone("100%", true), bone("100%", true)),
    stage("Searched", bone("72%"), bone("58%"), bone("64%")),
    stage("Ranked and fused", bone("100%", true), bone("100%", true)),
    stage("Found", bone("100%", true)));
}
