import type { Random } from '../../support/random.ts'

/** The header lines of a POST by one kind of client, with a placeholder for the length. */
export type HeadKind = readonly string[]

const LENGTH = 'content-length: {length}'

/** Heads as real clients write them, and some that differ from these in little. */
const KINDS: readonly HeadKind[] = [
  [
    'host: 127.0.0.1:3000',
    'connection: keep-alive',
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    'mcp-session-id: 5e0c1f3a-1b7d-4a54-9f0e-0f3a0c7f1e11',
    'mcp-protocol-version: 2025-06-18',
    'accept-language: *',
    'sec-fetch-mode: cors',
    'user-agent: node',
    'accept-encoding: gzip, deflate',
    LENGTH,
  ],
  [
    'Host: 127.0.0.1:3000',
    'Accept: application/json, text/event-stream',
    'Accept-Encoding: gzip, deflate',
    'Connection: keep-alive',
    'User-Agent: python-httpx/0.28.1',
    'Content-Length: {length}',
    'Content-Type: application/json',
  ],
  [
    'Host: pod:8080',
    'User-Agent: Go-http-client/1.1',
    'Content-Length: {length}',
    'Accept: application/json, text/event-stream',
    'Content-Type: application/json',
    'Accept-Encoding: gzip',
  ],
  [
    'Connection: Upgrade, HTTP2-Settings',
    'Content-Length: {length}',
    'Host: pod:8080',
    'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
    'Upgrade: h2c',
    'User-Agent: Java-http-client/21',
    'Content-Type: application/json',
  ],
  ['Host: pod', 'Content-Type: application/json', 'Content-Length: {length}'],
  [
    'Host: pod',
    'Content-Type: application/json; charset=utf-8',
    'Content-Length: {length}',
    'Mcp-Method: tools/call',
    'Mcp-Name: echo',
    'MCP-Protocol-Version: 2026-07-28',
    'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    'Authorization: Bearer abc.def.ghi',
    'Cookie: a=b; c=d',
    'X-Forwarded-For: 10.0.0.1',
  ],
  ['Host: pod', 'Content-Length: {length}'],
]

/** The header block of some client. */
export function anyKind(random: Random): HeadKind {
  return random.pick(KINDS)
}

/** The header block of a client that may pipeline requests: none of these offers an upgrade. */
export function pipelinedKind(random: Random): HeadKind {
  return random.pick(KINDS.filter((kind) => !kind.includes('Upgrade: h2c')))
}

/** Formats a header block. */
export function headText(kind: HeadKind, length: number, line = 'POST /mcp HTTP/1.1'): string {
  return `${line}\r\n${kind.join('\r\n').replace('{length}', String(length))}\r\n\r\n`
}

/** Returns a similar header block, which a cache must not confuse with the first. */
export function nearKind(random: Random, kind: HeadKind): HeadKind {
  const lines = [...kind]
  const at = random.int(0, lines.length - 1)
  const line = lines[at]!
  const colon = line.indexOf(':')
  switch (random.int(0, 8)) {
    case 0:
      lines[at] = `${line}x`
      break
    case 1:
      lines.splice(at, 0, random.pick(['X-A: b', 'x-a:b', 'Connection: close', 'X-A: b\u00e9']))
      break
    case 2:
      if (lines.length > 3) lines.splice(at, 1)
      break
    case 3:
      lines[at] = line.slice(0, colon).toUpperCase() + line.slice(colon)
      break
    case 4:
      lines[at] = `${line.slice(0, colon)}:${line.slice(colon + 1).trim()}`
      break
    case 5:
      lines[at] = `${line} `
      break
    case 6: {
      const other = random.int(0, lines.length - 1)
      lines[at] = lines[other]!
      lines[other] = line
      break
    }
    case 7:
      lines[at] = `${line.slice(0, colon)}:\t ${line.slice(colon + 2)}`
      break
    default:
      // One character of the line is another one.
      lines[at] = flipped(random, line)
  }
  return lines
}

function flipped(random: Random, line: string): string {
  const at = random.int(0, line.length - 1)
  if (line.includes('{length}') && at >= line.indexOf('{')) return line
  return line.slice(0, at) + random.pick(['a', 'Z', '0', '-', ' ', ';']) + line.slice(at + 1)
}
