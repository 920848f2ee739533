import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import { defaultMemoryBudget, MemoryBudget } from '../../src/listener/memory-budget.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import { StdioPort } from '../../src/listener/stdio/stdio-port.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { rule } from '../rules/facts.ts'
import { ruleStage } from '../support/rules.ts'
import { SETTINGS } from '../engines/limits.ts'
import { oneFault } from './one-fault.ts'
import { type ReachKind, type Variant, variantsOf } from './reach-kind.ts'

/** Faults that affect other messages of the session. */
const ALONE = /^process: \{ exit|^stream: \{ reorder/

/** On a machine that is busy, a session takes its time. */
const PATIENCE = { timeout: 30_000, interval: 10 }

const now = (): number => performance.now()
const LOGGER = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: (fields: object) => console.error(fields),
}

/** The lines of one message and of what belongs to it. */
interface Lines {
  /** Lines that the server writes when it starts. */
  readonly first: readonly string[]
  /** Lines of the client. */
  readonly posts: readonly string[]
  /** Lines of the server for each line of the client that contains a text. */
  readonly replies: readonly (readonly [text: string, lines: readonly string[]])[]
}

/** Returns the lines of a kind, whose ids, tokens and tasks no other kind of the session has. */
function linesOf(kind: ReachKind, how: Variant, index: number, round: string): Lines {
  const suffix = `${round}${index}`
  const { posts, says, early, reply } = kind.play(how)
  const own = (message: unknown): string =>
    JSON.stringify(message)
      .replaceAll(/"id":(?:1|"s1")/g, `"id":"${suffix}"`)
      .replaceAll('"progressToken":"t"', `"progressToken":"${suffix}"`)
      .replaceAll('"taskId":"T"', `"taskId":"T${index}"`)
  const lines = says.map(own)
  const isFirst = early === true || posts.length === 0
  const sent = posts.map(own)
  const replies = sent.flatMap((line) => {
    const { id, method } = JSON.parse(line) as { id: unknown; method?: string }
    if (id === undefined || method === undefined) return []
    const response = reply({ id, method })
    const responses = response === undefined ? [] : [own(response)]
    return [[`"id":"${suffix}"`, isFirst ? responses : [...lines, ...responses]] as const]
  })
  return { first: isFirst ? lines : [], posts: sent, replies }
}

/** Returns a server as a shell script. A server that nobody writes to ends by itself. */
function serverOf(all: readonly Lines[]): string {
  const print = (lines: readonly string[]): string =>
    lines.length === 0 ? ':' : `printf '%s\\n' ${lines.map((line) => `'${line}'`).join(' ')}`
  const cases = all.flatMap(({ replies }) =>
    replies.map(([text, lines]) => `*'${text}'*) ${print(lines)};;`),
  )
  const first = print(all.flatMap((lines) => lines.first))
  if (all.every(({ posts }) => posts.length === 0)) return first
  return `${first}\nwhile IFS= read -r line; do case "$line" in ${cases.join('\n')} *) ;; esac; done`
}

/** Plays kinds in one session; returns for each: `acts`, or the reason for which not. */
async function playSession(
  shape: string,
  kinds: readonly ReachKind[],
  how: Variant,
): Promise<readonly string[]> {
  const { faults } = oneFault(shape)
  const nameOf = (index: number): string => `s${index}`
  const stage = ruleStage(
    kinds.map(({ match }, index) => ({ ...rule({ match, name: nameOf(index) }), faults })),
  )
  // The first response is kept, to be replayed.
  const rounds = shape.startsWith('replay') && how === 'all' ? ['a', 'b'] : ['a']
  const all = rounds.map((round) => kinds.map((kind, index) => linesOf(kind, how, index, round)))
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  let text = ''
  output.on('data', (bytes: Buffer) => (text += bytes.toString()))
  errors.on('data', (bytes: Buffer) => console.error(bytes.toString()))
  const server = { command: 'sh', args: ['-c', serverOf(all.flat())] }
  const port = new StdioPort(
    { ...SETTINGS, server, maxBody: 4 * 1024 * 1024 },
    {
      telemetry: createMetrics({ version: '0.0.0-test' }),
      logger: LOGGER,
      rareLog: new RareLog(LOGGER, now),
      faults: stage,
      memory: new MemoryBudget(defaultMemoryBudget()),
      watch: undefined,
      agents: undefined,
    },
    { input, output, errors },
  )
  await port.start()
  const carried = port.carry()
  try {
    for (const [index, played] of all.entries()) {
      const asked = played.flatMap(({ first, posts }) => (posts.length === 0 ? [] : first))
      await expect.poll(() => asked.filter((line) => !text.includes(line)), PATIENCE).toEqual([])
      for (const { posts } of played) for (const line of posts) input.write(`${line}\n`)
      await expect.poll(() => openIn(stage, kinds, index + 1), PATIENCE).toEqual([])
    }
  } finally {
    input.end()
    port.close()
    await carried
  }
  expect(stage.broken).toEqual([])
  return kinds.map((_, index) => {
    const { reason } = stage.notApplicable.find((each) => each.rule === nameOf(index)) ?? {}
    const acted = stage.injected.some((each) => each.rule === nameOf(index))
    return acted ? 'acts' : (reason ?? 'nothing_to_act_on')
  })
}

/** Returns the messages whose rules have fewer results than plays. */
function openIn(
  stage: ReturnType<typeof ruleStage>,
  kinds: readonly ReachKind[],
  plays: number,
): readonly string[] {
  return kinds.flatMap(({ message }, index) => {
    const { injected, not_applicable, not_reached, within_limit } = stage.counts(index)
    const ended = injected + not_applicable + not_reached + within_limit
    const acted = stage.injected.some((each) => each.rule === `s${index}`)
    return ended >= plays || acted ? [] : [message]
  })
}

/**
 * Plays kinds under a fault on stdio; returns what came of each variant: `acts`, or the reason for
 * which not. Faults that end the server or change the order of lines have a session for each message.
 */
export async function happensOnStdio(
  shape: string,
  kinds: readonly ReachKind[],
): Promise<ReadonlyMap<ReachKind, readonly string[]>> {
  const came = new Map<ReachKind, string[]>(kinds.map((kind) => [kind, []]))
  for (const how of ['all', 'nothing', 'error'] as const) {
    const those = kinds.filter((kind) => variantsOf(kind).includes(how))
    const sessions = ALONE.test(shape) ? those.map((kind) => [kind]) : [those]
    for (const session of sessions) {
      if (session.length === 0) continue
      const seen = await playSession(shape, session, how)
      for (const [index, kind] of session.entries()) came.get(kind)!.push(seen[index]!)
    }
  }
  return came
}
