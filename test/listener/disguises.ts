import { gzipSync } from 'node:zlib'
import type { UnclassifiedReason } from '../../src/telemetry/telemetry.ts'

/** A call that some server takes for one of `pay`, whatever a strict reader makes of it. */
export interface Disguise {
  readonly name: string
  /** POST unless given. */
  readonly method?: string
  /** The values of Content-Type, which is JSON unless given. */
  readonly type?: readonly string[]
  /** Name, value, … of more headers. */
  readonly headers?: readonly string[]
  readonly body: string | Buffer
  /** Why it is not read; undefined where it does not look like MCP. */
  readonly reason: UnclassifiedReason | undefined
}

const OPEN = '"jsonrpc":"2.0","id":1'
const CALL = `${OPEN},"method":"tools/call"`
const ARGS = '"arguments":{}'
/** A call of `pay` as it should be. */
export const PAY = `{${CALL},"params":{"name":"pay",${ARGS}}}`
/** Another one, which rules may hit. */
const LOOK = PAY.replace('pay', 'look')
const LIST = `{${OPEN},"method":"tools/list"}`

function params(text: string, reason: UnclassifiedReason, name = text): Disguise {
  return { name: `params ${name}`, body: `{${CALL},"params":${text}}`, reason }
}

function message(members: string, reason: UnclassifiedReason): Disguise {
  return { name: `message ${members}`, body: `{${members}}`, reason }
}

function bytes(name: string, body: Buffer | string, reason: UnclassifiedReason): Disguise {
  return { name, body, reason }
}

function typed(
  types: string | readonly string[],
  reason: UnclassifiedReason | undefined,
  body: string | Buffer = PAY,
  headers: readonly string[] = [],
): Disguise {
  const type = typeof types === 'string' ? [types] : types
  return { name: `as ${type.join(' and ')} ${headers.join(': ')}`, type, headers, body, reason }
}

function stated(
  headers: readonly string[],
  reason: UnclassifiedReason,
  body: string | Buffer = PAY,
): Disguise {
  return { name: headers.join(': '), headers, body, reason }
}

function asked(
  method: string,
  reason: UnclassifiedReason | undefined,
  headers: readonly string[] = [],
  type = ['application/json'],
): Disguise {
  return { name: `${method} ${headers.join(': ')}`, method, type, headers, body: PAY, reason }
}

const utf32 = (text: string): Buffer => {
  const out = Buffer.alloc(text.length * 4)
  for (let i = 0; i < text.length; i++) out.writeUInt32LE(text.charCodeAt(i), i * 4)
  return out
}
const utf16 = Buffer.from(PAY, 'utf16le')
const utf7 = PAY.replaceAll('"', '+ACI-')
const MCP = ['Mcp-Session-Id', 's'] as const
const MODERN = ['MCP-Protocol-Version', '2026-07-28'] as const

const KEYS = [
  'Name',
  'NAME',
  'nAme',
  'name ',
  ' name',
  'na\\u0000me',
  'name\\u0000x',
  'ｎａｍｅ',
  'na\\u200bme',
].map((key) => params(`{"${key}":"pay",${ARGS}}`, 'key_variant'))

