import { type Ending, endingOf, endingsOfJsonBody } from '../../../src/mcp/body-outcome.ts'
import type { RequestCall, JsonRpcId } from '../../../src/mcp/call.ts'
import { parseMessages } from '../../../src/mcp/json-rpc.ts'
import { outlineOf } from '../../../src/mcp/outline.ts'
import type { Random } from '../../support/random.ts'
import { same } from '../disagreement.ts'
import type { Target, Tried } from './target.ts'

/**
 * Padding larger than the bodies that are always parsed, and smaller than what the scan may leave to
 * parse; one byte of an input places it.
 */
const PADS: Readonly<Record<string, string>> = {
  '\u0001': 'x'.repeat(3_000),
  '\u0002': ' '.repeat(3_000),
  '\u0003': '[{"id":7,"a":"b\\n"},2]'.padEnd(3_000),
  '\u0004': '['.repeat(3_000),
}
const METHODS = ['tools/call', 'tasks/get', 'initialize', 'server/discover']
const MARKS = ['"error"', '"isError"', '"method"', '"result"', '"id"', '\\u00', '":{', '[', '\n']
const IDS: readonly JsonRpcId[] = [1, 'a"b', 0, 'é', '1', -1.5]

/** The call that an input is a response to, by its first byte, and the body that it stands for. */
export function responseOf(input: Buffer): { readonly call: RequestCall; readonly body: Buffer } {
  const choice = input[0] ?? 0
  let text = input.toString('latin1', 1)
  for (const [marker, pad] of Object.entries(PADS)) text = text.replaceAll(marker, pad)
  const call: RequestCall = {
    id: IDS[choice % IDS.length]!,
    method: METHODS[(choice >> 4) % METHODS.length]!,
    name: undefined,
    params: undefined,
    transport: 'streamable-http',
    protocolVersion: choice > 127 ? '2026-07-28' : '2025-11-25',
    progressToken: undefined,
  }
  return { call, body: Buffer.from(text, 'latin1') }
}

/** Compares the ending by a body, read as a sidecar reads it, with that by a parser alone. */
export function checkOutcome(input: Buffer): Tried {
  const { call, body } = responseOf(input)
  const text = body.toString('utf8')
  const half = body.length >> 1
  const read = outlineOf([body.subarray(0, half), body.subarray(half)], body.length)
  const known = read === undefined ? body : { length: body.length, read }
  const theirs = parsedEnding(call, text)
  same('the ending', endingsOfJsonBody([call], 200, known), [theirs])
  const compared = read !== undefined
  const markers = MARKS.map((marker) => Number(text.includes(marker))).join('')
  // Inputs that are not outlined are of few kinds: the search is for those that the scan accepts.
  return { kind: `${theirs.outcome} ${compared ? `outlined ${markers}` : 'parsed'}`, compared }
}

/** One call, one body: as it would be without a way around the parser. */
function parsedEnding(call: RequestCall, text: string): Ending {
  const parsed = parseMessages(text)
  if (!parsed.ok) return { outcome: parsed.reason === 'too_complex' ? 'ok' : 'incomplete' }
  const responses = parsed.messages.filter(({ kind }) => kind === 'result' || kind === 'error')
  const own = responses.find((each) => 'id' in each && each.id === call.id)
  const found = own ?? responses.find((each) => 'id' in each && each.id === null)
  return found === undefined ? { outcome: 'incomplete' } : endingOf(call, found)
}

const RESULT = '\u0000{"jsonrpc":"2.0","id":1,"result":{"content":[{"text":"\u0001"}]}}'

/** A whole member more, at the beginning or the end of an object: what was JSON stays JSON. */
function putMember(random: Random, text: string): string {
  const braces = Array.from(text.matchAll(/[{}]/g), ({ index }) => index)
  if (braces.length === 0) return text
  const at = random.pick(braces)
  const member = random.pick(MEMBERS)
  return text[at] === '{'
    ? `${text.slice(0, at + 1)}${member},${text.slice(at + 1)}`
    : `${text.slice(0, at)},${member}${text.slice(at)}`
}

const MEMBERS = [
  ['"id":1', '"id":2', '"id":null', '"jsonrpc":"2.0"', '"method":"x"', '"result":{"a":1}'],
  ['"error":{"code":1}', '"error":null', '"isError":true', '"isError":false', '"x":"\u0001"'],
  ['"erro\\u0072":{}', '"\\u0065rror":{}', '"isErro\\u0072":true', '"metho\\u0064":1', '"x":[{}]'],
].flat()

/** The scan of large responses beside a parser. */
export const outcomeTarget: Target = {
  name: 'outcome',
  maxLength: 600,
  seeds: [
    RESULT,
    RESULT.replace('}]', '}],"isError":true'),
    '\u0000{"result":{"a":\u0003},"jsonrpc":"2.0","id":1}\n',
    '\u0000{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "\u0001"}}',
    '\u0012{"jsonrpc":"2.0","id":1,"result":{"status":"failed","x":"\u0001"}}',
    '\u0096{"jsonrpc":"2.0","id":1,"result":{"status":"failed","x":"\u0001"}}',
    '\u0000[{"jsonrpc":"2.0","id":1,"result":{"x":"\u0001"}}]',
    '\u0003{"jsonrpc":"2.0","id":"\u00c3\u00a9","result":{"x":"\u0001"}}',
    '\u0000\u00ef\u00bb\u00bf{"jsonrpc":"2.0","id":1,"result":{"x":\u0002"y"}}',
    '\u0000{"jsonrpc":"2.0","id":1,"result":{"content":"\u0001","content":7,"isErro\\u0072":true}}',
    '\u0000{"jsonrpc":"2.0","id":1,"result":{"contents":[{"a":"\u0001\u0001\u0001\u0001"}]}}',
    '\u0004{"id":"1","jsonrpc":"2.0","result":{"error":"\\"isError\\"\u0001"}}',
    '\u0000{"jsonrpc":"2.0","id":2,"result":{"id":1,"a":"\u0001"}}',
  ],
  tokens: [
    ['\u0000', '\u0001', '\u0002', '\u0003', '\u0004', '"', '\\"', '\\', '{', '}', '[', ']'],
    [',', ':', ', ', ': ', '"id":1', '"id":2', '"id":null', '"id":"1"', '"id":1.0', '"id":1e0'],
    ['"jsonrpc":"2.0"', '"jsonrpc":"1.0"', '"result":{}', '"result":null', '"result":1,'],
    ['"error":null', '"error":{"code":-32601}', '"isError":true', '"isError":false', '"method"'],
    ['"\\u0065rror":{}', '"is\\u0045rror":true', '"\\u0069d":2', '"method":"x"', '{"error":1}'],
    ['"\\u0072esult":1', '\u00ff', '\u00ef\u00bb\u00bf', '\r\n', '\n', ' ', '\t', '-', '0'],
    [
      '"status":"failed"',
      '"result":{"isError":true}',
      'NaN',
      '"content":"\u0001"',
      '},"id":1}',
      '"jsonrpc":',
      '"id":',
    ],
  ].flat(),
  own: [putMember],
  run: checkOutcome,
}
