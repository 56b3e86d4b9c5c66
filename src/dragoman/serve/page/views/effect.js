// The report of `dragoman evaluate`.

import { fill, h } from "../dom.js";
import { blank } from "../parts/states.js";

/** Show the view in `root`. */
export function effect(root, state) {
  const head = h("header", { class: "page-head" }, h("h1", {}, "Effect"), h("p", {}, "What rewriting does to ranking on a whole collection of judged questions, arm by arm."));
  if (state.keeps.report) {
    fill(root, head, h("p", {}, h("a", { class: "button small", href: "/report", target: "_blank", rel: "noopener" }, "Open it by itself")),
      h("iframe", { class: "report-frame", src: "/report", title: "The effect report" }));
    return;
  }
  fill(root, head, blank("No report is shown here", h("p", { class: "soft" }, "Measure your own questions, then start the service with the report:"),
    h("pre", { tabindex: "0" }, "dragoman evaluate COLLECTION --index DIR \\\n  --arms raw,rules,lexicon --report effect.html\n\ndragoman serve … --report effect.html")));
}
