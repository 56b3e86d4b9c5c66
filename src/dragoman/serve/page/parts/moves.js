// Where a hit stood before, in words.

import { h, many } from "../dom.js";

/** A badge: how a hit at `rank` moved from `before`, its earlier rank; null: it was not there. */
export function moved(rank, before, beside) {
  const from = before === null || before === undefined ? "new" : before > rank ? "up" : before < rank ? "down" : "same";
  const shown = { new: "new", up: `▲ ${before - rank}`, down: `▼ ${rank - before}`, same: "=" }[from];
  const said = { new: `not in ${beside}`, up: `up from ${before} in ${beside}`, down: `down from ${before} in ${beside}`, same: `as in ${beside}` }[from];
  return h("span", { class: `moved ${from}`, title: said }, h("span", { "aria-hidden": "true" }, shown), h("span", { class: "hidden" }, said));
}

/** What moved between two lists, in a phrase: "2 new, 3 up, 1 down". */
export function summary(now, before) {
  const place = new Map(before.map((hit) => [hit.doc_id, hit.rank]));
  const counts = { new: 0, up: 0, down: 0 };
  for (const hit of now) {
    const was = place.get(hit.doc_id);
    if (was === undefined) counts.new++;
    else if (was > hit.rank) counts.up++;
    else if (was < hit.rank) counts.down++;
  }
  const gone = before.slice(0, now.length).filter((hit) => !now.some((each) => each.doc_id === hit.doc_id)).length;
  const parts = [counts.new && `${counts.new} new`, counts.up && `${counts.up} up`, counts.down && `${counts.down} down`, gone && `${gone} gone`];
  return parts.filter(Boolean).join(", ") || (now.length ? "the same hits in the same order" : many(0, "hit"));
}
