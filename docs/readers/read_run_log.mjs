// Reads a run log of Servemark, format 1 (docs/formats.md). Needs Node alone.
//
// usage: node read_run_log.mjs RUNLOG
//
// Prints a JSON object for each request, in the order of the log, and one for the whole log.
// Stamps of a run are below 2^53 ns (104 days). `clock_started_unix_ns` of the header is not:
// JSON.parse rounds it to a quarter of a microsecond.

import { readFileSync } from "node:fs";

const CHECKSUM = /,"crc32":"([^"]{8})"}$/;

const TABLE = Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte >>> 0;
});

function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 0xff] ^ (sum >>> 8);
  return ((sum ^ 0xffffffff) >>> 0).toString(16).padStart(8, "0");
}

// Returns the object of a line, or null if the line is damaged.
function lineOf(raw) {
  const text = raw.toString().trim();
  const checksum = CHECKSUM.exec(text);
  if (checksum && crc32(Buffer.from(text.slice(0, checksum.index))) !== checksum[1]) return null;
  try {
    const line = JSON.parse(text);
    return line !== null && typeof line === "object" && !Array.isArray(line) ? line : null;
  } catch {
    return null;
  }
}

// Returns the header, the start (of a rank), the requests, the lines of metrics, the footer (null if
// the run was killed), the number of damaged lines, and whether the last line is incomplete.
function read(path) {
  const bytes = readFileSync(path);
  const log = { header: null, start: null, requests: [], telemetry: [], footer: null, damaged: 0, isTorn: false };
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(10, start);
    const end = feed < 0 ? bytes.length : feed;
    const line = lineOf(bytes.subarray(start, end));
    if (start === 0 && !line?.header) throw new Error(`${path} does not begin with a run log's header`);
    if (line?.header) log.header = line.header;
    else if (line?.request) log.requests.push(line.request);
    else if (line?.telemetry) log.telemetry.push(line.telemetry);
    else if (line?.footer) log.footer = line.footer;
    else if (line?.start) log.start = line.start;
    else if (feed < 0) log.isTorn = true;
    else log.damaged += 1;
    start = end + 1;
  }
  if (!(log.header?.format <= 1)) throw new Error(`${path} has a newer format`);
  return log;
}

// Returns the pieces of output: arrival in ns, kind, tokens (null if not counted), lag in us and text.
function pieces({ deltas = {}, text = "" }) {
  const { at = [], bytes = [], kinds = [], tokens = [], lag_us = [] } = deltas;
  const whole = Buffer.from(text);
  let end = 0;
  return at.map((stamp, row) => {
    const start = end;
    end += bytes[row];
    const piece = whole.subarray(start, end).toString();
    return [stamp, kinds[row] ?? "content", tokens[row] ?? null, lag_us[row] ?? 0, piece];
  });
}

// Returns when the time of the service began, in ns.
const started = ({ sent, granted, scheduled }) => sent ?? granted ?? scheduled;

const { header, requests, telemetry, footer, damaged, isTorn } = read(process.argv[2]);
for (const request of requests) {
  const { index, turn = 0, phase = "measure", ended, outcome } = request;
  const [is_success, from] = ["Ok" in outcome, started(request)];
  console.log(JSON.stringify({ index, turn, phase, is_success, started: from, ended, pieces: pieces(request) }));
}
const is_complete = footer !== null && !footer.interrupted;
const facts = { requests: header.facts.requests ?? 0, telemetry: telemetry.length };
console.log(JSON.stringify({ ...facts, is_complete, damaged, is_torn: isTorn }));
