import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Call } from '../../src/mcp/call.ts'
import { explain } from '../../src/rules/explain/explain.ts'
import { compileRules } from '../../src/rules/match/compile.ts'
import { rule } from '../rules/facts.ts'
import { rounds } from '../support/rounds.ts'
import { startSidecar, type RunningSidecar } from '../support/sidecar.ts'
import { CALL_FAULTS, exampleOf, oneFault } from './one-fault.ts'
import { ReachApp } from './reach-app.ts'
import { type ReachKind, type Variant, variantsOf } from './reach-kind.ts'
import { REACH_KINDS } from './reach-kinds.ts'
import { reachPage, type ReachCell } from './reach-page.ts'
import { happensOnStdio } from './reach-stdio.ts'

const file = fileURLToPath(new URL('../../docs/reference/reach.md', import.meta.url))

/** The shapes of faults that act in different ways. */
const OWN_SHAPES = [
  'delay: { fixed: 1ms }',
  'delay: { fixed: 1ms, at: response }',
  'delay: { fixed: 1ms, at: event }',
  'abort: { status: 503 }',
  'abort: { status: 503, at: response }',
  'abort: { rpcError: {} }',
  'abort: { rpcError: {}, at: response }',
  'abort: { toolError: lost }',
  'abort: { toolError: lost, at: response }',
  'rateLimit: {}',
  'rateLimit: { as: rpc }',
  'hang: {}',
  'hang: { at: headers, for: 1ms }',
  'hang: { at: event, for: 1ms }',
  'reset: {}',
  'reset: { at: response }',
  'reset: { at: stream }',
  'truncate: {}',
  'truncate: { content: { chars: 3 } }',
  'rewrite: {}',
  'rewrite: { text: { append: x } }',
  'rewrite: { in: message, remove: /params/_meta/about }',
  'rewrite: { in: message, remove: /result/_meta }',
  'rewrite: { in: message, remove: /error/data }',
  'rewrite: { in: arguments, rename: { /city: town } }',
  'rewrite: { in: inputSchema, remove: /properties }',
  'poison: {}',
  'inflate: { to: 1KiB }',
  'corrupt: {}',
  'throttle: { rate: 1MiB }',
  'throttle: { rate: 1MiB, direction: request }',
  'catalog: { hide: "*" }',
  'catalog: { notify: spurious }',
  'catalog: { notify: suppress }',
  'session: {}',
  'session: { rejectInitialize: {} }',
  'unauthorized: {}',
  'stream: { drop: all }',
  'stream: { drop: notifications }',
  'stream: { duplicate: all }',
  'stream: { reorder: all }',
  'stream: { split: all, pause: 1ms }',
  'stream: { close: all }',
  'stream: { wrongId: other }',
  'replay: { by: all }',
  'amplify: {}',
  'process: { exit: 1 }',
  'process: { exit: 1, at: response }',
  'process: { stop: 1ms }',
  'process: { crlf: true }',
]
/** A fault without a shape of its own acts as its example shows. */
const SHAPES = [
  ...OWN_SHAPES,
  ...CALL_FAULTS.filter(
    ({ name }) => !OWN_SHAPES.some((shape) => shape.startsWith(`${name}:`)),
  ).map(exampleOf),
]

/** The rule of each shape: thousands of cells ask for the same ones. */
const RULES = new Map(SHAPES.map((shape) => [shape, oneFault(shape)]))

const app = new ReachApp()
let squall: RunningSidecar
beforeAll(async () => {
  squall = await startSidecar({ upstream: app.listener, rules: [] })
})
afterAll(async () => {
  app.close()
  await squall.close()
})

const CALL: Call = {
  id: 1,
  method: '',
  name: undefined,
  params: undefined,
  transport: 'streamable-http',
  protocolVersion: undefined,
  progressToken: undefined,
}

/** Returns what `explain` says of a fault and a message. */
function foretold(shape: string, kind: ReachKind): ReachCell {
  const { session } = kind.play('all')
  const facts = {
    headers: [],
    session,
    client: undefined,
    http: { method: 'POST', path: '/mcp' },
    call: kind.call && { ...CALL, ...kind.call },
  }
  const { faults } = RULES.get(shape)!
  const set = compileRules({ rules: [{ ...rule({ match: kind.match }), faults }] })
  const outlook = explain(set, facts, 0, undefined, kind.batched).rules[0]!
  expect(outlook.failing).toEqual([])
  const { acts, reason, needs } = outlook.faults[0]!.responses.find(({ on }) => on === kind.on)!
  return { acts, reason, needs }
}

let count = 0

/** On a machine that is busy, many plays at once take their time. */
const PATIENCE = { timeout: 30_000, interval: 20 }

/**
 * Plays all kinds under a fault; returns what came of each variant: `acts`, or the reason for which
 * not.
 */
