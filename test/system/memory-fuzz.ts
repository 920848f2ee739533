import { setTimeout as sleep } from 'node:timers/promises'
import {
  HOSTILE_VALUES,
  PACKED,
  anyValue,
  callWith,
  posted,
  resultWith,
} from '../datapath/hostile.ts'
import type { Random } from '../support/random.ts'
import { type AppExchange, chunk, RawClient, response, startUpstream } from '../support/wire.ts'
import { type Load, type UnderLoad, underLoad } from './under-load.ts'

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
export interface FuzzResult extends UnderLoad {
  readonly attacks: number
}

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
  const app = await startUpstream({
    keepBytes: false,
    keepBody: false,
    script: (e) => respond(random)(e).catch(() => undefined),
  })
  let attacks = 0
  const worker = async ({ squall, isOver }: Load): Promise<void> => {
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
    const seen = await underLoad(
      { upstream: app.url, engine, seconds, rules: RULES },
      async (load) => void (await Promise.all(Array.from({ length: workers }, () => worker(load)))),
    )
    return { attacks, ...seen }
  } finally {
    await app.close()
  }
}
