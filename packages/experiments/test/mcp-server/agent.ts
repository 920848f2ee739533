import { mkdtempSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { policyDigest, trustPolicy } from '../../src/policy/trust.ts'
import type { ExperimentStage } from '../experiment/stage.ts'

/** Experiments take longer than a minute. */
const TIMEOUT_MS = 300_000

const MAIN = fileURLToPath(new URL('../../../../dist/cli/main.js', import.meta.url))

/** The environment of `squall mcp`: digests of policies are kept outside of a person's own. */
export const STATE = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), 'squall-state-')) }

/** Trusts a policy as it is now, as a person does with `squall mcp policy trust`. */
export async function trust(file: string): Promise<void> {
  const digest = policyDigest(await readFile(file, 'utf8'))
  await trustPolicy(join(STATE.XDG_STATE_HOME, 'squall'), file, { digest, by: 'ada' })
}

export const SDKS = ['v1', 'v2', 'v2 auto'] as const
type Sdk = (typeof SDKS)[number]

export interface ToolResult {
  readonly isError: boolean
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- each tool has its own structure
  readonly data: any
}

/** An AI agent: the client of an SDK, and the person before it, who answers questions. */
export interface Agent {
  readonly client: ClientV1 | ClientV2
  /** The process of the server, over stdio. */
  readonly pid: number | null
  readonly questions: readonly string[]
  readonly progress: readonly string[]
  call(name: string, args?: Record<string, unknown>, signal?: AbortSignal): Promise<ToolResult>
  close(): Promise<void>
}

export interface AgentSetup {
  readonly sdk?: Sdk
  /** The answers of the person; undefined for a client that cannot ask. */
  readonly approves?: boolean | undefined
  /** The arguments of `squall mcp` over stdio, or the URL of a server. */
  readonly server: readonly string[] | URL
  readonly token?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Connects an agent. */
export async function openAgent({
  sdk = 'v1',
  approves,
  server,
  token,
  env = STATE,
}: AgentSetup): Promise<Agent> {
  const questions: string[] = []
  const progress: string[] = []
  const capabilities = approves === undefined ? {} : { elicitation: {} }
  const answer = (message: string) => {
    questions.push(message)
    return { action: 'accept' as const, content: { approve: approves === true } }
  }
  const info = { name: 'agent', version: '1.0.0' }
  const requestInit =
    token === undefined ? {} : { requestInit: { headers: { authorization: `Bearer ${token}` } } }
  const started = {
    command: process.execPath,
    args: [MAIN, 'mcp'],
    env: { ...env },
    stderr: 'ignore' as const,
  }
  const onprogress = ({ message = '' }: { message?: string | undefined }) => {
    progress.push(message)
  }
  const shared = { questions, progress }
  if (sdk === 'v1') {
    const client = new ClientV1(info, { capabilities })
    if (approves !== undefined) {
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message))
    }
    const stdio = new StdioV1(
      server instanceof URL ? started : { ...started, args: [...started.args, ...server] },
    )
    await client.connect(server instanceof URL ? new HttpV1(server, requestInit) : stdio)
    return {
      ...shared,
      client,
      pid: stdio.pid,
      call: async (name, args = {}, signal) => {
        const options = { onprogress, timeout: TIMEOUT_MS, ...(signal !== undefined && { signal }) }
        return resultOf(await client.callTool({ name, arguments: args }, undefined, options))
      },
      close: () => client.close(),
    }
  }
  const mode = sdk === 'v2' ? 'legacy' : 'auto'
  const client = new ClientV2(info, { capabilities, versionNegotiation: { mode } })
  if (approves !== undefined) {
    client.setRequestHandler('elicitation/create', ({ params }) => answer(params.message))
  }
  const stdio = new StdioV2(
    server instanceof URL ? started : { ...started, args: [...started.args, ...server] },
  )
  await client.connect(
    server instanceof URL ? new StreamableHTTPClientTransport(server, requestInit) : stdio,
  )
  return {
    ...shared,
    client,
    pid: stdio.pid,
    call: async (name, args = {}, signal) => {
      const options = { onprogress, timeout: TIMEOUT_MS, ...(signal !== undefined && { signal }) }
      return resultOf(await client.callTool({ name, arguments: args }, options))
    },
    close: () => client.close(),
  }
}

function resultOf(result: unknown): ToolResult {
  const {
    isError = false,
    content,
    structuredContent,
  } = result as {
    isError?: boolean
    content: readonly { text: string }[]
    structuredContent?: unknown
  }
  return { isError, text: content.map(({ text }) => text).join('\n'), data: structuredContent }
}

/** Proposes a plan, and returns what `run_experiment` needs. */
export async function propose(agent: Agent, plan: string): Promise<{ id: string; digest: string }> {
  const { data, text, isError } = await agent.call('propose_experiment', { plan })
  if (isError) throw new Error(text)
  const { id, digest } = data as { id: string; digest: string }
  return { id, digest }
}

/** Returns the phase of the rule of a plan in the sidecar of a stage. */
export async function phaseIn({ squall }: ExperimentStage): Promise<string | undefined> {
  const response = await fetch(`${squall.admin}/api/rules`)
  const { rules } = (await response.json()) as { rules: { name: string; phase: string }[] }
  return rules.find(({ name }) => name === 'broken')?.phase
}

/** Writes the policy of a stage, which a person trusts, and returns the arguments of `squall mcp` for it. */
export async function controlFlags(
  { directory, rulesFile, squall, server }: ExperimentStage,
  policy: object = {},
): Promise<string[]> {
  const at = (name: string): string => join(directory, name)
  const least = {
    targets: ['http://127.0.0.1:*/mcp'],
    environments: ['staging'],
    firstStage: '20%',
    perHour: 100,
    require: ['abortOn', 'steadyState'],
  }
  await writeFile(at('policy.yaml'), JSON.stringify({ ...least, ...policy }))
  await trust(at('policy.yaml'))
  const flags = {
    policy: at('policy.yaml'),
    audit: at('audit.jsonl'),
    sidecar: `${new URL(squall.admin).host}=${rulesFile}`,
    target: `${server.url.origin}/mcp`,
    experiments: at('experiments'),
    'state-dir': at('state'),
  }
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
}
