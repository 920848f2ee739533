import { expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { Random } from '../support/random.ts'
import { type Squall, startSquall } from '../support/commands.ts'
import { mountRules } from '../live/rules-directory.ts'
import { parseExposition } from '../telemetry/exposition.ts'
import { planSession, type PlannedExchange, playSession } from './busy-session.ts'
import { RULES } from './predicted.ts'
import { connect, createServer } from 'node:net'
import { startUpstream } from '../support/wire.ts'

const SESSIONS = 24

type Counts = Record<string, number>

/** Makes so many calls, and compares all reports of them with the prediction from the seed. */
export async function tellsTheTruth(count: number, seed: number): Promise<void> {
  const random = new Random(seed)
  const app = await startUpstream('counting', count)
  const mounted = await mountRules(RULES)
  const squall = await startSquall('--upstream', app.url, '--rules', mounted.file)
  const tap = await startWireTap(squall.port)
  try {
    const sessions = Array.from({ length: SESSIONS }, (_, first) => {
      const numbers = { first, step: SESSIONS, end: count }
      return planSession(`s${first}`, new Random(random.int(0, 2 ** 31)), numbers)
    })
    const begun = performance.now()
    const surprises = await Promise.all(
      sessions.map((plans, index) => playSession(`s${index}`, tap.port, plans)),
    )
    const seconds = (performance.now() - begun) / 1000
    process.stderr.write(`${count} calls in ${seconds.toFixed(1)} s\n`)
    expect(surprises.flat().slice(0, 5)).toEqual([])
    await eventually(async () => {
      const open = await squall.metric('squall_in_flight_requests')
      return open === 0 ? undefined : `${open} calls are open`
    })
    const plans = sessions.flat()
    const counted = await scraped(squall)
    const foretold = foretellAll(plans)
    expect(counted.calls).toEqual(foretold.calls)
    expect(counted.errors).toEqual(failuresOf(foretold.calls))
    expect(counted.injected).toEqual(foretold.injected)
    expect(logged(squall)).toEqual(foretold.lines)
    expect(Object.fromEntries(tap.markers)).toEqual(foretold.markers)
    expect(Object.fromEntries(tap.marksOfTools)).toEqual(foretold.marksOfTools)
    expect(tap.resets).toBe(foretold.resets)
    expect(tap.left).toBe(foretold.left)
    expect(counted.results).toEqual(counted.matched)
    expect(counted.applied).toEqual(foretold.applied)
    expect(executedOtherwise(plans, app.executed)).toEqual([])
    expect(squall.logs.filter(({ level }) => String(level) === 'error')).toEqual([])
  } finally {
    await tap.close()
    await squall.close()
    await mounted.remove()
    await app.close()
  }
}

function foretellAll(plans: readonly PlannedExchange[]) {
  const calls = new Map<string, number>()
  const injected = new Map<string, number>()
  const applied = new Map<string, number>()
  const markers = new Map<string, number>()
  const marksOfTools = new Map<string, number>()
  const lines: string[] = []
  let resets = 0
  let left = 0
  for (const { calls: sent, foretold } of plans) {
    const sameTool = new Set(sent.map(({ params }) => params.name)).size === 1
    for (const [index, told] of foretold.entries()) {
      const { id, params } = sent[index]!
      add(calls, `${params.name} ${told.outcome} ${told.origin}`)
      if (told.sees === 'reset') resets++
      if (told.sees === 'nothing') left++
      for (const marker of told.injected) {
        add(injected, `${marker} ${params.name}`)
        add(applied, marker.split('/')[0]!)
        lines.push(`${marker} ${params.name} ${id}`)
        if (told.unmarked.includes(marker)) continue
        add(markers, marker)
        if (sameTool) add(marksOfTools, `${marker} ${params.name}`)
      }
    }
  }
  return {
    calls: Object.fromEntries(calls),
    injected: Object.fromEntries(injected),
    applied: Object.fromEntries(applied),
    markers: Object.fromEntries(markers),
    marksOfTools: Object.fromEntries(marksOfTools),
    lines: lines.toSorted(),
    resets,
    left,
  }
}

/** Every line that reports a fault. */
function logged({ logs }: Squall): readonly string[] {
  return logs
    .filter(({ msg }) => msg === 'fault injected')
    .map(
      ({ rule, fault, tool, id }) =>
        `${rule as string}/${fault as string} ${tool as string} ${id as number}`,
    )
    .toSorted()
}

/** Reads the metrics. */
async function scraped(squall: Squall) {
  const text = await (await fetch(`${squall.admin}/metrics`)).text()
  const families = parseExposition(text)
  const by = (name: string, key: (labels: Readonly<Record<string, string>>) => string): Counts => {
    const counts = new Map<string, number>()
    for (const { labels, value } of families.get(name)!.lines) {
      if (value > 0) add(counts, key(labels), value)
    }
    return Object.fromEntries(counts)
  }
  const evaluations = 'squall_rule_evaluations_total'
  return {
    calls: by('squall_calls_total', ({ tool, outcome, origin }) => `${tool} ${outcome} ${origin}`),
    errors: by('squall_errors_total', ({ tool, kind, origin }) => `${tool} ${kind} ${origin}`),
    injected: by(
      'squall_faults_injected_total',
      ({ rule, fault, tool }) => `${rule}/${fault} ${tool}`,
    ),
    matched: by('squall_rule_matches_total', ({ rule }) => rule!),
    results: by(evaluations, ({ rule }) => rule!),
    applied: onlyOf(
      by(evaluations, ({ rule, result }) => `${result} ${rule}`),
      'injected ',
    ),
  }
}

function failuresOf(calls: Counts): Counts {
  return Object.fromEntries(
    Object.entries(calls).filter(([name]) => !/ (?:ok|cancelled) /.test(name)),
  )
}

function onlyOf(counts: Counts, prefix: string): Counts {
  const entries = Object.entries(counts).filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value]))
}

