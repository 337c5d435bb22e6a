"use strict";
/* Keeps a page of the dashboard up to date: panels are replaced, lines are added and old ones removed, requests are
   sent. Text from the run only ever becomes text: lines by textContent, panels as the server has escaped them. */
(() => {
  const SILENCE = 25000; // The server says something every ten seconds.
  const AGAIN = 3000;
  const ASLEEP = 60000; // A browser has six connections to a server for all of its tabs: one that no one sees gives up its own.
  const body = document.body;
  const connection = document.getElementById("connection");
  const timeline = document.getElementById("timeline");
  const says = document.getElementById("says");
  const answer = document.getElementById("answer");
  let ahead = Number(body.dataset.now) - Date.now() / 1000; // How far the server's clock is ahead of ours.
  let source = null;
  let heard = Date.now();
  let ended = false;
  let hidden = document.hidden ? Date.now() : 0;

  function tell(words, kind) {
    if (connection.textContent !== words) connection.textContent = words;
    connection.className = `connection ${kind}`;
  }

  /* Panels */

  function replace(panel, html) {
    const open = new Map([...panel.querySelectorAll("details[data-key]")].map((one) => [one.dataset.key, one.open]));
    const tail = panel.querySelector("[data-tail]");
    const below = tail === null || tail.scrollHeight - tail.scrollTop - tail.clientHeight < 40;
    const before = tail === null ? 0 : tail.scrollTop;
    const wide = panel.querySelector(".wide");
    const across = wide === null ? 0 : wide.scrollLeft;
    const focused = panel.contains(document.activeElement) ? [...panel.querySelectorAll("[tabindex],summary,a")].indexOf(document.activeElement) : -1;
    panel.innerHTML = html;
    for (const one of panel.querySelectorAll("details[data-key]")) {
      if (open.has(one.dataset.key)) one.open = open.get(one.dataset.key);
    }
    const now = panel.querySelector("[data-tail]");
    if (now !== null) now.scrollTop = below ? now.scrollHeight : before;
    if (across) panel.querySelector(".wide")?.scrollTo(across, 0);
    if (focused >= 0) panel.querySelectorAll("[tabindex],summary,a")[focused]?.focus({ preventScroll: true });
  }

  function part(name, text) {
    const made = document.createElement("span");
    made.className = name;
    made.textContent = text;
    return made;
  }

  function add(lines, again) {
    if (timeline === null) return;
    const before = timeline.scrollTop;
    const below = timeline.scrollHeight - before - timeline.clientHeight < 40;
    if (again) timeline.replaceChildren();
    const last = Number(timeline.lastElementChild?.dataset.seq ?? 0);
    for (const line of lines) {
      if (line.seq <= last) continue;
      const made = document.createElement("li");
      made.dataset.seq = line.seq;
      made.dataset.event = line.event;
      made.append(part("clock", line.clock), " ", part("number", line.iteration || ""), " ", part("text", line.text));
      timeline.append(made);
    }
    while (timeline.children.length > Number(timeline.dataset.most)) timeline.firstElementChild.remove();
    timeline.scrollTop = below ? timeline.scrollHeight : before;
  }

  function offer(verbs) {
    let left = false; // A button that had the focus is no longer there: its neighbour gets it.
    for (const button of document.querySelectorAll("button[data-verb]")) {
      const offered = verbs.includes(button.dataset.verb);
      const focused = document.activeElement === button;
      button.hidden = !offered;
      if (focused && !offered) left = true;
    }
    if (left) document.querySelector("button[data-verb]:not([hidden])")?.focus();
    const note = document.getElementById("note-box");
    if (note !== null) note.hidden = !verbs.includes("note");
  }

  function show(change) {
    document.title = `${change.title} · claude-iterate`;
    for (const [name, html] of Object.entries(change.panels)) {
      const panel = document.querySelector(`[data-panel="${name}"]`);
      if (panel !== null) replace(panel, html);
    }
    add(change.lines, change.again);
    offer(change.offers);
    if (says !== null && says.textContent !== change.says) says.textContent = change.says;
    tick();
  }

  /* Ages and countdowns */

  function age(seconds) {
    const whole = Math.max(0, Math.floor(seconds));
    if (whole < 60) return `${whole}s`;
    const two = (number) => String(number).padStart(2, "0");
    if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
    if (whole < 86400) return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
    return `${Math.floor(whole / 86400)}d ${two(Math.floor((whole % 86400) / 3600))}h`;
  }

  function tick() {
    const now = Date.now() / 1000 + ahead;
    for (const one of document.querySelectorAll("main [data-since]")) one.textContent = age(now - Number(one.dataset.since));
    for (const one of document.querySelectorAll("main [data-until]")) one.textContent = age(Number(one.dataset.until) - now);
  }

  /* The stream */

  function listen() {
    source?.close();
    heard = Date.now();
    source = new EventSource(body.dataset.events);
    const opened = source;
    const note = (event) => {
      heard = Date.now();
      ended = false;
      ahead = Number(JSON.parse(event.data).now) - heard / 1000;
      tell("live", "on");
      return JSON.parse(event.data);
    };
    source.addEventListener("change", (event) => show(note(event)));
    source.addEventListener("tick", note);
    source.addEventListener("bye", () => {
      ended = true;
      tell("The dashboard has ended. Runs go on. Waiting for it to come back …", "off");
    });
    source.addEventListener("error", () => {
      if (opened !== source) return;
      if (!ended) tell("The connection to the dashboard is lost. Trying again …", "off");
      if (source.readyState === EventSource.CLOSED) window.setTimeout(ask, AGAIN);
    });
  }

  /* A stream that was refused says nothing about why; an ordinary request does. */
  async function ask() {
    try {
      const found = await fetch(body.dataset.events, { method: "HEAD", cache: "no-store" });
      if (found.status === 401 || found.status === 403) {
        tell("The dashboard was started again. Open the address that it printed.", "off");
        return;
      }
      if (found.status === 404) {
        tell("This workspace or run is gone.", "off");
        return;
      }
      if (found.status === 503) {
        tell("Too many pages of the dashboard are open. Close some of them.", "off");
        window.setTimeout(ask, AGAIN);
        return;
      }
    } catch {
      /* It is not back yet. */
    }
    listen();
  }

  window.setInterval(() => {
    tick();
    if (hidden && Date.now() - hidden > ASLEEP && source !== null) {
      source.close();
      source = null;
      tell("asleep until you look", "");
    }
    if (source !== null && Date.now() - heard > SILENCE && source.readyState !== EventSource.CLOSED) {
      tell("No word from the dashboard. Trying again …", "off");
      listen();
    }
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    hidden = document.hidden ? Date.now() : 0;
    if (!document.hidden && (source === null || Date.now() - heard > SILENCE / 2)) listen();
  });

  /* Requests */

  async function post(address, document_) {
    answer.className = "answer";
    answer.textContent = "Asked …";
    try {
      const found = await fetch(address, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(document_),
      });
      const said = await found.json();
      answer.textContent = said.text;
      if (!found.ok) answer.className = "answer bad";
      return found.ok;
    } catch {
      answer.textContent = "The dashboard does not answer, so nothing was asked for.";
      answer.className = "answer bad";
      return false;
    }
  }

  const steer = document.querySelector("[data-requests]");
  if (steer !== null) {
    for (const button of steer.querySelectorAll("button[data-verb]")) {
      button.addEventListener("click", () => {
        const asks = button.dataset.confirm;
        if (asks && !window.confirm(asks)) return;
        post(steer.dataset.requests, { verb: button.dataset.verb });
      });
    }
    const form = document.getElementById("note");
    const field = document.getElementById("note-text");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (await post(steer.dataset.notes, { text: field.value })) field.value = "";
    });
    field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        form.requestSubmit();
      }
    });
  }

  if (timeline !== null) timeline.scrollTop = timeline.scrollHeight;
  for (const one of document.querySelectorAll("[data-tail]")) one.scrollTop = one.scrollHeight;
  tick();
  listen();
})();
