// part: docs
// Commands of the documents that need programs of others: the MCP Inspector, bridges, pytest and
// k6.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { blocksOf, commandsOf, ROOT } from '../docs/blocks.ts'
import { elsewhere } from '../docs/page-run.ts'
import { type Reader } from '../docs/reader.ts'
import { startTerminal } from '../support/commands.ts'
import { systemTool } from './tools.ts'

const SELF = 'docs-programs.test.ts'
const EVERYTHING = `node ${ROOT}node_modules/@modelcontextprotocol/server-everything/dist/index.js stdio`
const RULES = `rules:
  - name: search-fails
    match: { tool: search_docs }
    percent: 50
    faults: [abort: { toolError: 'search is down' }]
`

let reader: Reader

beforeEach(async () => {
  const bin = (path: string): string => join(ROOT, 'build/system-tools', path)
  systemTool('node_modules/.bin/supergateway', 'supergateway')
  reader = await startTerminal({
    reader: {
      modules: bin('node_modules'),
      // Node 24 is there, too: the Inspector needs more than Node 20.
      path: [bin('venv/bin'), bin('bin'), bin('node_modules/.bin')],
    },
  })
  await reader.write('rules.yaml', RULES)
})

afterEach(() => reader.close())

async function commandsOn(page: string): Promise<readonly string[]> {
  const commands = (await blocksOf(page)).flatMap(commandsOf)
  return commands.filter((command) => elsewhere(page, command)?.by === SELF)
}

/** Starts the example server and Squall in front of it. */
async function startBoth(): Promise<void> {
  await reader.run('node examples/server.mjs')
  await reader.run('npx mcp-squall run --rules rules.yaml')
}

it('the MCP Inspector lists the tools through Squall', async () => {
  await startBoth()
  const [inspector] = await commandsOn('docs/get-started/agents.md')
  const { code, text } = await reader.run(inspector!)
  expect(text).toContain('"name": "search_docs"')
  expect(code).toBe(0)
})

it('the MCP Inspector lists the tools of a server on stdio', async () => {
  const [inspector] = await commandsOn('docs/guides/stdio.md')
  const { code, text } = await reader.run(inspector!.replace('python server.py', EVERYTHING))
  expect(text).toContain('"msg":"active rules"')
  expect(text).toContain('"name": "echo"')
  expect(code).toBe(0)
})

it('Claude Desktop reaches Squall by the bridge of its configuration', async () => {
  await startBoth()
  const file = JSON.parse(
    await readFile(`${ROOT}examples/clients/claude-desktop.json`, 'utf8'),
  ) as {
    readonly mcpServers: { readonly shop: { readonly command: string; readonly args: string[] } }
  }
  const { command, args } = file.mcpServers.shop
  expect([command, args[0], args[1]]).toEqual(['npx', '-y', 'mcp-remote'])
  const transport = new StdioClientTransport({
    command: systemTool('node_modules/.bin/mcp-remote', 'mcp-remote'),
    args: [args[2]!.replace('15300', String(reader.port(15300)))],
    // It keeps tokens of OAuth at home.
    env: { HOME: reader.directory, PATH: process.env['PATH'] ?? '' },
    stderr: 'ignore',
  })
  const client = new Client({ name: 'desktop', version: '1.0.0' })
  await client.connect(transport)
  try {
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('search_docs')
    const results = []
    for (let n = 0; n < 20; n++) {
      results.push(await client.callTool({ name: 'search_docs', arguments: { query: 'x' } }))
    }
    expect(results.filter(({ isError }) => isError === true).length).toBeGreaterThan(0)
  } finally {
    await client.close()
  }
})

it('a server on stdio is reached through a bridge and Squall', async () => {
  const [, bridge] = await commandsOn('docs/get-started/agents.md')
  const { text: up } = await reader.run(
    bridge!.replace('npx @modelcontextprotocol/server-everything', EVERYTHING),
  )
  expect(up).toContain('[supergateway]')
  await reader.run('npx mcp-squall run --rules rules.yaml')
  const { code, text } = await reader.run(
    'npx mcp-squall load --target http://127.0.0.1:15300/mcp --tools echo --task-count 20 --json',
  )
  expect(code, text).toBe(0)
  expect(text).toContain('"tool":"echo"')
})

it('top shows two sidecars, by the commands of docs/guides/top.md', async () => {
  await startBoth()
  await reader.run(
    'npx mcp-squall run --rules rules.yaml --listen 127.0.0.1:8080 --admin 127.0.0.1:15391',
  )
  const commands = await commandsOn('docs/guides/top.md')
  expect(commands.length).toBeGreaterThan(2)
  for (const printed of commands) {
    // Without an address it asks the port that this machine may use for something else.
    const command = printed.replace(/top(?= +[#|])/, 'top 15390')
    const { code, text } = await reader.run(command)
    // One that goes on is stopped with the reader.
    expect([0, null], `${command}\n${text}`).toContain(code)
    expect(text).toMatch(/armed|false/)
  }
})

it('the demo writes a report, by the command of docs/get-started/demo.md', async () => {
  const [demo] = await commandsOn('docs/get-started/demo.md')
  const { code, text } = await reader.run(demo!)
  expect(code, text).toBe(0)
  expect(JSON.parse(text)).toMatchObject({ ok: true })
  expect(await readFile(join(reader.directory, 'demo.html'), 'utf8')).toContain('Squall demo')
})

it('pytest runs its example', async () => {
  await reader.run('node examples/server.mjs')
  const [pytest] = await commandsOn('docs/guides/in-tests.md')
  const { code, text } = await reader.run(pytest!)
  expect(text).toContain('2 passed')
  expect(code).toBe(0)
})

it('k6 runs its example, and separates injected errors from real ones', async () => {
  await startBoth()
  const [k6] = await commandsOn('deploy/examples/README.md')
  const short = k6!.replace('k6 run', 'k6 run -e VUS=4 -e DURATION=2s -e RAMP=1s')
  const { code, text } = await reader.run(
    short
      .replace('TOOL=get_weather', 'TOOL=search_docs')
      .replace('{"city":"Oslo"}', '{"query":"x"}'),
  )
  expect(text).toMatch(/mcp_injected\W+\d+\.\d+%/)
  // Half of the calls fail: the threshold of 95 % is crossed.
  expect(text).toMatch(/thresholds on metrics 'mcp_responded'/)
  expect(code).toBe(99)
})

it('actionlint accepts the workflows', async () => {
  const own = (await readdir(`${ROOT}.github/workflows`)).map((name) => `.github/workflows/${name}`)
  const files = ['examples/ci/github-actions.yml', ...own].map((file) => `'${ROOT}${file}'`)
  const program = systemTool('bin/actionlint', 'actionlint')
  const { code, text } = await reader.run(`'${program}' -shellcheck= ${files.join(' ')}`)
  expect(text).toBe('')
  expect(code).toBe(0)
})
