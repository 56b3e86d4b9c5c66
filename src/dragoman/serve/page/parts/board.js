// Lists side by side with threads between them: `raw`, the fused list, and every ranking behind it.

import { h, many, ms } from "../dom.js";
import { colour, originText, pattern } from "../palette.js";
import { moved } from "./moves.js";

const SHOWN = 10; // rows of a list

/** The board of a record. `beside` is the list at the left: its name, its hits. */
export function board(record, beside, { open, caption } = {}) {
  const best = record.hits[0]?.score || 1;
  const place = new Map(beside.hits.map((hit) => [hit.doc_id, hit.rank]));
  const live = new Map(record.hits.map((hit) => [hit.doc_id, hit]));
  const columns = [
    column("beside", beside.name, beside.about, beside.hits.slice(0, SHOWN).map((hit) => cell(hit, { gone: !live.has(hit.doc_id) }))),
    column("fused", "Fused", `${many(record.hits.length, "hit")}, each with what gave it`, record.hits.slice(0, SHOWN).map((hit) => fusedCell(hit, record, best, place, beside.name, open))),
    ...groups(record),
  ];
  return threaded(columns, "Rankings, side by side", (doc) => caption?.(doc && said(record, beside, doc)));
}

/** Where one hit stood everywhere, in words. */
function said(record, beside, doc) {
  const hit = record.hits.find((each) => each.doc_id === doc);
  const before = beside.hits.find((each) => each.doc_id === doc);
  const title = hit?.title || before?.title || record.rankings.flatMap((ranking) => ranking.hits).find((each) => each.doc_id === doc)?.title || doc;
  const places = hit ? hit.because.map((part) => `${part.rank} on ${part.retriever} (${originText(part.origin)})`) : [];
  return [title, hit ? `${hit.rank} of the fused list` : "not among the fused hits", before ? `${before.rank} in ${beside.name.toLowerCase()}` : null, ...places].filter(Boolean);
}

/** Two lists of hits with threads between them, for a comparison. */
export function versus(left, right) {
  const place = new Map(left.hits.map((hit) => [hit.doc_id, hit.rank]));
  const columns = [
    column("beside", left.name, left.about, left.hits.slice(0, SHOWN).map((hit) => cell(hit, { button: true }))),
    column("beside", right.name, right.about, right.hits.slice(0, SHOWN).map((hit) => cell(hit, { button: true, end: moved(hit.rank, place.get(hit.doc_id) ?? null, left.name) }))),
  ];
  const made = threaded(columns, "Two lists of hits, side by side");
  made.classList.add("versus");
  return made;
}

function column(kind, name, about, cells, css = {}) {
  return h("section", { class: `col ${kind}`, css },
    h("div", { class: "col-head" }, h("h3", {}, name), h("span", {}, about)),
    cells.length ? h("ol", {}, cells.map((each) => h("li", {}, each))) : h("p", { class: "nothing" }, "no match"));
}

function cell(hit, { gone = false, button = false, end = null } = {}) {
  return h(button ? "button" : "div", { class: gone ? "cell gone" : "cell", "data-doc": hit.doc_id, title: hit.title || hit.doc_id, type: button ? "button" : null },
    h("span", { class: "n" }, hit.rank), h("span", { class: "t" }, hit.title || hit.doc_id), end);
}

function fusedCell(hit, record, best, place, beside, open) {
  return h("button", { type: "button", class: "cell", "data-doc": hit.doc_id, title: hit.title || hit.doc_id, on: { click: () => open?.(hit.doc_id) } },
    h("span", { class: "n" }, hit.rank), h("span", { class: "t" }, hit.title || hit.doc_id),
    shares(hit, record, best), moved(hit.rank, place.get(hit.doc_id) ?? null, beside));
}

/** What gave a hit its score: a bar of the searches' colours, as long as its score is high. */
export function shares(hit, record, best) {
  return h("span", { class: "bar", "aria-hidden": "true", css: { "--w": `${(100 * hit.score) / best}%` } },
    hit.because.filter((part) => part.share > 0).map((part) => h("i", { class: pattern(part.retriever), css: { "--c": colour(placeOf(record, part)), "--w": String(part.share) } })));
}

/** Which of the record's searches a contribution came from. */
export function placeOf(record, part) {
  const exact = record.searches.findIndex((search) => search.text === part.search && search.origin === part.origin);
  return Math.max(0, exact);
}

