import { randomBytes } from 'node:crypto'
import {
  createRequestStateCodec,
  McpServer,
  type RequestStateCodec,
} from '@modelcontextprotocol/server'
import { readVersion } from '#cli'
import type { Audit } from './audit.ts'
import type { Control } from './control.ts'
import { type Asked, toolAdder } from './control-tool.ts'
import { EXPERIMENT_TOOLS } from './experiment-tools.ts'
import { addGuidance } from './guidance.ts'
import { HISTORY_TOOLS } from './history-tools.ts'
import { WHAT_NEXT } from './next-tool.ts'
import { OBSERVE } from './observe-tool.ts'
import { REFERENCE_TOOLS } from './reference-tools.ts'
import { SUGGEST_SLO } from './slo-tool.ts'
import { DISARM, LIST_TARGETS } from './target-tools.ts'

const MAX_ELEMENTS = 20_000
const ANSWER_MS = 600_000
const INSTRUCTIONS =
  'Squall injects faults into MCP calls. Read squall://policy and call list_targets first. Propose each experiment; only an approved proposal runs, and only once. When a proposal is denied, change the plan.'

/**
 * Returns a function that creates a server for one client. All of them share experiments and
 * proposals.
 */
export function controlServers(control: Control, audit: Audit): () => McpServer {
  const states: RequestStateCodec<Asked> = createRequestStateCodec<Asked>({
    key: randomBytes(32),
    ttlSeconds: ANSWER_MS / 1000,
  })
  const tools = [
    LIST_TARGETS,
    ...(control.adminToken === undefined ? [] : [DISARM]),
    OBSERVE,
    SUGGEST_SLO,
    WHAT_NEXT,
    ...REFERENCE_TOOLS,
    ...EXPERIMENT_TOOLS,
    ...HISTORY_TOOLS,
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
