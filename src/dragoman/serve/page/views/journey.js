// The journey of one question: asked, rewritten, searched, ranked and fused, found.

import { post } from "../api.js";
import { bodyOf, changed, none } from "../changes.js";
import { announce, button, fill, h, many, ms } from "../dom.js";
import { colour, originText, pattern, unanswered } from "../palette.js";
import { answering } from "../parts/answer.js";
import { askBox, examples } from "../parts/ask.js";
import { board, furtherDown } from "../parts/board.js";
import { summary } from "../parts/moves.js";
import { passages } from "../parts/passages.js";
import { searches } from "../parts/searches.js";
import { failed, waiting } from "../parts/states.js";
import { steps, time } from "../parts/steps.js";
import { workbench } from "../parts/workbench.js";

const DEPTH = 10;
const ASSISTANT = 600; // characters of the best passage that stand as the assistant's turn

/** Show the view in `root`. `state` lasts as long as the page; `go` writes the address. */
export function journey(root, state, go) {
  const ask = (question, history) => start({ question, ...(history !== undefined && { talking: true, turns: history }) });
  const change = (part) => { Object.assign(state, part); draw(); };
  let running = new AbortController();

  async function start(part) {
    Object.assign(state, part, { record: null, plain: null, problem: null });
    state.asked = request();
    go();
    scrollTo(0, 0);
    await load();
  }

  function request() {
    const history = state.talking ? state.turns : null;
    return { question: state.question, profile: state.profile.name, depth: DEPTH, ...(history && { history }) };
  }

  async function load() {
    running.abort();
    const mine = (running = new AbortController());
    state.loading = true;
    draw();
    try {
      state.plain = await post("/v1/explain", state.asked, { signal: mine.signal });
      const body = bodyOf(state.changes, state.profile);
      state.record = Object.keys(body).length ? await post("/v1/explain", { ...state.asked, ...body }, { signal: mine.signal }) : state.plain;
      announce(`${many(state.record.hits.length, "hit")} in ${ms(state.record.seconds)}.`);
    } catch (problem) {
      if (problem.name === "AbortError") return;
      state.problem = problem;
    }
    state.loading = false;
    draw();
  }

  /** Run the changes; what moved against the profile as it is, or why they cannot be run. */
  async function tried() {
    try {
      const body = bodyOf(state.changes, state.profile);
      state.record = Object.keys(body).length ? await post("/v1/explain", { ...state.asked, ...body }) : state.plain;
    } catch (problem) {
      return problem.message;
    }
    drawRecord();
    return changed(state.changes) ? `Against the profile as it is: ${summary(state.record.hits, state.plain.hits)}.` : "";
  }

  const below = h("div", {});
  const sums = h("p", { class: "sums" });

  function draw() {
    if (!state.question || !(state.loading || state.record || state.problem)) {
      fill(root, home());
      return;
    }
    const bench = button("Try changes", () => change({ bench: !state.bench }), { class: "button small", "aria-expanded": String(Boolean(state.bench)) });
    fill(root, askBox(state, { ask: next, change, small: true, extra: state.record ? [bench, sums] : null }), below);
    if (state.problem) fill(below, h("header", { class: "said" }, h("h1", { class: "hidden" }, state.question)), failed(state.problem, () => { state.problem = null; load(); }));
    else if (state.loading) fill(below, waiting(state.question));
    else drawRecord();
    if (state.record && state.bench) below.before(bencher());
  }

  function bencher() {
    return workbench({
      profile: state.profile, changes: state.changes, record: state.record, question: state.question, keeps: state.keeps.proposals, tried, tab: state.tab,
      turned: (tab) => { state.tab = tab; },
      reset: () => { state.record = state.plain; draw(); },
    });
  }

  /** In a conversation, what was asked and found before goes along. */
  function next(question) {
    if (state.talking && state.record && !state.problem) {
      const best = state.record.hits[0];
      const found = best ? `${best.title} ${best.text}`.trim().slice(0, ASSISTANT) : "Nothing was found.";
      state.turns = [...state.turns, { role: "user", text: state.record.question }, { role: "assistant", text: found }];
    }
    ask(question);
  }

  function home() {
    const about = state.profile.documents === null ? state.profile.about : `${many(state.profile.documents, "passage")} of ${state.profile.corpus}.`;
    return [
      h("section", { class: "hero" }, h("h1", {}, "Ask it your way. See how it is understood."),
        h("p", {}, `Your words become the corpus's words, search by search, and every hit says why it is there. ${about}`)),
      askBox(state, { ask, change }),
      h("ol", { class: "route", "aria-label": "The stages of a journey" }, ["asked", "rewritten", "searched", "ranked", "fused", "found"].map((name) => h("li", {}, name))),
      examples(state.examples, (example) => (example.history ? ask(example.question, example.history) : ask(example.question))),
    ];
  }

  function drawRecord() {
    const { record, plain } = state;
    const beside = changed(state.changes)
      ? { name: "Before", about: "the profile as it is", hits: plain.hits }
      : { name: "Raw", about: "the question as asked", hits: record.raw };
    fill(sums, counted(record));
    fill(below, h("div", { class: record.off_topic ? "dim" : "" }, stages(state, record, beside)));
  }

  draw();
  if (state.pending) { state.pending = false; start({}); }
}

