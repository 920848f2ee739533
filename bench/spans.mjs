// Measures what spans cost a small call, in CPU time of Squall: off, on and unsampled, sampled.
// Needs a build: node bench/spans.mjs [rounds] [another dist/cli/main.js as "before"]
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { measureRounds, startPeer, startServer, tableOf } from './lib/small-calls.mjs'

const ROUNDS = Number(process.argv[2] ?? 9)
const BEFORE = process.argv[3]
const MAIN = new URL('../dist/cli/main.js', import.meta.url).pathname
const SAMPLED = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
const UNSAMPLED = SAMPLED.replace(/01$/, '00')

const body =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{}}}'
const RESULT = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"fine"}]}}'

endChildrenWithThisProcess()
const upstream = await startServer((_, response) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(RESULT),
)
let exported = 0
const collector = await startServer((_, response) => {
  exported++
  response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()
})
const exporting = { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector}` }
// Spans that wait cost what all cost before the exporter.
const waiting = {
  ...exporting,
  OTEL_BSP_SCHEDULE_DELAY: '600000',
  OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '99999',
  OTEL_BSP_MAX_QUEUE_SIZE: '999999',
}
const peer = (name, main, env, traceparent) => {
  const flags = ['--upstream', `http://127.0.0.1:${upstream}`]
  return startPeer(name, { main, flags, env, headers: { traceparent }, body })
}
const peers = [
  ...(BEFORE === undefined ? [] : [await peer('before', BEFORE, {}, SAMPLED)]),
  await peer('off', MAIN, {}, SAMPLED),
  await peer('on, unsampled', MAIN, exporting, UNSAMPLED),
  await peer('on, sampled', MAIN, exporting, SAMPLED),
  await peer('sampled, not exported', MAIN, waiting, SAMPLED),
]
await measureRounds(peers, ROUNDS)
process.stdout.write(`${tableOf(peers)}${exported} exports\n`)
process.exit()
