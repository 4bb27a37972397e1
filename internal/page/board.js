"use strict";
// Keeps the board as new as the server: what changed is asked for every few
// seconds while somebody looks, and what was unfolded stays so.
const every = 3000;
const main = document.querySelector("main");
const link = document.getElementById("link");
let tag = "";

const ago = (then) => {
  const s = Math.max(0, Math.round((Date.now() - then) / 1000));
  if (s < 90) return s + " s ago";
  if (s < 5400) return Math.round(s / 60) + " min ago";
  if (s < 129600) return Math.round(s / 3600) + " h ago";
  return Math.round(s / 86400) + " days ago";
};

const clocks = () => {
  for (const t of main.querySelectorAll("time")) {
    const then = new Date(t.dateTime);
    if (isNaN(then)) continue;
    t.textContent = "ago" in t.dataset ? ago(then) : then.toLocaleString([], { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
    t.title = then.toLocaleString();
  }
};

const title = () => {
  const bad = Number(main.firstElementChild.dataset.bad);
  document.title = (bad ? "(" + bad + ") " : "") + "trainmedic: watches";
};

const refresh = async () => {
  if (document.hidden) return;
  try {
    const answer = await fetch("/watches", { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" });
    if (answer.status === 401) return location.reload(); // the token is wanted again
    if (answer.status === 200) {
      const text = await answer.text();
      const unfolded = Array.from(main.querySelectorAll("details[open]"), (d) => d.id);
      main.innerHTML = text; // the server's own template; it escaped what comes from a log
      for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
      tag = answer.headers.get("ETag") || "";
      title();
    }
    link.className = "dim";
    link.textContent = "live";
  } catch {
    link.className = "lost";
    link.textContent = "the server does not answer";
  }
  clocks();
};

title();
clocks();
setInterval(clocks, 1000);
setInterval(refresh, every);
document.addEventListener("visibilitychange", refresh);
