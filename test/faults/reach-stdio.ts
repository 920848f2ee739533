import { PassThrough } from 'node:stream'
import { expect } from 'vitest'
import { defaultMemoryBudget, MemoryBudget } from '../../src/listener/memory-budget.ts'
import { RareLog } from '../../src/listener/rare-log.ts'
import { StdioPort } from '../../src/listener/stdio/stdio-port.ts'
import type { CallLine } from '../../src/telemetry/call-line.ts'
import { CallWatch } from '../../src/telemetry/call-watch.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import { rule } from '../rules/facts.ts'
import type { RuleStage } from '../support/wire.ts'
import { ruleStage } from '../support/wire/rules.ts'
import { SETTINGS } from '../engines/limits.ts'
import type { ReachKind, Variant } from './reach-kind.ts'
import { type Cell, endedIn, type Met, metIn } from './reach-stage.ts'

/** Faults that affect other messages of the session. */
const ALONE = /^process: \{.*exit|^stream: \{ reorder/

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

/** Plays cells in one session; returns what came of each. */
async function playSession(cells: readonly Cell[]): Promise<readonly Met[]> {
  const nameOf = (index: number): string => `s${index}`
  const stage = ruleStage(
    cells.map(({ form, kind: { match } }, index) => ({
      ...rule({ match, name: nameOf(index) }),
      faults: [form.use],
    })),
  )
  const rounds = cells.every(({ twice }) => twice) ? ['a', 'b'] : ['a']
  const all = rounds.map((round) =>
    cells.map(({ kind, how }, index) => linesOf(kind, how, index, round)),
  )
  const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()]
  let text = ''
  output.on('data', (bytes: Buffer) => (text += bytes.toString()))
  errors.on('data', (bytes: Buffer) => console.error(bytes.toString()))
  const calls: CallLine[] = []
  const watch = new CallWatch()
  watch.read((line) => void calls.push(line))
  const server = { command: 'sh', args: ['-c', serverOf(all.flat())] }
  const port = new StdioPort(
    { ...SETTINGS, server, maxBody: 4 * 1024 * 1024 },
    {
      telemetry: new Metrics({ version: '0.0.0-test' }),
      logger: LOGGER,
      rareLog: new RareLog(LOGGER, now),
      faults: stage,
      memory: new MemoryBudget(defaultMemoryBudget()),
      watch,
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
      await expect.poll(() => openIn(stage, cells, index + 1), PATIENCE).toEqual([])
    }
  } finally {
    input.end()
    port.close()
    await carried
  }
  expect(stage.broken).toEqual([])
  const own = (index: number) => (line: CallLine) =>
    rounds.some((round) => line.id === `${round}${index}`)
  return cells.map((_, index) => ({
    what: metIn(stage, nameOf(index), index),
    calls: calls.filter(own(index)),
  }))
}

/** Returns the messages whose rules have fewer results than plays. */
function openIn(stage: RuleStage, cells: readonly Cell[], plays: number): readonly string[] {
  return cells.flatMap(({ kind, form }, index) => {
    const acted = stage.injected.some((each) => each.rule === `s${index}`)
    return endedIn(stage, index) >= plays || acted ? [] : [`${form.text} on ${kind.message}`]
  })
}

/**
 * Returns cells that share a session: each has a message of its own, of which the rules know
 * nothing else. Faults that end the server or change the order of lines have a session to
 * themselves.
 */
function sessionsOf(cells: readonly Cell[]): readonly (readonly Cell[])[] {
  const sessions: Cell[][] = []
  const keys = new Map<Cell[], Set<string>>()
  for (const cell of cells) {
    const key = JSON.stringify(cell.kind.match)
    const isFree = (session: Cell[]): boolean =>
      !ALONE.test(session[0]!.form.text) &&
      session[0]!.twice === cell.twice &&
      !keys.get(session)!.has(key)
    const session = ALONE.test(cell.form.text) ? undefined : sessions.find(isFree)
    if (session === undefined) {
      sessions.push([cell])
      keys.set(sessions.at(-1)!, new Set([key]))
    } else {
      session.push(cell)
      keys.get(session)!.add(key)
    }
  }
  return sessions
}

/** Plays cells on stdio; returns what came of each. */
export async function playOnStdio(cells: readonly Cell[]): Promise<readonly Met[]> {
  const met = new Map<Cell, Met>()
  for (const session of sessionsOf(cells)) {
    for (const [index, each] of (await playSession(session)).entries()) {
      met.set(session[index]!, each)
    }
  }
  return cells.map((cell) => met.get(cell)!)
}
