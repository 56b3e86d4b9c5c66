// Proposals, and what was learned, reviewed entry by entry.

import { get, post, text } from "../api.js";
import { button, fill, h, many } from "../dom.js";
import { blank, failed } from "../parts/states.js";

const SAID = { open: "to review", pending: "to review", learned: "in force", accepted: "accepted", rejected: "rejected" };
const SOURCES = {
  proposals: {
    label: "Proposed", statuses: ["open", "accepted", "rejected"], first: "open",
    about: "Entries and guards that someone tried on a question. Accept one, change it first, or reject it; the profile's own files are never written.",
    read: async () => (await get("/v1/proposals")).proposals,
    absent: ["No proposals are kept here", "Start the service with a file to keep them in:", "dragoman serve … --proposals proposals.jsonl"],
  },
  learned: {
    label: "Learned", statuses: ["pending", "learned", "accepted", "rejected"], first: "pending",
    about: "Entries that were learned from questions and what answered them, each with its evidence. What is decided stands in the lexicon file and is in force when the service starts again.",
    read: async () => (await get("/v1/learned")).learned,
    absent: ["No learned lexicon is shown here", "Learn one, with entries that wait for a person, then start the service with it:", "dragoman learn PAIRS --review --out learned.txt\n\ndragoman serve … --learned learned.txt"],
  },
};

/** Show the view in `root`. */
export async function review(root, state, _, source = state.keeps.proposals || !state.keeps.learned ? "proposals" : "learned") {
  const { absent, read, first } = SOURCES[source];
  const turn = (to) => review(root, state, _, to);
  fill(root, head(source, turn));
  if (!state.keeps[source]) {
    root.append(blank(absent[0], h("p", { class: "soft" }, absent[1]), h("pre", { tabindex: "0" }, absent[2])));
    return;
  }
  const list = h("div", { "aria-busy": "true" }, h("p", { class: "soft" }, "Reading …"));
  root.append(list);
  try {
    const entries = await read();
    list.removeAttribute("aria-busy");
    draw(list, source, entries, entries.some((each) => each.status === first) ? first : entries[0]?.status ?? first);
  } catch (problem) {
    fill(list, failed(problem, () => turn(source)));
  }
}

function head(source, turn) {
  return h("header", { class: "page-head" }, h("h1", {}, "Review"),
    h("div", { class: "filters", role: "group", "aria-label": "What to review" }, Object.entries(SOURCES).map(([name, { label }]) =>
      button(label, () => turn(name), { class: "button", "aria-pressed": String(name === source) }))),
    h("p", {}, SOURCES[source].about));
}

function draw(list, source, entries, shown) {
  const those = entries.filter((each) => each.status === shown);
  const redraw = (status) => draw(list, source, entries, status);
  const filters = h("div", { class: "filters", role: "group", "aria-label": "Which of them" }, SOURCES[source].statuses.map((status) =>
    button(`${entries.filter((each) => each.status === status).length} ${SAID[status]}`, () => redraw(status), { class: "button small", "aria-pressed": String(status === shown) })));
  fill(list, filters,
    those.length
      ? h("ol", { class: "reviews" }, those.map((each) => (source === "proposals" ? proposed : learned)(each, (changed) => { Object.assign(each, changed); redraw(shown); })))
      : empty(source, shown, entries.length),
    source === "proposals" && shown === "accepted" && those.length ? h("section", { class: "blank" }, Object.keys(TAKEN).filter((kind) => those.some((each) => each.kind === kind)).map(take)) : null);
}

function empty(source, shown, total) {
  if (total) return blank(`Nothing ${SAID[shown]}`, h("p", { class: "soft" }, `${many(total, "entry", "entries")} in all.`));
  if (source === "learned") return blank("Nothing was learned yet", h("p", { class: "soft" }, "The file is there and holds no learned entry."));
  return blank("Nothing proposed yet", h("p", { class: "soft" }, "Ask a question, open “Try changes”, edit an entry until the right passage comes up, and save it as a proposal."),
    h("a", { class: "button main", href: "#/" }, "Ask a question"));
}

