// A client written from PROTOCOL.md alone: watches a folder, edits, saves, restores, and follows the events.
// Prints one JSON object about what it saw; the test compares it with what must have happened.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Dealer, Subscriber } from "zeromq";

const [runtime, project] = process.argv.slice(2);
const daemon = JSON.parse(readFileSync(join(runtime, "daemon.json"), "utf8"));

const requests = new Dealer({ linger: 0 });
requests.connect(daemon.requests);
const subscriber = new Subscriber({ linger: 0 });
subscriber.subscribe();
subscriber.connect(daemon.events);

let lastId = 0;
async function raw(text) {
  await requests.send(text);
  const [frame] = await requests.receive();
  return JSON.parse(frame.toString());
}

async function call(method, params = {}) {
  const id = ++lastId;
  const answer = await raw(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  if (answer.id !== id) throw new Error(`answer to ${answer.id} instead of ${id}`);
  if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error.data);
  return answer.result;
}

async function failing(method, params) {
  try {
    await call(method, params);
  } catch (error) {
    return error.code;
  }
  return null;
}

// All events since a number, as PROTOCOL.md says: the log first, then what comes; holes are asked for.
async function* follow(since) {
  let seen = since;
  async function* replay() {
    for (;;) {
      const page = await call("events", { since: seen });
      for (const event of page.events) {
        seen = event.seq;
        yield event;
      }
      if (seen >= page.newest) return;
    }
  }
  yield* replay();
  for await (const [topic, frame] of subscriber) {
    const event = JSON.parse(frame.toString());
    if (topic.toString() === "heartbeat" || event.seq > seen + 1) {
      if (event.seq > seen) yield* replay();
    } else if (event.type !== "progress" && event.seq === seen + 1) {
      seen = event.seq;
      yield event;
    }
  }
}

const file = join(project, "app.py");
const before = readFileSync(file, "utf8");
const { protocol, seq } = await call("ping");
const { workspace } = await call("watch", { path: project, auto_checkpoint: false });

writeFileSync(file, "first = 1\n");
const first = await call("save", { workspace, message: "first", request: "one-and-only" });
const again = await call("save", { workspace, message: "first", request: "one-and-only" });
writeFileSync(file, "second = 2\n");
const diff = await call("diff", { workspace, from: String(first.number) });
const plan = await call("restore", { workspace, checkpoint: "1", dry_run: true });
const restored = await call("restore", { workspace, checkpoint: "1", request: "back" });
const afterRestore = readFileSync(file, "utf8");
await call("undo", { workspace, request: "forth" });
const afterUndo = readFileSync(file, "utf8");
const content = await call("read", { workspace, checkpoint: `${first.number}:app.py` });
const list = await call("list", { workspace, limit: 2 });

const events = [];
for await (const event of follow(seq)) {
  events.push(event);
  if (events.filter(({ type }) => type === "checkpoint_restored").length === 2) break;
}

console.log(
  JSON.stringify({
    protocol,
    same: first.number === again.number && first.id === again.id,
    patch: diff.diff_content,
    planned: plan.written,
    written: restored.written,
    wentBack: afterRestore === before,
    cameForth: afterUndo,
    content: Buffer.from(content.content_base64, "base64").toString(),
    listed: list.checkpoints.length,
    hasMore: "next" in list,
    events: events.map(({ type }) => type),
    gapless: events.every((event, index) => event.seq === seq + 1 + index),
    codes: [
      await failing("get", { workspace, checkpoint: "999" }),
      await failing("status", { workspace: "/nowhere" }),
      await failing("list", { workspace, limit: "many" }),
    ],
    unknownMethod: (await raw('{"jsonrpc":"2.0","id":"x","method":"fly"}')).error.code,
    notJson: (await raw("hello")).error.code,
  }),
);
requests.close();
subscriber.close();
