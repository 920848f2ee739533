import type { Random } from '../../support/random.ts'

const TOKENS = [
  '\r',
  '\n',
  '\r\n',
  '\r\n\r\n',
  '\n\n',
  '\u0000',
  '\t',
  ' ',
  '\u000b',
  '\u000c',
  '\u007f',
  '\u0080',
  '\u00ff',
  ':',
  ' :',
  ': ',
  ';',
  ',',
  '"',
  '\\',
  '#',
  '?',
  '/',
  '@',
  '*',
  '%0d%0a',
  '+',
  '-',
  '0',
  '0x',
  '1',
  '5',
  'ffffffffffffffff',
  ';a=b',
  'HTTP/1.1',
  'HTTP/1.0',
  'Content-Length: 5\r\n',
  'Content-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: close\r\n',
  'Upgrade: h2c\r\n',
  'Expect: 100-continue\r\n',
  ' folded\r\n',
  'X-A : b\r\n',
  'chunked',
  '0\r\n\r\n',
  '5\r\nhello\r\n',
  'GET /hidden HTTP/1.1\r\nHost: pod\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
] as const

/** Applies a few random mutations to a text. */
export function strokes(random: Random, text: string): string {
  let left = text
  for (let count = random.pick([1, 1, 1, 2, 3]); count > 0; count--) left = stroke(random, left)
  return left
}

function stroke(random: Random, text: string): string {
  const at = random.int(0, Math.min(text.length, 600))
  switch (random.int(0, 4)) {
    case 0:
      return text.slice(0, at) + random.pick(TOKENS) + text.slice(at)
    case 1:
      return text.slice(0, at) + text.slice(at + random.int(1, 3))
    case 2:
      return text.slice(0, at) + String.fromCharCode(random.int(0, 255)) + text.slice(at + 1)
    case 3: {
      const lines = text.split('\r\n')
      lines.splice(random.int(0, lines.length - 1), 0, random.pick(lines))
      return lines.join('\r\n')
    }
    default: {
      // At the start or the end of a line: that is where readers differ.
      const lines = text.split('\r\n')
      const index = random.int(0, lines.length - 1)
      const line = lines[index]!
      const place = random.pick([0, line.length, line.indexOf(':') + 1, line.indexOf(' ') + 1])
      lines[index] = line.slice(0, place) + random.pick(TOKENS) + line.slice(place)
      return lines.join('\r\n')
    }
  }
}
