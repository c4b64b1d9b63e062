// Calls a running service with a client made from the proto by grpc-js alone, and prints what came as JSON.
//
//   node client.js ADDRESS PROTO_DIR GOOGLE_PROTO_DIR < request.json
//
// The request on standard input is {path, text, snippet}. GOOGLE_PROTO_DIR holds google/rpc/*.proto.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const grpc = require("@grpc/grpc-js");
const protoLoader = require("@grpc/proto-loader");
const protobuf = require("protobufjs");

const [address, protoDir, googleProtoDir] = process.argv.slice(2);
const input = JSON.parse(fs.readFileSync(0, "utf8"));

const definition = protoLoader.loadSync("redraft/v1/apply_edit.proto", {
  includeDirs: [protoDir],
  defaults: true,
  enums: String,
  longs: Number,
  oneofs: true,
});
const { redraft } = grpc.loadPackageDefinition(definition);
const client = new redraft.v1.ApplyEditService(address, grpc.credentials.createInsecure());
const deadline = () => ({ deadline: Date.now() + 120_000 });

const googleRoot = new protobuf.Root();
googleRoot.resolvePath = (origin, target) => {
  const file = path.join(googleProtoDir, target);
  return fs.existsSync(file) ? file : target; // google/protobuf/*.proto comes with protobufjs.
};
googleRoot.loadSync(["google/rpc/status.proto", "google/rpc/error_details.proto"]);

function decodeStatus(error) {
  const [bytes] = error.metadata.get("grpc-status-details-bin");
  const status = googleRoot.lookupType("google.rpc.Status").decode(bytes);
  const details = status.details.map(({ type_url, value }) => {
    const name = type_url.split("/").pop();
    const type = googleRoot.lookupType(name);
    return { type: name, ...type.toObject(type.decode(value), { longs: Number }) };
  });
  return { code: status.code, message: status.message, details };
}

function unary(request) {
  return new Promise((resolve, reject) => {
    client.applyEdit(request, deadline(), (error, response) => (error ? reject(error) : resolve(response.result)));
  });
}

function stream(request) {
  return new Promise((resolve, reject) => {
    const events = [];
    const call = client.streamApplyEdit(request, deadline());
    call.on("data", (response) => events.push(response));
    call.on("error", reject);
    // "end" comes for a failed call as well, and before "error": only the status tells them apart.
    call.on("status", ({ code }) => {
      if (code !== grpc.status.OK) return;
      const chunks = events.filter((event) => event.event === "chunk").map((event) => event.chunk.data);
      resolve({
        order: events.map((event) => event.event),
        streamedText: Buffer.concat(chunks).toString("utf8"),
        result: events.at(-1).result,
      });
    });
  });
}

function failure(promise) {
  return promise.then(
    () => ({ failed: false }),
    (error) => ({ failed: true, code: error.code, message: error.details, status: decodeStatus(error) }),
  );
}

async function main() {
  const file = { path: input.path, text: input.text };
  const good = { file, edit: { updateSnippet: input.snippet } };
  const bad = { file: { path: input.path, data: Buffer.from([0x61, 0xff]) }, edit: { updateSnippet: " " } };
  const stale = { file: { ...file, sha256: Buffer.alloc(32) }, edit: good.edit };
  const answers = {
    unary: await unary(good),
    stream: await stream(good),
    badUnary: await failure(unary(bad)),
    badStream: await failure(stream(bad)),
    stale: await failure(unary(stale)),
  };
  process.stdout.write(JSON.stringify(answers));
  client.close();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