/** Calls that the upstream got although it should not have, more than once, or not at all. */
function executedOtherwise(plans: readonly PlannedExchange[], executed: Uint8Array): unknown[] {
  const wrong: unknown[] = []
  for (const { calls, foretold } of plans) {
    for (const [index, { params }] of calls.entries()) {
      const times = executed[params.arguments.n]!
      const wanted = foretold[index]!.executed
      // A client that leaves at once may be gone before the call reaches the upstream.
      const right = params.name === 'held' && wanted ? times <= 1 : times === Number(wanted)
      if (!right) wrong.push({ params, times, wanted })
    }
  }
  return wrong.slice(0, 5)
}

/** Counts of an observer between clients and Squall. */
interface WireTap {
  readonly port: number
  /** The number of headers and comments that name each `rule/fault`. */
  readonly markers: Map<string, number>
  /** The same, with the tool, where all calls of the request were of one. */
  readonly marksOfTools: Map<string, number>
  /** Connections that Squall reset. */
  readonly resets: number
  /** Connections that a client closed in the middle of an exchange. */
  readonly left: number
  close(): Promise<void>
}

const MARK = /(?:^|\n)(?:x-squall-fault: |: x-squall-fault )([^\r\n]+)/g
const TOOL = /"name":"([^"]*)"/g

/** Listens in front of a port. It passes bytes on and reads them as text: it knows no HTTP. */
async function startWireTap(to: number): Promise<WireTap> {
  const markers = new Map<string, number>()
  const marksOfTools = new Map<string, number>()
  const seen = { resets: 0, left: 0 }
  const server = createServer({ noDelay: true }, (client) => {
    const squall = connect({ port: to, host: '127.0.0.1', noDelay: true })
    let request = ''
    let response = ''
    let clientGone = false
    let squallGone = false
    const over = (): void => {
      const tools = new Set([...request.matchAll(TOOL)].map((match) => match[1]!))
      for (const [, marker] of response.matchAll(MARK)) {
        add(markers, marker!)
        if (tools.size === 1) add(marksOfTools, `${marker!} ${[...tools][0]!}`)
      }
      request = ''
      response = ''
    }
    client.on('data', (bytes: Buffer) => {
      // Clients here wait for a response before they ask again.
      if (response !== '') over()
      request += bytes.toString('latin1')
      squall.write(bytes)
    })
    client.on('error', () => undefined)
    client.on('close', () => {
      clientGone = true
      if (!squallGone && request !== '' && response === '') seen.left++
      squall.destroy()
    })
    squall.on('data', (bytes: Buffer) => {
      response += bytes.toString('latin1')
      if (!client.destroyed) client.write(bytes)
    })
    squall.on('error', () => {
      if (clientGone) return
      squallGone = true
      seen.resets++
      client.resetAndDestroy()
    })
    squall.on('close', () => {
      squallGone = true
      over()
      client.destroy()
    })
    squall.on('end', () => {
      squallGone = true
      client.end()
    })
  })
  const { port, close } = await startUpstream(server)
  return {
    port,
    markers,
    marksOfTools,
    get resets() {
      return seen.resets
    },
    get left() {
      return seen.left
    },
    close,
  }
}

/** One more of something. */
function add(counts: Map<string, number>, name: string, count = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + count)
}
