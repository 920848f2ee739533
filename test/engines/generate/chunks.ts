import type { Random } from '../../support/random.ts'

const CHUNK_ENDS = [
  '\r\n',
  '\n',
  '\r',
  ';a=b\r\n',
  ';a="b;c"\r\n',
  ' \r\n',
  ';\r\n',
  ';a=\u00e9\r\n',
  '\r\n\r\n',
] as const

const TRAILERS = ['X-T: 1\r\n', 'X-T:1\r\nx-u: \u00e9\r\n'] as const
const ODD_TRAILERS = [
  ...TRAILERS,
  'Content-Length: 5\r\n',
  'Transfer-Encoding: chunked\r\n',
  'X-T : 1\r\n',
  ' X-T: 1\r\n',
  'X-T\r\n',
  'X-T: 1\n',
] as const

/** A body in chunks, now and then in ones that are not quite right. */
export function chunkedBody(random: Random, body: string, damage: number): string {
  let text = ''
  for (let at = 0; at < body.length;) {
    const size = Math.min(body.length - at, random.pick([1, 7, 16, 100, 5000, 70_000]))
    const odd = random.chance(damage)
    let hex = size.toString(16)
    if (random.chance(0.2)) hex = hex.toUpperCase()
    if (random.chance(0.1)) hex = `00${hex}`
    if (odd)
      hex = random.pick([
        hex,
        `0x${hex}`,
        `+${hex}`,
        `-${hex}`,
        ` ${hex}`,
        '',
        'g',
        'fffffffffffffffff',
      ])
    const end = odd ? random.pick(CHUNK_ENDS) : random.chance(0.05) ? ';a=b\r\n' : '\r\n'
    text +=
      hex +
      end +
      body.slice(at, at + size) +
      (odd ? random.pick(['\r\n', '\n', '', 'x\r\n']) : '\r\n')
    at += size
  }
  const last = random.chance(0.9) ? '0' : random.pick(['00', '000', '0;a'])
  const trailers = random.chance(0.2) ? random.pick(damage > 0 ? ODD_TRAILERS : TRAILERS) : ''
  return random.chance(damage) ? `${text}${last}\r\n` : `${text}${last}\r\n${trailers}\r\n`
}
