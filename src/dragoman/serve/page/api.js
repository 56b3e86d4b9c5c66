// The service, and what it says when it cannot.

const KEY = "dragoman-key";

/** Why the service did not do it: RFC 9457's title and detail, and the status; 0 when it was not reached. */
export class Problem extends Error {
  constructor({ status = 0, title = "The service did not answer", detail = "" }, retryAfter = null) {
    super(detail || title);
    Object.assign(this, { status, title, detail, retryAfter });
  }
}

/** The key for this tab; kept until it is closed. */
export const key = {
  get: () => sessionStorage.getItem(KEY) ?? "",
  set: (value) => sessionStorage.setItem(KEY, value),
};

async function call(path, { body, signal, accept = "application/json" } = {}) {
  const headers = { Accept: accept };
  if (key.get()) headers.Authorization = `Bearer ${key.get()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body && JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: "The connection failed. See whether the service still runs, then try again." });
  }
  if (!response.ok) {
    const told = await response.json().catch(() => ({ title: `The service answered ${response.status}` }));
    throw new Problem({ ...told, status: response.status }, response.headers.get("Retry-After"));
  }
  return response;
}

/** JSON by GET. */
export const get = async (path, options) => (await call(path, options)).json();

/** JSON by POST. */
export const post = async (path, body, options) => (await call(path, { ...options, body })).json();

/** Text by GET. */
export const text = async (path) => (await call(path, { accept: "text/plain" })).text();

/** Whether there is something at a path. */
export const exists = async (path) => (await fetch(path, { method: "GET" })).ok;

/** Server-sent events of a POST, as [name, data] in order. */
export async function* events(path, body, options) {
  const response = await call(path, { ...options, body, accept: "text/event-stream" });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    held += value;
    const whole = held.split("\n\n");
    held = whole.pop();
    for (const event of whole) {
      const fields = Object.fromEntries(event.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
      yield [fields.event, JSON.parse(fields.data)];
    }
  }
}
