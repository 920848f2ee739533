// part: clients
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { disguiseTruth } from './disguise-truth.ts'
import { type Program, startProgram } from '../support/commands.ts'
import { systemTool } from './tools.ts'

const python = fileURLToPath(new URL('./python_server.py', import.meta.url))

let server: Program | undefined
afterEach(() => server?.kill())

/** Starts a program that says which port it took; resolves with its origin. */
async function start(program: string, ...args: readonly string[]): Promise<string> {
  server = startProgram(args, {}, { program })
  return `http://127.0.0.1:${await server.firstLine()}`
}

it.each([
  ['Go', () => start(systemTool('bin/mcp-go-server', 'The server of the Go SDK'))],
  ['Python', () => start(systemTool('venv/bin/python', 'The Python SDK'), python)],
])('what a server of the %s SDK reads in disguised calls is what is counted', async (_, open) => {
  const { ran, wrong } = await disguiseTruth(await open())
  expect(wrong).toEqual([])
  expect(ran.length).toBeGreaterThan(10)
})
