// An answer from the passages, piece by piece as it comes.

import { events } from "../api.js";
import { announce, button, fill, h } from "../dom.js";
import { failed } from "./states.js";

/** A button that becomes the answer. */
export function answering(request, record) {
  const place = h("div", { class: "answering" });
  const ask = async () => {
    const text = h("p", { class: "answer-text caret" });
    const note = h("p", { class: "soft" }, "Reading the passages …");
    fill(place, h("section", { class: "answer", "aria-label": "Answer" }, note, text));
    try {
      for await (const [name, data] of events("/v1/ask", { ...request, stream: true })) {
        if (name === "piece") text.append(data.text);
        if (name === "problem") throw Object.assign(new Error(data.detail), data);
        if (name === "answer") finish(data, text, note, record);
      }
    } catch (problem) {
      fill(place, failed(problem, ask));
    }
  };
  fill(place, button("Answer from these passages", ask));
  return place;
}

function finish(data, text, note, record) {
  text.classList.remove("caret");
  fill(text, cited(data.answer, record));
  const removed = data.removed_citations ? ` ${data.removed_citations} citations of documents that were not given were taken out.` : "";
  note.textContent = !data.found
    ? "The passages do not hold it."
    : data.quoted
      ? data.answer_reason ? `The best passages themselves, because ${data.answer_reason}.` : "The best passages themselves: no model writes answers here."
      : `Written from the passages it cites.${removed}`;
  announce("Answered.");
}

/** The text with its citations as links to the passages. */
function cited(text, record) {
  const place = new Map(record.hits.map((hit) => [hit.doc_id, hit.rank]));
  return text.split(/(\[[^\]\n]+\])/).map((part) => {
    const ids = part.startsWith("[") ? part.slice(1, -1).split(/\s*[,;]\s*/) : [];
    if (!ids.length || !ids.every((id) => place.has(id))) return part;
    return ids.map((id) => h("a", { href: `#hit-${place.get(id)}`, on: { click: (event) => go(event, place.get(id)) } }, id));
  });
}

function go(event, rank) {
  event.preventDefault();
  document.getElementById(`hit-${rank}`)?.focus();
  document.getElementById(`hit-${rank}`)?.scrollIntoView({ block: "center" });
}
