import { plain } from '../../base/text/foreign-text.ts'
import type { PodTarget, Targets } from '../../cluster/kube/targets.ts'

/** As many names as a terminal shows at once. */
const MAX_NAMES = 40

/** Lists the pods that rules touch and those that they do not; nothing where all are touched and no rule is replaced. */
export function targetsText({ pods, replaced }: Targets, isDryRun: boolean): string {
  const others = pods.filter(({ isTarget }) => !isTarget)
  const lines: string[] = []
  if (others.length > 0 || isDryRun) {
    const targets = pods.filter(({ isTarget }) => isTarget)
    lines.push(`rules act in ${targets.length} of ${pods.length} pods that read the configmap`)
    lines.push(...names(targets, ({ pod }) => `  acts in ${pod.name}`))
    lines.push(...names(others, ({ pod, why }) => `  not in ${pod.name}: ${why ?? ''}`))
  }
  if (replaced.length > 0) {
    const some = replaced.slice(0, MAX_NAMES).join(', ')
    const more = replaced.length > MAX_NAMES ? ` and ${replaced.length - MAX_NAMES} more` : ''
    lines.push(`takes the place of the rules ${some}${more}; to keep them use another --key`)
  }
  return lines.map((line) => `${plain(line)}\n`).join('')
}

function names(pods: readonly PodTarget[], line: (pod: PodTarget) => string): string[] {
  const more = pods.length > MAX_NAMES ? [`  and ${pods.length - MAX_NAMES} more`] : []
  return [...pods.slice(0, MAX_NAMES).map(line), ...more]
}