function groups(record) {
  return record.searches.map((search, place) => {
    const rankings = record.rankings.filter((ranking) => ranking.search === place);
    if (!rankings.length) return null;
    return h("section", { class: "group", css: { "--c": colour(place), "--n": String(rankings.length) } },
      h("h3", { class: "group-head", title: search.text }, search.text),
      h("div", { class: "group-cols" }, rankings.map((ranking) => h("div", { class: "col", "data-search": place, "data-retriever": ranking.retriever, css: { "--c": colour(place) } },
        h("div", { class: "col-head" }, h("span", { class: "line" }, h("i", { class: `key-swatch ${pattern(ranking.retriever)}` }), `${ranking.retriever} · ${ms(ranking.seconds)}`)),
        ranking.hits.length
          ? h("ol", {}, ranking.hits.slice(0, SHOWN).map((hit) => h("li", {}, cell(hit))), h("li", {}, h("div", { class: "cell more" }, h("span", { class: "n" }, ""), h("span", { class: "t" }, ""))))
          : h("p", { class: "nothing" }, "no match")))));
  });
}

// --- threads

function threaded(columns, name, told) {
  const threads = h("svg", { class: "threads", "aria-hidden": "true" });
  const inner = h("div", { class: "board-in" }, threads, columns);
  const outer = h("div", { class: "board", role: "region", "aria-label": name, tabindex: "0" }, inner);
  let live = null;
  const show = (doc) => {
    if (doc === live) return;
    light(inner, threads, (live = doc));
    told?.(doc);
  };
  inner.addEventListener("pointerover", (event) => show(event.target.closest("[data-doc]")?.dataset.doc ?? null));
  inner.addEventListener("pointerleave", () => show(null));
  inner.addEventListener("focusin", (event) => show(event.target.closest("[data-doc]")?.dataset.doc ?? null));
  inner.addEventListener("focusout", () => show(null));
  new ResizeObserver(() => light(inner, threads, live)).observe(inner);
  return outer;
}

/** Draw the resting threads between the first two lists, and the live ones of one hit through all of them. */
function light(inner, threads, doc) {
  const origin = inner.getBoundingClientRect();
  if (!origin.width) return;
  const columns = [...inner.querySelectorAll(".col")];
  inner.classList.toggle("lit", Boolean(doc));
  for (const cellOf of inner.querySelectorAll(".cell.on")) cellOf.classList.remove("on");
  const paths = resting(columns, origin);
  if (doc) paths.push(...through(columns, origin, doc));
  threads.replaceChildren(...paths);
}

function resting([left, right], origin) {
  const place = new Map([...left.querySelectorAll("[data-doc]")].map((each, at) => [each.dataset.doc, [each, at]]));
  return [...right.querySelectorAll("[data-doc]")].map((each, at) => {
    const [from, was] = place.get(each.dataset.doc) ?? [];
    return from ? h("path", { d: curve(from, each, origin), class: was > at ? "up" : was < at ? "down" : "" }) : null;
  }).filter(Boolean);
}

function through(columns, origin, doc) {
  const found = columns.map((column) => [column, standing(column, doc)]);
  const paths = [];
  let last = null, far = false;
  for (const [column, at] of found) {
    if (!at) { far = far || Boolean(last); continue; }
    at.classList.add("on");
    const css = { "--c": getComputedStyle(column).getPropertyValue("--c") || "var(--act)" };
    if (last) paths.push(h("path", { d: curve(last, at, origin), class: far ? "live far" : "live", css }));
    [last, far] = [at, false];
  }
  return paths;
}

/** Where a hit stands in a column; the row below it, with its rank, where it stands further down. */
function standing(column, doc) {
  const shown = column.querySelector(`[data-doc="${CSS.escape(doc)}"]`);
  if (shown) return shown;
  const more = column.querySelector(".more");
  const rank = more && column.ranks?.get(doc);
  if (!rank) return null;
  more.firstChild.textContent = rank;
  more.lastChild.textContent = "further down";
  return more;
}

/** Let the columns of a drawn board know the ranks of hits that stand further down than they show. */
export function furtherDown(drawn, record) {
  for (const column of drawn.querySelectorAll(".col[data-search]")) {
    column.ranks = new Map();
    for (const hit of record.hits)
      for (const part of hit.because)
        if (part.retriever === column.dataset.retriever && placeOf(record, part) === Number(column.dataset.search)) column.ranks.set(hit.doc_id, part.rank);
  }
  return drawn;
}

function curve(from, to, origin) {
  const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
  const [x1, y1, x2, y2] = [a.right - origin.left, a.top + a.height / 2 - origin.top, b.left - origin.left, b.top + b.height / 2 - origin.top];
  const bend = Math.min(60, Math.max(10, (x2 - x1) / 2));
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
