import { oneLine } from '../../base/text/foreign-text.ts'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Logger } from '../../telemetry/log.ts'
import type { AdminResponse } from '../admin-response.ts'
import type { AppProbe, AppProbes, CheckContext, Finding, TcpAction } from './app-probe.ts'
import type { Routes } from '../routes.ts'

/** The start of the path of each check: `/app-health/<container>/<probe>`. */
const APP_HEALTH = '/app-health/'

// The kubelet makes each check one at a time; more requests have another sender.
const MAX_AT_ONCE = 32
const NO_NAME = 'kube-probe/squall'
const MAX_WHY = 300

/**
 * Makes the paths at which the kubelet checks the upstream through the admin port. Only declared
 * checks are made, and only the user agent of a request is forwarded.
 */
export function appHealthRoutes(probes: AppProbes, logger: Logger): Routes {
  let running = 0
  const run = async (
    probe: AppProbe,
    response: ServerResponse,
  ): Promise<AdminResponse | undefined> => {
    if (running >= MAX_AT_ONCE) return textResponse(503, 'too many concurrent checks')
    running++
    try {
      return await runProbe(probe, response, logger)
    } finally {
      running--
    }
  }
  return probes.map((probe) => [
    `${APP_HEALTH}${probe.key}`,
    { open: true, stream: (response) => run(probe, response) },
  ])
}

async function runProbe(
  probe: AppProbe,
  response: ServerResponse,
  logger: Logger,
): Promise<AdminResponse | undefined> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  const timeout = AbortSignal.timeout(probe.timeoutMs)
  const finding = await check(probe, {
    signal: AbortSignal.any([left.signal, timeout]),
    userAgent: response.req.headers['user-agent'] ?? NO_NAME,
  }).catch((error: unknown): Finding => {
    if (timeout.aborted) return { ok: false, why: `no response within ${probe.timeoutMs} ms` }
    return { ok: false, why: reasonOf(error) }
  })
  const { ok, status, why } = finding
  logger.debug({ check: probe.key, ok, status, why }, 'checked the health of the upstream')
  // The kubelet fails a hook only when there is no response at all.
  if (probe.isHook && !ok && status === undefined) response.destroy()
  return response.destroyed ? undefined : textResponse(ok ? 200 : passedOn(status), why)
}

/** HTTP/2 and TLS are loaded where a pod has probes that need them. */
async function check({ action }: AppProbe, context: CheckContext): Promise<Finding> {
  if (action.kind === 'http') {
    return (await import('./app-probe-http.ts')).checkHttp(action, context)
  }
  if (action.kind === 'tcp') return checkTcp(action, context)
  return (await import('./app-probe-grpc.ts')).checkGrpc(action, context)
}

/** Succeeds when the upstream accepts a connection. */
async function checkTcp({ host, port }: TcpAction, { signal }: CheckContext): Promise<Finding> {
  const socket = connect({ host, port, signal })
  try {
    await once(socket, 'connect')
    return { ok: true, why: 'the upstream accepts connections' }
  } finally {
    socket.destroy()
  }
}

/** Returns the status of the upstream where that is an error. */
function passedOn(status: number | undefined): number {
  return status !== undefined && status >= 400 && status <= 599 ? status : 502
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the check failed'
  const { code } = error as NodeJS.ErrnoException
  // Where a name has several addresses, the reasons are in a list and the message is empty.
  return error.message === ''
    ? `the upstream cannot be checked: ${code ?? 'no reason given'}`
    : error.message
}

/** Makes a line of text, which may contain text from the upstream. */
function textResponse(status: number, why: string): AdminResponse {
  return { status, type: 'text/plain; charset=utf-8', body: `${oneLine(why, MAX_WHY)}\n` }
}
