import { inspect, isDeepStrictEqual } from 'node:util'
import { endingsOfJsonBody, type Ending } from '../../src/mcp/body-outcome.ts'
import { eachResponse, type ResponseMessage } from '../../src/mcp/event-message.ts'
import type { RequestCall } from '../../src/mcp/call.ts'
import { outlineOfBody, parseBody } from '../../src/mcp/classify.ts'
import type { Message } from '../../src/mcp/json-rpc.ts'
import { outlineOf } from '../../src/mcp/outline.ts'
import { parseSseFields } from '../../src/mcp/sse-fields.ts'
import { SseFramer, type SseFrame } from '../../src/mcp/sse-framer.ts'
import { hasToolResult, TaskTools } from '../../src/mcp/task-tools.ts'
import type { Random } from '../support/random.ts'

const METHODS = ['tools/call', 'tasks/get', 'tasks/result', 'initialize', 'resources/read']

/** Inserted by edits: texts that a scan could read otherwise than a parser. */
const TOKENS = [
  '"', '\\', '\\"', '\\q', '\\u12', '\\u00e9', '\\ud800', '\0', '\n', '\r', '\t', ' ', '\v', '\u2028',
  '{', '}', '[', ']', '[]', '{}', ',', ':', ',,', '-', '01', '1.', '.5', '1e', '1e999', '-0', '1E+5',
  'true', 'nul', 'null', 'NaN', 'Infinity', '"isError":true,', '"isError":false,', '"\\u0069sError":true,',
  '"id":2,', '"id":1.0,', '"id":1e999,', '"jsonrpc":"2.0",', '"error":{"code":1,"message":"no"},',
  '"error":null,', '"method":"x",', '"result":{"isError":true},', '"content":7,', '"__proto__":{"a":1},',
  '"task":{"taskId":"t"},', '"resultType":"task","taskId":"t",', '"status":"failed",', '/*', '\ufeff',
  '"arguments":{"a":1},', '"params":{},', '"Name":"x",', '"value":"x",', '"id":0,"\\u0069d":1,', '\\"a\\":',
  'data: ', '\ndata: ', '\r\ndata:', '\n\n', 'id: 7\n',
] // prettier-ignore
const INVALID = [[0xc3], [0xff], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xc0, 0x80], [0xf0, 0x9f]]

/** Returns a body as a server would send it: 2 to 4 KB, and a few of up to 300 KB. */
function fromServer(random: Random): string {
  const size = random.chance(0.01) ? random.int(15_000, 300_000) : random.int(2_000, 4_000)
  const members: [string, unknown][] = [['content', content(random, size)]]
  if (random.chance(0.4)) members.push(['isError', random.chance(0.3)])
  if (random.chance(0.2)) members.push(['structuredContent', rows(random, size / 3)])
  if (random.chance(0.1)) members.push(['task', { taskId: 't', note: filler(random) }])
  if (random.chance(0.1)) members.push(['_meta', { note: filler(random) }])
  if (random.chance(0.1))
    members.push(['result', { isError: random.chance(0.5), note: filler(random) }])
  const value = Object.fromEntries(random.chance(0.5) ? members : members.toReversed())
  const id = random.pick([1, 1, 1, '1', 2, null, 1.5])
  const message = { jsonrpc: '2.0', id, result: value }
  const text = JSON.stringify(message, undefined, random.chance(0.1) ? 2 : undefined)
  return random.chance(0.03) ? `[${text}]` : text
}

function filler(random: Random): string {
  return 'b'.repeat(random.int(0, 600))
}

function content(random: Random, size: number): unknown {
  const shape = random.int(0, 4)
  if (shape === 0) return [{ type: 'text', text: `a "quoted" \\ path\n`.repeat(size / 18) }]
  if (shape === 1) return [{ type: 'text', text: 'Привет 漢字 👋 '.repeat(size / 24) }]
  if (shape === 2) return [{ type: 'text', text: JSON.stringify(rows(random, size)) }]
  if (shape === 3) return rows(random, size)
  return [{ type: 'image', data: random.bytes(size / 2).toString('base64') }]
}

function rows(random: Random, size: number): unknown {
  return Array.from({ length: size / 60 }, (_, id) => ({
    id,
    price: random.next() * 1000,
    open: random.chance(0.5),
    tags: ['a', null],
  }))
}

/** Yields realistic bodies, each several times, with other edits at random places. */
export function* mutatedBodies(
  count: number,
  random: Random,
  realistic = fromServer,
): Generator<Buffer> {
  let original = Buffer.alloc(0)
  for (let i = 0; i < count; i++) {
    if (i % 16 === 0) original = Buffer.from(realistic(random))
    let bytes: Buffer = original
    for (let edits = random.int(0, 3); edits > 0; edits--) bytes = edited(bytes, random)
    yield bytes
  }
}

function edited(bytes: Buffer, random: Random): Buffer {
  // Half of the edits are near the ends, where the members are that matter.
  const near = Math.min(60, bytes.length)
  const at = random.pick([
    random.int(0, bytes.length),
    random.int(0, near),
    bytes.length - random.int(0, near),
  ])
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)]
  switch (random.int(0, 5)) {
    case 0:
      return Buffer.concat([before, after.subarray(random.int(0, 3))])
    case 1:
      return Buffer.concat([before, random.bytes(1), after.subarray(1)])
    case 2:
      return Buffer.concat([before, Buffer.from(random.pick(INVALID)), after])
    case 3:
      return Buffer.concat([before, after.subarray(0, random.int(0, 40)), after])
    default:
      return Buffer.concat([before, Buffer.from(random.pick(TOKENS)), after])
  }
}

