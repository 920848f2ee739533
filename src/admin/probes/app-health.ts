import { oneLine } from '../../base/text/foreign-text.ts'
import type { ServerResponse } from 'node:http'
import type { Logger } from '../../telemetry/log.ts'
import type { AdminResponse } from '../admin-response.ts'
import type { AppProbe, AppProbes, CheckContext, Finding } from './app-probe.ts'
import type { AdminRoute } from '../routes.ts'

/** Below this path stand the checks: `/app-health/<container>/<probe>`. */
const APP_HEALTH = '/app-health/'

// The kubelet asks for each check one at a time; more than this is not the kubelet.
const MAX_AT_ONCE = 32
const NO_NAME = 'kube-probe/squall'
const MAX_WHY = 300

/**
 * The paths at which the kubelet asks for the app instead of asking the app itself. Only what was
 * declared is asked: nothing of a request but the name that its sender gives itself goes on.
 */
export function appHealthRoutes(
  probes: AppProbes,
  logger: Logger,
): readonly (readonly [string, AdminRoute])[] {
  let running = 0
  const run = async (probe: AppProbe, response: ServerResponse): Promise<void> => {
    if (running >= MAX_AT_ONCE) return send(response, 503, 'too many checks at once')
    running++
    try {
      await answer(probe, response, logger)
    } finally {
      running--
    }
  }
  return probes.map((probe) => [
    `${APP_HEALTH}${probe.key}`,
    {
      open: true,
      stream: (response): AdminResponse | undefined => {
        run(probe, response).catch((err: unknown) => {
          logger.error({ err }, 'a check of the app failed')
          response.destroy()
        })
        return undefined
      },
    },
  ])
}

async function answer(probe: AppProbe, response: ServerResponse, logger: Logger): Promise<void> {
  const left = new AbortController()
  response.once('close', () => left.abort())
  const timeout = AbortSignal.timeout(probe.timeoutMs)
  const finding = await check(probe, {
    signal: AbortSignal.any([left.signal, timeout]),
    userAgent: response.req.headers['user-agent'] ?? NO_NAME,
  }).catch((error: unknown): Finding => {
    if (timeout.aborted) return { ok: false, why: `no response in ${probe.timeoutMs} ms` }
    return { ok: false, why: reasonOf(error) }
  })
  const { ok, status, why } = finding
  logger.debug({ check: probe.key, ok, status, why }, 'asked the app for its health')
  // The kubelet fails a hook only when there is no response at all.
  if (probe.isHook && !ok && status === undefined) return void response.destroy()
  send(response, ok ? 200 : passedOn(status), why)
}

/** HTTP/2 and TLS are loaded where a pod has probes that need them. */
async function check({ action }: AppProbe, context: CheckContext): Promise<Finding> {
  if (action.kind === 'http') {
    return (await import('./app-probe-http.ts')).checkHttp(action, context)
  }
  if (action.kind === 'tcp') return (await import('./app-probe-tcp.ts')).checkTcp(action, context)
  return (await import('./app-probe-grpc.ts')).checkGrpc(action, context)
}

/** The status of the app, where it says that something is wrong. */
function passedOn(status: number | undefined): number {
  return status !== undefined && status >= 400 && status <= 599 ? status : 502
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'the check failed'
  const { code } = error as NodeJS.ErrnoException
  // Where a name has several addresses, the reasons are in a list and the message is empty.
  return error.message === ''
    ? `the app cannot be asked: ${code ?? 'no reason given'}`
    : error.message
}

function send(response: ServerResponse, status: number, why: string): void {
  if (response.destroyed) return
  // The line may contain text from the app.
  const line = Buffer.from(`${oneLine(why, MAX_WHY)}\n`)
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': line.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  response.end(line)
}