/** The board with a line under it: what moved, and of the hit that is pointed at where it stood everywhere. */
function ranked(record, beside) {
  const against = `Against ${beside.name === "Raw" ? "raw" : "the profile as it is"}: ${summary(record.hits, beside.hits)}.`;
  const foot = h("p", { class: "board-foot" }, against);
  const caption = (parts) => fill(foot, parts ? parts.map((part, at) => h("span", {}, at ? part : h("b", {}, part))) : against);
  return [furtherDown(board(record, beside, { open, caption }), record), foot];
}

/** How much of everything there was. */
function counted(record) {
  const ran = record.steps.filter((step) => step.outcome !== "skipped").length;
  const counts = [[ran, "step"], [record.searches.length, "search", "searches"], [record.rankings.length, "ranking"], [record.hits.length, "hit"]];
  return [...counts.map(([count, one, more = `${one}s`]) => h("span", {}, h("b", {}, count), ` ${count === 1 ? one : more}`)), h("span", {}, h("b", {}, ms(record.seconds)))];
}

function stages(state, record, beside) {
  return [
    h("header", { class: "said" }, h("h1", { class: "hidden" }, record.question), time(record)),
    notices(record),
    stage(1, "Rewritten", said(record), steps(record)),
    stage(2, "Searched", `The number under a word: in how many of ${record.documents?.toLocaleString("en")} passages it stands.`, searches(record)),
    stage(3, "Ranked and fused", "Point at a hit to see where each ranking had it.", legend(record), ranked(record, beside)),
    stage(4, "Found", null, record.hits.length ? [answering(state.asked, record), marks(record), passages(record, beside, { keeps: state.keeps.feedback, profile: state.profile.name })] : nothing(record)),
  ];
}

function stage(number, name, about, ...body) {
  return h("section", { class: "stage", "aria-label": name }, h("span", { class: "dot", "aria-hidden": "true" }, number),
    h("div", {}, h("div", { class: "stage-head" }, h("h2", {}, name), about ? h("p", {}, about) : null), body));
}

function said(record) {
  const written = record.searches.filter((search) => !["question", "rewritten", "expanded"].includes(search.origin)).length;
  const query = record.query === record.question ? "The question stands as it was asked" : "The question changed";
  return `${query}; ${written ? `${many(written, "search", "searches")} joined it.` : "no search joined it."}`;
}

function notices(record) {
  const off = record.steps.find((step) => step.outcome === "off_topic");
  const silent = record.steps.filter((step) => unanswered(step.outcome));
  return [
    off ? h("section", { class: "notice off" }, h("strong", {}, "Off-topic"), h("p", {}, `${off.name} holds that this corpus cannot answer it, so no search was made of it. What the question's own words find is shown below; it is not likely to help.`)) : null,
    silent.map((step) => h("section", { class: "notice" }, h("strong", {}, `${step.name} did not answer: ${step.outcome.replace("_", " ")}`), h("p", {}, `${step.reason} The question was searched without it.`))),
    record.failures.length ? h("section", { class: "notice bad" }, h("strong", {}, `${[...new Set(record.failures.map((each) => each.retriever))].join(", ")} did not answer`), h("p", {}, `${record.failures[0].reason} The other rankings were fused.`)) : null,
  ];
}

function legend(record) {
  const retrievers = [...new Set(record.rankings.map((ranking) => ranking.retriever))];
  return h("p", { class: "keys" }, record.searches.map((search, place) => h("span", {}, h("i", { class: "swatch", css: { "--c": colour(place) } }), originText(search.origin))),
    retrievers.map((name) => h("span", {}, h("i", { class: `key-swatch ${pattern(name)}`, css: { "--c": "var(--s0)" } }), name)));
}

function marks(record) {
  const brought = record.searches.length > 1;
  return h("p", { class: "keys" }, h("span", {}, h("mark", { class: "asked" }, "a word of the question")), brought ? h("span", {}, h("mark", { class: "brought" }, "a word the rewriting brought")) : null);
}

function nothing(record) {
  const unknown = record.searches.flatMap((search) => search.words).filter(([, held]) => held === 0).map(([word]) => word);
  return h("section", { class: "notice" }, h("strong", {}, "No passage matches"),
    h("p", {}, unknown.length ? `The corpus does not hold: ${[...new Set(unknown)].join(", ")}. A lexicon entry that says these in its words would help: open “Try changes”.` : "Every word is in the corpus, but no passage holds them under these filters."));
}

function open(doc) {
  const found = document.querySelector(`[data-hit="${CSS.escape(doc)}"]`);
  if (!found) return;
  found.focus({ preventScroll: true });
  found.scrollIntoView({ block: "center" });
  for (const each of document.querySelectorAll(".passage.lit")) each.classList.remove("lit");
  found.classList.add("lit");
}

/** A state in which nothing was asked. */
export const fresh = () => ({ question: "", talking: false, turns: [], changes: none(), bench: false, tab: "lexicon" });
