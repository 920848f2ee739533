import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { HOSTILE_VALUES, PACKED, anyValue, callWith, posted, resultWith } from './hostile.ts'
import type { Random } from './random.ts'
import { response, chunk, type AppExchange } from './raw-app.ts'
import { RawClient } from './raw-client.ts'
import { INJECTED_NODE_OPTIONS, type SidecarProcess } from './sidecar-process.ts'
import { startUpstream } from './upstream.ts'
import { startSidecar } from './sidecar.ts'

/** Rules by the tools that clients ask for: each kind of holding, changing and cutting. */
const RULES = `version: 1
rules:
  - { name: rewrite, match: { tool: rewrite }, faults: [{ rewrite: { set: { /b: 1 }, rename: { /a: c } } }] }
  - { name: drift, match: { tool: drift }, faults: [{ rewrite: { drift: 3 } }] }
  - { name: arguments, match: { tool: arguments }, faults: [{ rewrite: { in: arguments, set: { /a: 1 } } }] }
  - { name: truncate, match: { tool: truncate }, faults: [{ truncate: { after: { percent: 50 } } }] }
  - { name: shorten, match: { tool: shorten }, faults: [{ truncate: { content: { items: 1 } } }] }
  - { name: delay, match: { tool: delay }, faults: [{ delay: { fixed: 3s } }] }
  - { name: late, match: { tool: late }, faults: [{ delay: { fixed: 3s, at: response } }] }
  - { name: hang, match: { tool: hang }, faults: [{ hang: { for: 5s } }] }
  - { name: silent, match: { tool: silent }, faults: [{ hang: { at: headers, for: 5s } }] }
  - { name: event, match: { tool: event }, faults: [{ hang: { at: event, for: 3s } }] }
  - { name: replay, match: { tool: replay }, faults: [{ replay: { sameArguments: true } }] }
  - { name: corrupt, match: { tool: corrupt }, faults: [{ corrupt: {} }] }
  - { name: inflate, match: { tool: inflate }, faults: [{ inflate: { to: 16MiB } }, { rewrite: {} }] }
  - { name: throttle, match: { tool: throttle }, faults: [{ throttle: { rate: 64KiB } }] }
`
const TOOLS = ['plain', ...[...RULES.matchAll(/name: (\w+)/g)].map(([, name]) => name!)]
const JSON_TYPE = ['Content-Type', 'application/json']
const STREAM =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n'

/** The result of a run. */
export interface FuzzResult {
  readonly attacks: number
  /** The exit code or signal of a sidecar that ended too early; undefined if it did not. */
  readonly died: number | string | null | undefined
  /** In bytes. */
  readonly peak: number
  /**
   * In milliseconds: the longest wait for `/livez`, and the 99th percentile, on an idle machine.
   */
  readonly slowest: number
  readonly p99: number
  /** In milliseconds of CPU: the longest turn of the sidecar's event loop; 0 when it died. */
  readonly longestTurn: number
  /** The bytes that the budget still counts when everything is over. */
  readonly left: string
}

const LONGEST_TURN = new URL('./longest-turn.mjs', import.meta.url).href

const LARGE = resultWith(HOSTILE_VALUES['string']!(3_000_000))

/** Returns a script that responds to each request in a randomly chosen way. */
function respond(random: Random): (exchange: AppExchange) => Promise<void> {
  const value = anyValue(random)
  const result = resultWith(value)
  const kind = random.int(0, 9)
  const coding = random.pick(Object.keys(PACKED))
  return async (e) => {
    switch (kind) {
      case 0:
      case 1:
        await e.write(response('200 OK', JSON_TYPE, result))
        return
      case 2:
        await e.write(
          response(
            '200 OK',
            [...JSON_TYPE, 'Content-Encoding', coding],
            PACKED[coding]!(Buffer.from(result)),
          ),
        )
        return
      case 3:
        await e.send([`${STREAM}\r\n`, chunk(`data: ${result}\n\n`), '0\r\n\r\n'])
        return
      case 4: {
        // Events that say nothing, or next to nothing.
        const flood = random.pick(['\n', 'data\n\n', ': x\n\n', 'id: 1\ndata: {}\n\n', 'data:\n'])
        const piece = chunk(flood.repeat(60_000 / flood.length))
        await e.send([`${STREAM}\r\n`, ...Array.from({ length: 20 }, () => piece), '0\r\n\r\n'])
        return
      }
      case 5: {
        const packed = PACKED[coding]!(Buffer.from(`data: ${LARGE}\n\n`.repeat(4)))
        await e.send([`${STREAM}Content-Encoding: ${coding}\r\n\r\n`, chunk(packed), '0\r\n\r\n'])
        return
      }
      case 6: {
        // An event without an end, and more than any client that does not read can take.
        await e.write(`${STREAM}\r\n`)
        const piece = chunk('x'.repeat(64 * 1024))
        for (let n = 0; n < 400 && (await e.write(piece)); n++);
        e.reset()
        return
      }
      case 7: {
        // A long event in as many lines as are read.
        const lines = `data: [\n${`data: ${JSON.stringify('"'.repeat(212))},\n`.repeat(9_000)}data: 0]\n\n`
        await e.send([`${STREAM}\r\n`, chunk(lines), '0\r\n\r\n'])
        return
      }
      case 8: {
        await e.write(
          'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3000000\r\n\r\n',
        )
        for (let n = 0; n < 300 && (await e.write('x')); n++) await sleep(2)
        e.fin()
        return
      }
      default:
        await e.write(
          response(
            '200 OK',
            [
              ...JSON_TYPE,
              ...Array.from({ length: 400 }, (_, n) => [`x-${n}`, 'y'.repeat(100)]).flat(),
            ],
            result,
          ),
        )
    }
  }
}