/** Calls of `pay` in disguise. */
export const DISGUISES: readonly Disguise[] = [
  ...KEYS,
  params(`{"name":"look","Name":"pay",${ARGS}}`, 'key_variant'),
  params(`{"Name":"pay","name":"look",${ARGS}}`, 'key_variant'),
  params(`{"__proto__":{"name":"pay"},${ARGS}}`, 'key_variant'),
  params(`{"name":"look","name":"pay",${ARGS}}`, 'duplicate_key'),
  params(`{"name":"pay","name":"look",${ARGS}}`, 'duplicate_key'),
  params(`{"name":"look","n\\u0061me":"pay",${ARGS}}`, 'duplicate_key'),
  params(`{"name":"pay","arguments":{"to":"a","to":"b"}}`, 'duplicate_key'),
  params(`{"name":"pay","arguments":{"list":[{"a":1,"a":2}]}}`, 'duplicate_key'),
  params(
    `{"name":"pay","arguments":{"text":"${'\\"'.repeat(90)}${'x'.repeat(300)}\\\\","to":1,"to":2}}`,
    'duplicate_key',
    'twice behind a long string',
  ),
  params('["pay",{}]', 'unclear_name'),
  params('"{\\"name\\":\\"pay\\"}"', 'unclear_name'),
  params(`{"name":["pay"],${ARGS}}`, 'unclear_name'),
  params(`{"name":5,${ARGS}}`, 'unclear_name'),
  params(`{"name":"pay\\ud800",${ARGS}}`, 'unclear_name'),
  message(`${CALL},"paramſ":{"name":"pay"}`, 'key_variant'),
  message(`${CALL},"Params":{"name":"pay"}`, 'key_variant'),
  message(`${CALL},"params":{"name":"look"},"Params":{"name":"pay"}`, 'key_variant'),
  message(`${CALL},"params":{"name":"look"},"params":{"name":"pay"}`, 'duplicate_key'),
  message(
    `${OPEN},"method":"tools/list","method":"tools/call","params":{"name":"pay"}`,
    'duplicate_key',
  ),
  message(
    `${OPEN},"method":"tools/list","Method":"tools/call","params":{"name":"pay"}`,
    'key_variant',
  ),
  message(`${OPEN},"METHOD":"tools/call","params":{"name":"pay"}`, 'not_json_rpc'),
  message(`"jsonrpc":"2.0","ID":1,"method":"tools/call","params":{"name":"pay"}`, 'key_variant'),
  message(`"JSONRPC":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}`, 'not_json_rpc'),
  message(`"jsonrpc":2.0,"id":1,"method":"tools/call","params":{"name":"pay"}`, 'not_json_rpc'),
  message(`"id":1,"method":"tools/call","params":{"name":"pay"}`, 'not_json_rpc'),
  ...[
    'Tools/Call',
    'TOOLS/CALL',
    ' tools/call',
    'tools/call\\n',
    'tools/call\\u0000',
    'toolſ/call',
  ].map((method) =>
    message(`${OPEN},"method":"${method}","params":{"name":"pay"}`, 'unclear_name'),
  ),
  bytes('two documents', `${LIST}\n${PAY}`, 'not_json'),
  bytes('a document and more', `${PAY}${LOOK}`, 'not_json'),
  bytes('a document and a word', `${PAY} x`, 'not_json'),
  bytes('NaN', PAY.replace('{}', '{"a":NaN}'), 'not_json'),
  bytes('Infinity', PAY.replace('{}', '{"a":-Infinity}'), 'not_json'),
  bytes('a comment', `/* hello */${PAY}`, 'not_json'),
  bytes('a comment to the end of the line', `${PAY}// hello`, 'not_json'),
  bytes('single quotes', PAY.replaceAll('"', "'"), 'not_json'),
  bytes('a trailing comma', PAY.replace('{}', '{},'), 'not_json'),
  bytes('a batch in a batch', `[[${PAY}]]`, 'not_json_rpc'),
  bytes('a batch with one that is none', `[${PAY},1]`, 'not_json_rpc'),
  bytes('a batch with a disguise', `[${LOOK},${PAY.replace('"name"', '"Name"')}]`, 'key_variant'),
  bytes('two byte order marks', `\ufeff\ufeff${PAY}`, 'not_json'),
  bytes('UTF-16', utf16, 'not_json'),
  bytes('UTF-16 with a mark', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16]), 'not_json'),
  bytes('UTF-32', utf32(PAY), 'not_json'),
  bytes(
    'a byte that is no UTF-8',
    Buffer.from(PAY.replace('pay', 'pay\xff'), 'latin1'),
    'not_utf8',
  ),
  bytes(
    'a key with bytes that are no UTF-8',
    Buffer.from(PAY.replace('name', 'na\xc0me'), 'latin1'),
    'not_utf8',
  ),
  bytes(
    'half of a surrogate pair as three bytes',
    Buffer.from(PAY.replace('pay', 'pay\xed\xa0\x80'), 'latin1'),
    'not_utf8',
  ),
  typed('application/json, text/plain', 'content_type'),
  typed('text/plain, application/json', 'content_type'),
  typed('text/plain; was=application/json', 'content_type'),
  typed('application/json-rpc', 'content_type'),
  typed('application/vnd.api+json', 'content_type'),
  typed('text/json', 'content_type'),
  typed('text/plain', undefined),
  typed('text/plain', 'content_type', PAY, MCP),
  typed([], undefined),
  typed([], 'content_type', PAY, ['Accept', 'application/json, text/event-stream']),
  typed('application/x-www-form-urlencoded', undefined),
  typed('application/json; charset=utf-7', 'charset', utf7),
  typed('application/json; charset=utf-16', 'charset', utf16),
  typed('application/json; charset="UTF-32"', 'charset', utf32(PAY)),
  typed('application/json; charset=utf-8; charset=utf-16', 'charset', utf16),
  typed('application/json;CharSet = iso-8859-1', 'charset'),
  typed(['application/json', 'text/plain'], 'repeated_header'),
  typed(['text/plain', 'application/json'], 'repeated_header'),
  stated(['Content-Encoding', 'zstd'], 'encoding'),
  stated(['Content-Encoding', 'gzip'], 'encoding'),
  stated(['Content-Encoding', 'identity, gzip'], 'encoding', gzipSync(PAY)),
  stated(['Content-Encoding', 'gzip, gzip'], 'encoding', gzipSync(gzipSync(PAY))),
  stated(
    ['Content-Encoding', 'identity', 'Content-Encoding', 'gzip'],
    'repeated_header',
    gzipSync(PAY),
  ),
  stated(['Mcp-Session-Id', 'a', 'Mcp-Session-Id', 'b'], 'repeated_header'),
  stated([...MODERN, 'Mcp-Name', 'pay'], 'header_mismatch', LOOK),
  stated([...MODERN, 'Mcp-Name', '=?base64?cGF5?='], 'header_mismatch', LOOK),
  stated([...MODERN, 'Mcp-Name', 'look'], 'header_mismatch'),
  stated([...MODERN, 'Mcp-Method', 'tools/list'], 'header_mismatch'),
  stated(['X-HTTP-Method-Override', 'PUT'], 'http_method'),
  asked('PUT', 'http_method'),
  asked('PATCH', 'http_method', ['X-HTTP-Method-Override', 'POST']),
  asked('GET', 'http_method'),
  asked('GET', 'http_method', ['Accept', 'text/event-stream']),
  asked('DELETE', 'http_method', MCP),
  asked('PROPFIND', 'http_method'),
  asked('PUT', undefined, [], ['text/plain']),
]

