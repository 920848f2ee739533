// part: slow
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort, startUpstream } from '../../../../test/support/wire.ts'
import { type Program, startProgram } from '../../../../test/support/commands.ts'

const TOOLS = ['search', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }))
const abort = 'faults: [abort: { status: 503 }]'
const RULES = `rules: [{ name: r, match: { tool: "se*" }, ${abort} }]`

interface Outcome {
  readonly ok: boolean
  readonly checks: readonly { check: string; result: string; found: string; fix?: string }[]
}

/** The address of an admin port that does not exist. */
let gone: string
let directory: string
let server: Awaited<ReturnType<typeof start>>
let sidecar: Program
let admin: string

const start = () => startUpstream('scripted', ['ok'], TOOLS)

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-check-'))
  server = await start()
  gone = `127.0.0.1:${await freePort()}`
  const ports = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const rules = ['--rules', await rulesFile('run', RULES)]
  sidecar = startProgram(['run', ...ports, '--upstream', server.url.origin, ...rules])
  admin = String((await sidecar.logged('admin listening'))['address'])
})

afterAll(async () => {
  await sidecar.kill()
  await server.close()
  await rm(directory, { recursive: true })
})

async function rulesFile(name: string, text: string): Promise<string> {
  const path = join(directory, `${name}.yaml`)
  await writeFile(path, `${text}\n`)
  return path
}

async function check(...args: readonly string[]) {
  const { code, stdout, stderr } = await startProgram(
    ['check', ...args, '--json'],
    {},
    { here: true },
  )
  expect(stderr).toBe('')
  const { ok, checks } = JSON.parse(stdout) as Outcome
  expect(code).toBe(ok ? 0 : 1)
  return { ok, results: Object.fromEntries(checks.map((each) => [each.check, each])) }
}

it('passes where server, rules and sidecar fit together, and calls no tool', async () => {
  const rules = await rulesFile('good', RULES)
  const { ok, results } = await check(
    '--target',
    server.url.href,
    '--rules',
    rules,
    '--sidecar',
    admin,
  )
  expect(ok).toBe(true)
  expect(Object.values(results).map(({ result }) => result)).toEqual(Array(8).fill('passed'))
  expect(results['the server speaks MCP']!.found).toMatch(/, protocol 20\d\d-\d\d-\d\d, 2 tools$/)
  expect(results['the sidecar runs']!.found).toBe(`on ${admin}, 1 rules`)
  expect(results['the ports are bound']!.found).toMatch(
    new RegExp(`^127\\.0\\.0\\.1:\\d+ to ${server.url.origin}$`),
  )
  expect(server.calls).toEqual([])
})

it('fails where the sidecar has other rules, and warns of a percent below 1', async () => {
  const rules = await rulesFile('other', `rules: [{ name: r, percent: 0.3, ${abort} }]`)
  const { ok, results } = await check('--rules', rules, '--sidecar', admin)
  expect(ok).toBe(false)
  expect(results['the sidecar runs the latest rules']).toMatchObject({
    result: 'failed',
    found: `its rules differ from "${rules}"`,
    fix: `pass the sidecar's rules file, or start it with --rules ${rules}`,
  })
  expect(results['the rules are valid']!.found).toContain('`percent: 0.3` is 0.3 % of the calls')
})

it('names a rule about a tool that does not exist, and the tool that was meant', async () => {
  const text = `rules:
  - { name: typo, match: { tool: serach }, ${abort} }
  - { name: off, enabled: false, match: { tool: nothing }, ${abort} }
  - { name: every, ${abort} }`
  const rules = await rulesFile('typo', text)
  const { ok, results } = await check('--target', server.url.href, '--rules', rules)
  expect(ok).toBe(false)
  expect(results['rules match tools that exist']).toMatchObject({
    result: 'failed',
    found: '"typo" matches serach, which the server does not have, did you mean "search"?',
    fix: 'the server lists search, echo',
  })
})

it('reports invalid rules, a server that is down and a sidecar that is missing', async () => {
  const rules = await rulesFile('bad', 'rules: [{ name: r }]')
  const { ok, results } = await check(
    '--target',
    `http://${gone}/mcp`,
    '--rules',
    rules,
    '--sidecar',
    gone,
  )
  expect(ok).toBe(false)
  expect(results['the server speaks MCP']!.found).toMatch(/^the target cannot be reached/)
  expect(results['the rules are valid']!.found).toMatch(/bad\.yaml:1: rules\[0\]: .*faults/)
  expect(results['the rules are valid']!.fix).toBe(`check again with squall validate ${rules}`)
  expect(results['the sidecar runs']!.found).toBe(`${gone}: connection refused`)
})

it('does not look for free ports where another server has the admin port', async () => {
  const { results } = await check('--sidecar', server.url.host)
  expect(results['the sidecar runs']!.found).toBe(`${server.url.host}: not a Squall admin port`)
  expect(Object.keys(results)).not.toContain('the ports are free')
})

it('says in lines what was skipped, what failed, and what to do next', async () => {
  const rules = await rulesFile('late', 'rules:\n  - name: late\n    faults: [delay: 2s]')
  const named = ['--sidecar', gone, '--listen', '127.0.0.1:0', '--rules', rules]
  const { code, stdout } = await startProgram(['check', ...named], {}, { here: true })
  expect(code).toBe(1)
  expect(stdout).toBe(`server
------
‼ the server speaks MCP: no server specified
    set --target

rules
-----
× the rules are valid:
    ${rules}:3:21: rules[0].faults[0].delay: must be an object; got "2s"; write \`- delay: { fixed: 2s }\`
      3 |     faults: [delay: 2s]
        |                     ^
    check again with npx mcp-squall validate ${rules}

sidecar
-------
× the sidecar runs: ${gone}: connection refused
    start a sidecar with npx mcp-squall run, or set its admin port with --sidecar
√ the ports are free: 127.0.0.1:0 and ${gone}, for squall run

2 of 4 checks failed.
`)
})

it('names the port that squall run could not take', async () => {
  const { port } = server.url
  const checked = await check('--sidecar', gone, '--listen', `127.0.0.1:${port}`)
  expect(checked.ok).toBe(false)
  expect(checked.results['the ports are free']!.found).toContain(
    `127.0.0.1:${port}: the address is already in use`,
  )
  const free = await check('--sidecar', gone, '--listen', '127.0.0.1:0')
  expect(free.results['the ports are free']!.result).toBe('passed')
})

it('names rules that the sidecar has rejected', async () => {
  const file = join(directory, 'rejected.yaml')
  await writeFile(file, 'rules: [{ name: r }]\n')
  const ports = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--rules', file]
  const other = startProgram(['run', ...ports, '--upstream', server.url.origin])
  try {
    const { address } = await other.logged('admin listening')
    const { results } = await check('--sidecar', String(address))
    expect(results['the sidecar runs the latest rules']).toMatchObject({ result: 'failed' })
  } finally {
    await other.kill()
  }
})

it('shows why no rule acts', async () => {
  const ports = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--environment', 'production']
  const rules = ['--rules', join(directory, 'run.yaml')]
  const other = startProgram(['run', ...ports, '--upstream', server.url.origin, ...rules])
  try {
    const { address } = await other.logged('admin listening')
    const { results } = await check('--sidecar', String(address))
    expect(results['rules may act']!.found).toMatch(/^disarmed, environment: .*production/)
    expect(results['rules may act']!.fix).toMatch(
      /^no rule acts in production; check --environment/,
    )
  } finally {
    await other.kill()
  }
})
