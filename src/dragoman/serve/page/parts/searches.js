// Every search that was run: its words with how many documents hold each, where it came from, what it counts.

import { h, many } from "../dom.js";
import { colour, originText } from "../palette.js";

/** The searches of a record as rows. */
export function searches(record) {
  const most = Math.max(...record.searches.map((search) => search.weight));
  return h("ol", { class: "searches" }, record.searches.map((search, place) => h("li", { class: "search" },
    h("div", { class: "line" }, swatch(place), words(search, record.documents)),
    h("div", { class: "from" }, h("span", { class: "tag" }, search.origin), h("span", { class: "soft tag-note" }, note(search))),
    h("div", { class: "meter", css: { "--c": colour(place), "--w": `${(100 * search.weight) / most}%` }, title: "its share in the fusion against the other searches" },
      h("i", {}), h("span", {}, h("span", { class: "hidden" }, "weight "), String(Number(search.weight.toFixed(2))))))));
}

function note(search) {
  return search.on?.length ? `on ${search.on.join(", ")} only` : originText(search.origin) === `by ${search.origin}` ? "" : originText(search.origin);
}

const swatch = (place) => h("i", { class: "swatch", css: { "--c": colour(place) }, "aria-hidden": "true" });

function words(search, documents) {
  const weights = new Map(search.terms ?? []);
  return h("p", { class: "words" }, search.words.map(([text, held]) => {
    if (held === null) return h("span", { class: "plain" }, text);
    const weight = weights.get(text.toLowerCase());
    const said = held ? `${many(held, "document")} of ${documents} ${held === 1 ? "holds" : "hold"} it` : "no document holds it";
    return h("span", { class: held ? "word" : "word none", title: weight !== undefined && weight !== 1 ? `${said}; counts ${weight}` : said },
      text, h("small", {}, held.toLocaleString("en"), h("span", { class: "hidden" }, " documents ")));
  }));
}
