// Measures what looking for false values costs a small call, in CPU time of Squall: without a rule
// that falsifies, with one, and while a false value is followed in the conversation of the calls.
// Needs a build: node bench/falsify.mjs [rounds] [another dist/cli/main.js as "before"]
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endChildrenWithThisProcess } from './lib/children.mjs'
import { call, measureRounds, startPeer, startServer, tableOf } from './lib/small-calls.mjs'

const ROUNDS = Number(process.argv[2] ?? 9)
const BEFORE = process.argv[3]
const MAIN = new URL('../dist/cli/main.js', import.meta.url).pathname
const rulesWith = (fault) =>
  `rules: [{ name: wrong-price, match: { tool: get_quote }, faults: [{ ${fault} }] }]`
const OTHER = rulesWith('truncate: { content: { items: 3 } }')
const FALSIFY = rulesWith('falsify: { number: { by: 5% } }')

const callOf = (name, args) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: args },
  })
const resultOf = (text) =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text }] } })
const SEARCH = callOf('search', { query: 'flights to Oslo on 12 May', limit: 10 })
const QUOTE = callOf('get_quote', { id: 'Q-1' })
const FOUND = resultOf(
  '3 flights: SK 4035 at 08:10 for 129.00 EUR, DY 1755 at 11:45, SK 819 at 17:20',
)
const PRICE = resultOf('{"price":3987.84}')

endChildrenWithThisProcess()
const upstream = await startServer((body, response) =>
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(body === QUOTE ? PRICE : FOUND),
)
const peer = (name, main, text) => {
  const rules = join(mkdtempSync(join(tmpdir(), 'squall-bench-')), 'rules.yaml')
  writeFileSync(rules, text)
  const flags = ['--upstream', `http://127.0.0.1:${upstream}`, '--rules', rules]
  return startPeer(name, { main, flags, headers: { 'mcp-session-id': 'one' }, body: SEARCH })
}
const peers = [
  ...(BEFORE === undefined ? [] : [await peer('before', BEFORE, FALSIFY)]),
  await peer('no such rule', MAIN, OTHER),
  await peer('no value followed', MAIN, FALSIFY),
  await peer('a value followed', MAIN, FALSIFY),
]
const first = await call(peers.at(-1), QUOTE)
if (first === PRICE) throw new Error('the result was not falsified')
await measureRounds(peers, ROUNDS)
process.stdout.write(tableOf(peers))
process.exit()
