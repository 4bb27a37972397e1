// The web page of the official Inspector in a real browser: it connects to the
// server, lists its tools, and calls check_failed_run. test/inspector.sh runs it:
// node inspector-web.mjs CACHE BROWSER URL LOG [SCREENSHOT]
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

const [cache, browser, url, log, screenshot] = process.argv.slice(2);
const puppeteer = createRequire(join(cache, "package.json"))("puppeteer-core").default;

// inspector starts the page's own server and gives its address with the key.
function inspector() {
	const env = { ...process.env, MCP_AUTO_OPEN_ENABLED: "false", CLIENT_PORT: "6399", MCP_INSPECTOR_SECRET_STORE: "memory" };
	delete env.MCP_CATALOG_PATH;
	const child = spawn(process.execPath, [join(cache, "node_modules/.bin/mcp-inspector"), "--web", "--transport", "http", "--server-url", url], { env });
	process.on("exit", () => child.kill());
	return new Promise((resolve, reject) => {
		let said = "";
		const hear = (b) => {
			said += b;
			const at = said.match(/http:\S+MCP_INSPECTOR_API_TOKEN=\w+/)?.[0];
			if (at) resolve(at);
		};
		child.stdout.on("data", hear);
		child.stderr.on("data", hear);
		child.on("exit", () => reject(new Error(`the inspector ended: ${said}`)));
	});
}

const at = await inspector();
const chromium = await puppeteer.launch({ executablePath: browser, args: ["--no-sandbox", "--disable-gpu"] });
process.on("exit", () => chromium.process()?.kill());
const page = await chromium.newPage();
await page.setViewport({ width: 1500, height: 1200 });
const shows = (text) => page.waitForFunction((t) => document.body.innerText.includes(t), { timeout: 60000 }, text);
const press = (text) => page.evaluate((t) => [...document.querySelectorAll("button, label")].findLast((e) => e.innerText.trim() === t).click(), text);

await page.goto(at, { waitUntil: "domcontentloaded" });
await shows("Disconnected");
await page.click("[role=switch]");
await shows("Connected (");
await press("Tools");
for (const tool of ["await_approval", "check_failed_run", "classify_failure", "extract_metrics", "fetch_target", "monitor_run", "plan_recovery", "run_action", "tail_log"]) {
	await shows(tool);
}
await press("check_failed_run");
await shows("Execute Tool");
const field = await page.evaluate(() => [...document.querySelectorAll("label")].find((l) => l.innerText.trim().startsWith("target")).htmlFor);
await page.type(`[id="${field}"]`, log);
await press("Execute Tool");
await shows("primary_cause");
await shows("CUDA out of memory");
if (screenshot) await page.screenshot({ path: screenshot });
const text = await page.evaluate(() => document.body.innerText);
assert.ok(!/does not match|validation|invalid/i.test(text), text);
console.log("ok   inspector, web page: connects, lists the tools, calls check_failed_run");
process.exit(0);
