// The MCP server with the official TypeScript SDK as its client, over stdio,
// streamable HTTP and SSE. test/sdk.sh runs it: node sdk.mjs SDK PROGRAM FIXTURES LOG
// where SDK is the folder of the package, FIXTURES is test/conformance, built.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [sdk, program, fixtures, log] = process.argv.slice(2);
const load = (path) => import(join(sdk, "dist/esm", path));
const { Client } = await load("client/index.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const { SSEClientTransport } = await load("client/sse.js");
const types = await load("types.js");

const dir = mkdtempSync(join(tmpdir(), "sdk"));
process.on("exit", () => rmSync(dir, { recursive: true, force: true }));
const env = { ...process.env, XDG_STATE_HOME: dir };
const token = "tm_ATESTTOKENATESTTOKEN";
writeFileSync(join(dir, "token"), token, { mode: 0o600 });

// listens starts a server and gives its addresses.
function listens(argv) {
	const child = spawn(argv[0], argv.slice(1), { env, stdio: ["ignore", "ignore", "pipe"] });
	process.on("exit", () => child.kill());
	return new Promise((resolve, reject) => {
		let said = "";
		child.stderr.on("data", (b) => {
			said += b;
			const http = said.match(/http:\S+\/mcp/)?.[0], sse = said.match(/http:\S+\/sse/)?.[0];
			if (http && sse) resolve({ http, sse });
		});
		child.on("exit", () => reject(new Error(`${argv.join(" ")}: ${said}`)));
	});
}

// connect gives a client; ask answers what the server asks of its user.
async function connect(way, server, argv, ask) {
	const client = new Client({ name: "sdk-test", version: "1" }, { capabilities: ask ? { elicitation: {} } : {} });
	if (ask) client.setRequestHandler(types.ElicitRequestSchema, ask);
	const requestInit = { headers: { Authorization: `Bearer ${token}` } };
	const transport = {
		stdio: () => new StdioClientTransport({ command: argv[0], args: argv.slice(1), env, stderr: "ignore" }),
		http: () => new StreamableHTTPClientTransport(new URL(server.http), { requestInit }),
		sse: () => new SSEClientTransport(new URL(server.sse), { requestInit }),
	}[way]();
	client.logged = [];
	client.setNotificationHandler(types.LoggingMessageNotificationSchema, (n) => client.logged.push(n.params));
	await client.connect(transport);
	return client;
}

const within = (ms, promise, what) =>
	Promise.race([promise, new Promise((_, no) => setTimeout(() => no(new Error(`${what}: nothing after ${ms} ms`)), ms).unref())]);

const call = (client, name, args, options) => client.callTool({ name, arguments: args }, undefined, options);

// everything: tools with their output schemas, which the SDK checks, prompts,
// resources, completion.
async function everything(client) {
	const { tools } = await client.listTools();
	assert.ok(tools.length >= 9);
	for (const t of tools) assert.ok(t.outputSchema && t.annotations.title, t.name);
	for (const name of ["fetch_target", "tail_log", "extract_metrics", "classify_failure", "plan_recovery", "check_failed_run"]) {
		const r = await call(client, name, { target: log });
		assert.ok(!r.isError && r.structuredContent, name);
		assert.deepEqual(JSON.parse(r.content[0].text), r.structuredContent);
	}
	const bad = await call(client, "tail_log", { taget: log });
	assert.ok(bad.isError && /did you mean/.test(bad.content[0].text));
	const { prompts } = await client.listPrompts();
	assert.ok((await client.getPrompt({ name: prompts[0].name, arguments: { target: log } })).messages.length > 0);
	const { resources } = await client.listResources();
	assert.ok((await client.readResource({ uri: resources[0].uri })).contents[0].text.length > 0);
	const { completion } = await client.complete({ ref: { type: "ref/prompt", name: "check-failed-run" }, argument: { name: "framework", value: "py" } });
	assert.deepEqual(completion.values, ["pytorch"]);
	await assert.rejects(client.readResource({ uri: "run://nothing" }), /not found/i);
}

// watching: progress comes while a call waits, news end the wait, and a call that
// is cancelled ends and leaves the others alone.
async function watching(client, way) {
	const run = join(dir, `${way}.log`);
	const steps = (from, n, loss) => Array.from({ length: n }, (_, i) => `step ${from + i}/1000 loss=${loss} lr=1e-4\n`).join("");
	writeFileSync(run, steps(1, 50, "2.5"));
	const first = (await call(client, "monitor_run", { target: run, interval: 1, no_backoff: true })).structuredContent;
	assert.equal(first.state, "RUNNING");
	let progress = 0;
	const on = { monitor_id: first.monitor_id, cursor: first.cursor, wait_seconds: 30 };
	const stop = new AbortController();
	const cancelled = call(client, "monitor_run", { ...on, wait_seconds: 50 }, { signal: stop.signal });
	const news = call(client, "monitor_run", on, { onprogress: () => progress++, resetTimeoutOnProgress: true });
	const feed = setInterval(() => appendFileSync(run, steps(51, 1, "2.5")), 500);
	stop.abort("no longer wanted");
	await assert.rejects(within(2000, cancelled, "a call that was cancelled"));
	while (progress === 0) await Promise.race([news, new Promise((r) => setTimeout(r, 100))]);
	clearInterval(feed);
	appendFileSync(run, steps(60, 5, "nan"));
	const v = (await within(20000, news, "news")).structuredContent;
	assert.equal(v.events[0].anomaly.type, "nan-inf", JSON.stringify(v));
	const end = (await call(client, "monitor_run", { ...on, stop: true })).structuredContent;
	assert.ok(end.artifact);
	return progress;
}

// dialog: what the server asks of the user, where the transport can carry it.
async function dialog(way, server) {
	for (const answer of [{ action: "accept", content: { username: "ada", email: "a@example.com" } }, { action: "decline" }, { action: "cancel" }]) {
		let asked = 0;
		const client = await connect(way, server, [fixtures, "stdio"], async (r) => {
			asked++;
			assert.equal(r.params.message, "Who?");
			return answer;
		});
		const r = await call(client, "test_elicitation", { message: "Who?" });
		if (way === "sse") {
			assert.ok(r.isError && asked === 0 && /not support elicitation/.test(r.content[0].text));
		} else {
			assert.ok(asked === 1 && r.content[0].text.includes(answer.action), r.content[0].text);
			assert.equal(r.content[0].text.includes("ada"), answer.action === "accept");
		}
		await client.close();
	}
}

const server = await listens([program, "serve", "--http", "127.0.0.1:0", "--sse", "127.0.0.1:0", "--token-file", join(dir, "token")]);
const fixture = await listens([fixtures]);
await Promise.all(["stdio", "http", "sse"].map(async (way) => {
	const client = await connect(way, server, [program, "serve"]);
	await client.setLoggingLevel("info");
	await everything(client);
	assert.ok(client.logged.some((m) => m.level === "info" && m.data.tool === "tail_log"));
	assert.ok(client.logged.some((m) => m.level === "warning" && m.data.tool === "tail_log"));
	console.log(`ok   sdk, ${way}: tools, prompts, resources, completion, logs`);
	const progress = await watching(client, way);
	console.log(`ok   sdk, ${way}: progress (${progress}), news, cancelling`);
	await client.close();
	await dialog(way, fixture);
	console.log(`ok   sdk, ${way}: ${way === "sse" ? "that transport cannot ask the user, and says so" : "asking the user: accept, decline, cancel"}`);
}));
await assert.rejects(new Client({ name: "t", version: "1" }).connect(new StreamableHTTPClientTransport(new URL(server.http))), /401|token/);
console.log("ok   sdk: without the token a client is refused");
process.exit(0);
