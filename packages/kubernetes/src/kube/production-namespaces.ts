import { findProduction, productionText } from '#rules'
import { inParallel } from './in-parallel.ts'
import type { KubeClient } from './kube-client.ts'
import { asKubeError } from './kube-error.ts'
import { type Limits, metadataOf, NAMESPACES } from './resources.ts'

/** Decides which namespaces are production. */
export interface NamespaceCheck {
  readonly patterns: readonly string[]
  /** The label of a namespace that names its environment. */
  readonly environmentLabel: string
}

/** A namespace of production in which sidecars are armed. */
export type ArmedProduction = Awaited<ReturnType<typeof findArmedProduction>>['found'][number]

const ASK_MS = 3_000

/** Finds the namespaces of production among those with armed sidecars, as they are labelled now. */
export async function findArmedProduction(
  client: KubeClient,
  armed: ReadonlyMap<string, number>,
  check: NamespaceCheck & { readonly prefix: string },
  { signal }: Limits,
) {
  let trouble: string | undefined
  const all = await inParallel([...armed], async ([namespace, count]) => {
    const ref = { kind: NAMESPACES, name: namespace }
    const limits = { signal, timeoutMs: ASK_MS }
    const read = await client.get(ref, limits).catch((error: unknown) => {
      const { message } = asKubeError(error)
      trouble ??= `cannot check whether the label ${check.environmentLabel} of namespaces with armed sidecars names production: ${message}`
      return {}
    })
    const { labels, annotations } = metadataOf(read)
    const where = `the label ${check.environmentLabel} of the namespace ${namespace},`
    const label = { where, name: labels[check.environmentLabel] }
    const names = [{ where: 'the namespace', name: namespace }, label]
    const production = findProduction(names, check.patterns)
    if (production === undefined) return []
    // The namespace's owner allows it.
    const isAllowed = annotations[`${check.prefix}allow-production`] === 'true'
    return [{ namespace, armed: count, why: productionText(production), isAllowed }]
  })
  return { found: all.flat(), trouble }
}
