import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  McpServer,
  createRequestStateCodec,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { interruption, readVersion } from '#base'
import { INTERRUPTED, print, UsageError } from '#cli'
import { formatListen, type ListenAddress } from '#protocol'
import { BindError } from '#sidecar'
import { readPolicyFile } from '../cli/policy.ts'
import type { ControlRequest } from '../commands/mcp.ts'
import { openAudit, type Audit } from './audit.ts'
import { type Control, type Asked, toolAdder } from './control-tool.ts'
import { OBSERVE, SUGGEST_SLO, WHAT_AGENTS_DID, WHAT_NEXT } from './evidence-tools.ts'
import { EXPERIMENT_TOOLS } from './experiment-tools.ts'
import { freezePolicy } from '../policy/frozen-policy.ts'
import { addGuidance } from './guidance.ts'
import { HISTORY_TOOLS } from './history-tools.ts'
import { listenHttp, PATH } from './http-front.ts'
import { Proposals } from './proposals.ts'
import { REFERENCE_TOOLS } from './reference-tools.ts'
import { RunningExperiments } from './running.ts'
import { EXPLAIN_CELL, SWEEP_TASK } from './sweep-tools.ts'
import { DISARM, LIST_TARGETS } from './target-tools.ts'

/** Serves MCP until the client leaves or a signal arrives, and rolls running experiments back. */
export async function serveControl(request: ControlRequest): Promise<number> {
  const { access, audit, listen } = request
  // An invalid policy ends the server at the start, where a person reads the error.
  await readPolicyFile(request.policy)
  const limits = await freezePolicy(request)
  const running = new RunningExperiments()
  const proposals = new Proposals(access.stateDirectory)
  const create = controlServers({ ...request, limits, proposals, running }, await openAudit(audit))
  const stop = interruption(INTERRUPTED, ['SIGINT', 'SIGTERM', 'SIGHUP'])
  try {
    const serving =
      listen === undefined ? overStdio(create) : await overHttp(request, listen, create)
    const stopped = once(stop.signal, 'abort')
    await Promise.race([serving.ended, stopped])
    await running.stop()
    await serving.close()
    return 0
  } finally {
    stop.forget()
  }
}

/** Serves the client at standard input; `ended` resolves when it has left. */
function overStdio(create: () => McpServer) {
  const transport = new StdioServerTransport()
  const ended = once(process.stdin, 'close')
  const handle = serveStdio(create, { transport })
  return { ended, close: () => handle.close() }
}

async function overHttp(
  { token }: ControlRequest,
  address: ListenAddress,
  create: () => McpServer,
): Promise<ReturnType<typeof overStdio>> {
  try {
    const front = await listenHttp(address, token, create)
    const { host, port, text } = front.address
    const where =
      address.kind === 'unix' ? text : `http://${formatListen({ kind: 'tcp', host, port })}${PATH}`
    await print(`squall mcp listens on ${where}\n`)
    return { ended: new Promise(() => {}), close: () => front.close() }
  } catch (error) {
    if (!(error instanceof BindError)) throw error
    throw new UsageError('CANNOT_LISTEN', error.problem, error.remedy)
  }
}

const MAX_ELEMENTS = 20_000
const ANSWER_MS = 600_000
const INSTRUCTIONS =
  'Squall injects faults into MCP calls. Read squall://policy and call list_targets first. Propose each experiment; only an approved proposal runs, and only once. When a proposal is denied, change the plan.'

/**
 * Returns a function that creates a server for one client. All of them share experiments and
 * proposals.
 */
function controlServers(control: Control, audit: Audit): () => McpServer {
  const states: RequestStateCodec<Asked> = createRequestStateCodec<Asked>({
    key: randomBytes(32),
    ttlSeconds: ANSWER_MS / 1000,
  })
  const tools = [
    LIST_TARGETS,
    ...(control.adminToken === undefined ? [] : [DISARM]),
    OBSERVE,
    WHAT_AGENTS_DID,
    SUGGEST_SLO,
    WHAT_NEXT,
    ...REFERENCE_TOOLS,
    ...EXPERIMENT_TOOLS,
    ...HISTORY_TOOLS,
    SWEEP_TASK,
    EXPLAIN_CELL,
  ]
  // Each session, and from 2026-07-28 on each request, has a server of its own.
  const adders = tools.map((tool) => toolAdder(tool, { control, states, audit }))
  return () => {
    const server = new McpServer(
      { name: 'squall', title: 'Squall', version: readVersion() },
      {
        capabilities: { tools: {}, resources: {}, prompts: {} },
        instructions: INSTRUCTIONS,
        inputRequired: { roundTimeoutMs: ANSWER_MS },
        requestState: { verify: (state, context) => states.verify(state, context) },
        maxToolInputElements: MAX_ELEMENTS,
      },
    )
    for (const add of adders) add(server)
    addGuidance(server, control)
    return server
  }
}
