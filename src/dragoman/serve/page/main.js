// The page's beginning: what is served here, which view, and what the address says.

import { get } from "./api.js";
import { fill } from "./dom.js";
import { blank, failed } from "./parts/states.js";
import { startTheme } from "./theme.js";
import { compare } from "./views/compare.js";
import { effect } from "./views/effect.js";
import { fresh, journey } from "./views/journey.js";
import { review } from "./views/review.js";

const VIEWS = { journey, compare, review, effect };
const root = document.getElementById("view");
const state = fresh();

/** Read the service, then show what the address says. */
async function begin() {
  try {
    Object.assign(state, sorted(await get("/v1/profiles")));
  } catch (problem) {
    fill(root, failed(problem, begin));
    return;
  }
  pickProfile();
  addEventListener("hashchange", () => route(true));
  route(false);
}

function sorted({ profiles, examples, keeps }) {
  return { profiles, profile: profiles[0], collection: examples, examples: of(profiles[0], examples), keeps };
}

const of = (profile, collection) => (collection.length ? collection : profile.examples);

function pickProfile() {
  const field = document.getElementById("profile-field");
  const select = document.getElementById("profile");
  field.hidden = state.profiles.length < 2;
  fill(select, state.profiles.map((profile) => new Option(profile.name, profile.name)));
  select.addEventListener("change", () => {
    const profile = state.profiles.find((each) => each.name === select.value);
    Object.assign(state, fresh(), { question: state.question, profile, examples: of(profile, state.collection), record: null, plain: null });
    route(true, Boolean(state.question));
  });
}

/** The address, as `#/`, `#/?q=…&profile=…`, `#/compare?q=…`. */
function write(view) {
  const query = new URLSearchParams();
  if (state.question) query.set("q", state.question);
  if (state.profile !== state.profiles[0]) query.set("profile", state.profile.name);
  const path = view === "journey" ? "" : view;
  const to = `#/${path}${query.size ? `?${query}` : ""}`;
  if (location.hash !== to) history.pushState(null, "", to);
}

function route(moved, again = false) {
  const [path, query] = location.hash.slice(2).split("?");
  const view = path in VIEWS ? path : "journey";
  const given = new URLSearchParams(query);
  const profile = state.profiles.find((each) => each.name === given.get("profile"));
  if (profile && profile !== state.profile) Object.assign(state, { profile, examples: of(profile, state.collection) });
  document.getElementById("profile").value = state.profile.name;
  const question = given.get("q") ?? "";
  if (view === "journey" && !again && question !== state.question) Object.assign(state, fresh(), { question, record: null, plain: null, problem: null, pending: Boolean(question) });
  else if (again) state.pending = true;
  else if (question) state.question = question;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = view === "journey" ? (state.question ? `${state.question} · Dragoman` : "Dragoman") : `${view[0].toUpperCase()}${view.slice(1)} · Dragoman`;
  for (const [name, link] of Object.entries({ journey: "#/", compare: "#/compare" })) {
    const to = state.question ? `${link}?${new URLSearchParams({ q: state.question })}` : link;
    document.querySelector(`.views a[data-view="${name}"]`).setAttribute("href", to);
  }
  VIEWS[view](root, state, () => { write(view); titled(view); });
  if (moved) root.focus({ preventScroll: true });
}

function titled(view) {
  if (view === "journey") document.title = `${state.question} · Dragoman`;
  for (const name of ["journey", "compare"]) {
    const link = document.querySelector(`.views a[data-view="${name}"]`);
    link.setAttribute("href", `#/${name === "journey" ? "" : name}?${new URLSearchParams({ q: state.question })}`);
  }
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address after the hash is the view's
  root.focus();
});
startTheme();
fill(root, blank("One moment …"));
begin();
