import { once } from 'node:events'
import { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'
import {
  boundedOutput,
  createLogger,
  type LogFormat,
  type Logger,
} from '../../src/telemetry/log.ts'

function capture(format: LogFormat, level: 'debug' | 'info' = 'info') {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  return { lines, logger: createLogger({ level, format, destination }) }
}

function parsed(lines: readonly string[]): Record<string, unknown> {
  return JSON.parse(lines[0]!) as Record<string, unknown>
}

describe('JSON logs', () => {
  it('have one object on each line', () => {
    const { lines, logger } = capture('json')
    logger.info({ tool: 'a\nb', n: 1 }, 'fault injected')
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^[^\n]+\n$/)
    const { time, ...rest } = parsed(lines)
    expect(rest).toEqual({ level: 'info', tool: 'a\nb', n: 1, msg: 'fault injected' })
    expect(new Date(String(time)).toISOString()).toBe(time)
  })

  it('carry nothing that a terminal obeys, and the same values', () => {
    const { lines, logger } = capture('json')
    const tool = '\u009b2J\u202eexe.\u007f'
    logger.info({ tool, 'k\u2066': 1 }, 'm\u200b')
    expect(lines[0]).toMatch(/^[\u0020-\u007e]+\n$/)
    expect(parsed(lines)).toMatchObject({ tool, 'k\u2066': 1, msg: 'm\u200b' })
  })

  it('leave out what is below the level', () => {
    const { lines, logger } = capture('json')
    logger.debug({}, 'quiet')
    logger.warn({}, 'loud')
    logger.error({}, 'louder')
    expect(lines).toHaveLength(2)
  })

  it('take the fields of a child along', () => {
    const { lines, logger } = capture('json')
    logger.child({ route: 1, authorization: 'hunter2' }).info({ x: 2 }, 'm')
    expect(parsed(lines)).toMatchObject({ route: 1, x: 2, authorization: '[redacted]' })
  })

  it('are of a shape that pino itself has', () => {
    const logger: Logger = pino({ level: 'silent' })
    expect(typeof logger.info).toBe('function')
  })
})

describe('secrets', () => {
  const SECRET = 'hunter2'

  it.each([
    { authorization: SECRET },
    { headers: { Authorization: SECRET, 'Proxy-Authorization': SECRET } },
    { a: { b: { c: [{ cookie: SECRET }, { 'set-cookie': [SECRET] }] } } },
    { 'x-api-key': SECRET, apiKey: SECRET, X_API_KEY: SECRET, token: SECRET, password: SECRET },
    { head: { headers: ['Host', 'a', 'Authorization', SECRET] } },
    { headers: [['cookie', SECRET]] },
    { headers: new Map([['cookie', SECRET]]) },
    { err: Object.assign(new Error('x'), { request: { headers: { cookie: SECRET } } }) },
    { err: new Error('x', { cause: { cookie: SECRET } }) },
    { body: Buffer.from(SECRET) },
    { url: new URL(`http://user:${SECRET}@app`) },
    { a: { b: { c: { d: { e: { f: { g: { h: { i: { cookie: SECRET } } } } } } } } } },
  ])('are kept out of %j', (fields) => {
    for (const format of ['json', 'pretty'] as const) {
      const { lines, logger } = capture(format)
      logger.info(fields, 'm')
      expect(lines).toHaveLength(1)
      expect(lines[0]).not.toContain(SECRET)
    }
  })

  it('leave the rest readable', () => {
    const { lines, logger } = capture('json')
    const err = Object.assign(new Error('broken'), { code: 'ECONNRESET' })
    logger.info({ err, headers: { host: 'a', cookie: 'x' }, progressToken: 1 }, 'm')
    expect(parsed(lines)).toMatchObject({
      err: { type: 'Error', message: 'broken', code: 'ECONNRESET' },
      headers: { host: 'a', cookie: '[redacted]' },
      progressToken: 1,
    })
  })

  it('are looked for with an end, also in what refers to itself', () => {
    const { lines, logger } = capture('json')
    const knot: Record<string, unknown> = {}
    for (let i = 0; i < 20; i++) knot[`k${i}`] = knot
    logger.info({ knot }, 'm')
    expect(lines[0]!.length).toBeLessThan(1_000_000)
  })
})

describe('pretty logs', () => {
  it('are one line for people', () => {
    const { lines, logger } = capture('pretty')
    logger.info({ port: 15300, host: '::1', note: 'two words', list: [1], empty: '' }, 'listening')
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}listening port=15300 host=::1 note="two words" list=\[1\] empty=""\n$/,
    )
  })

  it('have the texts of a list below, each on a line', () => {
    const { lines, logger } = capture('pretty')
    logger.warn({ count: 2, problems: ['rules.yaml:1:2: a', 'rules.yaml:3:4: b\u001b'] }, 'invalid')
    expect(lines[0]).toMatch(
      /WARN {2}invalid count=2\n {2}rules\.yaml:1:2: a\n {2}rules\.yaml:3:4: b\\u\{1b\}\n$/,
    )
  })

  it('carry nothing that a terminal obeys', () => {
    const { lines, logger } = capture('pretty')
    logger.error({ 'k\n': 'a\u001b[31m', bidi: '\u202e' }, 'x\r\ny\u009b')
    expect(lines).toHaveLength(1)
    // oxlint-disable-next-line no-control-regex
    expect(lines[0]!.slice(0, -1)).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
    expect(lines[0]).toContain('ERROR x\\u{d}\\u{a}y')
  })
})

describe('lines of one turn of the event loop', () => {
  function output() {
    const writes: string[] = []
    const stream = new Writable({
      write: (chunk, _encoding, done) => {
        writes.push(String(chunk))
        done()
      },
    })
    return { writes, stream, destination: boundedOutput(stream) }
  }

  it('are written together, in order', async () => {
    const { writes, destination } = output()
    destination.write('a\n')
    destination.write('b\n')
    expect(writes).toEqual([])
    await turn()
    destination.write('c\n')
    await turn()
    expect(writes).toEqual(['a\nb\n', 'c\n'])
  })

  it('are written at once when the process is about to end', () => {
    const { writes, destination } = output()
    destination.write('last\n')
    destination.flushSync()
    expect(writes).toEqual(['last\n'])
  })

  it('are dropped when the reader of the log is far behind, not kept in memory', async () => {
    const { stream, destination } = output()
    stream.cork()
    for (let i = 0; i < 100; i++) {
      destination.write('x'.repeat(100_000))
      await turn()
    }
    expect(stream.writableLength).toBeLessThan(4.3 * 1024 * 1024)
    stream.end()
    await once(stream, 'finish')
  })
})
