import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { explainCommand } from '../../../src/cli/rules/explain.ts'
import type { ExplainRequest } from '../../../src/cli/commands/explain.ts'
import { asked, parseCommandLine } from '../../support/commands/command-line.ts'
import { parseRecordedRequest } from '../../../src/cli/rules/recorded-request.ts'
import { UsageError } from '../../../src/base/flags/usage-error.ts'
import { NOT_APPLICABLE } from '../../../src/filters/lib/not-applicable.ts'
import type { RuleOutlook } from '../../../src/rules/explain/explain.ts'

const RULES = `seed: 1
rules:
  - name: slow
    match: { tool: 'search_*' }
    percent: 50
    faults: [delay: { fixed: 2s }]
  - name: lost
    match: { tool: 'search_*', headers: { x-team: a } }
    faults: [truncate: {}, stream: { drop: last }]
`
const HTTP = `rules:
  - name: health
    match: { http: { path: /health, method: [GET, POST] } }
    faults: [abort: { status: 503 }]
`

let dir = ''
const at = (name: string): string => join(dir, name)
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'squall-explain-'))
  await writeFile(at('a.yaml'), RULES)
  await writeFile(at('b.yaml'), HTTP)
})
afterAll(() => rm(dir, { recursive: true }))

async function run(...args: readonly string[]) {
  const request = asked(['explain', ...args]) as ExplainRequest
  let text = ''
  const code = await explainCommand(request, (part) => void (text += part))
  return { code, text }
}

interface Report {
  readonly disarmed?: string
  readonly request: object
  readonly explained: readonly { readonly call?: object; readonly rules: readonly RuleOutlook[] }[]
}

async function report(...args: readonly string[]): Promise<Report> {
  return JSON.parse((await run(dir, '--json', ...args)).text) as Report
}

async function recorded(text: string | Uint8Array, ...args: string[]): Promise<Report> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-recorded-'))
  await writeFile(join(directory, 'request'), text)
  try {
    return await report('--request', join(directory, 'request'), ...args)
  } finally {
    await rm(directory, { recursive: true })
  }
}

const call = (id: unknown, name: string, more: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, ...more },
})
const post = (body: unknown, lines = '', path = '/mcp') =>
  `POST ${path} HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\n${lines}\r\n${JSON.stringify(body)}`

const results = ({ explained }: Report) =>
  explained.map(({ rules }) => Object.fromEntries(rules.map(({ rule, result }) => [rule, result])))

describe('squall explain', () => {
  it('reads a directory as a running sidecar does', async () => {
    const { explained } = await report('--tool', 'search_docs', '--header', 'x-team=a')
    expect(explained[0]!.rules.map(({ rule, matches }) => [rule, matches])).toEqual([
      ['slow', true],
      ['lost', true],
      ['health', false],
    ])
  })

  it('prints what is wrong with the rules as JSON', async () => {
    const directory = await mkdtemp(join(dir, 'bad-'))
    await writeFile(join(directory, 'bad.yaml'), 'rules: [{ name: a, percnt: 1 }]\n')
    const { code, text } = await run(directory, '--tool', 'a', '--json')
    expect(code).toBe(1)
    expect(JSON.parse(text)).toMatchObject({
      ok: false,
      files: [{ ok: false, problems: [{ code: 'missing_key' }, { code: 'unknown_key' }] }],
    })
  })

  it('fits eighty columns', async () => {
    const { code, text } = await run(at('a.yaml'), '--tool', 'search_docs', '--header', 'x-team=a')
    expect(code).toBe(0)
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect(text).toMatchInlineSnapshot(`
      "slow: matches, but does not sample this call
        call 1, key 1: sample 0.87, must be below 0.5
        delay: { fixed: 2s }
          JSON, stream: the upstream receives it 2s late
          (HTTP+SSE, batch in JSON, batch by stream: the upstream receives it 2s late)
      lost: matches, and samples this call
        truncate: {}
          JSON, stream: its connection ends before the response is complete
          (HTTP+SSE: does not act (responded_elsewhere))
          (batch in JSON, batch by stream: does not act (shared_exchange))
        stream: { drop: last }
          JSON: does not act (nothing_to_act_on)
          stream: its response dropped
          (HTTP+SSE, batch by stream: its response dropped)
          (batch in JSON: does not act (nothing_to_act_on))

      responded_elsewhere: the response to the call is sent on another connection
      shared_exchange: the fault would also affect the other calls of the batch
      nothing_to_act_on: nothing for the fault to act on
      In brackets: response types that do not apply to this call.
      "
    `)
  })

  it('is shown by its page as it is', async () => {
    const page = await readFile(new URL('../../../docs/guides/explain.md', import.meta.url), 'utf8')
    await writeFile(at('page.rules'), /```yaml\n([^]*?)```/.exec(page)![1]!)
    const { text } = await run(at('page.rules'), '--tool', 'search_docs', '--header', 'x-team=b')
    expect(/```text\n([^]*?)```/.exec(page)![1]).toBe(text)
    for (const [reason, meaning] of Object.entries(NOT_APPLICABLE)) {
      expect(page).toMatch(`\`${reason}\``)
      expect(page.toLowerCase()).toContain(meaning.toLowerCase())
    }
  })

  it('explains a request without a call', async () => {
    const reported = await report('--path', '/health?x=1')
    expect(reported.request).toEqual({ method: 'GET', path: '/health' })
    expect(reported.explained[0]!.call).toBeUndefined()
    expect(results(reported)).toEqual([{ health: 'sampled' }])
    expect(results(await report('--path', '/health', '--http-method', 'PUT'))).toEqual([{}])
  })

  it('explains a call at a path, to rules about HTTP as well', async () => {
    const reported = await report('--path', '/health', '--tool', 'search_x')
    expect(reported.request).toEqual({ method: 'POST', path: '/health' })
    expect(results(reported)[0]).toMatchObject({ health: 'sampled' })
  })

  it('keeps to the given limits', async () => {
    const slow = async (...args: string[]) => {
      const { explained, disarmed } = await report('--tool', 'search_x', ...args)
      const [rule] = explained[0]!.rules
      return { ...rule!, disarmed }
    }
    expect(await slow('--max-percent', '5%')).toMatchObject({ forecast: { share: 0.05 } })
    expect(await slow('--allow-faults', 'abort')).toMatchObject({
      result: 'forbidden',
      limit: 'the fault delay is not allowed',
    })
    expect(await slow('--deny-tools', 'search_*')).toMatchObject({
      result: 'forbidden',
      limit: 'its tool is in --deny-tools',
    })
    expect(await slow('--environment', 'production')).toMatchObject({
      result: 'disarmed',
      disarmed: expect.stringContaining('production') as string,
    })
    const dryRun = await report('--tool', 'search_x', '--header', 'x-team=a', '--dry-run')
    expect(results(dryRun)[0]).toMatchObject({ lost: 'dry_run' })
  })
})

