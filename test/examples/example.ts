import { readFile } from 'node:fs/promises'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  type AuthProvider,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, expect } from 'vitest'
import { mountRules } from '../live/rules-directory.ts'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { metricValue, startUpstream } from '../support/wire.ts'
import { type Squall, startSquall } from '../support/commands.ts'
import type { Agent, ToolResult } from './agent.ts'
import type { ExampleServer } from './example-server.ts'

/** Squall with one of the example files, in front of the server that comes with them. */
export interface Example {
  readonly squall: Squall
  readonly server: {
    readonly origin: string
    /** Returns the number of executions of a tool since the example was started. */
    readonly executed: (tool: string) => Promise<number>
  }
  readonly url: string
  /** Opens a client of SDK v1. */
  readonly v1: (token?: string) => Promise<Agent>
  /** Opens a client of SDK v2. */
  readonly v2: (auth?: AuthProvider) => Promise<Agent>
  /** Returns the total duration of a tool's calls in seconds, as the client saw it. */
  readonly seconds: (tool: string) => Promise<number>
  /** Resolves when so many calls of a tool are counted. */
  readonly ended: (tool: string, calls: number) => Promise<void>
  /** Resolves when the upstream is known to have responded to so many calls of a tool. */
  readonly responded: (tool: string, calls: number) => Promise<void>
  /** Resolves when a rule's fault has taken effect so often. */
  readonly injected: (rule: string, times: number) => Promise<void>
  /** Resolves when so many calls failed by a fault; fails when any failed otherwise. */
  readonly errors: (injected: number, labels?: Readonly<Record<string, string>>) => Promise<void>
}

/** The options for starting an example. */
export interface ExampleOptions {
  /** Texts of the file, and what stands there instead. */
  readonly replace?: Readonly<Record<string, string>>
  /** The server responds with JSON bodies instead of event streams. */
  readonly json?: boolean
}

// Does not wait for calls that a fault still holds back when a test ends.
const AT_ONCE = ['--drain-timeout', '0s']

/** The file of an example. */
export function exampleFile(name: string): URL {
  return new URL(`../../examples/${name}.yaml`, import.meta.url)
}

/**
 * Starts examples, each closed after its test. Those with equal servers share one, which ends with
 * the test file. Call once at the top of a test file.
 */
export function examples(): (name: string, options?: ExampleOptions) => Promise<Example> {
  const closing = closers()
  const servers = new Map<string, Promise<ExampleServer>>()
  const serverWith = (flag: string): Promise<ExampleServer> => {
    const server = servers.get(flag) ?? startUpstream('example', ...(flag === '' ? [] : [flag]))
    servers.set(flag, server)
    return server
  }
  afterAll(async () => {
    for (const server of servers.values()) await (await server).close()
  })
  return async (name, options = {}) => {
    let rules = await readFile(exampleFile(name), 'utf8')
    for (const [from, to] of Object.entries(options.replace ?? {})) {
      expect(rules).toContain(from)
      rules = rules.replaceAll(from, to)
    }
    const { origin, executed } = await serverWith(options.json === true ? '--json' : '')
    const before = await executed()
    const mounted = await mountRules(rules)
    closing({ close: () => mounted.remove() })
    const squall = closing(
      await startSquall('--upstream', origin, '--rules', mounted.file, ...AT_ONCE),
    )
    const reported = async (metric: string, tool: string): Promise<number> =>
      metricValue(await (await fetch(`${squall.admin}/metrics`)).text(), metric, { tool })
    const url = `http://127.0.0.1:${squall.port}/mcp`
    return {
      squall,
      server: {
        origin,
        executed: async (tool) => ((await executed())[tool] ?? 0) - (before[tool] ?? 0),
      },
      url,
      v1: async (token) => closing(await openAgentV1(url, token)),
      v2: async (auth) => closing(await openAgentV2(url, auth)),
      seconds: (tool) => reported('squall_call_duration_seconds_sum', tool),
      ended: (tool, calls) => squall.reaches('squall_calls_total', { tool }, calls),
      responded: (tool, calls) =>
        eventually(async () => {
          const now = await reported('squall_upstream_duration_seconds_count', tool)
          return now === calls ? undefined : `the upstream answered ${now} calls, not ${calls}`
        }),
      injected: (rule, times) => squall.reaches('squall_faults_injected_total', { rule }, times),
      errors: async (injected, labels = {}) => {
        await squall.reaches('squall_errors_total', { origin: 'injected', ...labels }, injected)
        expect(await squall.metric('squall_errors_total', labels)).toBe(injected)
      },
    }
  }
}

const ARGUMENTS: Readonly<Record<string, Record<string, unknown>>> = {
  search_docs: { query: 'refunds' },
  get_weather: { city: 'Oslo' },
  list_orders: { customer: 'ada' },
  create_ticket: { title: 'It is broken' },
  fetch_document: { id: 'handbook' },
}

const ABOUT = { name: 'my-agent', version: '1.0.0' }

/** Opens a client of SDK v1, with a token where it is given one. */
async function openAgentV1(url: string, token?: string): Promise<Agent> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const transport = new TransportV1(new URL(url), { requestInit: { headers } })
  const client = new ClientV1(ABOUT)
  await client.connect(transport)
  return {
    session: transport.sessionId,
    tools: async () => (await client.listTools()).tools,
    call: async (name, { args = ARGUMENTS[name] ?? {}, timeout = 15_000 } = {}) =>
      (await client.callTool({ name, arguments: args }, undefined, { timeout })) as ToolResult,
    close: () => client.close(),
  }
}

/** Opens a client of SDK v2, with what gets it tokens. */
async function openAgentV2(url: string, authProvider?: AuthProvider): Promise<Agent> {
  const transport = new TransportV2(new URL(url), authProvider && { authProvider })
  const client = new ClientV2(ABOUT)
  await client.connect(transport)
  return {
    session: transport.sessionId,
    tools: async () => (await client.listTools()).tools,
    call: async (name, { args = ARGUMENTS[name] ?? {}, timeout = 15_000 } = {}) =>
      (await client.callTool({ name, arguments: args }, { timeout })) as ToolResult,
    close: () => client.close(),
  }
}
