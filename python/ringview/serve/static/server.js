// What the server is asked: JSON, and streams of events that are taken up again where they ended.
// The token is kept for this tab alone.

const KEY = "ringview-token";
let asking = null;

function headers(more = {}) {
  const token = sessionStorage.getItem(KEY);
  return token === null ? more : { ...more, authorization: `Bearer ${token}` };
}

function ask() {
  asking ??= new Promise((done) => {
    const dialog = document.getElementById("ask");
    dialog.addEventListener("close", () => {
      sessionStorage.setItem(KEY, document.getElementById("token").value);
      asking = null;
      done();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

export async function get(path, options = {}) {
  for (;;) {
    const answer = await fetch(path, { ...options, headers: headers(options.headers), cache: "no-store" });
    if (answer.status === 401) {
      await ask();
      continue;
    }
    if (!answer.ok) {
      const said = await answer.json().catch(() => null);
      throw new Error(said?.error?.message ?? `${answer.status} ${answer.statusText}`);
    }
    return answer;
  }
}

export const json = async (path) => (await get(path)).json();
export const text = async (path) => (await get(path)).text();

// Calls `on(kind, data)` for each event until `signal` is aborted; `state(live)` says whether it is connected.
export async function follow(path, signal, on, state) {
  let last = null;
  while (!signal.aborted) {
    try {
      const answer = await get(path, { signal, headers: last === null ? {} : { "last-event-id": last } });
      state(true);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        rest += value;
        const events = rest.split("\n\n");
        rest = events.pop();
        for (const event of events) {
          const fields = Object.fromEntries(event.split("\n").map((line) => {
            const at = line.indexOf(": ");
            return [line.slice(0, at), line.slice(at + 2)];
          }));
          if (fields.data === undefined) continue;
          on(fields.event, JSON.parse(fields.data));
          // Only what was taken in is named when it comes back.
          if (fields.id !== undefined) last = fields.id;
        }
      }
    } catch (problem) {
      if (signal.aborted) return;
    }
    state(false);
    await new Promise((done) => setTimeout(done, 1000));
  }
}
