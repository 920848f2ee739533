import { afterEach, expect, test } from 'vitest'
import { chunk } from '../support/wire.ts'
import { rounds } from '../support/rounds.ts'
import { json, LAST_CHUNK, post, request, result, Stage, streamHead, type Counts } from './stage.ts'

let stage: Stage
afterEach(() => stage.close())

/** Puts something in the middle of the text, at an edge between two characters of ASCII. */
const inserted = (what: string) => (text: string) => {
  const middle = text.indexOf('done', text.length / 2)
  return `${text.slice(0, middle)}${what}${text.slice(middle)}`
}

const DAMAGES: Readonly<Record<string, (text: string) => string>> = {
  nothing: (text) => text,
  'a stray quote': inserted('"'),
  'a NUL': inserted('\0'),
  'a tab': inserted('\t'),
  'an escape that is none': inserted('\\q'),
  'half an escape': inserted('\\u12'),
  'valid escapes': inserted('\\u00e9\\n\\\\'),
  'a missing end': (text) => text.slice(0, -1),
  'a second end': (text) => `${text}}`,
  'a cut': (text) => text.slice(0, text.length / 2),
  'a comma too many': (text) => text.replace('"content"', ',"content"'),
  'a literal that is none': (text) => text.replace('false', 'falsy'),
  'a number that is none': (text) => text.replace(/"(isError|done)":/, '"n":01,"$1":'),
  'no version': (text) => text.replace('2.0', '1.0'),
  'another id': (text) => text.replace('"id":7', '"id":"7"'),
}

/** In KiB; small ones and those above the bound of the scan are read by the parser. */
const SIZES = rounds(1, 2) === 1 ? [4, 64] : [1, 4, 20, 64, 300, 3000]
const LINE = '12:00:01 INFO "GET /a" from C:\\logs — 漢字, done in 7 ms\n'

/** Returns how a client that parses the whole body sees it. */
function outcomeFor(text: string): string {
  try {
    const { jsonrpc, id } = JSON.parse(text) as { jsonrpc: unknown; id: unknown }
    return jsonrpc === '2.0' && id === 7 ? 'ok' : 'incomplete'
  } catch {
    return 'incomplete'
  }
}

test.each(
  ['json', 'event'].flatMap((form) =>
    SIZES.flatMap((kib) => ['with', 'without'].map((isError) => [form, kib, isError] as const)),
  ),
)(
  'a damaged %s of %d KiB %s isError is counted as its client reads it',
  async (form, kib, isError) => {
    const content = [{ type: 'text', text: LINE.repeat((kib * 1024) / LINE.length) }]
    const whole = JSON.stringify(
      result(7, isError === 'with' ? { content, isError: false } : { content, done: false }),
    )
    const bodies = Object.values(DAMAGES).map((damaged) => damaged(whole))
    let next = 0
    stage = await Stage.open((exchange) => {
      const body = bodies[next++]!
      const event = [streamHead(), chunk(`event: message\r\ndata: ${body}\r\n\r\n`), LAST_CHUNK]
      return void exchange.send(form === 'json' ? [json(body)] : event)
    })
    const ends: Counts = {}
    for (const body of bodies) {
      const client = await stage.exchange(post(request(7)))
      const outcome = `tools/call echo: ${outcomeFor(body)}`
      ends[outcome] = (ends[outcome] ?? 0) + 1
      await stage.ends(ends)
      client.close()
    }
    expect(ends['tools/call echo: ok']).toBe(2)
  },
)

test('an event in large chunks, of which others follow later, is read as it came', async () => {
  const text = LINE.repeat((70 * 1024) / LINE.length)
  const event = `data: ${JSON.stringify(result(7, { content: [{ type: 'text', text }] }))}\n\n`
  const bytes = Buffer.from(event)
  let sendRest: (() => void) | undefined
  stage = await Stage.open((exchange) => {
    const head = Buffer.from(streamHead())
    void exchange.write(Buffer.concat([head, chunk(bytes.subarray(0, 40_000))]))
    sendRest = () => void exchange.send([chunk(bytes.subarray(40_000)), LAST_CHUNK])
  })
  const client = await stage.send(post(request(7)))
  await expect.poll(() => client.received).toBeGreaterThan(40_000)
  sendRest?.()
  await client.response()
  await stage.ends({ 'tools/call echo: ok': 1 })
  client.close()
})
