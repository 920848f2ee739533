import { resolve } from 'node:path'
import { quoted } from '#base'
import type { Plan } from '../experiment/plan.ts'
import type { Rejection } from '../experiment/rejection.ts'
import type { ControlRequest } from '../commands/mcp.ts'
import { adminUrl } from './open-sidecars.ts'

type PlanBounds = ControlRequest['bounds']

/**
 * Returns the reasons to reject a plan that reaches beyond the bounds: it would replace a file,
 * read a port, or send a token where nobody allowed it.
 */
export function boundsRejections(plan: Plan, bounds: PlanBounds): readonly Rejection[] {
  return [...sidecarRejections(plan, bounds), ...monitorRejections(plan, bounds)]
}

function sidecarRejections({ sidecar, file }: Plan, bounds: PlanBounds): readonly Rejection[] {
  const { sidecars, namespaces, context } = bounds
  if (sidecar.kind === 'pods') {
    const known = namespaces.includes(sidecar.namespace)
    const same = sidecar.context === undefined || sidecar.context === context
    if (known && same) return []
    const open = namespaces.length === 0 ? 'no namespace' : namespaces.join(', ')
    const wrong = `squall mcp opens ${open}, not ${quoted(sidecar.namespace)}${same ? '' : ' of another context'}`
    return [rejection(wrong, 'use an open namespace, or ask for --namespace', ['sidecar'])]
  }
  const found: Rejection[] = []
  const isOpen = sidecars.some(
    (each) =>
      adminUrl(each).origin === sidecar.admin.url.origin &&
      resolve(each.rulesFile) === sidecar.rulesFile,
  )
  if (!isOpen) {
    const forms = sidecars.map(
      (each) => `sidecar: { admin: ${adminUrl(each).origin}, rulesFile: ${each.rulesFile} }`,
    )
    const wrong = 'squall mcp does not open this sidecar with this rules file'
    const fix = forms.length === 0 ? 'ask for --sidecar' : `write ${forms.join(', or ')}`
    found.push(rejection(wrong, fix, ['sidecar']))
  }
  if (file.kill !== undefined) {
    const wrong = 'squall mcp kills no processes of this machine'
    found.push(rejection(wrong, 'leave kill out, or run the plan with squall experiment', ['kill']))
  }
  return found
}

function monitorRejections({ file, alerts }: Plan, bounds: PlanBounds): readonly Rejection[] {
  const sections = [file.steadyState, file.abortOn ?? {}, file.expect?.during ?? {}]
  const written = sections.flatMap(({ health = [], promql = [] }) => [health, promql].flat())
  const urls = [...alerts.map(({ url }) => url), ...written.map(({ url }) => new URL(url))]
  const others = new Set(urls.map(({ origin }) => origin))
  for (const open of bounds.monitors) others.delete(open)
  return [...others].map((origin) => {
    const wrong = `squall mcp does not open the monitoring at ${origin}`
    return rejection(wrong, 'leave the condition out, or ask for --monitor', [])
  })
}

function rejection(wrong: string, fix: string, path: Rejection['path'] & {}): Rejection {
  return { code: 'POLICY', wrong, fix, path }
}