/** Calls of `pay` that look odd, and that every server reads in the same way. */
export const PLAIN_CALLS: readonly Disguise[] = [
  bytes('escapes in a key', PAY.replace('"name"', '"n\\u0061me"'), 'not_json'),
  bytes('escapes in a name', PAY.replace('"pay"', '"p\\u0061y"'), 'not_json'),
  bytes('a byte order mark', `\ufeff${PAY}`, 'not_json'),
  bytes('blanks', PAY.replaceAll(':', '\t:\r\n ').replaceAll(',', ' , '), 'not_json'),
  bytes('a batch of one', `[${PAY}]`, 'not_json'),
  bytes(
    'a colon and quotes in a string',
    PAY.replace('{}', '{"a":"\\":{\\"name\\":"}'),
    'not_json',
  ),
  bytes('a backslash at the end', PAY.replace('{}', '{"a":"\\\\"}'), 'not_json'),
  bytes(
    'the keys in arguments',
    PAY.replace('{}', '{"name":"look","Name":1,"NAME":2}'),
    'not_json',
  ),
  bytes('a replacement character', PAY.replace('{}', '{"a":"\ufffd"}'), 'not_json'),
  bytes('a long string', PAY.replace('{}', `{"a":"${'\\"\\\\'.repeat(500)}"}`), 'not_json'),
  bytes('numbers as keys', PAY.replace('{}', '{"1":1,"0":{"__proto__":{}}}'), 'not_json'),
  typed('Application/JSON;charset="UTF-8"', 'charset'),
  typed('application/json; charset=utf8; v=1', 'charset'),
  stated(['Content-Encoding', 'gzip'], 'encoding', gzipSync(PAY)),
  stated([...MODERN, 'Mcp-Name', '=?base64?cGF5?=', 'Mcp-Method', 'tools/call'], 'header_mismatch'),
  stated(['Mcp-Name', 'look', 'Mcp-Method', 'ping'], 'header_mismatch'),
  stated(['X-HTTP-Method-Override', 'post'], 'http_method'),
]