/** Holds the ending of a call, and the other facts of its response. */
interface Reading {
  readonly ending: Ending
  readonly found: readonly unknown[]
}

/** Returns how the outline and the parser read one body differently; undefined when they agree. */
export function disagreement(bytes: Buffer, random: Random): string | undefined {
  const method = random.pick(METHODS)
  const pieces = random.cut(bytes, 4)
  const read = outlineOf(pieces, bytes.length)
  const call = callOf(method)
  const parsed = JSON.stringify(readingOf(call, bytes))
  if (read !== undefined) {
    const outlined = JSON.stringify(readingOf(call, { length: bytes.length, read }))
    if (outlined !== parsed) return `${method}: outline ${outlined}, parser ${parsed}`
  }
  return requestsDisagree(bytes) ?? eventsDisagree(bytes, random)
}

/** True when the outline was used for a body as it is. */
export function isOutlined(bytes: Buffer): boolean {
  return outlineOf([bytes], bytes.length) !== undefined
}

function callOf(method: string): RequestCall {
  return {
    id: 1,
    method,
    name: 'echo',
    params: undefined,
    transport: 'streamable-http',
    protocolVersion: undefined,
    progressToken: undefined,
  }
}

function readingOf(call: RequestCall, body: Parameters<typeof endingsOfJsonBody>[2]): Reading {
  const found: unknown[] = []
  const [ending] = endingsOfJsonBody([call], 200, body, (_, message, bytes) =>
    found.push(...factsOf(call, message, bytes)),
  )
  return { ending: ending!, found }
}

function factsOf(call: RequestCall, message: Message, bytes: number): unknown[] {
  const tasks = new TaskTools()
  tasks.learn('', call, message)
  const params = { taskId: 't' }
  const tool = tasks.toolOf('', 'notifications/tasks', params)
  return ['id' in message ? message.id : '', hasToolResult(call, message), bytes, tool]
}

/** Returns a request as a client would send it, or a response of the client. */
export function fromClient(random: Random): string {
  const size = random.int(1_800, random.chance(0.7) ? 4_000 : 30_000)
  const value = random.pick([content(random, size), 'y'.repeat(size), rows(random, size)])
  const method = random.pick(['tools/call', 'tools/call', 'prompts/get', 'tasks/get', 'x'])
  const members: [string, unknown][] = [
    ['name', 'echo'],
    ['arguments', random.chance(0.5) ? { value } : { value, ключ: filler(random) }],
  ]
  if (random.chance(0.3)) members.push(['_meta', { progressToken: 7, note: filler(random) }])
  const params = Object.fromEntries(random.chance(0.5) ? members : members.toReversed())
  const rest = random.chance(0.9) ? { method, params } : { result: { content: value } }
  const message = { jsonrpc: '2.0', id: random.pick([1, '1', 0, null, 1.5]), ...rest }
  const text = JSON.stringify(message, undefined, random.chance(0.1) ? 2 : undefined)
  return random.chance(0.03) ? `[${text}]` : text
}

/** Returns how the scan and the parser read a request differently; undefined when they agree. */
export function requestsDisagree(bytes: Buffer): string | undefined {
  const [scanned, parsed] = [outlineOfBody(bytes), parseBody(bytes)]
  if (scanned === undefined || isDeepStrictEqual(scanned, parsed)) return undefined
  return `request: scan ${inspect(scanned)}, parser ${inspect(parsed)}`
}

function eventsDisagree(bytes: Buffer, random: Random): string | undefined {
  const eol = random.pick(['\n', '\r\n', '\r'])
  const before = random.pick([
    '',
    `event: message${eol}`,
    `id: 7${eol}`,
    `event: other${eol}`,
    ': x\n',
  ])
  const after = random.pick([
    '',
    '',
    `id: 8${eol}`,
    `\ufeffid: 9${eol}`,
    `retry: 5${eol}`,
    `data: x${eol}`,
  ])
  const start = random.pick(['', '', '\ufeff'])
  const stream = Buffer.concat([
    Buffer.from(`${start}${before}data:${random.pick([' ', ''])}`),
    bytes,
    Buffer.from(`${eol}${after}${eol}`),
  ])
  const frames = (): SseFrame[] => {
    const all: SseFrame[] = []
    const framer = new SseFramer(4 * 1024 * 1024)
    for (const piece of random.cut(stream, 3)) framer.push(piece, (frame) => all.push(frame))
    framer.end()
    return all
  }
  const outlined = frames().map((frame) => frameFacts(frame))
  const parsed = frames().map((frame, index) => {
    const { raw, oversized } = frame
    const fields = parseSseFields(Buffer.from(raw), index === 0)
    return frameFacts({ ...fields, raw, oversized })
  })
  // Where a stream is cut into frames does not matter, as a CR may end a piece.
  const [one, other] = [JSON.stringify(outlined.flat()), JSON.stringify(parsed.flat())]
  return one === other ? undefined : `event: outline ${one}, parser ${other}`
}

function frameFacts(frame: Omit<SseFrame, 'ends' | 'size' | 'firstByte'>): unknown[] {
  const { event, id, retry, oversized } = frame
  const facts: unknown[] = [event, id, retry, oversized]
  const call = callOf('tools/call')
  eachResponse(frame, (response: ResponseMessage) =>
    facts.push(response.kind, ...factsOf(call, response, 0), isErrorOf(response)),
  )
  return facts.every((fact) => fact === undefined || fact === false) ? [] : facts
}

function isErrorOf(response: ResponseMessage): unknown {
  return response.kind === 'result'
    ? (response.result as { isError?: unknown } | null)?.isError
    : 'error'
}
