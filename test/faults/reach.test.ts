import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FAULTS } from '../../src/filters/index.ts'
import type { Call } from '../../src/mcp/call.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { POLL } from '../accounting/stage.ts'
import { rule } from '../rules/facts.ts'
import { RawClient } from '../support/raw-client.ts'
import type { RuleStage } from '../support/rules.ts'
import { startSidecar, type RunningSidecar } from '../support/sidecar.ts'
import { exampleOf, oneFault } from './one-fault.ts'
import { PushApp } from './push-app.ts'
import { reachPage, type ReachCells } from './reach-page.ts'
import { REACH_KINDS, reachApp, type ReachKind } from './reach-kinds.ts'

const file = fileURLToPath(new URL('../../docs/reference/reach.md', import.meta.url))

/** The shapes of faults that act in different ways. */
const OWN_SHAPES = [
  'delay: { fixed: 1ms }',
  'delay: { fixed: 1ms, at: response }',
  'abort: { status: 503 }',
  'abort: { rpcError: {} }',
  'abort: { toolError: lost, at: response }',
  'rateLimit: {}',
  'hang: {}',
  'hang: { at: headers, for: 1ms }',
  'reset: {}',
  'reset: { at: response }',
  'truncate: {}',
  'truncate: { content: { chars: 3 } }',
  'rewrite: {}',
  'rewrite: { text: { append: x } }',
  'rewrite: { in: message, add: { /params/x: 1, /result/x: 1 } }',
  'rewrite: { in: arguments, rename: { /city: town } }',
  'poison: {}',
  'inflate: { to: 1KiB }',
  'corrupt: {}',
  'throttle: {}',
  'catalog: { hide: "*" }',
  'session: {}',
  'unauthorized: {}',
  'stream: { drop: all }',
  'stream: { duplicate: all }',
  'stream: { reorder: all }',
  'stream: { close: all }',
  'stream: { wrongId: other }',
  'replay: { by: all }',
  'amplify: {}',
]
/** A fault without a shape of its own acts as its example shows. */
const SHAPES = [
  ...OWN_SHAPES,
  ...FAULTS.filter(({ name }) => !OWN_SHAPES.some((shape) => shape.startsWith(`${name}:`))).map(
    exampleOf,
  ),
]

const cells: ReachCells = new Map()
const clients: RawClient[] = []
let squall: RunningSidecar
let pushed: PushApp
let count = 0

beforeAll(async () => {
  squall = await startSidecar({ upstream: reachApp, rules: [] })
  pushed = await PushApp.open([])
})
afterAll(async () => {
  for (const client of clients) client.close()
  await squall.close()
  await pushed.close()
})

const CALL: Call = {
  id: 1,
  method: 'tools/call',
  name: 'echo',
  params: { name: 'echo', arguments: { city: 'Bern' } },
  transport: 'streamable-http',
  protocolVersion: undefined,
  progressToken: undefined,
}

/** Returns what `explain` says of a fault and a message. */
function foretold(shape: string, kind: ReachKind) {
  const facts = {
    headers: [],
    session: 's',
    client: undefined,
    http: { method: 'POST', path: '/json' },
    call: { ...CALL, ...kind.call },
  }
  const { faults } = oneFault(shape)
  const set = compileRules({ rules: [{ ...rule({ match: kind.match }), faults }] })
  const outlook = explain(set, facts, 0, undefined, kind.batched).rules[0]!
  expect(outlook.failing).toEqual([])
  return outlook.faults[0]!.responses.find(({ on }) => on === kind.on)!
}

/** Sends the messages of a kind under a fault; returns `acts`, or the reason for which it does not. */
async function happens(shape: string, kind: ReachKind): Promise<string> {
  const isPushed = kind.pushes !== undefined
  const stage = isPushed ? pushed.faults : squall.faults!
  for (const list of [stage.injected, stage.notApplicable, stage.broken]) list.length = 0
  stage.take([
    { ...rule({ match: kind.match, name: `r${count++}` }), faults: oneFault(shape).faults },
  ])
  // The first response is kept, to be replayed.
  const before = clients.length
  if (shape.startsWith('replay')) await send(kind, stage)
  if (shape.startsWith('replay') && kind.match.tool !== undefined) {
    await clients.at(isPushed ? before : -1)!.sees('a text')
  }
  await send(kind, stage)
  const ended = (): number => {
    const { injected, not_applicable, not_reached } = stage.counts()
    return injected + not_applicable + not_reached
  }
  await expect.poll(() => stage.injected.length + ended(), POLL).toBeGreaterThan(0)
  expect(stage.broken).toEqual([])
  if (stage.injected.length > 0) return 'acts'
  return stage.notApplicable[0]?.reason ?? 'nothing_to_act_on'
}

/** Sends the requests of a kind, and the events of its stream. */
async function send(kind: ReachKind, stage: RuleStage): Promise<void> {
  const session = `s${count++}`
  const isPushed = kind.pushes !== undefined
  const at = pushed.streams.length
  if (isPushed) clients.push(await pushed.listen(session))
  const posts = kind.sends(session)
  for (const bytes of posts) {
    const client = await RawClient.connect(isPushed ? pushed.stage.squall.port : squall.port)
    clients.push(client)
    await client.send(bytes, bytes.startsWith('GET') ? 'GET' : 'POST')
    // The request of the server must have passed before the client responds to it.
    if (bytes !== posts.at(-1)) await client.response()
  }
  if (isPushed) {
    // The app responds when it has the call, or never gets it.
    const { requests } = pushed.stage.app
    const isPosted = () =>
      posts.length === 0 ||
      stage.injected.length > 0 ||
      requests.some(({ method, target }) => method === 'POST' && target.endsWith(session))
    await expect.poll(isPosted, POLL).toBe(true)
    const { socket } = pushed.streams[at]!
    if (socket.writable) for (const event of kind.pushes()) pushed.say(event, at)
  }
}

const sections = Object.entries(REACH_KINDS) as [keyof typeof REACH_KINDS, readonly ReachKind[]][]

describe.each(sections)('what acts on messages of %s', (section, kinds) => {
  test.each(kinds.flatMap((kind) => SHAPES.map((shape) => ({ kind, shape, title: kind.title }))))(
    '$shape at $title is as explain says',
    async ({ kind, shape }) => {
      const told = foretold(shape, kind)
      const happened = await happens(shape, kind)
      cells.set(`${section} ${shape} ${kind.title}`, happened)
      if (told.acts === 'yes') expect(happened).toBe('acts')
      else if (told.acts === 'no') expect(happened).toBe(told.reason)
      else expect(['acts', 'nothing_to_act_on', 'headers_sent']).toContain(happened)
    },
  )
})

test('the page says what happens', async () => {
  const options = { ...(await resolveConfig(file)), filepath: file }
  const page = await format(reachPage(SHAPES, cells), options)
  if (process.env['UPDATE'] !== undefined) await writeFile(file, page)
  const kept = await readFile(file, 'utf8').catch(() => '')
  expect(kept, 'docs/reference/reach.md is stale: run npm run generate').toBe(page)
})
