// Measures what spans cost a small call, in CPU time of Squall: off, on and unsampled, sampled.
// Needs a build: node bench/spans.mjs [rounds] [another dist/cli/main.js as "before"]
import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import {
  endChildrenWithThisProcess,
  freePort,
  startChild,
  waitUntilAccepting,
} from './lib/children.mjs'
import { cpuMeter, cpuMicros, memoryMiB } from './lib/proc.mjs'
import { median, medianDifference } from './lib/stats.mjs'

const ROUNDS = Number(process.argv[2] ?? 9)
const BEFORE = process.argv[3]
const MAIN = new URL('../dist/cli/main.js', import.meta.url).pathname
const CALLS = 6_000
const STARTS = 5
const CONNECTIONS = 8
const SAMPLED = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const UNSAMPLED = SAMPLED.replace(/01$/, '00')

const BODY =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{}}}'

endChildrenWithThisProcess()
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"fine"}]}}'
const upstream = await server((_, response) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(RESULT),
)
let exported = 0
const collector = await server((_, response) => {
  exported++
  response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
})
const exporting = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector}` }
const peers = []
if (BEFORE !== undefined) peers.push(await peer('before', BEFORE, {}, SAMPLED))
peers.push(await peer('off', MAIN, {}, SAMPLED))
peers.push(await peer('on, unsampled', MAIN, exporting, UNSAMPLED))
peers.push(await peer('on, sampled', MAIN, exporting, SAMPLED))
// Spans that wait cost what all cost before the exporter.
const idle = {
  ...exporting,
  OTEL_BSP_SCHEDULE_DELAY: '600000',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '99999',
}
const waiting = { ...idle, OTEL_BSP_MAX_QUEUE_SIZE: '999999' }
peers.push(await peer('sampled, not exported', MAIN, waiting, SAMPLED))

for (const each of peers) await load(each, CALLS)
for (let round = 0; round < ROUNDS; round++) {
  for (const each of peers) {
    const used = cpuMeter(each.pid)
    await load(each, CALLS)
    each.micros.push(used() / CALLS)
  }
}
const [first] = peers
const rows = peers.map(({ name, micros, rest }) =>
  [
    name.padEnd(24),
    `${median(micros).toFixed(1)} µs`.padStart(10),
    `${medianDifference(micros, first.micros).toFixed(1)} µs`.padStart(10),
    `${rest.memory.toFixed(1)} MiB`.padStart(11),
    `${rest.start.toFixed(0)} ms`.padStart(8),
  ].join(''),
)
process.stdout.write(
  `${'CPU of a call'.padEnd(24)}${'median'.padStart(10)}${'more'.padStart(10)}${'at rest'.padStart(11)}${'start'.padStart(8)}\n${rows.join('\n')}\n${exported} exports\n`,
)
process.exit()

/** Starts Squall, and reads the CPU time of its starts and its memory at rest. */
async function peer(name, main, env, traceparent) {
  const port = await freePort()
  const args = ['run', '--listen', `127.0.0.1:${port}`, '--admin', 'off']
  const target = ['--upstream', `http://127.0.0.1:${upstream}`]
  const command = { file: process.execPath, args: [main, ...args, ...target], env }
  const starts = []
  for (let start = 1; ; start++) {
    const child = await startChild(name, command)
    await waitUntilAccepting(child, port)
    starts.push(cpuMicros(child.pid) / 1000)
    if (start < STARTS) {
      await child.stop()
      continue
    }
    await new Promise((done) => setTimeout(done, 2_000))
    const rest = { memory: memoryMiB(child.pid).now, start: median(starts) }
    return { name, pid: child.pid, port, traceparent, micros: [], rest }
  }
}

/** Makes calls over a few connections, one after the other on each. */
async function load({ port, traceparent }, calls) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  let left = calls
  const worker = async () => {
    while (left-- > 0) await call(agent, port, traceparent)
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker))
  agent.destroy()
}

function call(agent, port, traceparent) {
  return new Promise((done, fail) => {
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'content-length': BODY.length,
      traceparent,
    }
    const options = { agent, port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers }
    request(options, (response) => response.resume().on('end', done))
      .on('error', fail)
      .end(BODY)
  })
}

async function server(listener) {
  const running = createServer((incoming, response) => {
    incoming.resume().on('end', () => listener(incoming, response))
  }).listen(0, '127.0.0.1')
  await once(running, 'listening')
  return running.address().port
}
