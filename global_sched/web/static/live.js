// Live updates: the server says that there is a later look, and the page's middle is fetched anew.
// Without this script, or without the stream, every page works; it is then as old as its load.
"use strict";
(() => {
  const live = document.getElementById("live");
  const state = document.getElementById("live-state");
  for (const select of document.querySelectorAll(".filter select")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
  if (!live || !live.firstElementChild || !window.EventSource) return;

  let busy = false;
  let again = false;

  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      swap(page);
    } catch { /* the next event tries again */ } finally {
      busy = false;
      if (again) { again = false; refresh(); }
    }
  }

  function swap(page) {
    const next = page.getElementById("live");
    const nextState = page.getElementById("live-state");
    if (!next || !nextState) return;
    const open = new Map([...live.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
    const focused = live.contains(document.activeElement) ? document.activeElement : null;
    const href = focused && focused.getAttribute("href");
    live.replaceChildren(...next.childNodes);
    state.replaceChildren(...nextState.childNodes);
    state.classList.add("on");
    for (const [id, was] of open) {
      const one = document.getElementById(id);
      if (one) one.open = was;
    }
    if (href) {
      const same = [...live.querySelectorAll("a")].find((one) => one.getAttribute("href") === href);
      if (same) same.focus({ preventScroll: true });
    }
  }

  const query = new URLSearchParams({ from: state.dataset.number });
  const namespace = new URLSearchParams(location.search).get("namespace");
  if (namespace) query.set("namespace", namespace);
  const source = new EventSource(`/events?${query}`);
  source.addEventListener("open", () => state.classList.add("on"));
  source.addEventListener("look", refresh);
  source.addEventListener("over", () => { source.close(); state.classList.remove("on"); refresh(); });
  source.addEventListener("error", () => state.classList.remove("on"));
})();