async function happens(
  shape: string,
  kinds: readonly ReachKind[],
): Promise<ReadonlyMap<ReachKind, readonly string[]>> {
  const stage = squall.faults!
  for (const list of [stage.injected, stage.notApplicable, stage.broken]) list.length = 0
  const plays = kinds.flatMap((kind) =>
    variantsOf(kind).map((how) => ({ kind, how, name: `c${count++}` })),
  )
  const { faults } = oneFault(shape)
  stage.take(
    plays.map(({ kind, name }) => ({
      ...rule({ match: { ...kind.match, headers: { 'x-cell': name } }, name }),
      faults,
    })),
  )
  // Many rules become active a little later.
  await expect.poll(() => stage.rules.ruleSet.rules[0]?.name, PATIENCE).toBe(plays[0]!.name)
  const injected = (): ReadonlySet<string> => new Set(stage.injected.map((each) => each.rule))
  const ended = (index: number): number => {
    const { injected: acted, not_applicable, not_reached, within_limit } = stage.counts(index)
    return acted + not_applicable + not_reached + within_limit
  }
  const play = async (times: number, isMeant: (how: Variant) => boolean): Promise<void> => {
    for (const { kind, how, name } of plays) {
      if (isMeant(how)) void app.play(squall.port, name, kind.play(how))
    }
    const open = (): readonly string[] => {
      const acted = injected()
      return plays.flatMap(({ kind, how, name }, index) =>
        !isMeant(how) || ended(index) >= times || acted.has(name)
          ? []
          : [`${nameOf(kind)}, ${how}`],
      )
    }
    await expect.poll(open, PATIENCE).toEqual([])
  }
  await play(1, () => true)
  // The first response is kept, to be replayed.
  if (shape.startsWith('replay')) await play(2, (how) => how === 'all')
  expect(stage.broken).toEqual([])
  app.close()
  const acted = injected()
  const came = new Map<ReachKind, string[]>(kinds.map((kind) => [kind, []]))
  for (const { kind, name } of plays) {
    const { reason } = stage.notApplicable.find((each) => each.rule === name) ?? {}
    came.get(kind)!.push(acted.has(name) ? 'acts' : (reason ?? 'nothing_to_act_on'))
  }
  return came
}

const nameOf = ({ message, transport }: ReachKind): string => `${message} on ${transport}`

const isGenerating = process.env['UPDATE'] !== undefined
/**
 * Each fault meets one in so many kinds of messages of one in three groups, and all of them where
 * there are many rounds.
 */
const ONE_IN = isGenerating ? 1 : rounds(40, 1)
const GROUPS = Object.entries(REACH_KINDS)
let wrongs = 0

describe.each(GROUPS)('%s', (name, kinds) => {
  const group = GROUPS.findIndex(([each]) => each === name)
  const shapes = SHAPES.filter((_, index) => ONE_IN === 1 || (index + group) % 3 === 0)
  test.each(shapes)('%s acts as explain says', async (shape) => {
    const some = kinds.filter(
      ({ match }, index) =>
        match.http !== undefined || (index + SHAPES.indexOf(shape)) % ONE_IN === 0,
    )
    const wrong: string[] = []
    const onStdio = some.filter(({ transport }) => transport === 'stdio')
    const others = some.filter((kind) => !onStdio.includes(kind))
    const all = new Map([
      ...(others.length === 0 ? [] : await happens(shape, others)),
      ...(await happensOnStdio(shape, onStdio)),
    ])
    for (const [kind, seen] of all) {
      const { acts, reason, needs } = foretold(shape, kind)
      // A rule about HTTP does not know the call: a condition may be one of the call.
      const alike = kind.match.http === undefined ? [kind] : some.filter(({ on }) => on === kind.on)
      const ofAlike = alike.flatMap((each) => all.get(each)!)
      const isSo =
        acts === 'depends'
          ? // One message meets the condition, another one does not.
            ofAlike.includes('acts') && ofAlike.some((each) => each !== 'acts')
          : seen.every((each) => each === (acts === 'yes' ? 'acts' : reason))
      if (!isSo)
        wrong.push(`${nameOf(kind)}: ${acts} ${reason ?? needs ?? ''}, but ${seen.join(', ')}`)
    }
    wrongs += wrong.length
    expect(wrong).toEqual([])
  })
})

test('the page says what happens', async () => {
  const options = { ...(await resolveConfig(file)), filepath: file }
  const page = await format(reachPage(SHAPES, foretold), options)
  if (isGenerating && wrongs === 0) await writeFile(file, page)
  const kept = await readFile(file, 'utf8').catch(() => '')
  expect(kept, 'docs/reference/reach.md is stale: run npm run generate').toBe(page)
}, 120_000)
