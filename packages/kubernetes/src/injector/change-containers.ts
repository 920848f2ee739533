import type { Undo } from './injection-status.ts'
import { moveNames } from './move-names.ts'
import type { Plan } from './sidecar-args.ts'
import type { Container, Handler, Pod } from './pod.ts'
import { Denial } from './injection.ts'
import { type AppProbe, keptProbes, numberProbes, rewriteProbes } from './rewrite-probes.ts'

/** The limits of the sidecar. */
const MOST_PROBES = 64
const LONGEST_PROBES = 60 * 1024

/** Redirects probes to the admin port, without faults; in mode `port`, removes names of ports. */
export function changeContainers(
  { spec }: Pod,
  { mode, ports, options, settings }: Pick<Plan, 'mode' | 'ports' | 'options' | 'settings'>,
  kept: Readonly<Record<string, Handler>>,
) {
  const probes: Record<string, AppProbe> = {}
  const originals: NonNullable<Undo['probes']> & Record<string, unknown> = { ...kept }
  const names: Record<string, string> = {}
  const warnings: string[] = []
  const isRewriting = options.get('rewrite-probes') !== 'false'
  const change = (before: Container): Container => {
    Object.assign(probes, keptProbes(before, kept))
    // Requests of the kubelet to the address of the pod reach the sidecar.
    if (mode !== 'port') {
      if (!isRewriting) return before
      const rewritten = rewriteProbes(before, ports, settings.adminPort)
      Object.assign(probes, rewritten.probes)
      Object.assign(originals, rewritten.originals)
      return rewritten.container
    }
    const numbered = numberProbes(before, ports)
    const moved = moveNames(numbered.container, ports)
    Object.assign(originals, numbered.originals)
    Object.assign(names, moved.names)
    warnings.push(...moved.warnings)
    return moved.container
  }
  const containers = (spec?.containers ?? []).map(change)
  // Init containers that end have neither probes nor ports of their own.
  const initContainers = (spec?.initContainers ?? []).map((each) =>
    each.restartPolicy === 'Always' ? change(each) : each,
  )
  if (Object.keys(probes).length > MOST_PROBES || JSON.stringify(probes).length > LONGEST_PROBES) {
    throw new Denial(
      'too_large',
      `the intercepted ports have more than ${MOST_PROBES} probes, or probes of more than ${LONGEST_PROBES} characters`,
      `shorten them, or send them through the sidecar with ${settings.prefix}rewrite-probes: "false"`,
    )
  }
  if (mode !== 'port' && !isRewriting) {
    warnings.push(
      'probes are not rewritten: a rule that matches them makes the kubelet restart the container',
    )
  }
  const undo = {
    ...(Object.keys(originals).length > 0 && { probes: originals }),
    ...(Object.keys(names).length > 0 && { ports: names }),
  }
  return { containers, initContainers, probes, undo, warnings }
}
