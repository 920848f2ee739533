import type { KubeClient } from '../../cluster/kube/kube-client.ts'
import { findArmedProduction } from '../../cluster/kube/production-namespaces.ts'
import { sidecarOverview } from '../../cluster/kube/sidecar-overview.ts'
import type { Input, Output } from '../../lab/top/terminal.ts'
import { clientFor, onInterrupt } from './cluster-options.ts'
import type { StatusRequest } from '../commands/status.ts'
import {
  hasTrouble,
  type Status,
  statusDocument,
  statusText,
} from '../../cluster/kube/status-text.ts'
import { watchStatus } from './status-watch.ts'

const FAILED = 1

/** Runs `squall status`; the exit code is 1 when a sidecar cannot be asked, or is armed in production. */
export async function statusCommand(
  request: StatusRequest,
  output: Output = process.stdout,
  input: Input = process.stdin,
): Promise<number> {
  const { cluster, allNamespaces, json } = request
  const client = await clientFor(cluster)
  const { signal, release } = onInterrupt()
  const namespace = allNamespaces ? undefined : (cluster.namespace ?? client.namespace)
  const look = (until: AbortSignal): Promise<Status> =>
    readStatus(client, request, namespace, until)
  try {
    if (request.watch) return await watchStatus({ look, namespace, json, output, input, signal })
    const status = await look(signal)
    output.write(
      json ? `${JSON.stringify(statusDocument(status), null, 2)}\n` : statusText(status, namespace),
    )
    return hasTrouble(status) ? FAILED : 0
  } catch (error) {
    if (!signal.aborted) throw error
    return FAILED
  } finally {
    release()
    await client.close()
  }
}

async function readStatus(
  client: KubeClient,
  { cluster, production }: StatusRequest,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Status> {
  const { selector, prefix, readToken } = cluster
  const scope = { namespace, selector, prefix, readToken }
  const overview = await sidecarOverview(client, scope, { signal })
  const armed = new Map<string, number>()
  for (const { pod, state } of overview.reports) {
    if (state?.armed !== true || state.dryRun) continue
    armed.set(pod.namespace, (armed.get(pod.namespace) ?? 0) + 1)
  }
  const { found, trouble } = await findArmedProduction(
    client,
    armed,
    { ...production, prefix },
    { signal },
  )
  return { ...overview, production: found, productionTrouble: trouble }
}