it('states the condition of a fault in the singular and in the plural', async () => {
  const cut = (events: number) =>
    `{ name: cut-${events}, match: {}, faults: [truncate: { after: { events: ${events} } }] }`
  const file = join(await mkdtemp(join(dir, 'counts-')), 'c.yaml')
  await writeFile(file, `rules:\n  - ${cut(1)}\n  - ${cut(2)}\n`)
  const { text } = await run(file, '--tool', 'search_x')
  const unwrapped = text.replace(/\s+/g, ' ')
  expect(unwrapped).toContain('given 1 event before the response')
  expect(unwrapped).toContain('given 2 events before the response')
})

describe('a recorded request', () => {
  it('may be HTTP with its head', async () => {
    const reported = await recorded(post(call('q', 'search_x'), 'X-Team: a\r\n'))
    expect(reported.explained[0]!.call).toEqual({ id: 'q', method: 'tools/call', name: 'search_x' })
    expect(results(reported)[0]).toMatchObject({ lost: 'sampled' })
    const unix = await recorded(post(call('q', 'search_x'), 'x-team: a\r\n').replaceAll('\r', ''))
    expect(results(unix)).toEqual(results(reported))
  })

  it('may be a message alone, to which options add the rest', async () => {
    const text = JSON.stringify(call(7, 'search_x'))
    expect(results(await recorded(text))[0]).toMatchObject({ lost: undefined })
    const more = ['--header', 'x-team=a', '--transport', 'http+sse']
    const reported = await recorded(text, ...more)
    expect(results(reported)[0]).toMatchObject({ lost: 'sampled' })
    const { responses } = reported.explained[0]!.rules[1]!.faults[0]!
    expect(responses.filter(({ here }) => here)).toEqual([
      { on: 'http+sse', here: true, acts: 'no', reason: 'responded_elsewhere' },
    ])
  })

  it('may be a batch, each call of which meets what the ones before it left', async () => {
    const calls = Array.from({ length: 8 }, (_, id) => call(id, 'search_x'))
    const reported = await recorded(JSON.stringify(calls))
    const keys = reported.explained.map(({ rules }) => rules[0]!.forecast!.key)
    expect(keys).toEqual(['1', '2', '3', '4', '5', '6', '7', '8'])
    const { responses } = reported.explained[0]!.rules[0]!.faults[0]!
    expect(responses.filter(({ here }) => here).map(({ on }) => on)).toEqual(['batch', 'batch-sse'])
  })

  it('may be an HTTP Archive with one entry', async () => {
    const entry = {
      request: {
        method: 'POST',
        url: 'https://host/mcp?x',
        headers: [
          { name: ':authority', value: 'host' },
          { name: 'content-type', value: 'application/json' },
          { name: 'x-team', value: 'a' },
        ],
        postData: { text: JSON.stringify(call(1, 'search_x')) },
      },
    }
    const reported = await recorded(JSON.stringify({ log: { entries: [entry] } }))
    expect(reported.request).toEqual({ method: 'POST', path: '/mcp' })
    expect(results(reported)[0]).toMatchObject({ lost: 'sampled' })
    expect(results(await recorded(JSON.stringify(entry)))).toEqual(results(reported))
  })

  it('may carry no call', async () => {
    const reported = await recorded('GET /health HTTP/1.1\r\nHost: pod\r\n\r\n')
    expect(results(reported)).toEqual([{ health: 'sampled' }])
  })

  it('spares all calls of a batch with one of a denied tool', async () => {
    const calls = [call(1, 'search_x'), call(2, 'pay')]
    const reported = await recorded(JSON.stringify(calls), '--deny-tools', 'pay')
    expect(reported.explained[0]!.rules[0]).toMatchObject({ result: 'forbidden' })
  })

  it('may hold any call where its body cannot be read', async () => {
    const text = post({}, '', '/health')
    expect(results(await recorded(text))).toEqual([{ health: 'sampled' }])
    expect(results(await recorded(text, '--deny-tools', 'pay'))).toEqual([{ health: 'forbidden' }])
  })

  it.each([
    ['nothing', ''],
    ['no request', 'hello'],
    ['no JSON', '{'],
    ['no JSON-RPC', '{"a":1}'],
    ['an empty batch', '[]'],
    ['a batch without end', JSON.stringify(Array.from({ length: 500 }, (_, id) => call(id, 'a')))],
    ['no headers', 'GET / HTTP/1.1\r\nnonsense\r\n\r\n'],
    ['too many headers', `GET / HTTP/1.1\r\n${'a: b\r\n'.repeat(2000)}\r\n`],
    ['a body in chunks', post(call(1, 'a'), 'Transfer-Encoding: chunked\r\n')],
    ['a compressed body', post(call(1, 'a'), 'Content-Encoding: gzip\r\n')],
    ['archives of nothing', '{"log":{"entries":[]}}'],
    ['archives of too much', '{"log":{"entries":[{},{}]}}'],
    ['archives of nonsense', '{"log":{"entries":[{"request":{"method":1}}]}}'],
    ['an escape', '\u001b[2J HTTP/1.1'],
  ])('cannot be %s', (_, text) => {
    let error: unknown
    try {
      parseRecordedRequest(text)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(UsageError)
    expect((error as Error).message).toMatch(/^--request: [\x20-\x7e…]+$/)
  })

  it('has a size, and is text', async () => {
    await expect(recorded(Buffer.alloc(5 * 1024 * 1024, ' '))).rejects.toThrow('4MiB')
    await expect(recorded(Buffer.from([0x7b, 0xff]))).rejects.toThrow('UTF-8')
    await expect(report('--request', dir)).rejects.toThrow(UsageError)
  })

  it('may be as deep as it likes', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const text = JSON.stringify(call(1, 'search_x', { arguments: 0 })).replace(
      ':0}',
      `:{"a":${deep}}}`,
    )
    await writeFile(at('deep'), text)
    await writeFile(
      at('deep.txt'),
      'rules: [{ name: a, match: { tool: search_x, args: { /a: 5 } }, faults: [{ hang: {} }] }]',
    )
    const reported = await run(at('deep.txt'), '--request', at('deep')).catch(
      (error: unknown) => error,
    )
    if (reported instanceof Error) expect(reported).toBeInstanceOf(UsageError)
    else expect(reported).toMatchObject({ code: 0 })
  })

  it.each([
    ['--request', 'x', '--tool', 'a'],
    ['--request', 'x', '--path', '/a'],
    ['--tool', 'a', '--http-method', 'GET'],
    ['--path', 'a'],
    ['--http-method', 'G T'],
    ['--max-percent', '101%'],
    ['--allow-faults', 'nonsense'],
  ])('is not mixed with %s %s %s %s', (...args) => {
    const given = args.filter((arg) => arg !== undefined)
    expect(() => parseCommandLine(['explain', 'x', ...given], {}, '0')).toThrow(UsageError)
  })

  it('cannot be standard input where the rules are', () => {
    const args = ['explain', '-', '--request', '-']
    expect(() => parseCommandLine(args, {}, '0')).toThrow(UsageError)
  })
})

it('reads rules from standard input, and takes the name of a tool for none', () => {
  const line = (file: string) => asked(['explain', file, '--tool', 'search'])
  expect(() => line('-')).not.toThrow()
  expect(() => line('search')).toThrow('squall explain rules.yaml --tool search')
})