/** What every card has: the rule, where it stands, facts, and buttons to decide. */
function card({ status, rule, facts, editable, accept, reject, again }) {
  const problem = h("p", { class: "wrong", role: "alert" });
  const editing = h("div", { hidden: true }, editable?.fields);
  const decided = (act) => async (...given) => {
    try {
      await act(...given);
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const edit = button("Change", () => {
    editing.hidden = !editing.hidden;
    edit.textContent = editing.hidden ? "Change" : "Accept as changed";
    if (editing.hidden) decided(accept)(editable.value());
    else editing.querySelector("input:not([readonly]), textarea").focus();
  }, { class: "button small" });
  return h("li", { class: `review ${status}` },
    h("div", { class: "row" }, h("div", { class: "rule" }, rule), h("span", { class: `state ${status}` }, SAID[status])),
    editing,
    h("dl", {}, facts.filter(Boolean).map(([term, ...said]) => [h("dt", {}, term), h("dd", {}, said)])),
    problem,
    h("div", { class: "row" },
      status !== "accepted" ? button("Accept", () => decided(accept)(), { class: "button main small" }) : null,
      editable && status !== "rejected" ? edit : null,
      status !== "rejected" ? button("Reject", decided(reject), { class: "button small" }) : null,
      ["accepted", "rejected"].includes(status) ? button("Review again", decided(again), { class: "button small bare" }) : null));
}

/** Lines to change, and what became of them. */
function lines(text) {
  const field = h("textarea", { class: "input mono", rows: String(text.split("\n").length), value: text, "aria-label": "The entry, to change", spellcheck: "false" });
  return { fields: field, value: () => field.value };
}

/** A guard to change, and what became of it. */
function ruled(guard) {
  const labels = { id: "id", reason: "reason", pattern: "pattern (regular expression)", replacement: "what stands instead" };
  const fields = Object.entries(labels).map(([name, label]) => [name, label, h("input", { class: "input mono", value: guard[name], spellcheck: "false", readonly: name === "id" })]);
  return {
    fields: h("div", { class: "fields" }, fields.map(([, label, field]) => h("label", {}, label, field))),
    value: () => Object.fromEntries(fields.map(([name, , field]) => [name, field.value])),
  };
}

/** What a proposal says: a line or a guard, or one that is to go. */
function saying({ line, guard, without, without_guard: gone }) {
  if (guard) return [h("code", {}, guard.pattern), h("span", { class: "arrow" }, "→"), h("code", {}, guard.replacement)];
  if (gone) return ["Leave out the guard ", h("del", {}, gone)];
  return without ? ["Leave out ", h("del", {}, without)] : line;
}

function proposed(each, changed) {
  const { guard, line } = each;
  const decide = async (status, now) => changed(await post(`/v1/proposals/${each.id}`, { status, ...(now && { [guard ? "guard" : "line"]: now }) }));
  return card({
    status: each.status,
    rule: saying(each),
    editable: guard ? ruled(guard) : line ? lines(line) : null,
    facts: [
      each.replaces && ["instead of", h("code", {}, each.replaces)],
      guard && ["guard", guard.id],
      each.reason && ["why", each.reason],
      each.question && ["tried on", h("a", { href: `#/?${new URLSearchParams({ q: each.question })}` }, each.question)],
      each.effect && ["what moved", each.effect],
      ["profile", `${each.profile}, ${new Date(each.at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" })}`],
    ],
    accept: (now) => decide("accepted", now), reject: () => decide("rejected"), again: () => decide("open"),
  });
}

function learned(each, changed) {
  const decide = async (status, text) => changed(await post("/v1/learned", { left: each.left, status, ...(text && { lines: text.split("\n").filter((line) => line.trim()) }) }));
  return card({
    status: each.status,
    rule: each.lines.map((line) => h("p", {}, line)),
    editable: lines(each.lines.join("\n")),
    facts: [
      ...each.evidence.map((line) => line.split(/: (.*)/s)).map(([term, said]) => [term, said ?? term]),
      ...each.examples.map((line) => ["for example", line]),
      ...each.remarks.map((line) => ["remark", line]),
    ],
    accept: (text) => decide("accepted", text), reject: () => decide("rejected"), again: () => decide("pending"),
  });
}

const TAKEN = {
  lexicon: ["The accepted lexicon entries as lines, for the profile's lexicon file; a comment names each line that is to go.", "Show the lines"],
  guard: ["The accepted guards as tables, for the profile; a comment names each guard that is to go.", "Show the guards"],
};

function take(kind) {
  const [about, label] = TAKEN[kind];
  const out = h("pre", { tabindex: "0", hidden: true, class: "mono" });
  return [h("p", { class: "soft" }, about),
    button(label, async () => { out.textContent = await text(`/v1/accepted?kind=${kind}`); out.hidden = false; }), out];
}
