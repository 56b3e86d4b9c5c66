// The passages found, their matched words marked, with what put each where it stands.

import { post } from "../api.js";
import { announce, button, h, many } from "../dom.js";
import { colour, originText, pattern } from "../palette.js";
import { placeOf, shares } from "./board.js";
import { moved } from "./moves.js";

const LONG = 420; // characters; a longer passage is cut until it is asked for

/** The passages of a record; `keeps` says whether feedback is kept. */
export function passages(record, beside, { keeps, profile }) {
  const best = record.hits[0]?.score || 1;
  const place = new Map(beside.hits.map((hit) => [hit.doc_id, hit.rank]));
  return h("ol", { class: "passages" }, record.hits.map((hit) => h("li", { class: "passage", id: `hit-${hit.rank}`, "data-hit": hit.doc_id, tabindex: "-1" },
    h("span", { class: "rank", "aria-hidden": "true" }, hit.rank),
    h("div", {},
      h("div", { class: "heading" },
        h("h3", {}, h("span", { class: "hidden" }, `${hit.rank}. `), marked(hit.title ? hit.title_marks : [["", hit.doc_id]])),
        h("span", { class: "id" }, hit.doc_id), moved(hit.rank, place.get(hit.doc_id) ?? null, beside.name)),
      text(hit),
      h("div", { class: "shares" }, shares(hit, record, best), why(hit, record)),
      h("div", { class: "foot" },
        Object.entries(hit.metadata).slice(0, 4).map(([key, value]) => h("span", { class: "tag" }, `${key}: ${value}`)),
        keeps ? helped(record, hit, profile) : null)))));
}

/** Pieces with their marks. */
export function marked(pieces) {
  return pieces.map(([kind, piece]) => (kind ? h("mark", { class: kind }, piece) : piece));
}

function text(hit) {
  const body = h("p", { class: hit.text.length > LONG ? "text cut" : "text" }, marked(hit.text_marks));
  if (hit.text.length <= LONG) return body;
  const more = button("Read all of it", () => {
    const cut = body.classList.toggle("cut");
    more.textContent = cut ? "Read all of it" : "Read less";
    more.setAttribute("aria-expanded", String(!cut));
  }, { class: "button small bare", "aria-expanded": "false" });
  return [body, more];
}

function why(hit, record) {
  const parts = hit.because.filter((part) => part.share > 0);
  return h("details", {},
    h("summary", {}, `Why it stands here: ${many(parts.length, "ranking")} gave it ${hit.score.toFixed(hit.score < 1 ? 3 : 2)}`),
    h("table", {}, h("thead", {}, h("tr", {}, ["share", "retriever", "rank", "search"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, parts.map((part) => {
        const css = { "--c": colour(placeOf(record, part)) };
        return h("tr", {}, h("td", { class: "num" }, `${Math.round((100 * part.share) / hit.score)} %`),
          h("td", {}, h("i", { class: `key-swatch ${pattern(part.retriever)}`, css }), ` ${part.retriever}`),
          h("td", {}, part.rank), h("td", {}, part.search, " ", h("span", { class: "soft" }, `(${originText(part.origin)})`)));
      }))));
}

function helped(record, hit, profile) {
  const say = button("This helped", async () => {
    say.disabled = true;
    try {
      await post("/v1/feedback", { question: record.question, doc_id: hit.doc_id, rank: hit.rank, helped: true, profile });
      say.textContent = "✓ Kept";
      announce("Kept, for dragoman learn.");
    } catch (problem) {
      say.textContent = "Not kept";
      say.title = problem.message;
    }
  }, { class: "button small", "aria-label": `This helped: ${hit.title || hit.doc_id}` });
  return say;
}
