import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { asked } from '../support/commands/command-line.ts'
import { startProgram } from '../support/commands.ts'

const directory = mkdtempSync(join(tmpdir(), 'squall-rules-'))
afterAll(() => rmSync(directory, { recursive: true }))

function file(name: string, text: string): string {
  const path = join(directory, name)
  writeFileSync(path, text)
  return path
}

const GOOD = `rules:
  - name: slow-search
    match: { tool: 'search_*' }
    percent: 30
    faults: [delay: { fixed: 2s }]
`
const good = file('good.yaml', GOOD)
const bad = file(
  'bad.yaml',
  GOOD.replace('percent: 30', 'percent: 130').replace('fixed:', 'fixedDelay:'),
)

describe('squall validate', () => {
  test('says that a good file is good', async () => {
    const { code, stdout } = await startProgram(['validate', good], {}, { here: true })
    expect(code).toBe(0)
    expect(stdout).toBe(`${good}: ok\n`)
  })

  test('names every error with its line and column, and fails', async () => {
    const { code, stdout } = await startProgram(['validate', bad, good], {}, { here: true })
    expect(code).toBe(1)
    expect(stdout).toContain(`${bad}:4:14: `)
    expect(stdout).toContain(`${bad}:5:23: `)
    expect(stdout).toContain('fixed: 5s')
  })

  test('speaks JSON and GitHub', async () => {
    const json = await startProgram(['validate', '--json', bad], {}, { here: true })
    expect(JSON.stringify(JSON.parse(json.stdout))).toContain('"line":4')
    const github = await startProgram(['validate', '--format', 'github', bad], {}, { here: true })
    expect(github.stdout).toMatch(/^::error file=/)
  })
})

test.each([
  [[], 'Squall rules'],
  [['rules'], 'Squall rules'],
  [['experiment'], 'Squall experiment'],
  [['policy'], 'Squall policy'],
])('squall schema %s prints a JSON Schema', async (operands, title) => {
  const { code, stdout } = await startProgram(['schema', ...operands], {}, { here: true })
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ title, type: 'object' })
})

test('squall schema names the schemas that there are', async () => {
  const { code, stderr } = await startProgram(['schema', '__proto__'], {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toContain('use one of rules, experiment, policy')
})

describe('squall explain', () => {
  test('shows what a rule would do to a call', async () => {
    const { code, stdout } = await startProgram(
      ['explain', good, '--tool', 'search_docs'],
      {},
      { here: true },
    )
    expect(code).toBe(0)
    expect(stdout).toContain('slow-search: matches')
    expect(stdout).toContain('must be below 0.3')
  })

  test('shows which dimension failed', async () => {
    const { stdout } = await startProgram(
      ['explain', good, '--tool', 'other', '--json'],
      {},
      { here: true },
    )
    expect(JSON.parse(stdout)).toMatchObject({
      request: { method: 'POST', path: '/mcp' },
      explained: [
        {
          call: { id: 1, method: 'tools/call', name: 'other' },
          rules: [{ rule: 'slow-search', matches: false, failing: [{ dimension: 'tool' }] }],
        },
      ],
    })
  })

  test.each([
    ['streamable-http', true],
    ['stdio', false],
  ])('shows what throttle does in both directions on %s', async (transport, slowsResponse) => {
    const throttled = file(
      'throttled.yaml',
      'rules: [{ name: slow, faults: [throttle: { rate: 4KiB, direction: both }] }]',
    )
    const args = ['explain', throttled, '--tool', 'a', '--transport', transport]
    const { stdout } = await startProgram(args, {}, { here: true })
    expect(stdout).toContain('the upstream receives it at 4KiB per second')
    expect(/its response\s+is sent slowly/.test(stdout)).toBe(slowsResponse)
  })

  test.each([
    ['streamable-http', true],
    ['stdio', false],
  ])('shows what acts on requests in results on %s', async (transport, acts) => {
    const rules = file(
      'asking.yaml',
      'rules: [{ name: r, match: { direction: server, method: elicitation/create }, faults: [rewrite: { in: message, set: { /params/x: 1 } }] }]',
    )
    const call = ['--direction', 'server', '--method', 'elicitation/create']
    const place = ['--transport', transport, '--protocol-version', '2026-07-28']
    const { stdout } = await startProgram(['explain', rules, ...call, ...place], {}, { here: true })
    expect(/its parameters are\s+changed/.test(stdout)).toBe(acts)
    expect(stdout.includes('nothing_to_act_on')).toBe(!acts)
  })

  test('does not explain by an invalid file', async () => {
    const { code } = await startProgram(
      ['explain', bad, '--tool', 'search_docs'],
      {},
      { here: true },
    )
    expect(code).toBe(1)
  })
})

test.each([
  ['validate'],
  ['validate', '--bogus', good],
  ['validate', '--format', 'xml', good],
  ['explain'],
  ['explain', good, '--header', 'nonsense'],
  ['explain', good, '--args', '{'],
  ['explain', good, '--request', join(directory, 'missing')],
  ['explain', good, '--request', good],
])('squall %s … is one line and exit 2', async (...args) => {
  const { code, stderr } = await startProgram(args, {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toMatch(/^squall: [^\n]+\n$/)
})

test('the program says so itself, and ends with that code', async () => {
  const [refused, failed] = await Promise.all([
    startProgram(['explain', good, '--args', '{']).finished(),
    startProgram(['validate', bad]).finished(),
  ])
  expect([refused.code, failed.code]).toEqual([2, 1])
  expect(refused.stderr).toMatch(/^squall: [^\n]+\n$/)
  expect(failed.stdout).toContain(`${bad}:4:14: `)
})

test('explain speaks of notifications and of messages of the server', async () => {
  const fault = 'faults: [stream: { drop: all }]'
  const keys = 'direction: server, method: notifications/progress, tool: slow'
  const text = `rules: [{ name: late, match: { ${keys} }, ${fault} }, { name: lost, match: { method: "notifications/*" }, ${fault} }]`
  const rules = file('messages.yaml', text)
  const explained = async (...args: string[]) =>
    (await startProgram(['explain', rules, ...args], {}, { here: true })).stdout
  const posted = await explained('--method', 'notifications/initialized')
  expect(posted).toMatch(/late: does not match\n  direction: expected server, got client\n/)
  expect(posted).toMatch(/lost: matches, and samples this call\n.*\n    message: it is lost/)
  const server = ['--direction', 'server', '--method', 'notifications/progress', '--tool', 'slow']
  expect(await explained(...server)).toMatch(/late: matches/)
  expect(() => asked(['explain', rules, '--direction', 'server'])).toThrow(/requires --method/)
})

test('explain says when a value is too long for any expression', async () => {
  const text = 'rules: [{ name: a, match: { args: { /q: { regex: a } } }, faults: [hang] }]'
  const rules = file('long.yaml', text)
  const args = JSON.stringify({ q: 'a'.repeat(40_000) })
  const { stdout } = await startProgram(
    ['explain', rules, '--tool', 'x', '--args', args],
    {},
    { here: true },
  )
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    '40000 characters; `regex` matches no text above 32768',
  )
})
