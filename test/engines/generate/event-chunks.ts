import type { Random } from '../../support/random.ts'

const QUIET = [
  'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n\n',
  'event: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\r\n\r\n',
  ': still here\n\n',
  'data: {"jsonrpc":"2.0","id":"s","method":"ping"}\n\n',
  'id: 7\ndata: {"jsonrpc":"2.0","method":"notifications/progress"}\n\n',
  'id\n\n',
  'data: id\r\r',
  '\n',
  'data: a line of an event that goes on\n',
  'data: a place in the midst of',
] as const

/** An event stream as most servers write it: each event a chunk, one of them the response. */
export function eventChunks(random: Random, response: string): string {
  const events: string[] = []
  const count = random.pick([1, 2, 3, 5, 12, 600])
  for (let i = 0; i < count; i++) {
    // Most are told by their ends alone.
    events.push(random.chance(0.8) ? QUIET[random.int(0, 2)]! : random.pick(QUIET))
  }
  if (random.chance(0.9)) events[random.int(0, count - 1)] = `event: message\ndata: ${response}\n\n`
  const chunks = events.map((event) => {
    const hex = event.length.toString(16)
    const size = random.chance(0.05) ? random.pick([hex.toUpperCase(), `0${hex}`]) : hex
    return `${size}\r\n${event}\r\n`
  })
  return `${chunks.join('')}0\r\n\r\n`
}
