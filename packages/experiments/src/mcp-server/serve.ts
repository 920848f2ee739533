import { once } from 'node:events'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { McpServer } from '@modelcontextprotocol/server'
import { formatListen, type ListenAddress } from '#protocol'
import { BindError } from '#sidecar'
import { INTERRUPTED, ownHosts, print, UsageError } from '#cli'
import { interruption } from '#base'
import { readPolicyFile } from '../cli/policy.ts'
import { openAudit } from './audit.ts'
import type { ControlRequest } from '../commands/mcp.ts'
import { controlServers } from './control-server.ts'
import { listenHttp, PATH } from './http-front.ts'
import { Proposals } from './proposals.ts'
import { RunningExperiments } from './running.ts'

/** Serves MCP until the client leaves or a signal arrives, and rolls running experiments back. */
export async function serveControl(request: ControlRequest): Promise<number> {
  const { access, audit, listen } = request
  // An invalid policy ends the server at the start, where a person reads the error.
  await readPolicyFile(request.policy)
  const running = new RunningExperiments()
  const proposals = new Proposals(access.stateDirectory)
  const create = controlServers({ ...request, proposals, running }, await openAudit(audit))
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

interface Serving {
  /** Resolves when the only client has left. */
  readonly ended: Promise<unknown>
  close(): Promise<void>
}

function overStdio(create: () => McpServer): Serving {
  const transport = new StdioServerTransport()
  const ended = once(process.stdin, 'close')
  const handle = serveStdio(create, { transport })
  return { ended, close: () => handle.close() }
}

async function overHttp(
  { token }: ControlRequest,
  address: ListenAddress,
  create: () => McpServer,
): Promise<Serving> {
  try {
    const front = await listenHttp(address, { token, hosts: ownHosts(address) }, create)
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
