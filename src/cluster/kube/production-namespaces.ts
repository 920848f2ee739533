import {
  findProduction,
  type Production,
  productionText,
} from '../../rules/guard/production-names.ts'
import { inParallel } from './in-parallel.ts'
import type { KubeClient } from './kube-client.ts'
import { KubeError } from './kube-error.ts'
import { getResource, type Limits, metadataOf, NAMESPACES } from './resources.ts'

/** Decides which namespaces are production. */
export interface NamespaceCheck {
  readonly patterns: readonly string[]
  /** The label of a namespace that names its environment. */
  readonly environmentLabel: string
}

/** A namespace of production in which sidecars are armed. */
export interface ArmedProduction {
  readonly namespace: string
  readonly armed: number
  readonly why: string
  /** True when the namespace's owner allows it by an annotation. */
  readonly isAllowed: boolean
}

const AT_A_TIME = 8
const ASK_MS = 3_000

/** Returns why a namespace is production: by its name, or by its label. */
export function findNamespaceProduction(
  { patterns, environmentLabel }: NamespaceCheck,
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): Production | undefined {
  const where = `the label ${environmentLabel} of the namespace ${namespace},`
  return findProduction(
    [
      { where: 'the namespace', name: namespace },
      { where, name: labels?.[environmentLabel] },
    ],
    patterns,
  )
}

/** Finds the namespaces of production among those with armed sidecars, as they are labelled now. */
export async function findArmedProduction(
  client: KubeClient,
  armed: ReadonlyMap<string, number>,
  check: NamespaceCheck & { readonly prefix: string },
  { signal }: Limits,
): Promise<{ readonly found: readonly ArmedProduction[]; readonly trouble: string | undefined }> {
  let trouble: string | undefined
  const all = await inParallel([...armed], AT_A_TIME, async ([namespace, count]) => {
    const place = { kind: NAMESPACES, name: namespace }
    const read = await getResource(client, place, { signal, timeoutMs: ASK_MS }).catch(
      (error: unknown) => {
        if (!(error instanceof KubeError)) throw error
        trouble ??= `whether the label ${check.environmentLabel} of namespaces with armed sidecars names production cannot be checked: ${error.message}`
        return undefined
      },
    )
    const { labels, annotations } = metadataOf(read ?? {})
    const production = findNamespaceProduction(check, namespace, labels)
    return production === undefined
      ? []
      : [
          {
            namespace,
            armed: count,
            why: productionText(production),
            isAllowed: annotations[`${check.prefix}allow-production`] === 'true',
          },
        ]
  })
  return { found: all.flat(), trouble }
}
