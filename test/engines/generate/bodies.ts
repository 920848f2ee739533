import { gzipSync } from 'node:zlib'
import type { Random } from '../../support/random.ts'
import { markText } from '../script.ts'

/** Text as bytes, one character each. */
export function asBytes(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1')
}

/** A call of a tool, at least so long. */
export function toolCall(marker: number, tool: string, least = 0): string {
  const start = `{"jsonrpc":"2.0","id":${marker},"method":"tools/call","params":{"name":"${tool}","arguments":{"k":"${markText(marker)}`
  const pad = Math.max(0, least - start.length - 4)
  return `${start}${'p'.repeat(pad)}"}}}`
}

/** Anything that may be posted, JSON-RPC or not. */
export function anyBody(random: Random, marker: number, tool: string): string {
  const k = markText(marker)
  const call = toolCall(marker, tool)
  const other = (method: string, params = `{"k":"${k}"}`): string =>
    `{"jsonrpc":"2.0","id":${marker},"method":"${method}","params":${params}}`
  switch (random.int(0, 24)) {
    case 0:
      return other('tools/list')
    case 1:
      return other('ping')
    case 2:
      return other(
        'initialize',
        `{"protocolVersion":"2025-06-18","clientInfo":{"name":"${k}","version":"1"}}`,
      )
    case 3:
      return `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"k":"${k}"}}`
    case 4:
      return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${marker - 1},"reason":"${k}"}}`
    case 5:
      return `{"jsonrpc":"2.0","id":${marker},"result":{"k":"${k}"}}`
    case 6:
      return `[${call},${toolCall(marker + 5000, 'echo').replace(markText(marker + 5000), '')}]`
    case 7:
      return `[${call},{"jsonrpc":"2.0","method":"notifications/x"}]`
    case 8:
      return call.slice(0, -random.int(1, 5))
    case 9:
      return `${call}}`
    case 10:
      return ` \r\n\t${call}\n`
    case 11:
      return asBytes(call.replace('"k":', '"ü 🌧":1,"k":'))
    case 12:
      return call.replace('"k":', '"l":"\u00ff\u00c3",\u0000"k":')
    case 13:
      return k
    case 14:
      return `"${k}"`
    case 15:
      return `[]${' '.repeat(random.int(0, 9))}`
    case 16:
      return call.replace(
        `"id":${marker}`,
        random.pick(['"id":null', '"id":1.5', '"id":"x"', '"id":{}']),
      )
    case 17:
      return other('resources/read', `{"uri":"file:///${k}"}`)
    case 18:
      return other('prompts/get', `{"name":"${k}"}`)
    case 19:
      return other('tools/call', `{"name":7,"k":"${k}"}`)
    case 20:
      return other(
        'tools/call',
        `{"k":"${k}","_meta":{"progressToken":${marker}},"name":"${tool}"}`,
      )
    case 21:
      return toolCall(marker, tool, random.pick([16_383, 16_384, 16_385, 20_000]))
    case 22:
      return toolCall(marker, tool, random.pick([24_575, 24_576, 24_577, 30_000, 70_000]))
    case 23:
      return `\u00ef\u00bb\u00bf${call}`
    default:
      return call
  }
}

/** The bytes of a body under a coding that fits them, or does not. */
export function coded(
  random: Random,
  body: string,
): { readonly line: string; readonly body: string } {
  const packed = gzipSync(Buffer.from(body, 'latin1')).toString('latin1')
  const [coding, bytes] = random.pick([
    ['gzip', packed],
    ['GZIP', packed],
    ['x-gzip', packed],
    ['gzip', packed.slice(0, -4)],
    ['gzip', body],
    ['identity', body],
    ['br', body],
    ['zstd', body],
  ] as const)
  return { line: `Content-Encoding: ${coding}`, body: bytes }
}
