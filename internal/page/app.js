"use strict";
// The app's side of MCP Apps (2026-01-26): JSON-RPC over postMessage, with the
// host as its server. It asks for nothing but to be shown.
const main = document.querySelector("main");
const host = window.parent;
const send = (message) => host.postMessage({ jsonrpc: "2.0", ...message }, "*");

const theme = (context) => {
  if (context && (context.theme === "light" || context.theme === "dark")) {
    document.documentElement.style.colorScheme = context.theme;
  }
};

// Without the report: the words of the answer, as text.
const words = (result) => {
  const d = result.structuredContent;
  const add = (tag, text, into = main) => {
    const e = document.createElement(tag);
    e.textContent = text;
    into.append(e);
    return e;
  };
  main.replaceChildren();
  if (!d || result.isError) {
    for (const c of result.content || []) if (c.type === "text") add("pre", c.text);
    return;
  }
  add("h1", d.primary_cause + " · " + d.run_status);
  add("p", d.root_cause);
  add("p", d.decision).className = d.decision;
  add("h2", "Evidence");
  for (const e of d.evidence || []) add("pre", e);
  add("h2", "What to do");
  const list = add("ol", "");
  for (const f of d.fixes || []) add("li", f.action + " · " + f.risk, list);
};

const show = (result) => {
  const report = result._meta && result._meta["trainmedic/report"];
  if (typeof report !== "string") return words(result);
  main.innerHTML = report; // our own template; the server escaped what comes from a log
};

addEventListener("message", (event) => {
  if (event.source !== host || !event.data || event.data.jsonrpc !== "2.0") return;
  const { id, method, params, result } = event.data;
  if (id === 1 && !method) {
    theme(result && result.hostContext);
    send({ method: "ui/notifications/initialized", params: {} });
    new ResizeObserver(() => {
      const { width, height } = document.documentElement.getBoundingClientRect();
      send({ method: "ui/notifications/size-changed", params: { width: Math.ceil(width), height: Math.ceil(height) } });
    }).observe(document.documentElement);
  } else if (method === "ui/notifications/tool-result") {
    show(params);
  } else if (method === "ui/notifications/tool-cancelled") {
    main.textContent = "The call was cancelled.";
  } else if (method === "ui/notifications/host-context-changed") {
    theme(params);
  } else if (id !== undefined && method) { // ping, and the goodbye before it is taken away
    send({ id, result: {} });
  }
});

send({
  id: 1,
  method: "ui/initialize",
  params: { protocolVersion: "2026-01-26", appInfo: { name: "trainmedic", version: "1" }, appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] } },
});
