import type { Random } from '../../support/random.ts'
import { markText } from '../script.ts'
import { anyBody, coded, toolCall } from './bodies.ts'
import { chunkedBody } from './chunks.ts'
import { CODINGS, KNOWN, LENGTHS, LINES, REQUEST_LINES } from './request-parts.ts'
import { HIT_TOOLS } from './rules.ts'

/** A request as bytes, and what it asks. */
export interface Ask {
  readonly method: string
  readonly head: string
  readonly body: string
}

/** A request that is not the plainest: odd but legal, ambiguous, or broken. */
export function oddRequest(random: Random, marker: number): Ask {
  const tool = random.chance(0.7) ? 'echo' : random.pick(HIT_TOOLS)
  let line = 'POST /mcp HTTP/1.1'
  const style = random.int(0, 9)
  if (style === 0) line = random.pick(REQUEST_LINES)
  else if (style === 1)
    line = `${random.pick(KNOWN)} /mcp?k=${markText(marker)} HTTP/${random.pick(['1.1', '1.1', '1.0'])}`
  else if (style === 2) line = 'POST /mcp HTTP/1.0'
  const method = line.slice(0, line.indexOf(' '))
  const lines: string[] = random.chance(0.95) ? ['Host: pod'] : []
  if (random.chance(0.85)) lines.push('Content-Type: application/json')
  if (method === 'GET' && random.chance(0.5)) lines.push('Accept: text/event-stream')
  let body = random.chance(0.6) ? toolCall(marker, tool) : anyBody(random, marker, tool)
  if (random.chance(0.08)) {
    const { line: coding, body: bytes } = coded(random, body)
    lines.push(coding)
    body = bytes
  }
  if (style === 1 && random.chance(0.7)) body = ''
  else if (random.chance(0.3)) {
    lines.push(`Transfer-Encoding: ${random.pick(CODINGS)}`)
    body = chunkedBody(random, body, random.chance(0.4) ? 0.3 : 0)
  } else if (random.chance(0.95)) {
    const form = random.chance(0.5) ? 'Content-Length: {n}' : random.pick(LENGTHS)
    lines.push(lengthLine(form, body.length))
  }
  for (const odd of random.list(random.chance(0.9) ? 2 : 5, () => random.pick(LINES))) {
    lines.splice(random.int(0, lines.length), 0, odd)
  }
  const before = random.chance(0.06)
    ? random.pick(['\r\n', '\r\n\r\n', '\n', '\r', ' ', '\r\n\n'])
    : ''
  const end = random.chance(0.96)
    ? '\r\n\r\n'
    : random.pick(['\n\n', '\r\n\n', '\r\n', '\r\r\n', '\n\r\n'])
  return { method, head: `${before}${line}\r\n${lines.join('\r\n')}${end}`, body }
}

function lengthLine(form: string, length: number): string {
  return form
    .replaceAll('{n}', String(length))
    .replace('{less}', String(Math.max(0, length - 3)))
    .replace('{more}', String(length + 3))
}

/** A header block just below, or just over, the limit. */
export function largeRequest(random: Random, marker: number, most: number): Ask {
  const body = toolCall(marker, 'echo')
  const start = `POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n`
  const size =
    most + random.pick([-80, -40, -20, -10, -5, -4, -3, -2, -1, 0, 1, 2, 3, 5, 20, 60, 400])
  const left = Math.max(1, size - start.length - 'X-Long: \r\n\r\n'.length)
  const fill = random.chance(0.5)
    ? `X-Long: ${'l'.repeat(left)}\r\n`
    : `${'a: b\r\n'.repeat(Math.floor(left / 6))}X-Long: ${'l'.repeat(left % 6)}\r\n`
  return { method: 'POST', head: `${start}${fill}\r\n`, body }
}