/** The request of a client. */
function request(random: Random): Buffer {
  const body = callWith(anyValue(random), random.pick(TOOLS))
  switch (random.int(0, 5)) {
    case 0: {
      const coding = random.pick(Object.keys(PACKED))
      return posted(PACKED[coding]!(Buffer.from(body)), [`Content-Encoding: ${coding}`])
    }
    case 1: {
      const one = callWith(anyValue(random).slice(0, 40_000), random.pick(TOOLS))
      return posted(`[${Array.from({ length: random.int(1, 100) }, () => one).join(',')}]`)
    }
    case 2:
      return posted(body, [`X-Pad: ${'p'.repeat(random.int(0, 60_000))}`])
    case 3: {
      const head =
        'POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
      return Buffer.concat([Buffer.from(head), chunk(body), Buffer.from('0\r\n\r\n')])
    }
    default:
      return posted(body)
  }
}

/** One attack: a request, whole or slow, and a client that reads, stops reading or leaves. */
async function attack(random: Random, port: number): Promise<void> {
  const client = await RawClient.connect(port, { keepBody: false, keepBytes: false })
  client.socket.on('error', () => undefined)
  const manner = random.int(0, 9)
  const bytes = request(random)
  if (manner === 0) client.socket.pause()
  if (manner === 1) {
    // Nearly all of it, and then nothing.
    await client.send(bytes.subarray(0, bytes.length - 1), 'POST')
    await sleep(random.int(100, 3000))
  } else if (manner === 2) {
    const start = bytes.subarray(0, Math.min(bytes.length, 3000))
    for (let at = 0; at < start.length; at++)
      if (!client.socket.write(start.subarray(at, at + 1))) break
    await sleep(random.int(10, 300))
  } else {
    await Promise.race([client.send(bytes, 'POST'), client.gone, sleep(5000)])
    const left = client.gone.then(() => undefined)
    await Promise.race([manner < 3 ? left : client.response(), sleep(random.int(100, 4000))])
  }
  client.reset()
}

/** Plays hostile traffic against a sidecar with the memory that injection gives it. */
export async function fuzzMemory(
  random: Random,
  seconds: number,
  workers: number,
  engine: string,
): Promise<FuzzResult> {
  const directory = mkdtempSync(join(tmpdir(), 'squall-'))
  const rules = join(directory, 'rules.yaml')
  writeFileSync(rules, RULES)
  const app = await startUpstream({
    keepBytes: false,
    keepBody: false,
    script: (e) => respond(random)(e).catch(() => undefined),
  })
  const turns = join(directory, 'longest-turn')
  const squall = await startSidecar({
    upstream: app.url,
    process: {
      flags: ['--rules', rules, '--engine', engine],
      nodeOptions: `${INJECTED_NODE_OPTIONS} --import ${LONGEST_TURN}`,
      env: { SQUALL_TEST_LONGEST_TURN: turns },
    },
  })
  process.kill(squall.pid, 'SIGUSR2')
  let died: FuzzResult['died']
  void squall.ended.then((how) => (died = how))
  const watch = { peak: 0, waits: [] as number[] }
  const end = performance.now() + seconds * 1000
  const isOver = (): boolean => performance.now() > end || died !== undefined
  let attacks = 0
  const worker = async (): Promise<void> => {
    while (!isOver()) {
      attacks++
      await attack(random, squall.port).catch(() => undefined)
      app.requests.length = 0
      const live = app.connections.filter(({ socket }) => !socket.destroyed)
      app.connections.splice(0, app.connections.length, ...live)
      for (const connection of live) connection.requests.length = 0
    }
  }
  try {
    await Promise.all([...Array.from({ length: workers }, worker), look(squall, watch, isOver)])
    const left = died === undefined ? await settled(squall) : ''
    const survived = died
    const waits = watch.waits.toSorted((a, b) => a - b)
    await squall.stop()
    return {
      attacks,
      died: survived,
      peak: watch.peak,
      slowest: waits.at(-1) ?? 0,
      p99: waits[Math.floor(waits.length * 0.99)] ?? 0,
      longestTurn: survived === undefined ? Number(readFileSync(turns, 'utf8')) : 0,
      left,
    }
  } finally {
    await squall.stop()
    await app.close()
    rmSync(directory, { recursive: true })
  }
}

/** A thread of its own: this one is busy with the attacks. */
const HEALTH_WAITS = new URL('./health-waits.mjs', import.meta.url)

async function look(
  squall: SidecarProcess,
  watch: { peak: number; readonly waits: number[] },
  isOver: () => boolean,
): Promise<void> {
  const { admin, pid } = squall
  const worker = new Worker(HEALTH_WAITS, { workerData: { admin, pid } })
  worker.on('error', () => undefined)
  worker.on('message', (wait: number) => watch.waits.push(wait))
  while (!isOver()) {
    await sleep(20)
    watch.peak = Math.max(watch.peak, rssOf(squall))
  }
  await worker.terminate()
}

/** Returns what is still counted as held; waits, as connections end one by one. */
async function settled(squall: SidecarProcess): Promise<string> {
  let held = ''
  for (let tries = 0; tries < 200; tries++) {
    held = /^squall_memory_held_bytes .*$/m.exec(await squall.metrics())?.[0] ?? ''
    if (held.endsWith(' 0')) break
    await sleep(50)
  }
  return held
}

/** Nothing for one that is gone. */
function rssOf(squall: SidecarProcess): number {
  try {
    return squall.rss()
  } catch {
    return 0
  }
}
