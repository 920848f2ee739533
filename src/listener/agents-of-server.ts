import type { AgentWatch } from '../agents/agent-watch.ts'
import type { ServerTools } from '../agents/server-tools.ts'

/** Watches the agents that call one server. */
export interface AgentsOfServer {
  readonly watch: AgentWatch
  readonly server: ServerTools
}
